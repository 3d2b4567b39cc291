//! The rows of a cell: from ticks and tallies to figures.

use super::causes::{SpikeCause, UNEXPLAINED};
use super::cell::Cell;
use super::series::OffsetTally;
use crate::latency::plan::{CellPlan, Plan};
use crate::latency::record::{Operation, Row, SpikeRow};
use harness::Calibrated;
use instruments::evidence::{EvidenceQuality, Source};
use instruments::spikes::{self, Spikes};
use instruments::statistics::order::{median, sample_quantile_interval};
use instruments::statistics::stopping::EndedBy;
use instruments::statistics::summary::CONFIDENCE;
use instruments::statistics::{Interval, Summary};
use instruments::tally::Tally;
use record::Bin;
use std::collections::BTreeMap;

/// What all rows of a cell share.
pub struct Conditions {
    pub placement: String,
    pub hold_ns: f64,
    pub slices: u64,
    pub recorded_slices: u64,
    pub evidence: Source,
    pub ledger: Option<EvidenceQuality>,
    pub ended_by: EndedBy,
    pub ns_per_tick: f64,
    pub bare_pair_ns: Option<f64>,
    pub bare_pair_ci_ns: Option<Interval>,
    pub clock_cost_ns: f64,
    pub recording_ns: f64,
}

impl Conditions {
    pub fn of(
        plan: &Plan,
        cell: &Cell,
        ended_by: EndedBy,
        calibrated: &Calibrated,
        recording_ns: f64,
        evidence: Source,
    ) -> Self {
        let bare: Vec<f64> = cell.bare_pairs.iter().map(|ticks| ticks * calibrated.clock().ns_per_tick()).collect();
        Self {
            placement: plan.placement.to_string(),
            hold_ns: plan.hold_ns,
            slices: cell.slices,
            recorded_slices: cell.recorded,
            evidence,
            ledger: cell.ledger.clone(),
            ended_by,
            bare_pair_ns: median(&bare),
            bare_pair_ci_ns: sample_quantile_interval(&bare, 0.5, CONFIDENCE),
            ns_per_tick: calibrated.clock().ns_per_tick(),
            clock_cost_ns: calibrated.quality.stamp.mean_of_1000_ns,
            recording_ns,
        }
    }
}

/// What the rows of a cell are told apart by.
pub struct RowKey<'a> {
    pub cell: &'a CellPlan,
    pub thread: usize,
    pub cpu: usize,
    pub operation: Operation,
}

/// The row of one operation; `None` when no round was timed.
pub fn row(key: &RowKey<'_>, latencies: &OffsetTally, conditions: &Conditions) -> Option<Row> {
    let summary = Summary::of(&latencies.tally)?;
    let net = ToNanoseconds { offset: latencies.offset as f64, ns_per_tick: conditions.ns_per_tick };
    let found = find_spikes(latencies);
    Some(Row {
        lock: key.cell.lock.clone(),
        threads: key.cell.threads,
        competitors: key.cell.competitors,
        placement: conditions.placement.clone(),
        hold_us: conditions.hold_ns / 1e3,
        thread: key.thread,
        cpu: key.cpu,
        operation: key.operation,
        count: summary.count,
        min_ns: net.value(summary.min),
        p50_ns: net.value(summary.p50),
        p90_ns: net.value(summary.p90),
        p99_ns: net.value(summary.p99),
        p999_ns: net.value(summary.p999),
        max_ns: net.value(summary.max),
        mean_ns: net.value(summary.mean),
        p50_ci_ns: net.interval(latencies.median_interval()),
        p90_ci_ns: net.interval(summary.p90_ci),
        p99_ci_ns: net.interval(summary.p99_ci),
        p999_ci_ns: net.interval(summary.p999_ci),
        leftover_share: found.leftover_share,
        spikes: spike_rows(&found, latencies, conditions.ns_per_tick),
        histogram: net.histogram(&latencies.tally, latencies.resolution),
        ended_by: conditions.ended_by,
        slices: conditions.slices,
        recorded_slices: conditions.recorded_slices,
        evidence: conditions.evidence,
        ledger: conditions.ledger.clone(),
        bare_pair_ns: conditions.bare_pair_ns,
        bare_pair_ci_ns: conditions.bare_pair_ci_ns,
        resolution_ns: latencies.resolution as f64 * conditions.ns_per_tick,
        clock_cost_ns: conditions.clock_cost_ns,
        recording_ns: conditions.recording_ns,
    })
}

/// Finds the spikes; whatever came out below zero counts as zero, or the scatter of the hold time would have spikes of
/// its own. The means still take every value as it is: their errors cancel.
fn find_spikes(latencies: &OffsetTally) -> Spikes {
    let offset = latencies.offset;
    let net = latencies.tally.map_values(|ticks| ticks.saturating_sub(offset));
    let mut found = spikes::find(&net, latencies.resolution as f64);
    for spike in found.spikes.iter_mut().filter(|spike| spike.from == 0.0) {
        let as_measured = latencies.tally.between(0..=spike.to as u64 + offset).mean();
        spike.mean = as_measured.map_or(spike.mean, |mean| mean - offset as f64);
    }
    found
}

