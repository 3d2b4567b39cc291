//! The rows of a cell: from ticks and tallies to values in nanoseconds, of all iterations and by the sharing of the
//! core.

use super::baseline::Control;
use super::causes::{SpikeCause, UNEXPLAINED};
use super::cell::Cell;
use super::latencies::Latencies;
use super::sections::Sections;
use super::series::{LEAST_ALONE, Operations, Series};
use crate::estimates::fields;
use crate::latency::plan::{CellPlan, Plan};
use crate::latency::record::{Neighbour, Operation, Row, SpikeRow};
use harness::Calibrated;
use instruments::evidence::{EvidenceQuality, Source};
use instruments::neighbour::Split;
use instruments::spikes;
use instruments::statistics::Interval;
use instruments::statistics::comparison::Estimate;
use instruments::statistics::order::median;
use instruments::statistics::stopping::EndedBy;
use loops::latency::PAIRS;
use record::Bin;
use std::collections::BTreeMap;
use std::time::Duration;

/// The fields that distinguish the rows of a cell.
pub struct RowKey<'a> {
    pub cell: &'a CellPlan,
    pub thread: usize,
    pub cpu: usize,
    pub operation: Operation,
}

/// Returns the row of one operation; `None` when no iteration was timed.
pub fn row(key: &RowKey<'_>, latencies: &Latencies, conditions: &Conditions, accuracy: Accuracy) -> Option<Row> {
    let (min, max) = (latencies.min()?, latencies.max()?);
    let resolution = conditions.resolution;
    let net = conditions.to_nanoseconds(accuracy.least);
    let found = latencies.spikes(resolution);
    let ns = |ticks: f64| ticks * conditions.ns_per_tick;
    let quantile = |q| fields(net.quantile(latencies, q, conditions.span));
    let [p50, p90, p99, p999] = [0.5, 0.9, 0.99, 0.999].map(quantile);
    let (undisturbed_mean_ns, undisturbed_mean_ci_ns) = fields(net.undisturbed_mean(latencies));
    let (bare_pair_ns, bare_pair_ci_ns) = fields(conditions.bare_pair);
    let (fenced_pair_ns, fenced_pair_ci_ns) = fields(conditions.fenced_pair);
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
        count: latencies.count(),
        excluded_count: latencies.excluded,
        min_ns: net.value(min),
        p50_ns: p50.0,
        p90_ns: p90.0,
        p99_ns: p99.0,
        p999_ns: p999.0,
        max_ns: net.value(max),
        mean_ns: latencies.mean().filter(|mean| net.is_known(*mean)).map(ns),
        undisturbed_mean_ns,
        undisturbed_mean_ci_ns,
        p50_ci_ns: p50.1,
        p90_ci_ns: p90.1,
        p99_ci_ns: p99.1,
        p999_ci_ns: p999.1,
        accuracy_ns: accuracy.least.map(ns),
        residue_ns: accuracy.residue.map(ns),
        neighbour: Neighbour::default(),
        leftover_share: found.leftover_share,
        spikes: spike_rows(&found, latencies, &net),
        histogram: net.histogram(latencies),
        ended_by: conditions.ended_by,
        slices: conditions.slices,
        recorded_slices: conditions.recorded_slices,
        evidence: conditions.evidence,
        ledger: conditions.ledger.clone(),
        bare_pair_ns,
        bare_pair_ci_ns,
        fenced_pair_ns,
        fenced_pair_ci_ns,
        resolution_ns: ns(resolution as f64),
        control_ns: conditions.control.map(|control| ns(control.read)),
        control_known_ns: conditions.control.map(|control| ns(control.known)),
        sections_total: conditions.sections.map(|sections| sections.all),
        overlaps_total: conditions.sections.map(|sections| sections.overlapping),
        clock_cost_ns: conditions.clock_cost_ns,
        recording_ns: conditions.recording_ns,
    })
}

