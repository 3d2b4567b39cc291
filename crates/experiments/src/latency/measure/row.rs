//! The rows of a cell: from ticks and tallies to figures.

use super::causes::SpikeCause;
use super::conditions::Conditions;
use super::control::Control;
use super::delay_cause::UNEXPLAINED;
use super::offset_tally::{OFFSET, OffsetTally};
use super::series::Operations;
use super::to_nanoseconds::ToNanoseconds;
use crate::latency::plan::CellPlan;
use crate::latency::record::{Neighbour, Operation, Row, SpikeRow};
use instruments::spikes::{self, Spikes};
use instruments::statistics::comparison::Estimate;
use instruments::statistics::summary::CONFIDENCE;
use instruments::statistics::{Interval, Summary};

/// How well an operation is known, in ticks: by what it reads where there is no lock, and where the answer is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Accuracy {
    residue: Option<f64>,
    /// Nothing below this is known.
    pub least: Option<f64>,
}

/// A figure is known to a third.
const TIMES_THE_RESIDUE: f64 = 3.0;

impl Accuracy {
    /// By the reference. A round trip without a lock is the hold time, so it is known as well as both its ends.
    pub fn of(operation: Operation, reference: Option<&Operations>, control: Option<Control>) -> Self {
        let Some(known) = reference else { return Self::default() };
        let (lock, unlock) = (Self::by(&known.lock, control), Self::by(&known.unlock, control));
        let sum = |a: Option<f64>, b: Option<f64>| Some(a? + b?);
        match operation {
            Operation::Lock => lock,
            Operation::Unlock => unlock,
            Operation::RoundTrip => {
                Self { residue: sum(lock.residue, unlock.residue), least: sum(lock.least, unlock.least) }
            }
        }
    }

