//! Every gap of a run, and the file that they are written to: lines in the format of netgauge's `selfish`, or
//! HdrHistogram's log.

use anyhow::Context;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::IntervalLogWriterBuilder;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// Returns the file's content in the format of its name.
pub fn content(path: &Path, heading: &Heading<'_>, kept: &GapTrace) -> anyhow::Result<Vec<u8>> {
    if path.extension().is_some_and(|extension| extension == "hlog") {
        histogram_log(heading, kept)
    } else {
        Ok(lines(heading, kept).into_bytes())
    }
}

/// The heading of a trace.
pub struct Heading<'a> {
    pub scenario: &'a str,
    pub threshold_ns: f64,
    pub started_unix_s: u64,
}

const SECOND_NS: f64 = 1e9;

/// Returns a histogram of the gaps' durations, in nanoseconds, for each second.
fn histogram_log(heading: &Heading<'_>, kept: &GapTrace) -> anyhow::Result<Vec<u8>> {
    let mut file = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let started = UNIX_EPOCH + Duration::from_secs(heading.started_unix_s);
    let mut log = IntervalLogWriterBuilder::new()
        .add_comment(&format!("contend noise: gaps of scenario {}, in ns", heading.scenario))
        .with_start_time(started)
        .with_base_time(started)
        .with_max_value_divisor(1e6)
        .begin_log_with(&mut file, &mut serializer)?;
    let seconds = (kept.span_ns / SECOND_NS).ceil() as u64;
    let mut left = kept.gaps.iter().peekable();
    for second in 0..seconds {
        let end = (second + 1) as f64 * SECOND_NS;
        let mut histogram = Histogram::<u64>::new(3)?;
        while let Some(gap) = left.next_if(|gap| gap.start_ns < end) {
            histogram.record(gap.duration_ns.round() as u64)?;
        }
        let length = Duration::from_nanos((kept.span_ns - second as f64 * SECOND_NS).min(SECOND_NS) as u64);
        log.write_histogram(&histogram, Duration::from_secs(second), length, None)
            .map_err(|error| anyhow::anyhow!("{error:?}"))
            .context("cannot write the histogram")?;
    }
    Ok(file)
}

/// Writes the format of netgauge's `selfish`: start and duration, a gap per line, comments behind `#`.
pub fn lines(heading: &Heading<'_>, kept: &GapTrace) -> String {
    let Heading { scenario, threshold_ns, .. } = heading;
    let span_ns = kept.span_ns;
    let mut text = format!(
        "# contend noise: scenario {scenario}; start_ns duration_ns\n# threshold_ns {threshold_ns:.1}\n# span_ns {span_ns:.0}\n"
    );
    for pause in &kept.unwatched {
        text.push_str(&format!("# unwatched {:.0} {:.0}\n", pause.start_ns, pause.duration_ns));
    }
    for gap in &kept.gaps {
        // Both ends are rounded, so that a gap which begins at the end of another does so in whole ns too.
        let start = gap.start_ns.round();
        let duration = (gap.start_ns + gap.duration_ns).round() - start;
        text.push_str(&format!("{start:.0} {duration:.0}\n"));
    }
    text
}

/// A gap in nanoseconds since the cell's first reading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeptGap {
    pub start_ns: f64,
    pub duration_ns: f64,
}

/// Every gap of a cell.
#[derive(Default)]
pub struct GapTrace {
    pub first_reading: Option<u64>,
    pub gaps: Vec<KeptGap>,
    /// The times without sampling: the kernel trace was read.
    pub unwatched: Vec<KeptGap>,
    /// The time from the first reading to the last.
    pub span_ns: f64,
}

impl GapTrace {
    /// Returns only the sampled time: pieces and repetitions joined end to end.
    pub fn joined(self) -> Self {
        let mut unwatched = self.unwatched.iter().peekable();
        let mut cut_ns = 0.0;
        let gaps = self.gaps.into_iter().map(|gap| {
            while let Some(pause) = unwatched.next_if(|pause| pause.start_ns <= gap.start_ns) {
                cut_ns += pause.duration_ns;
            }
            KeptGap { start_ns: gap.start_ns - cut_ns, ..gap }
        });
        let gaps = gaps.collect();
        let span_ns = self.span_ns - self.unwatched.iter().map(|pause| pause.duration_ns).sum::<f64>();
        Self { gaps, span_ns, unwatched: Vec::new(), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::measure::KeptGap;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    const HEADING: Heading<'_> = Heading { scenario: "quiet", threshold_ns: 150.0, started_unix_s: 1_000 };

    fn kept() -> GapTrace {
        let gap = |start_ns, duration_ns| KeptGap { start_ns, duration_ns };
        let gaps = vec![gap(1_000.0, 8_000.0), gap(4e6, 19_000.0), gap(1.5e9, 4e6)];
        GapTrace { gaps, span_ns: 2.5e9, ..GapTrace::default() }
    }

    #[test]
    fn lines_are_start_and_duration() {
        let text = content(Path::new("t.txt"), &HEADING, &kept()).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.ends_with("\n1000 8000\n4000000 19000\n1500000000 4000000\n"), "{text}");
        assert!(text.contains("# span_ns 2500000000\n"));
    }

    #[test]
    fn a_histogram_log_has_one_for_each_second() {
        let log = content(Path::new("t.hlog"), &HEADING, &kept()).unwrap();
        let entries: Vec<_> = IntervalLogIterator::new(&log).map(|entry| entry.expect("it is well-formed")).collect();
        let maxima: Vec<f64> = entries
            .iter()
            .filter_map(|entry| match entry {
                LogEntry::Interval(interval) => Some(interval.max()),
                _ => None,
            })
            .collect();
        assert_eq!(maxima.len(), 3);
        // In ms, as the log's readers expect: three significant digits.
        assert!((maxima[0] - 0.019).abs() < 1e-4 && (maxima[1] - 4.0).abs() < 0.01 && maxima[2] == 0.0, "{maxima:?}");
    }

    #[test]
    fn adjacent_gaps_do_not_overlap() {
        let gap = |start_ns, duration_ns| KeptGap { start_ns, duration_ns };
        let kept = GapTrace { gaps: vec![gap(100.4, 200.4), gap(300.8, 50.0)], span_ns: 1e6, ..GapTrace::default() };
        let heading = Heading { scenario: "quiet", threshold_ns: 150.0, started_unix_s: 1_000 };
        let text = lines(&heading, &kept);
        assert!(text.ends_with("\n100 201\n301 50\n"), "{text}");
    }
}