/// Returns the values of one operation of one thread, with the core exclusive and with the core shared.
///
/// The pairs are those of the cell, in ticks: bare and fenced.
pub fn by_neighbour(
    series: &Series,
    operation: Operation,
    [bare, fenced]: &[Split; 2],
    conditions: &Conditions,
    accuracy: Accuracy,
) -> Neighbour {
    let net = conditions.to_nanoseconds(accuracy.least);
    let [alone, shared] = [&series.alone, &series.shared].map(|known| known.of(operation));
    let [alone, shared] = [alone, shared].map(|known| Some(known).filter(|known| known.means.len() >= LEAST_ALONE));
    let mean = |known: Option<&Latencies>| fields(known.and_then(|known| net.undisturbed_mean(known)));
    let quantile =
        |known: Option<&Latencies>, q| fields(known.and_then(|known| net.quantile(known, q, conditions.span)));
    let pair = |pair: &Split, loops| fields(pair.alone.map(|pair| net.pair(pair, loops)));
    let (undisturbed_mean_ns_alone, undisturbed_mean_ci_ns_alone) = mean(alone);
    let (undisturbed_mean_ns_shared, undisturbed_mean_ci_ns_shared) = mean(shared);
    let (p50_ns_alone, p50_ci_ns_alone) = quantile(alone, 0.5);
    let (p50_ns_shared, p50_ci_ns_shared) = quantile(shared, 0.5);
    let (p99_ns_alone, p99_ci_ns_alone) = quantile(alone, 0.99);
    let (p999_ns_alone, p999_ci_ns_alone) = quantile(alone, 0.999);
    let (bare_pair_ns_alone, bare_pair_ci_ns_alone) = pair(bare, BARE_LOOPS);
    let (fenced_pair_ns_alone, fenced_pair_ci_ns_alone) = pair(fenced, FENCED_LOOPS);
    Neighbour {
        core_shared_share: series.shared_share(),
        core_correlation: bare.correlation,
        undisturbed_mean_ns_alone,
        undisturbed_mean_ci_ns_alone,
        undisturbed_mean_ns_shared,
        undisturbed_mean_ci_ns_shared,
        p50_ns_alone,
        p50_ci_ns_alone,
        p50_ns_shared,
        p50_ci_ns_shared,
        p99_ns_alone,
        p99_ci_ns_alone,
        p999_ns_alone,
        p999_ci_ns_alone,
        bare_pair_ns_alone,
        bare_pair_ci_ns_alone,
        fenced_pair_ns_alone,
        fenced_pair_ci_ns_alone,
    }
}

fn spike_rows(found: &spikes::Spikes, latencies: &Latencies, net: &ToNanoseconds) -> Vec<SpikeRow> {
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
        median_with_evidence_ns: cause.as_ref().and_then(|cause| net.value(cause.median as f64)),
        cause: cause.map_or_else(|| UNEXPLAINED.to_owned(), |cause| cause.cause),
    };
    found.scaled(net.ns_per_tick).spikes.iter().zip(causes).map(row).collect()
}

/// The number of loops: a bare pair comes from one, and one between fences is the difference of two, with a lock and
/// without.
const BARE_LOOPS: f64 = 1.0;
const FENCED_LOOPS: f64 = 2.0;

/// The common data of all rows of a cell.
pub struct Conditions {
    pub placement: String,
    pub hold_ns: f64,
    pub slices: u64,
    /// The time from its first window to its last.
    pub span: Duration,
    pub recorded_slices: u64,
    pub evidence: Source,
    pub ledger: Option<EvidenceQuality>,
    pub ended_by: EndedBy,
    pub ns_per_tick: f64,
    /// The clock's step, in ticks.
    pub resolution: u64,
    pub held_us: Option<f64>,
    pub bare_pair: Option<Estimate>,
    pub fenced_pair: Option<Estimate>,
    pub clock_cost_ns: f64,
    pub recording_ns: f64,
    pub control: Option<Control>,
    pub sections: Option<Sections>,
}

impl Conditions {
    pub fn of(
        plan: &Plan,
        cell: &Cell,
        ended_by: EndedBy,
        calibrated: &Calibrated,
        (recording_ns, control): (f64, Option<Control>),
        evidence: Source,
    ) -> Self {
        let (ns_per_tick, resolution) = (calibrated.clock().ns_per_tick(), calibrated.quality.resolution_ticks);
        let net = ToNanoseconds::new(resolution, ns_per_tick, 0.0);
        Self {
            placement: plan.placement.to_string(),
            hold_ns: plan.hold_ns,
            slices: cell.slices,
            span: cell.span(),
            recorded_slices: cell.recorded,
            evidence,
            ledger: cell.ledger.clone(),
            ended_by,
            held_us: held(cell).map(|ticks| ticks * ns_per_tick / 1e3),
            bare_pair: cell.pair(|pairs| pairs.bare).map(|pair| net.pair(pair, BARE_LOOPS)),
            fenced_pair: cell.pair(|pairs| pairs.fenced).map(|pair| net.pair(pair, FENCED_LOOPS)),
            ns_per_tick,
            resolution,
            clock_cost_ns: calibrated.quality.stamp.mean_of_1000_ns,
            recording_ns,
            control,
            sections: cell.sections,
        }
    }

