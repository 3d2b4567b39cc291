//! Samples with names and labels: each is unique, whatever a record repeats.

use anyhow::Context;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{self, Registry};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use terminal::escaped;

/// The maximum number of time series in one answer: a record's labels may be invented, and a collector keeps each for
/// weeks.
pub const MOST: usize = 50_000;
/// The series of a histogram in addition to its buckets: its sum and its count.
const BESIDE_BUCKETS: usize = 2;

pub type Labels = Vec<(String, String)>;

#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// The families by name, without the unit.
    pub families: BTreeMap<(String, Option<&'static str>), Family>,
    seen: BTreeSet<(String, Labels)>,
    series: usize,
    /// The number of series beyond [`MOST`], which are omitted.
    pub omitted: usize,
}

#[derive(Clone, Debug)]
pub struct Family {
    pub help: &'static str,
    pub values: Values,
}

#[derive(Clone, Debug)]
pub enum Values {
    Gauges(Vec<(Labels, f64)>),
    Counters(Vec<(Labels, u64)>),
    Histograms(Vec<(Labels, Distribution)>),
}

/// The number of values below each bound; the last bound is infinite.
#[derive(Clone, Debug, Default)]
pub struct Distribution {
    pub sum: f64,
    pub count: u64,
    pub buckets: Vec<(f64, u64)>,
}

type Unit = Option<&'static str>;

impl Samples {
    pub fn gauge(&mut self, name: &str, help: &'static str, unit: Unit, labels: &[(&str, String)], value: f64) {
        let Some(labels) = self.unseen(name, labels, 1) else { return };
        if let Values::Gauges(all) = self.family(name, help, unit, || Values::Gauges(Vec::new())) {
            all.push((labels, value));
        }
    }

    pub fn counter(&mut self, name: &str, help: &'static str, labels: &[(&str, String)], value: u64) {
        let Some(labels) = self.unseen(name, labels, 1) else { return };
        if let Values::Counters(all) = self.family(name, help, None, || Values::Counters(Vec::new())) {
            all.push((labels, value));
        }
    }

    pub fn histogram(&mut self, name: &str, help: &'static str, labels: &[(&str, String)], value: Distribution) {
        let series = value.buckets.len() + BESIDE_BUCKETS;
        let Some(labels) = self.unseen(name, labels, series) else { return };
        if let Values::Histograms(all) = self.family(name, help, Some("seconds"), || Values::Histograms(Vec::new())) {
            all.push((labels, value));
        }
    }

    /// Returns the labels, if no sample of this name has them yet and the series fit.
    ///
    /// Their values may be printed on a terminal, by `curl`.
    fn unseen(&mut self, name: &str, labels: &[(&str, String)], series: usize) -> Option<Labels> {
        let labels: Labels =
            labels.iter().map(|(name, value)| ((*name).to_owned(), escaped(value).into_owned())).collect();
        if self.series + series > MOST {
            self.omitted += series;
            return None;
        }
        let is_new = self.seen.insert((name.to_owned(), labels.clone()));
        self.series += if is_new { series } else { 0 };
        is_new.then_some(labels)
    }

    fn family(&mut self, name: &str, help: &'static str, unit: Unit, none: impl Fn() -> Values) -> &mut Values {
        let family = self.families.entry((name.to_owned(), unit));
        &mut family.or_insert_with(|| Family { help, values: none() }).values
    }
}

// Samples as text: OpenMetrics for clients that request it, and the older format for all others.

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
            let unit = unit.map(|unit| registry::Unit::Other(unit.to_owned()));
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
    fn labels_are_visible_and_series_have_a_limit() {
        let mut samples = Samples::default();
        samples.gauge("a", "A gauge", None, &[("of", "\u{1b}[2J\r\0\u{202e}".into())], 1.0);
        let Values::Gauges(gauges) = &samples.families[&("a".to_owned(), None)].values else { panic!("a gauge") };
        assert_eq!(gauges[0].0[0].1, "\\u{1b}[2J\\u{d}\\u{0}\\u{202e}");
        let buckets = vec![(1.0, 1); 10];
        for host in 0..MOST {
            let one = Distribution { sum: 1.0, count: 10, buckets: buckets.clone() };
            samples.histogram("b", "A histogram", &[("host", host.to_string())], one);
        }
        assert!(samples.series <= MOST && samples.series > MOST - 12);
        assert_eq!(samples.omitted, 12 * (MOST - (MOST - 1) / 12));
    }

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
