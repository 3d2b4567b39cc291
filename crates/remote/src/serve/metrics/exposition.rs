//! Samples as text: OpenMetrics for clients that request it, and the older format for all others.

use super::samples::{Samples, Values};
use anyhow::Context;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use std::fmt;
use std::sync::Arc;

pub const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
pub const CLASSIC: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Writes all samples in OpenMetrics.
///
/// # Errors
/// The library cannot write them.
pub fn written(all: [Arc<Samples>; 2]) -> anyhow::Result<String> {
    let mut registry = Registry::default();
    all.into_iter().for_each(|samples| registry.register_collector(Box::new(samples)));
    let mut text = String::new();
    encode(&mut text, &registry).context("cannot write the metrics")?;
    Ok(text)
}

impl Collector for Samples {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for ((name, unit), family) in &self.families {
            let unit = unit.map(|unit| Unit::Other(unit.to_owned()));
            let kind = match family.values {
                Values::Gauges(_) => MetricType::Gauge,
                Values::Counters(_) => MetricType::Counter,
                Values::Histograms(_) => MetricType::Histogram,
            };
            let mut metric = encoder.encode_descriptor(name, family.help, unit.as_ref(), kind)?;
            match &family.values {
                Values::Gauges(all) => {
                    for (labels, value) in all {
                        match labels.is_empty() {
                            true => metric.encode_gauge(value)?,
                            false => metric.encode_family(labels)?.encode_gauge(value)?,
                        }
                    }
                }
                Values::Counters(all) => {
                    for (labels, value) in all {
                        match labels.is_empty() {
                            true => metric.encode_counter::<NoLabelSet, _, f64>(value, None)?,
                            false => {
                                metric.encode_family(labels)?.encode_counter::<NoLabelSet, _, f64>(value, None)?;
                            }
                        }
                    }
                }
                Values::Histograms(all) => {
                    for (labels, one) in all {
                        let mut metric = metric.encode_family(labels)?;
                        metric.encode_histogram::<NoLabelSet>(one.sum, one.count, &one.buckets, None)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Converts the text to the older format: a counter has the name of its sample, and there are neither units nor an end
/// mark.
pub fn classic(text: &str) -> String {
    let is_counter = |line: &str| line.starts_with("# TYPE ") && line.ends_with(" counter");
    let counters: Vec<&str> =
        text.lines().filter(|line| is_counter(line)).filter_map(|line| line.split(' ').nth(2)).collect();
    let mut classic = String::new();
    for line in text.lines().filter(|line| !line.starts_with("# UNIT ") && *line != "# EOF") {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        match words[..] {
            ["#", what, name, rest] if counters.contains(&name) => {
                classic += &format!("# {what} {name}_total {rest}\n");
            }
            _ => classic += &format!("{line}\n"),
        }
    }
    classic
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_format_has_the_same_values() {
        let mut samples = Samples::default();
        samples.gauge("a", "A \"gauge\"", Some("seconds"), &[("of", "x\"\\\n".into())], 0.5);
        samples.counter("b", "A counter", &[], 3);
        let text = written([Arc::new(samples), Arc::default()]).unwrap();
        assert!(text.ends_with("# EOF\n") && text.contains("# UNIT a_seconds seconds\n"), "{text}");
        let expected = "# HELP a_seconds A \"gauge\".\n# TYPE a_seconds gauge\na_seconds{of=\"x\\\"\\\\\\\\u{a}\"} 0.5\n\
                        # HELP b_total A counter.\n# TYPE b_total counter\nb_total 3\n";
        assert_eq!(
            classic(&text).replace("A \"gauge\"\n", "A \"gauge\".\n").replace("A counter\n", "A counter.\n"),
            expected
        );
    }
}