    /// Returns the conversion for values that are known from this many ticks on.
    fn to_nanoseconds(&self, least: Option<f64>) -> ToNanoseconds {
        ToNanoseconds::new(self.resolution, self.ns_per_tick, least.unwrap_or(0.0))
    }
}

/// Returns the hold time that deviates most from its mean among a cell's threads.
fn held(cell: &Cell) -> Option<f64> {
    let holds: Vec<f64> = cell.series.iter().filter_map(|series| median(&series.holds)).collect();
    let mean = holds.iter().sum::<f64>() / holds.len() as f64;
    holds.into_iter().max_by(|a, b| (a - mean).abs().total_cmp(&(b - mean).abs()))
}

/// The accuracy of an operation, in ticks: from its reading without a lock, and from that of a known time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Accuracy {
    residue: Option<f64>,
    /// The least value that is known.
    pub least: Option<f64>,
}

/// The factor between the zero offset and the least value: a value is known to a third.
const TIMES_THE_RESIDUE: f64 = 3.0;

impl Accuracy {
    /// Computes the accuracy from the reference.
    ///
    /// A round trip without a lock is the hold time, so it is known as well as both its ends.
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

    fn by(reference: &Latencies, control: Option<Control>) -> Self {
        let Some(Estimate { value: residue, interval, .. }) = reference.undisturbed_mean() else {
            return Self::default();
        };
        let farthest = interval.map_or(residue.abs(), |ends| ends.low.abs().max(ends.high.abs()));
        let off = control.map_or(0.0, |control| control.error());
        Self { residue: Some(residue), least: Some(off.max(TIMES_THE_RESIDUE * farthest)) }
    }
}

/// The variation between undisturbed runs of the same pair: by the core's frequency, and by the clock's rate, which
/// each run calibrates.
///
/// In twenty runs of four locks on a quiet machine it was less than a thousandth, without the clock's step.
const RUN_TO_RUN: f64 = 0.001;

/// The conversion from ticks to nanoseconds.
struct ToNanoseconds {
    /// The least known quantile, in ticks.
    least: f64,
    /// The least known mean, in ticks.
    accuracy: f64,
    resolution: f64,
    ns_per_tick: f64,
}

impl ToNanoseconds {
    /// Creates the conversion for a clock that advances in such steps, and values known from this many ticks on.
    fn new(resolution: u64, ns_per_tick: f64, accuracy: f64) -> Self {
        let resolution = resolution as f64;
        Self { least: accuracy.max(resolution), accuracy, resolution, ns_per_tick }
    }

    fn is_known(&self, mean: f64) -> bool {
        mean >= self.accuracy
    }

    /// Returns a value, where it is known.
    fn value(&self, ticks: f64) -> Option<f64> {
        Some(ticks).filter(|ticks| *ticks >= self.least).map(|ticks| ticks * self.ns_per_tick)
    }

    /// Returns a quantile of a run of this length, where it is known, and its interval.
    fn quantile(&self, latencies: &Latencies, q: f64, span: Duration) -> Option<Estimate> {
        let ticks = latencies.quantile(q, span)?;
        let interval = ticks.interval.map(|ends| self.widened(ends.scaled(self.ns_per_tick)));
        Some(Estimate::new(self.value(ticks.value)?, interval))
    }

    /// Returns the mean of the undisturbed iterations, where it is known, and its interval.
    fn undisturbed_mean(&self, latencies: &Latencies) -> Option<Estimate> {
        latencies.undisturbed_mean().filter(|mean| self.is_known(mean.value)).map(|mean| self.duration(mean))
    }

    fn duration(&self, ticks: Estimate) -> Estimate {
        Estimate::new(ticks.value * self.ns_per_tick, ticks.interval.map(|ends| ends.scaled(self.ns_per_tick)))
    }

    /// Returns a pair from loops between two readings: one such loop, or the difference of two.
    ///
    /// Each reading is up to a step of the clock behind its moment, and all windows can be so by the same amount. Their
    /// medians then agree to the last digit and are still a step of the loop off. The core's frequency also differs in
    /// the next run. The interval is wider by both at either end.
    fn pair(&self, ticks: Estimate, loops: f64) -> Estimate {
        let pair = self.duration(ticks);
        let widening = loops * self.resolution * self.ns_per_tick / f64::from(PAIRS) + RUN_TO_RUN * pair.value.abs();
        let wider = |ends: Interval| Interval::new(ends.low - widening, ends.high + widening);
        Estimate { interval: pair.interval.map(wider), ..pair }
    }

