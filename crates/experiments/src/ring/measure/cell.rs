//! One contestant in one ring: its repetitions, and the row made from them.
//!
//! The time of a hop of a program comes from runs with many hops and with fewer, so that starting and ending cancel. A
//! program's start takes about a millisecond and scatters by as much, and sometimes another program delays it by as
//! long as all the hops take. If the short run was the delayed one, the difference then shows a hop of a tenth of the
//! time of a kernel switch. So each long run is compared with the short runs of all repetitions, and the median of
//! those differences counts: a delay of one short run changes no repetition.

use super::memory::Memory;
use super::program::{Ready, Switches};
use super::run::{self, Cut, Order, Place, Run, RunError};
use crate::ring::contestants::Runs;
use crate::ring::findings;
use crate::ring::plan::{CellPlan, Plan};
use crate::ring::record::{Failure, Row};
use harness::{Session, Shown, SmtMonitor, turns};
use instruments::environment::Activity;
use instruments::neighbour::{Probe, Probed, Sharing, Split};
use instruments::statistics::comparison::Estimate;
use instruments::statistics::order::{median, sample_quantile_interval};
use instruments::statistics::summary::CONFIDENCE;
use instruments::statistics::{EndedBy, Interval};
use instruments::team::on_cpu;
use loops::ring::{Arrangement, BuiltIn, Class, RingSpec};
use record::{Basis, Estimates, Unit};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The minimum number of repetitions: fewer give no interval without assuming a distribution.
pub const LEAST_TURNS: u64 = 6;
pub const MOST_TURNS: u64 = 30;
/// The factor between many hops and fewer: a program's time without hops comes from a run with fewer, which still warm
/// it up.
const FEWER: u64 = 5;
/// The factor from which on a first repetition that was shorter than planned is repeated, once.
const FAR_OFF: f64 = 4.0;
const ATTEMPTS: u32 = 2;
/// The maximum factor by which a guess changes at a time.
const STEP: f64 = 8.0;
/// The maximum length of a run that is prolonged because it starts slowly.
const LONGEST_NS: f64 = 100e6;
/// The approximate time of a hop to a random place in megabytes of memory.
const FAR_MEMORY_NS: f64 = 150.0;
const FEWEST_HOPS: f64 = 1.0;
const MOST_HOPS: f64 = 4e9;

/// A contestant in a ring, and its results so far.
pub struct Cell {
    pub plan: CellPlan,
    /// The time of a hop in ns, by repetition.
    pub samples: Vec<f64>,
    /// The runs of a program, by repetition, from which all samples are computed.
    two_runs: Vec<TwoRuns>,
    starts_ns: Vec<f64>,
    /// The probable time of a hop, to choose the number of hops.
    guess_ns: f64,
    hops: u64,
    pub answer: Option<usize>,
    pub failure: Option<Failure>,
    /// The time that its repetitions took.
    pub spent: Duration,
    turns: u64,
    all_hops: u64,
    wasted_polls: Option<u64>,
    switches: Switches,
    stolen_s: f64,
    watched_s: f64,
    /// The time of a hop in each part of each repetition, and the SMT sibling's use of the core.
    parts: Vec<Vec<(f64, Probed)>>,
    split: Split,
}

/// The common data of all repetitions of a cell.
pub struct Turn<'a> {
    pub plan: &'a Plan,
    pub ready: Option<&'a Ready>,
    /// The approximate length.
    pub slice: Duration,
    pub session: &'a Session,
}

impl Cell {
    pub fn new(plan: CellPlan) -> Self {
        let anywhere = plan.arrangement == Some(Arrangement::Shuffled);
        Self {
            guess_ns: if anywhere { FAR_MEMORY_NS } else { plan.contestant.guess_ns(plan.threads) },
            plan,
            samples: Vec::new(),
            two_runs: Vec::new(),
            starts_ns: Vec::new(),
            hops: 0,
            answer: None,
            failure: None,
            spent: Duration::ZERO,
            turns: 0,
            all_hops: 0,
            wasted_polls: None,
            switches: Switches::default(),
            stolen_s: 0.0,
            watched_s: 0.0,
            parts: Vec::new(),
            split: Split::default(),
        }
    }

