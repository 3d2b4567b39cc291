//! A trace as HdrHistogram's log.

use super::heading::Heading;
use crate::noise::measure::GapTrace;
use anyhow::Context;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::IntervalLogWriterBuilder;
use std::time::{Duration, UNIX_EPOCH};

const SECOND_NS: f64 = 1e9;

/// A histogram of the gaps' durations, in nanoseconds, for each second.
pub fn histogram_log(heading: &Heading<'_>, kept: &GapTrace) -> anyhow::Result<Vec<u8>> {
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