    /// Widens the interval by a step of the clock at each end.
    ///
    /// Each of the two readings of a latency is up to a step behind its moment, so their difference is up to a step
    /// more or less. Where about half of the latencies come out at one step and half at the next, a core that is a
    /// little faster moves the median by a whole one. No time is negative.
    fn widened(&self, ns: Interval) -> Interval {
        let step = self.resolution * self.ns_per_tick;
        Interval::new((ns.low - step).max(0.0), ns.high + step)
    }

    /// Returns steps of the clock as long as they are the coarser, then 16 bins per octave.
    fn histogram(&self, latencies: &Latencies) -> Vec<Bin> {
        const BINS_AN_OCTAVE: f64 = 16.0;
        let step = self.resolution;
        let bend = step * BINS_AN_OCTAVE / std::f64::consts::LN_2;
        let linear = (bend / step).ceil();
        let edge = |bin: i64| {
            if (bin as f64) < linear {
                (bin as f64 - 0.5) * step
            } else {
                (linear - 0.5) * step * ((bin as f64 - linear) / BINS_AN_OCTAVE).exp2()
            }
        };
        let bin_of = |ticks: f64| {
            let turn = (linear - 0.5) * step;
            if ticks < turn {
                (ticks / step).round() as i64
            } else {
                (linear + BINS_AN_OCTAVE * (ticks / turn).log2()).floor() as i64
            }
        };
        let mut bins: BTreeMap<i64, u64> = BTreeMap::new();
        for (ticks, count) in latencies.iter() {
            *bins.entry(bin_of(ticks.max(0.0))).or_default() += count;
        }
        let ns = |ticks: f64| (ticks * self.ns_per_tick).max(0.0);
        bins.into_iter().map(|(bin, count)| Bin { from_ns: ns(edge(bin)), to_ns: ns(edge(bin + 1)), count }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::row as row_of;
    use super::*;
    use crate::estimates::median_of;

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
            sections: None,
        }
    }

    /// Returns the row of latencies in ticks, in one window.
    fn row(values: impl Iterator<Item = (i64, u64)>) -> Option<Row> {
        let cell = CellPlan { lock: "std".into(), threads: 1, competitors: 0 };
        let mut latencies = Latencies::default();
        // Compared with a baseline of 1,000 ticks.
        let rounds: Vec<u64> =
            values.flat_map(|(ticks, count)| std::iter::repeat_n((ticks + 1_000) as u64, count as usize)).collect();
        latencies.add(&mut Vec::new(), &[(rounds.into_iter(), 1_000.0)], 20);
        let key = RowKey { cell: &cell, thread: 0, cpu: 0, operation: Operation::Lock };
        row_of(&key, &latencies, &conditions(), Accuracy { residue: Some(0.1), least: Some(3.0) })
    }

    #[test]
    fn offset_is_subtracted_and_ticks_become_ns() {
        let row = row([(-20, 10), (20, 1_000), (1_000, 50)].into_iter()).unwrap();
        assert_eq!((row.p50_ns, row.max_ns), (Some(10.0), Some(500.0)));
        assert_eq!(row.count, 1_060);
        assert_eq!((row.resolution_ns, row.accuracy_ns, row.residue_ns), (10.0, Some(1.5), Some(0.05)));
    }