    fn is_limit(&self) -> bool {
        self.plan.contestant.class == Class::Limit
    }

    /// Runs one repetition of about this length.
    ///
    /// A failure ends the cell, an interruption everything.
    pub fn visit(&mut self, turn: &Turn<'_>, monitor: &mut SmtMonitor) -> ControlFlow<()> {
        let (began, before) = (Instant::now(), Activity::now().ok());
        self.parts.push(Vec::new());
        let outcome = self.turn(turn, monitor.probe);
        self.spent += began.elapsed();
        self.turns += 1;
        let since = before.zip(Activity::now().ok()).and_then(|(before, now)| now.since(&before, &turn.session.cpus));
        if let Some(share) = since {
            self.stolen_s += share.steal_share * share.wall_s;
            self.watched_s += share.wall_s;
        }
        monitor.learn(self.parts.iter().rev().take(1).flatten().map(|(_, probed)| probed));
        self.split = self.split(monitor);
        match outcome {
            Ok(()) => ControlFlow::Continue(()),
            Err(RunError::Interrupted) => ControlFlow::Break(()),
            Err(RunError::Failed(failure)) => {
                self.failure = Some(failure);
                ControlFlow::Continue(())
            }
        }
    }

    fn turn(&mut self, turn: &Turn<'_>, probe: Option<Probe>) -> Result<(), RunError> {
        let fixed = turn.plan.hops.filter(|_| !self.is_limit());
        for attempt in 1.. {
            let slice_ns = self.slice_ns(turn.slice);
            let hops = fixed.unwrap_or_else(|| (slice_ns / self.guess_ns).clamp(FEWEST_HOPS, MOST_HOPS) as u64);
            let ns = self.run_hops(hops, turn, probe)?;
            // The guess changes in steps: the time of a few hops is mostly the scatter of the start.
            self.guess_ns = ns.clamp(self.guess_ns / STEP, self.guess_ns * STEP);
            let hops_ns = ns * hops as f64;
            let too_short = hops_ns * FAR_OFF < slice_ns;
            if fixed.is_some() || !too_short || self.turns > 0 || attempt == ATTEMPTS {
                self.samples.extend((hops > 0 && self.two_runs.is_empty()).then_some(ns));
                break;
            }
            self.two_runs.clear();
        }
        self.compare_with_all_turns();
        // One disturbed repetition does not predict the next.
        self.guess_ns = self.ns_per_hop().unwrap_or(self.guess_ns);
        Ok(())
    }

    /// Recomputes the hops of a program's repetitions, each compared with the short runs of all.
    fn compare_with_all_turns(&mut self) {
        if self.two_runs.is_empty() {
            return;
        }
        self.samples = per_hop(&self.two_runs);
        let part = |(turn, ns): (&TwoRuns, &f64)| turn.probed.map(|probed| (*ns, probed)).into_iter().collect();
        self.parts = self.two_runs.iter().zip(&self.samples).map(part).collect();
    }

    /// Returns the length of a repetition: a contestant that starts slowly runs for longer, or the scatter of its start
    /// would hide its hops.
    fn slice_ns(&self, slice: Duration) -> f64 {
        let start_ns = self.starts_ns.iter().copied().reduce(f64::min).unwrap_or(0.0);
        (slice.as_nanos() as f64).max((start_ns / 2.0).min(LONGEST_NS))
    }

    /// Runs this number of hops; returns the time of one, in ns.
    fn run_hops(&mut self, hops: u64, turn: &Turn<'_>, probe: Option<Probe>) -> Result<f64, RunError> {
        let contestant = Rc::clone(&self.plan.contestant);
        let (ns, start_ns) = match (&contestant.runs, turn.ready) {
            (Runs::BuiltIn(built_in), _) => {
                let is_cut = turn.plan.hops.is_none() && probe.is_some();
                let cut = if is_cut { self.cut(hops) } else { Cut::in_one_piece(hops) };
                let (hops_ns, start_ns) = self.run_built_in(built_in, cut, turn, probe)?;
                (hops_ns / cut.all_hops().max(1) as f64, start_ns)
            }
            (Runs::Program(_), Some(ready)) => self.run_program_twice(hops, ready, turn, probe)?,
            (Runs::Program(_), None) => unreachable!("what cannot be run is not visited"),
        };
        self.starts_ns.push(start_ns);
        Ok(ns)
    }