    fn by(reference: &OffsetTally, control: Option<Control>) -> Self {
        let Some((residue, interval)) = reference.mean() else { return Self::default() };
        let farthest = interval.map_or(residue.abs(), |ends| ends.low.abs().max(ends.high.abs()));
        let off = control.map_or(0.0, |control| control.error());
        Self { residue: Some(residue), least: Some(off.max(TIMES_THE_RESIDUE * farthest)) }
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
pub fn row(key: &RowKey<'_>, latencies: &OffsetTally, conditions: &Conditions, accuracy: Accuracy) -> Option<Row> {
    let summary = Summary::of(latencies.tally())?;
    let resolution = conditions.resolution;
    let net = conditions.to_nanoseconds(accuracy.least);
    let found = find_spikes(latencies, resolution);
    let mean = latencies.mean().filter(|(mean, _)| *mean >= accuracy.least.unwrap_or(0.0));
    let ns = |ticks: f64| ticks * conditions.ns_per_tick;
    let value = |known: Option<Estimate>| known.map(|known| known.value);
    let ends = |known: Option<Estimate>| known.and_then(|known| known.interval);
    let tail = |q, ticks| net.quantile(ticks, latencies.tail_interval(q, conditions.span));
    let p50 = net.quantile(summary.p50, latencies.interval(0.5));
    let [p90, p99, p999] = [tail(0.9, summary.p90), tail(0.99, summary.p99), tail(0.999, summary.p999)];
    Some(Row {
        lock: key.cell.lock.clone(),
        threads: key.cell.threads,
        competitors: key.cell.competitors,
        placement: conditions.placement.clone(),
        hold_us: conditions.hold_ns / 1e3,
        held_us: conditions.held_us,
        thread: key.thread,
        cpu: key.cpu,
        operation: key.operation,
        count: summary.count,
        excluded_count: latencies.excluded,
        min_ns: net.value(summary.min),
        p50_ns: p50.0,
        p90_ns: p90.0,
        p99_ns: p99.0,
        p999_ns: p999.0,
        max_ns: net.value(summary.max),
        mean_ns: Some(summary.mean - OFFSET as f64).filter(|mean| *mean >= accuracy.least.unwrap_or(0.0)).map(ns),
        undisturbed_mean_ns: mean.map(|(mean, _)| ns(mean)),
        undisturbed_mean_ci_ns: mean.and_then(|(_, ends)| ends).map(|ends| ends.scaled(conditions.ns_per_tick)),
        p50_ci_ns: p50.1,
        p90_ci_ns: p90.1,
        p99_ci_ns: p99.1,
        p999_ci_ns: p999.1,
        accuracy_ns: accuracy.least.map(ns),
        residue_ns: accuracy.residue.map(ns),
        neighbour: Neighbour::default(),
        leftover_share: found.leftover_share,
        spikes: spike_rows(&found, latencies, &net),
        histogram: net.histogram(latencies.tally(), resolution),
        ended_by: conditions.ended_by,
        slices: conditions.slices,
        recorded_slices: conditions.recorded_slices,
        evidence: conditions.evidence,
        ledger: conditions.ledger.clone(),
        bare_pair_ns: value(conditions.bare_pair),
        bare_pair_ci_ns: ends(conditions.bare_pair),
        fenced_pair_ns: value(conditions.fenced_pair),
        fenced_pair_ci_ns: ends(conditions.fenced_pair),
        resolution_ns: resolution as f64 * conditions.ns_per_tick,
        control_ns: conditions.control.map(|control| ns(control.read)),
        control_known_ns: conditions.control.map(|control| ns(control.known)),
        clock_cost_ns: conditions.clock_cost_ns,
        recording_ns: conditions.recording_ns,
    })
}

/// Finds the spikes; whatever came out below zero counts as zero, or the scatter of the timestamps would have spikes of
/// its own. The means still take every value as it is: their errors cancel.
fn find_spikes(latencies: &OffsetTally, resolution: u64) -> Spikes {
    let net = latencies.tally().map_values(|ticks| ticks.saturating_sub(OFFSET));
    let mut found = spikes::find(&net, resolution as f64);
    for spike in found.spikes.iter_mut().filter(|spike| spike.from == 0.0) {
        let as_measured = latencies.tally().between(0..=spike.to as u64 + OFFSET).mean();
        spike.mean = as_measured.map_or(spike.mean, |mean| mean - OFFSET as f64);
    }
    for spike in &mut found.spikes {
        let from = if spike.from == 0.0 { 0 } else { spike.from as u64 + OFFSET };
        let over_slices = latencies.slices.interval_within(from..=spike.to as u64 + OFFSET, 0.5, CONFIDENCE);
        let net = |ticks: f64| (ticks - OFFSET as f64).max(0.0);
        spike.median_ci = over_slices.map(|ends| Interval::new(net(ends.low), net(ends.high)));
    }
    found
}

fn spike_rows(found: &Spikes, latencies: &OffsetTally, net: &ToNanoseconds) -> Vec<SpikeRow> {
    let known = &latencies.causes;
    let fast = known.fast_limit(net.resolution as u64);
    let causes = found.spikes.iter().map(|spike| known.cause_of(spike.from as u64..=spike.to as u64, fast));
    let least_ns = net.least * net.ns_per_tick;
    let row = |(spike, cause): (&spikes::Spike, Option<SpikeCause>)| SpikeRow {
        label: spike.label.clone(),
        share: spike.share,
        count: spike.count,
        mean_ns: Some(spike.mean).filter(|ns| *ns >= least_ns),
        median_ns: Some(spike.median).filter(|ns| *ns >= least_ns),
        median_ci_ns: spike.median_ci.filter(|_| spike.median >= least_ns).map(|ends| net.widened(ends)),
        from_ns: spike.from,
        to_ns: spike.to,
        echo_of: spike.echo_of.clone(),
        delay_ns: spike.delay,
        cause_share: cause.as_ref().and_then(|cause| cause.cause_share),
        evidence_share: cause.as_ref().map(|cause| cause.evidence_share),
        median_with_evidence_ns: cause
            .as_ref()
            .map(|cause| cause.median as f64)
            .filter(|ticks| *ticks >= net.least)
            .map(|ticks| ticks * net.ns_per_tick),
        cause: cause.map_or_else(|| UNEXPLAINED.to_owned(), |cause| cause.cause),
    };
    found.scaled(net.ns_per_tick).spikes.iter().zip(causes).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::row as row_of;
    use super::*;
    use instruments::evidence::Source;
    use instruments::statistics::stopping::EndedBy;
    use instruments::tally::Tally;
    use std::time::Duration;

    fn conditions() -> Conditions {
        Conditions {
            placement: "one-cpu".into(),
            hold_ns: 6_100.0,
            slices: 1,
            span: Duration::from_secs(1),
            recorded_slices: 0,
            evidence: Source::None,
            ledger: None,
            ended_by: EndedBy::Budget,
            ns_per_tick: 0.5,
            resolution: 20,
            held_us: None,
            bare_pair: None,
            fenced_pair: None,
            clock_cost_ns: 18.0,
            recording_ns: 38.0,
            control: None,
        }
    }

    /// Of latencies in ticks, in one slice.
    fn row(values: impl Iterator<Item = (i64, u64)>) -> Option<Row> {
        let cell = CellPlan { lock: "std".into(), threads: 1, competitors: 0 };
        let mut latencies = OffsetTally::default();
        latencies.slices.add(Tally::from_counts(values.map(|(ticks, count)| ((ticks + OFFSET as i64) as u64, count))));
        let key = RowKey { cell: &cell, thread: 0, cpu: 0, operation: Operation::Lock };
        row_of(&key, &latencies, &conditions(), Accuracy { residue: Some(0.1), least: Some(3.0) })
    }

    #[test]
    fn the_offset_is_taken_off_and_ticks_turned_into_ns() {
        let row = row([(-20, 10), (20, 1_000), (1_000, 50)].into_iter()).unwrap();
        assert_eq!((row.p50_ns, row.max_ns), (Some(10.0), Some(500.0)));
        assert_eq!(row.count, 1_060);
        assert_eq!((row.resolution_ns, row.accuracy_ns, row.residue_ns), (10.0, Some(1.5), Some(0.05)));
    }

    #[test]
    fn what_misreads_a_known_time_is_known_no_better_than_that() {
        let mut reference = Operations::default();
        reference.lock.means.extend([0.1]);
        let least = |control| Accuracy::of(Operation::Lock, Some(&reference), control).least.unwrap();
        assert!((least(None) - 0.3).abs() < 1e-9);
        assert!((least(Some(Control { read: 50.2, known: 50.0 })) - 0.3).abs() < 1e-9);
        assert!((least(Some(Control { read: 48.0, known: 50.0 })) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_below_the_clocks_step_is_no_figure_and_no_interval_is_narrower() {
        let row = row([(-20, 10), (19, 1_000), (1_000, 50)].into_iter()).unwrap();
        assert_eq!((row.min_ns, row.p50_ns, row.p50_ci_ns), (None, None, None));
        assert_eq!(row.p99_ns, Some(500.0));
        let whole = self::row([(400, 10_000)].into_iter()).unwrap();
        assert_eq!(whole.p50_ci_ns, Some(Interval::new(190.0, 210.0)));
        assert_eq!((row.spikes[0].mean_ns, row.spikes[0].median_ns), (None, None));
    }

    #[test]
    fn the_histogram_holds_every_round_in_bins_that_follow_each_other() {
        let values = (1..4_000_i64).map(|step| (step * step, 3));
        let row = row(values).unwrap();
        assert_eq!(row.histogram.iter().map(|bin| bin.count).sum::<u64>(), row.count);
        assert!(row.histogram.windows(2).all(|pair| pair[0].to_ns <= pair[1].from_ns + 1e-6));
        assert!(row.histogram.iter().all(|bin| bin.from_ns < bin.to_ns));
        assert!(row.histogram.last().unwrap().to_ns >= row.max_ns.unwrap());
    }

    #[test]
    fn no_rounds_make_no_row() {
        assert!(row(std::iter::empty()).is_none());
    }

    #[test]
    fn a_spike_without_evidence_is_unexplained() {
        let row = row([(20, 1_000)].into_iter()).unwrap();
        assert!(row.spikes.iter().all(|spike| spike.cause == "unexplained"));
        assert_eq!(row.histogram.iter().map(|bin| row.letter_of(bin)).collect::<Vec<_>>(), [Some('A')]);
    }
}