fn spike_rows(found: &Spikes, latencies: &OffsetTally, ns_per_tick: f64) -> Vec<SpikeRow> {
    let known = &latencies.causes;
    let fast = known.fast_limit(latencies.resolution);
    let causes = found.spikes.iter().map(|spike| known.cause_of(spike.from as u64..=spike.to as u64, fast));
    let row = |(spike, cause): (&spikes::Spike, Option<SpikeCause>)| SpikeRow {
        label: spike.label.clone(),
        share: spike.share,
        count: spike.count,
        mean_ns: spike.mean.max(0.0),
        median_ns: spike.median,
        median_ci_ns: spike.median_ci,
        from_ns: spike.from,
        to_ns: spike.to,
        echo_of: spike.echo_of.clone(),
        delay_ns: spike.delay,
        cause_share: cause.as_ref().and_then(|cause| cause.cause_share),
        evidence_share: cause.as_ref().map(|cause| cause.evidence_share),
        median_with_evidence_ns: cause.as_ref().map(|cause| cause.median as f64 * ns_per_tick),
        cause: cause.map_or_else(|| UNEXPLAINED.to_owned(), |cause| cause.cause),
    };
    found.scaled(ns_per_tick).spikes.iter().zip(causes).map(row).collect()
}

/// From ticks with an offset to nanoseconds without.
struct ToNanoseconds {
    offset: f64,
    ns_per_tick: f64,
}

impl ToNanoseconds {
    /// A latency below zero is one that the clock cannot tell from zero.
    fn value(&self, ticks: f64) -> f64 {
        ((ticks - self.offset) * self.ns_per_tick).max(0.0)
    }

    fn interval(&self, ticks: Option<Interval>) -> Option<Interval> {
        ticks.map(|interval| Interval::new(self.value(interval.low), self.value(interval.high)))
    }

    /// Steps of the clock as long as they are the coarser, then 16 bins an octave.
    fn histogram(&self, tally: &Tally, resolution: u64) -> Vec<Bin> {
        const BINS_AN_OCTAVE: f64 = 16.0;
        let step = resolution as f64;
        let bend = step * BINS_AN_OCTAVE / std::f64::consts::LN_2;
        let edge = |bin: i64| {
            let linear = (bend / step).ceil();
            if (bin as f64) < linear {
                (bin as f64 - 0.5) * step
            } else {
                (linear - 0.5) * step * ((bin as f64 - linear) / BINS_AN_OCTAVE).exp2()
            }
        };
        let bin_of = |ticks: f64| {
            let linear = (bend / step).ceil();
            let turn = (linear - 0.5) * step;
            if ticks < turn {
                (ticks / step).round() as i64
            } else {
                (linear + BINS_AN_OCTAVE * (ticks / turn).log2()).floor() as i64
            }
        };
        let mut bins: BTreeMap<i64, u64> = BTreeMap::new();
        for (ticks, count) in tally.iter() {
            *bins.entry(bin_of((ticks as f64 - self.offset).max(0.0))).or_default() += count;
        }
        let ns = |ticks: f64| (ticks * self.ns_per_tick).max(0.0);
        bins.into_iter().map(|(bin, count)| Bin { from_ns: ns(edge(bin)), to_ns: ns(edge(bin + 1)), count }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::row as row_of;
    use super::*;

    fn conditions() -> Conditions {
        Conditions {
            placement: "one-cpu".into(),
            hold_ns: 6_100.0,
            slices: 1,
            recorded_slices: 0,
            evidence: Source::None,
            ledger: None,
            ended_by: EndedBy::Budget,
            ns_per_tick: 0.5,
            bare_pair_ns: None,
            bare_pair_ci_ns: None,
            clock_cost_ns: 18.0,
            recording_ns: 38.0,
        }
    }

    fn row(values: impl Iterator<Item = (u64, u64)>) -> Option<Row> {
        let cell = CellPlan { lock: "std".into(), threads: 1, competitors: 0 };
        let tally = Tally::from_counts(values);
        let latencies = OffsetTally { tally, offset: 40, resolution: 20, ..OffsetTally::default() };
        let key = RowKey { cell: &cell, thread: 0, cpu: 0, operation: Operation::Lock };
        row_of(&key, &latencies, &conditions())
    }

    #[test]
    fn the_offset_is_taken_off_and_ticks_turned_into_ns() {
        let row = row([(20, 10), (60, 1_000), (1_040, 50)].into_iter()).unwrap();
        assert_eq!((row.min_ns, row.p50_ns, row.max_ns), (0.0, 10.0, 500.0));
        assert_eq!(row.count, 1_060);
        assert_eq!(row.resolution_ns, 10.0);
    }

    #[test]
    fn the_histogram_holds_every_round_in_bins_that_follow_each_other() {
        let values = (1..4_000_u64).map(|step| (40 + step * step, 3));
        let row = row(values).unwrap();
        assert_eq!(row.histogram.iter().map(|bin| bin.count).sum::<u64>(), row.count);
        assert!(row.histogram.windows(2).all(|pair| pair[0].to_ns <= pair[1].from_ns + 1e-6));
        assert!(row.histogram.iter().all(|bin| bin.from_ns < bin.to_ns));
        assert!(row.histogram.last().unwrap().to_ns >= row.max_ns);
    }

    #[test]
    fn no_rounds_make_no_row() {
        assert!(row(std::iter::empty()).is_none());
    }

    #[test]
    fn a_spike_without_evidence_is_unexplained() {
        let row = row([(60, 1_000)].into_iter()).unwrap();
        assert!(row.spikes.iter().all(|spike| spike.cause == "unexplained"));
        assert_eq!(row.histogram.iter().map(|bin| row.letter_of(bin)).collect::<Vec<_>>(), [Some('A')]);
    }
}