    /// Returns the time of the hops, and that of making the threads.
    fn run_built_in(
        &mut self,
        built_in: &BuiltIn,
        cut: Cut,
        turn: &Turn<'_>,
        probe: Option<Probe>,
    ) -> Result<(f64, f64), RunError> {
        let session = turn.session;
        let spec = RingSpec {
            threads: self.plan.threads,
            hops: cut.hops,
            arrangement: self.plan.arrangement,
            cpus: if built_in.across { two_cores(session) } else { Vec::new() },
            seed: session.seed,
        };
        let cpu = session.cpus.first().filter(|_| self.plan.pinned && !built_in.across);
        let place = Place { cpu, probe, until: turn.session.last_moment() };
        let run = run::built_in(built_in, &spec, place, cut, session)?;
        self.note(cut.all_hops(), &run);
        let hops_ns = run.hops_ns.unwrap_or(run.total_ns);
        Ok((hops_ns, (run.total_ns - hops_ns) / f64::from(cut.runs())))
    }

    fn cut(&self, hops: u64) -> Cut {
        let start_ns = self.starts_ns.iter().copied().reduce(f64::min).unwrap_or(f64::INFINITY);
        Cut::of(hops, self.guess_ns, self.plan.threads, start_ns)
    }

    /// Runs with many hops and with fewer, so that starting and ending cancel; returns the time of a hop, and that of
    /// none.
    fn run_program_twice(
        &mut self,
        hops: u64,
        ready: &Ready,
        turn: &Turn<'_>,
        probe: Option<Probe>,
    ) -> Result<(f64, f64), RunError> {
        let cpu = turn.session.cpus.first().filter(|_| self.plan.pinned);
        let threads = self.plan.threads;
        let look = || probe.zip(cpu).and_then(|(probe, cpu)| on_cpu(cpu, || probe.take()).ok());
        let mut run = |hops| {
            let order = Order { threads, hops, cpu, timeout: turn.plan.timeout, until: turn.session.last_moment() };
            let run = run::program(ready, &order, turn.session, None, |_| ())?;
            self.note(hops, &run);
            Ok(run.total_ns)
        };
        // With a requested number of hops, the short run has none.
        let fewer = if turn.plan.hops.is_some() { 0 } else { hops / FEWER };
        let before = look();
        let short_ns: f64 = run(fewer)?;
        let between = look();
        let long_ns = run(hops)?;
        let looks = before.zip(between).zip(look());
        let probed = looks.map(|((before, between), after)| Probed::between(before, between).and(after));
        // Runs of no hops have no time of a hop.
        self.two_runs.extend((hops > 0).then_some(TwoRuns { hops, long_ns, fewer, short_ns, probed }));
        let ns = per_hop(&self.two_runs).pop().unwrap_or(0.0);
        Ok((ns, (short_ns - ns * fewer as f64).max(0.0)))
    }

    fn note(&mut self, hops: u64, run: &Run) {
        self.hops = hops;
        self.answer = Some(run.answer);
        self.all_hops += hops;
        self.parts.last_mut().into_iter().for_each(|turn| turn.extend_from_slice(&run.parts));
        self.switches.voluntary += run.switches.voluntary;
        self.switches.involuntary += run.switches.involuntary;
        if let Some(wasted) = run.wasted_polls {
            *self.wasted_polls.get_or_insert(0) += wasted;
        }
    }

    /// Returns the time of a hop.
    ///
    /// A median that is not above 0 is none: the hops were too few.
    pub fn ns_per_hop(&self) -> Option<f64> {
        median(&self.samples).filter(|ns| *ns > 0.0)
    }

    fn split(&self, monitor: &SmtMonitor) -> Split {
        monitor.split_turns(&self.parts)
    }

