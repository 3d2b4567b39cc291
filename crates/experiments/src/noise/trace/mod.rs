//! The gaps of a run as a file: a view of what was measured.

mod heading;
mod histogram_log;
mod lines;

pub use heading::Heading;

use super::measure::GapTrace;
use std::path::Path;

/// The file's content in the form that its name asks for.
pub fn content(path: &Path, heading: &Heading<'_>, kept: &GapTrace) -> anyhow::Result<Vec<u8>> {
    if path.extension().is_some_and(|extension| extension == "hlog") {
        histogram_log::histogram_log(heading, kept)
    } else {
        Ok(lines::lines(heading, kept).into_bytes())
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
}