    #[test]
    fn misread_known_time_limits_the_accuracy() {
        let mut reference = Operations::default();
        reference.lock.means.extend([0.1]);
        let least = |control| Accuracy::of(Operation::Lock, Some(&reference), control).least.unwrap();
        assert!((least(None) - 0.3).abs() < 1e-9);
        assert!((least(Some(Control { read: 50.2, known: 50.0 })) - 0.3).abs() < 1e-9);
        assert!((least(Some(Control { read: 48.0, known: 50.0 })) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn value_below_the_clock_step_is_unknown() {
        let row = row([(-20, 10), (19, 1_000), (1_000, 50)].into_iter()).unwrap();
        assert_eq!((row.min_ns, row.p50_ns, row.p50_ci_ns), (None, None, None));
        assert_eq!(row.p99_ns, Some(500.0));
        let whole = self::row([(400, 10_000)].into_iter()).unwrap();
        assert_eq!(whole.p50_ci_ns, Some(Interval::new(190.0, 210.0)));
        assert_eq!((row.spikes[0].mean_ns, row.spikes[0].median_ns), (None, None));
    }

    #[test]
    fn histogram_has_every_iteration_in_adjacent_bins() {
        let values = (1..4_000_i64).map(|step| (step * step, 3));
        let row = row(values).unwrap();
        assert_eq!(row.histogram.iter().map(|bin| bin.count).sum::<u64>(), row.count);
        assert!(row.histogram.windows(2).all(|pair| pair[0].to_ns <= pair[1].from_ns + 1e-6));
        assert!(row.histogram.iter().all(|bin| bin.from_ns < bin.to_ns));
        assert!(row.histogram.last().unwrap().to_ns >= row.max_ns.unwrap());
    }

    #[test]
    fn no_iterations_have_no_row() {
        assert!(row(std::iter::empty()).is_none());
    }

    #[test]
    fn a_spike_without_evidence_is_unexplained() {
        let row = row([(20, 1_000)].into_iter()).unwrap();
        assert!(row.spikes.iter().all(|spike| spike.cause == "unexplained"));
        assert_eq!(row.histogram.iter().map(|bin| row.letter_of(bin)).collect::<Vec<_>>(), [Some('A')]);
    }

    const STEP: u64 = 25;

    /// Returns pseudo-random numbers from 0 to 1.
    fn chance() -> impl FnMut() -> f64 {
        let mut state = 1_u64;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        }
    }

    /// Returns the result of a run for an operation that takes `steps` steps of the clock, with a baseline of two.
    fn run(steps: f64, chance: &mut impl FnMut() -> f64) -> Latencies {
        let mut latencies = Latencies::default();
        for _ in 0..10 {
            let reads = (0..500).map(|_| STEP * (steps + 2.0 + chance()) as u64);
            let reads: Vec<u64> = reads.collect();
            latencies.add(&mut Vec::new(), &[(reads.into_iter(), 2.0 * STEP as f64)], STEP);
        }
        latencies
    }

    /// Measures a loop of pairs by a clock of such steps, and returns the median of the windows' medians, as the
    /// measurement does.
    fn pair(ticks: f64, chance: &mut impl FnMut() -> f64) -> Estimate {
        let batch = |chance: &mut dyn FnMut() -> f64| {
            let (began, step) = (chance() * STEP as f64, STEP as f64);
            let ended = began + ticks * f64::from(PAIRS);
            ((ended / step).floor() - (began / step).floor()) * step / f64::from(PAIRS)
        };
        let slice = |chance: &mut dyn FnMut() -> f64| {
            let batches: Vec<f64> = (0..45).map(|_| batch(chance)).collect();
            median(&batches).unwrap()
        };
        let slices: Vec<f64> = (0..7).map(|_| slice(chance)).collect();
        median_of(&slices).unwrap()
    }

    #[test]
    fn interval_of_a_pair_has_its_nominal_coverage() {
        let (mut chance, net) = (chance(), ToNanoseconds::new(STEP, 0.4, 0.0));
        let (mut covering, mut uncovered, mut widest) = (0, 0, 0.0_f64);
        for run in 0..400 {
            // Pairs of 2 to 6 ns; in each run the core is a little faster or slower.
            let truth = 5.0 + 10.0 * f64::from(run % 20) / 20.0 + 0.013 * f64::from(run % 7);
            let ticks = pair(truth * (1.0 + 0.001 * (chance() - 0.5)), &mut chance);
            let found = net.pair(ticks, 1.0);
            let ends = found.interval.unwrap();
            covering += u32::from(ends.contains(truth * 0.4));
            uncovered += u32::from(!ticks.interval.unwrap().contains(truth));
            widest = widest.max(ends.width());
        }
        assert!(covering >= 380, "{covering} of 400");
        assert!(uncovered > 100, "without the widening {uncovered} of 400 are not covered");
        assert!(widest < 0.15, "and it is no wider than it takes: {widest} ns");
    }

    #[test]
    fn intervals_cover_the_median_across_a_clock_step() {
        let mut chance = chance();
        let net = ToNanoseconds::new(STEP, 0.4, 0.0);
        // The core's speed varies slightly from run to run.
        let mut runs = Vec::new();
        for _ in 0..40 {
            let latencies = run(1.5 + 0.2 * (chance() - 0.5), &mut chance);
            runs.push(net.quantile(&latencies, 0.5, Duration::ZERO).unwrap());
        }
        let mut medians: Vec<f64> = runs.iter().map(|run| run.value).collect();
        medians.sort_by(f64::total_cmp);
        assert!((medians[39] - medians[0] - 10.0).abs() < 1e-6, "on either side of a step: {medians:?}");
        let covering = runs.iter().filter(|run| run.interval.unwrap().contains(medians[20])).count();
        assert!(covering >= 36, "{covering} of 40");
        assert!(runs.iter().all(|run| run.interval.unwrap().width() <= 30.0 + 1e-6), "and no wider than it takes");
    }
}