    /// Returns the time of a hop by windows.
    pub fn hops(&self) -> Estimates {
        let Split { alone, shared, .. } = self.split;
        Estimates { all: self.ns_per_hop().map(|ns| Estimate::new(ns, self.interval())), exclusive: alone, shared }
    }

    /// Returns the estimate with the core exclusive, where that is known; otherwise that of all repetitions.
    pub fn estimate(&self) -> Option<Estimate> {
        let of_all = || self.ns_per_hop().map(|ns| Estimate::new(ns, self.interval()));
        self.split.alone.or_else(of_all)
    }

    fn interval(&self) -> Option<Interval> {
        if self.two_runs.is_empty() {
            return sample_quantile_interval(&self.samples, 0.5, CONFIDENCE);
        }
        interval(&self.two_runs)
    }

    /// Returns the row; `None` without a repetition.
    pub fn row(
        &self,
        ended_by: EndedBy,
        memory: Memory,
        limit: Option<(String, Estimates)>,
        monitor: &SmtMonitor,
    ) -> Option<Row> {
        // The classification uses everything that was learned since.
        let split = self.split(monitor);
        let had_a_turn = self.answer.is_some() || self.failure.is_some();
        let contestant = had_a_turn.then_some(&self.plan.contestant)?;
        // A contestant that failed once has no time.
        let ns_per_hop = self.ns_per_hop().filter(|_| self.failure.is_none());
        let [alone, shared] = [split.alone, split.shared].map(|figure| figure.filter(|_| ns_per_hop.is_some()));
        let (cycles, frequency) = (alone.and(self.cycles(monitor)), alone.and(self.frequency(monitor)));
        // A hop and its limit are of the same windows.
        let all = ns_per_hop.map(|ns| Estimate::new(ns, self.interval()));
        let hop = Estimates { all, exclusive: alone, shared };
        let basis = Basis::common(limit.iter().map(|(_, limit)| *limit).chain([hop]));
        let limit = limit.and_then(|(name, limit)| Some((name, limit.on(basis)?.value)));
        let hop_ns = hop.on(basis).map(|figure| figure.value);
        let per_hop = |count: u64| (self.all_hops > 0).then(|| count as f64 / self.all_hops as f64);
        Some(Row {
            contestant: contestant.name.clone(),
            class: contestant.class,
            scheduler: contestant.scheduler.clone(),
            threads: self.plan.threads,
            hops: self.hops,
            answer: self.answer,
            correct: self.failure.is_none(),
            failure: self.failure.clone(),
            large: self.plan.arrangement.is_some(),
            arrangement: self.plan.arrangement,
            pinned: self.plan.pinned,
            ns_per_hop,
            ns_per_hop_ci: ns_per_hop.and(self.interval()),
            core_shared_share: split.shared_share,
            core_correlation: split.correlation,
            ns_per_hop_alone: alone.map(|figure| figure.value),
            ns_per_hop_alone_ci: alone.and_then(|figure| figure.interval),
            cycles_per_hop_alone: cycles.map(|figure| figure.value),
            cycles_per_hop_alone_ci: cycles.and_then(|figure| figure.interval),
            core_ghz_alone: frequency.map(|(ghz, _)| ghz),
            core_ghz_alone_span: frequency.map(|(_, span)| span),
            ns_per_hop_shared: shared.map(|figure| figure.value),
            ns_per_hop_shared_ci: shared.and_then(|figure| figure.interval),
            repeats: self.samples.len(),
            spent_s: self.spent.as_secs_f64(),
            ended_by: ns_per_hop.map(|_| ended_by),
            start_ms: median(&self.starts_ns).map(|ns| ns / 1e6),
            limit_ns: limit.as_ref().map(|(_, ns)| *ns),
            times_limit: limit.as_ref().zip(hop_ns).map(|((_, limit_ns), ns)| ns / limit_ns),
            limit: limit.map(|(name, _)| name),
            rss_kib: memory.rss_kib,
            bytes_per_thread: memory.bytes_per_thread,
            kernel_bytes_per_thread: memory.kernel_bytes_per_thread(),
            kernel_stack_bytes_per_thread: memory.kernel_stack_bytes_per_thread,
            slab_bytes_per_thread: memory.slab_bytes_per_thread,
            page_table_bytes_per_thread: memory.page_table_bytes_per_thread,
            wasted_polls_per_hop: self.wasted_polls.and_then(per_hop),
            voluntary_switches_per_hop: per_hop(self.switches.voluntary),
            involuntary_switches_per_hop: per_hop(self.switches.involuntary),
            steal_share: (self.watched_s > 0.0).then(|| self.stolen_s / self.watched_s),
            then: findings::lines_2008(&contestant.name, self.plan.threads),
        })
    }

    /// Returns the hop in cycles of the core, whatever its frequency was.
    fn cycles(&self, monitor: &SmtMonitor) -> Option<Estimate> {
        let in_cycles = |(ns, probed): &(f64, Probed)| (ns * f64::from(probed.cycles_per_ns), *probed);
        let turns: Vec<Vec<_>> = self.parts.iter().map(|turn| turn.iter().map(in_cycles).collect()).collect();
        monitor.split_turns(&turns).alone
    }

    /// Returns the core's frequency in GHz during the exclusive parts: the median of the repetitions, and their range.
    fn frequency(&self, monitor: &SmtMonitor) -> Option<(f64, Interval)> {
        let of_turn = |turn: &Vec<(f64, Probed)>| {
            let alone = turn.iter().filter(|(_, probed)| monitor.sharing(&[*probed]) == Sharing::Alone);
            median(&alone.map(|(_, probed)| f64::from(probed.cycles_per_ns)).collect::<Vec<_>>())
        };
        let turns: Vec<f64> = self.parts.iter().filter_map(of_turn).collect();
        let ends = turns
            .iter()
            .fold(Interval::new(f64::INFINITY, 0.0), |ends, &ghz| Interval::new(ends.low.min(ghz), ends.high.max(ghz)));
        Some((median(&turns)?, ends))
    }
}

/// Returns two CPUs on different cores, as far as possible.
fn two_cores(session: &Session) -> Vec<usize> {
    session.environment.cpu.spread(&session.cpus).into_iter().take(2).collect()
}

impl turns::Cell for Cell {
    fn title(&self) -> String {
        self.plan.to_string()
    }

    fn place(&self) -> (String, String) {
        (self.plan.contestant.name.clone(), self.plan.ring())
    }

    fn shown(&self) -> Option<Shown> {
        Some(Shown::Figure { value: self.estimate()?.value, unit: Unit::Ns, more_is_better: false })
    }

    fn turns(&self) -> u64 {
        self.turns
    }

    fn figures(&self) -> Vec<Estimate> {
        self.estimate().into_iter().collect()
    }

    /// Returns the time of its repetitions: a contestant that starts slowly has fewer.
    fn spent(&self) -> Duration {
        self.spent
    }

    fn is_over(&self) -> bool {
        self.failure.is_some()
    }
}

/// A repetition: a run with many hops and one with fewer, and the probes around them.
#[derive(Clone, Copy, Debug)]
struct TwoRuns {
    hops: u64,
    long_ns: f64,
    fewer: u64,
    short_ns: f64,
    probed: Option<Probed>,
}

/// Returns the time of a hop in ns, by repetition.
fn per_hop(turns: &[TwoRuns]) -> Vec<f64> {
    let of_turn = |turn: &TwoRuns| {
        let against = |other: &TwoRuns| {
            let hops = turn.hops.checked_sub(other.fewer).filter(|hops| *hops > 0)?;
            Some((turn.long_ns - other.short_ns) / hops as f64)
        };
        median(&turns.iter().filter_map(against).collect::<Vec<_>>())
    };
    turns.iter().filter_map(of_turn).collect()
}

/// Returns the 95 % interval of the median hop: that over the repetitions, wider by the uncertainty of the start, which
/// all repetitions share.
///
/// `None` with too few repetitions.
fn interval(turns: &[TwoRuns]) -> Option<Interval> {
    let hops = per_hop(turns);
    let (hop, over_turns) = (median(&hops)?, sample_quantile_interval(&hops, 0.5, CONFIDENCE)?);
    let starts: Vec<f64> = turns.iter().map(|turn| turn.short_ns - hop * turn.fewer as f64).collect();
    let (start, ends) = (median(&starts)?, sample_quantile_interval(&starts, 0.5, CONFIDENCE)?);
    let counted: Vec<f64> = turns.iter().map(|turn| turn.hops.saturating_sub(turn.fewer) as f64).collect();
    let counted = median(&counted).filter(|counted| *counted > 0.0)?;
    let (later, sooner) = ((ends.high - start) / counted, (start - ends.low) / counted);
    Some(Interval::new((over_turns.low - later).max(0.0), over_turns.high + sooner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ring_that_is_made_quickly_is_cut_into_whole_laps() {
        // 60 ms of a hop of 2 ns: 40 parts of 1.5 ms, each in 30 pieces of 50 µs.
        let short = Cut::of(30_000_000, 2.0, 503, 4e3);
        assert_eq!((short.parts, short.pieces), (40, 30));
        assert_eq!(short.all_hops(), 30_000_000);
        assert!(short.hops as f64 >= run::LEAST_LAPS * 503.0, "{short:?}");
        // Spurious polls: a lap is as long as many pieces.
        assert_eq!(Cut::of(100_000, 600.0, 503, 4e3).pieces, 1);
        // Kernel threads: parts, but no pieces; a million threads: neither.
        assert_eq!((Cut::of(40_000, 1_500.0, 2, 60e3).parts, Cut::of(40_000, 1_500.0, 2, 60e3).pieces), (40, 1));
        assert_eq!(Cut::of(1_000_000, 4.0, 1_000_000, 3e6), Cut::in_one_piece(1_000_000));
    }

    const HOP_NS: f64 = 4_000.0;

    /// Returns repetitions of 12,000 hops and a fifth of them; every start is late by up to a millisecond, and some by
    /// 50 ms.
    fn turns(count: usize, delayed: f64, rng: &mut fastrand::Rng) -> Vec<TwoRuns> {
        let mut run = |hops: u64| {
            let delay = if rng.f64() < delayed { 50e6 } else { 0.0 };
            2e6 + 1e6 * rng.f64() + delay + hops as f64 * HOP_NS * (1.0 + 0.01 * (rng.f64() - 0.5))
        };
        (0..count)
            .map(|_| TwoRuns { hops: 12_000, long_ns: run(12_000), fewer: 2_400, short_ns: run(2_400), probed: None })
            .collect()
    }

    #[test]
    fn delayed_short_run_does_not_shorten_the_hop() {
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..300 {
            let turns = turns(8, 0.15, &mut rng);
            let alone = |turn: &TwoRuns| (turn.long_ns - turn.short_ns) / (turn.hops - turn.fewer) as f64;
            let (least_alone, least) = (
                turns.iter().map(alone).fold(f64::INFINITY, f64::min),
                per_hop(&turns).into_iter().fold(f64::INFINITY, f64::min),
            );
            let shorts_delayed = turns.iter().filter(|turn| turn.short_ns > 40e6).count();
            if shorts_delayed < turns.len() / 2 {
                assert!(least > 0.9 * HOP_NS, "{least} where one by one it is {least_alone}");
            }
        }
        // A single repetition shows such a hop, although the kernel needs more for a switch.
        let mut delayed = turns(8, 0.0, &mut rng);
        delayed[3].short_ns += 46e6;
        assert!((delayed[3].long_ns - delayed[3].short_ns) / 9_600.0 < 0.1 * HOP_NS);
        assert!(per_hop(&delayed).iter().all(|ns| *ns > 0.9 * HOP_NS));
        assert!(interval(&delayed).unwrap().low > 0.9 * HOP_NS, "{:?}", interval(&delayed));
    }

    #[test]
    fn interval_covers_the_true_hop() {
        let mut rng = fastrand::Rng::with_seed(2);
        let covers = |rng: &mut fastrand::Rng| interval(&turns(8, 0.05, rng)).unwrap().contains(HOP_NS);
        let covering = (0..400).filter(|_| covers(&mut rng)).count();
        assert!(covering >= 376, "{covering} of 400");
        assert!(interval(&turns(5, 0.0, &mut rng)).is_none(), "too few turns");
    }
}
