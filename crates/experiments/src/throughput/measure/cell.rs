//! One cell: its locks and its runs. In a run a conductor leads all children.

use crate::estimates::median_of;
use crate::throughput::plan::{CellPlan, Plan, TIMED_EVERY};
use crate::throughput::record::Step;
use anyhow::Context;
use crossbeam_utils::CachePadded;
use harness::{Calibrated, Interruption, Session, Shown, SmtMonitor, turns};
use instruments::clock::Clock;
use instruments::neighbour::{Probe, Sharing, Split};
use instruments::shared_memory::SharedArray;
use instruments::statistics::comparison::Estimate;
use instruments::statistics::levels::Levels;
use instruments::statistics::order::median;
use instruments::statistics::{Interval, Thinned, coefficient_of_variation};
use instruments::tally::Tally;
use instruments::team::{Member, StartGate, work_together_as_processes};
use locks::Reach;
use loops::own_lock;
use loops::throughput::{
    AnyLocks, ChildCounters, Looks, LoopSpec, MOST_STEPS, Made, Observation, PARTS, Ramp, RunPhase, Spans, Stop,
    Variations, together, windows,
};
use record::Unit;
use std::sync::{Arc, mpsc};
use std::time::Duration;
use ulocks::Counts;

/// Runs whose windows are kept, to tell the core alone from the shared one.
const MOST_RUNS_SPLIT: usize = 256;

/// A cell and its measured values.
pub struct Cell {
    pub plan: CellPlan,
    /// Loops of all children a second, one for each counted run.
    pub throughputs: Thinned<f64>,
    /// Unevenness of the children's loops, one value for each counted run.
    pub unevenness: Thinned<f64>,
    pub totals: Totals,
    pub waits: Tally,
    pub holds: Tally,
    pub longest_wait_ticks: u64,
    pub longest_streak: u64,
    pub observed: Observed,
    /// Critical sections that counted under the lock, and counts that were lost, in all runs.
    pub counted: u64,
    pub lost_counts: u64,
    visits: u64,
    pub loops_counted: u64,
    /// Loops a second in the windows of each run, and the sharing of the cores as far as was known by then.
    windows: Thinned<Vec<(f64, Sharing)>>,
    pub split: Split,
    lock: Option<Arc<dyn AnyLocks>>,
    probe: Option<Probe>,
    told_at: u32,
}

/// Sums over all counted runs.
#[derive(Default)]
pub struct Totals {
    pub all_rounds: u64,
    pub reads: u64,
    pub cpu_ns: f64,
    pub wall_ns: f64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub counts: Option<Counts>,
}

/// The data of a run that has ended.
pub(super) struct Outcome {
    pub children: SharedArray<CachePadded<ChildCounters>>,
    pub counted_ns: f64,
    pub counts: Option<Counts>,
    /// Times when a holder was stopped and when it went on, in ticks after the common start.
    pub stop: Option<(u64, u64)>,
}

/// Returns the spans of a run of the plan.
pub fn times(plan: &Plan) -> Times {
    Times { ramp_up: (plan.run / 10).max(Duration::from_millis(1)), counting: plan.run }
}

impl Cell {
    pub fn new(plan: CellPlan) -> Self {
        Self {
            throughputs: Thinned::default(),
            unevenness: Thinned::default(),
            totals: Totals::default(),
            waits: Tally::new(),
            holds: Tally::new(),
            longest_wait_ticks: 0,
            longest_streak: 0,
            observed: Observed::default(),
            counted: 0,
            lost_counts: 0,
            visits: 0,
            loops_counted: 0,
            windows: Thinned::with_room(MOST_RUNS_SPLIT),
            split: Split::default(),
            lock: None,
            probe: None,
            told_at: 0,
            plan,
        }
    }

    /// Ends the locks, if they were not yet.
    ///
    /// # Errors
    /// A thread that was lost in the code of a shared object.
    pub fn end(&mut self, clock: Clock) -> anyhow::Result<()> {
        let lock = self.lock.take();
        Ok(own_lock::call(&self.plan.lock, clock, move || drop(lock))??)
    }

    /// Executes one counted run, and now and then one with timestamps; the first visit warms up before.
    pub fn visit(
        &mut self,
        plan: &Plan,
        session: &Session,
        calibrated: &Calibrated,
        monitor: &mut SmtMonitor,
    ) -> anyhow::Result<()> {
        let looks = self.plan.children <= plan.cpus && !self.plan.variations.needs_own_loop();
        self.probe = monitor.probe.filter(|_| looks);
        if self.visits == 0 {
            self.run(plan, session, calibrated, false)?;
        }
        let goes_on = || !session.interruption.is_requested();
        if goes_on() {
            let counted = self.run(plan, session, calibrated, false)?;
            // One that a signal cut short says how it began.
            if counted.counted_ns >= plan.run.as_nanos() as f64 / 2.0 {
                self.add(&counted, calibrated.clock());
                self.observe(&counted, times(plan), calibrated.clock());
                self.tell_apart(&counted, calibrated.clock(), monitor);
            }
        }
        if self.visits.is_multiple_of(TIMED_EVERY) && goes_on() {
            let timed = self.run(plan, session, calibrated, true)?;
            self.add_waits(&timed);
        }
        self.visits += 1;
        Ok(())
    }

    fn run(&mut self, plan: &Plan, session: &Session, calibrated: &Calibrated, timed: bool) -> anyhow::Result<Outcome> {
        if self.lock.is_none() {
            self.lock = Some(make_locks(&self.plan, plan.reach, calibrated.clock())?);
        }
        let lock = self.lock.as_ref().expect("made above");
        let spec = self.loop_spec(plan, session, calibrated, timed);
        let mut children = SharedArray::from_fn(self.plan.children, |_| Ok(CachePadded::default()))?;
        lock.reset_streaks();
        let (counts_before, protected_before) = (lock.counts(), lock.protected_rounds());
        let longest_hold_ns = self.plan.hold_ns * f64::from(self.plan.variations.hold_ratio);
        let round = Duration::from_nanos(((self.plan.nonhold_ns + longest_hold_ns) * 2.0) as u64);
        let Times { ramp_up, counting } = times(plan);
        let conductor = Coordinator {
            clock: spec.clock,
            last_rounds: round.saturating_mul(self.plan.children as u32),
            spans: Spans { ramp_up, counting },
            interruption: session.interruption.clone(),
        };
        let led = match plan.reach {
            Reach::Threads => conductor.lead_threads(&self.plan.lock, lock, spec, &mut children),
            Reach::Processes => conductor.lead_processes(lock.as_ref(), &spec, &mut children),
        };
        let led = led.with_context(|| format!("{} could not be measured", self.plan))?;
        let protected: u64 = children.iter().map(|child: &CachePadded<ChildCounters>| child.protected_rounds).sum();
        let kept = lock.protected_rounds().saturating_sub(protected_before);
        self.counted += protected;
        self.lost_counts += protected.saturating_sub(kept);
        let counts = lock.counts().zip(counts_before).map(|(after, before)| difference(after, before));
        Ok(Outcome { children, counted_ns: calibrated.clock().to_ns(led.counted_ticks), counts, stop: led.stop })
    }

    fn loop_spec(&self, plan: &Plan, session: &Session, calibrated: &Calibrated, timed: bool) -> LoopSpec {
        let (clock, loop_ns) = (calibrated.clock(), self.plan.nonhold_ns + self.plan.hold_ns);
        let loads = |ns: f64| (ns / calibrated.grind.ns_per_load).round() as u64;
        LoopSpec {
            clock,
            nonhold_loads: loads(self.plan.nonhold_ns),
            hold_loads: loads(self.plan.hold_ns),
            share: self.plan.share,
            observation: match (timed, plan.counts) {
                (true, _) => Observation::Times,
                (false, true) => Observation::Counts,
                (false, false) => Observation::Nothing,
            },
            seed: session.seed.wrapping_add(self.visits),
            looks: self.probe.filter(|_| !timed).map(|probe| Looks::of(probe, clock, plan.run, loop_ns)),
            hold_ratio: self.plan.variations.hold_ratio.into(),
            variations: times(plan).variations(&self.plan, clock),
        }
    }

    pub(super) fn add(&mut self, outcome: &Outcome, clock: Clock) {
        let rounds: u64 = outcome.children.iter().map(|child| child.rounds).sum();
        self.loops_counted += rounds;
        self.throughputs.push(rounds as f64 / outcome.counted_ns * 1e9);
        let loops: Vec<u64> = outcome.children.iter().map(|child| child.rounds).collect();
        self.unevenness.push(coefficient_of_variation(&loops));
        let totals = &mut self.totals;
        for child in outcome.children.iter() {
            totals.all_rounds += child.all_rounds;
            totals.reads += child.reads;
            totals.cpu_ns += child.cpu_ns as f64;
            totals.voluntary_switches += child.voluntary_switches;
            totals.involuntary_switches += child.involuntary_switches;
        }
        totals.wall_ns += clock.to_ns(outcome.children.iter().map(|child| child.wall_ticks).max().unwrap_or(0));
        totals.counts = match (totals.counts, outcome.counts) {
            (Some(sum), Some(more)) => Some(together(sum, more)),
            (None, more) => more,
            (sum, None) => sum,
        };
    }

    /// Takes what a counted run has beyond its loops.
    fn observe(&mut self, outcome: &Outcome, times: Times, clock: Clock) {
        let children: Vec<&ChildCounters> = outcome.children.iter().map(|child| &**child).collect();
        if self.plan.variations.ramp {
            self.observed.add_steps(&children, times);
        }
        if let Some((stopped, resumed)) = outcome.stop {
            self.observed.add_stop(&children, times, (clock.to_ns(stopped), clock.to_ns(resumed)));
        }
    }

    /// Discards the windows that were classified by a narrower core, once a wider one was seen.
    pub fn forget_if_wider(&mut self, monitor: &SmtMonitor) {
        if monitor.is_wider_since(&mut self.told_at) {
            self.windows.clear();
            self.split = Split::default();
        }
    }

    /// Classifies the run's windows. A core that is wider than was known until now invalidates all windows before.
    fn tell_apart(&mut self, outcome: &Outcome, clock: Clock, monitor: &mut SmtMonitor) {
        if self.probe.is_none() {
            return;
        }
        monitor.learn(outcome.children.iter().flat_map(|child| child.pieces.probes()));
        self.forget_if_wider(monitor);
        let children: Vec<_> = outcome.children.iter().map(|child| child.pieces.iter()).collect();
        self.windows.push(windows(&children, clock, |probes| monitor.sharing(probes)));
        self.split = Split::of_turns(self.windows.iter().map(|run| run.iter().copied()));
    }

    /// Returns the levels of the runs' loops, where they have two.
    pub fn levels(&self) -> Option<Levels> {
        Levels::of(&self.throughputs)
    }

    /// Returns the loops while all children had their cores exclusively; the interval spans the levels of all runs, in
    /// proportion.
    pub fn exclusive(&self) -> Option<Estimate> {
        let (loops, all) = (self.split.alone?, median(&self.throughputs)?);
        let scaled = |levels: Levels| {
            let by = loops.value / all;
            Levels { lower: levels.lower * by, upper: levels.upper * by, ..levels }
        };
        Some(spanning(loops, self.levels().map(scaled)))
    }

    pub(super) fn add_waits(&mut self, outcome: &Outcome) {
        self.observed.add_held(&self.plan, outcome.children.iter().map(|child| &**child));
        for child in outcome.children.iter() {
            self.waits.merge(&child.waits.tally());
            self.holds.merge(&child.holds.tally());
            self.longest_wait_ticks = self.longest_wait_ticks.max(child.waits.longest());
            self.longest_streak = self.longest_streak.max(child.longest_streak);
        }
    }
}

/// Returns the median of the runs and its interval, which spans both levels where the runs have two.
pub fn throughput(throughputs: &[f64], levels: Option<Levels>) -> Option<Estimate> {
    Some(spanning(median_of(throughputs)?, levels))
}

/// Returns the same value with an interval that spans these levels: which of them the next run is on, no run says.
fn spanning(loops: Estimate, levels: Option<Levels>) -> Estimate {
    let span = |ends: Interval, levels: Levels| Interval::new(ends.low.min(levels.lower), ends.high.max(levels.upper));
    Estimate { interval: loops.interval.map(|ends| levels.map_or(ends, |levels| span(ends, levels))), ..loops }
}

impl turns::Cell for Cell {
    fn title(&self) -> String {
        self.plan.to_string()
    }

    fn place(&self) -> (String, String) {
        (self.plan.lock.clone(), self.plan.conditions().to_string())
    }

    fn shown(&self) -> Option<Shown> {
        Some(Shown::Figure { value: median(&self.throughputs)?, unit: Unit::PerS, more_is_better: true })
    }

    fn so_far(&self) -> String {
        let loops =
            median(&self.throughputs).map_or_else(|| "nothing yet".into(), |loops| format!("{loops:.0} loops/s"));
        format!("{} runs, {loops}", terminal::count(self.throughputs.count()))
    }

    fn turns(&self) -> u64 {
        self.throughputs.count()
    }

    fn figures(&self) -> Vec<Estimate> {
        self.exclusive().or_else(|| throughput(&self.throughputs, self.levels())).into_iter().collect()
    }

    fn has_result(&self) -> bool {
        self.loops_counted > 0
    }

    /// Ends the lock, since a thousand configurations would otherwise hold a thousand semaphores. User-supplied locks
    /// are ended elsewhere, where a call that does not return can be reported.
    fn retire(&mut self) {
        if !locks::is_object(&self.plan.lock) {
            self.lock = None;
        }
    }
}

fn difference(after: Counts, before: Counts) -> Counts {
    Counts {
        write_contended: after.write_contended - before.write_contended,
        read_contended: after.read_contended - before.read_contended,
        spun: after.spun - before.spun,
        slept: after.slept - before.slept,
    }
}

/// Returns the locks of a cell.
fn make_locks(plan: &CellPlan, reach: Reach, clock: Clock) -> anyhow::Result<Arc<dyn AnyLocks>> {
    let (lines, zipf) = (plan.variations.touched_lines, plan.variations.zipf);
    let (name, wanted) = (plan.lock.clone(), Made { locks: plan.locks, readers: plan.share > 0, lines, zipf });
    let made = own_lock::call(&plan.lock, clock, move || loops::throughput::make(&name, wanted, reach))??;
    made.expect("the plan has only locks that fit")
        .map(Arc::from)
        .with_context(|| format!("the lock `{}` could not be made", plan.lock))
}

/// The times of a run that has ended, in ticks.
struct Led {
    /// Time for which rounds were counted.
    counted_ticks: u64,
    /// The times of [`Outcome::stop`].
    stop: Option<(u64, u64)>,
}

impl Led {
    fn of(phase: &RunPhase) -> Self {
        Self { counted_ticks: phase.counted_ticks(), stop: phase.stop_of_holder() }
    }
}

/// Leads the children through a run.
#[derive(Clone)]
struct Coordinator {
    pub clock: Clock,
    pub spans: Spans,
    /// Time that the last rounds of all children may take, one after the other.
    pub last_rounds: Duration,
    pub interruption: Interruption,
}

impl Coordinator {
    /// Threads; each owns what it touches, since it may be left behind in a shared object's code.
    pub fn lead_threads(
        self,
        name: &str,
        lock: &Arc<dyn AnyLocks>,
        spec: LoopSpec,
        counters: &mut [CachePadded<ChildCounters>],
    ) -> anyhow::Result<Led> {
        let phase = Arc::new(CachePadded::new(RunPhase::default()));
        let (sender, done) = mpsc::channel();
        let children = (0..counters.len()).map(|child| {
            let (lock, phase, sender) = (Arc::clone(lock), Arc::clone(&phase), sender.clone());
            let mut counters = Box::<CachePadded<ChildCounters>>::default();
            let spec = spec.of_child(child);
            let job = move |gate: &StartGate| {
                lock.work(child, &spec, &phase, &mut counters, gate);
                // The receiver has ended if this child was left behind.
                let _ = sender.send((child, counters));
            };
            Member { cpu: None, job: Box::new(job) }
        });
        let (clock, length, led) = (self.clock, self.spans.ramp_up + self.spans.counting, Arc::clone(&phase));
        let interruption = self.interruption.clone();
        let conducts = move |gate: &StartGate| led.conduct(self.clock, self.spans, &self.interruption, gate);
        let conductor = Member { cpu: None, job: Box::new(conducts) };
        let members = children.chain([conductor]).collect();
        own_lock::work_at(name, clock, length, self.last_rounds, members, &interruption)??;
        done.try_iter().for_each(|(child, counted)| counters[child] = *counted);
        Ok(Led::of(&phase))
    }

    /// Processes, which share the memory that the counters and the locks lie in.
    pub fn lead_processes(
        self,
        lock: &dyn AnyLocks,
        spec: &LoopSpec,
        counters: &mut [CachePadded<ChildCounters>],
    ) -> anyhow::Result<Led> {
        let shared = SharedArray::from_fn(1, |_| Ok(CachePadded::new(RunPhase::default())))?;
        let (phase, clock, interruption): (&RunPhase, _, _) = (&shared[0], self.clock, &self.interruption);
        let children = counters.iter_mut().enumerate().map(|(child, counters)| Member {
            cpu: None,
            job: Box::new(move |gate: &StartGate| lock.work(child, &spec.of_child(child), phase, counters, gate)),
        });
        let conducts = move |gate: &StartGate| phase.conduct(clock, self.spans, interruption, gate);
        let conductor = Member { cpu: None, job: Box::new(conducts) };
        let members = children.chain([conductor]).collect();
        let length = self.spans.ramp_up + self.spans.counting;
        work_together_as_processes(clock, length, members, || interruption.is_requested())?;
        Ok(Led::of(phase))
    }
}

/// Parts of a run over which a throughput is taken.
const WINDOW: usize = 5;
/// The throughput has recovered when it is at this multiple of that before the stop.
const RECOVERED: f64 = 0.9;

/// Held time by child, throughput by step, and recoveries: the values of a cell's runs beyond those of ulockflex.
#[derive(Default)]
pub struct Observed {
    pub held_cov: Thinned<f64>,
    pub held_least: Thinned<f64>,
    pub held_most: Thinned<f64>,
    pub held_long: Thinned<f64>,
    steps: Vec<Thinned<f64>>,
    recoveries_ns: Thinned<f64>,
    failed: u64,
    stops: u64,
    curve: Vec<Thinned<f64>>,
}

/// The spans of a run.
#[derive(Clone, Copy)]
pub struct Times {
    ramp_up: Duration,
    counting: Duration,
}

impl Times {
    fn step(&self, children: usize) -> Duration {
        self.counting / Ramp::steps(children) as u32
    }

    fn part(&self) -> Duration {
        (self.ramp_up + self.counting) / PARTS as u32
    }

    /// Returns the variations of the loop, in the clock's ticks.
    fn variations(&self, plan: &CellPlan, clock: Clock) -> Option<Variations> {
        let asked = plan.variations;
        let (begins, ticks) = (clock.ticks_in(self.ramp_up), |span| clock.ticks_in(span));
        let ramp = asked.ramp.then(|| Ramp { children: plan.children, begins, step: ticks(self.step(plan.children)) });
        let stop = (asked.stop_us > 0.0).then(|| Stop {
            at: ticks(self.ramp_up + self.counting / 4),
            length: Duration::from_nanos((asked.stop_us * 1e3) as u64),
            part: ticks(self.part()),
        });
        asked.needs_own_loop().then_some(Variations { ramp, stop })
    }
}

impl Observed {
    /// Takes the held times of a run with timestamps.
    fn add_held<'a>(&mut self, plan: &CellPlan, children: impl Iterator<Item = &'a ChildCounters>) {
        let held: Vec<u64> = children.map(|child| child.held_ticks).collect();
        let all = held.iter().sum::<u64>() as f64;
        if all == 0.0 {
            return;
        }
        let share = |ticks: Option<&u64>| ticks.map_or(0.0, |&ticks| ticks as f64 / all);
        self.held_cov.push(coefficient_of_variation(&held));
        self.held_least.push(share(held.iter().min()));
        self.held_most.push(share(held.iter().max()));
        if plan.variations.hold_ratio > 1 {
            self.held_long.push(held.iter().skip(1).step_by(2).sum::<u64>() as f64 / all);
        }
    }

    /// Takes the steps of a counted run.
    fn add_steps(&mut self, children: &[&ChildCounters], times: Times) {
        let steps = Ramp::steps(children.len()).min(MOST_STEPS);
        self.steps.resize_with(steps, Thinned::default);
        let step_s = times.step(children.len()).as_secs_f64();
        for (step, values) in self.steps.iter_mut().enumerate() {
            values.push(children.iter().map(|child| child.steps.0[step]).sum::<u64>() as f64 / step_s);
        }
    }

    /// Takes the stop of a counted run; `stop` is its begin and its end in nanoseconds after the common start.
    fn add_stop(&mut self, children: &[&ChildCounters], times: Times, stop: (f64, f64)) {
        let parts: Vec<u64> = (0..PARTS).map(|part| children.iter().map(|child| child.parts.0[part]).sum()).collect();
        let part_ns = times.part().as_nanos() as f64;
        let counts_from = (times.ramp_up.as_nanos() as f64 / part_ns).ceil() as usize;
        let Some(recovery) = recovery(&parts, counts_from, part_ns, stop) else { return };
        self.stops += 1;
        match recovery.after_ns {
            Some(ns) => self.recoveries_ns.push(ns),
            None => self.failed += 1,
        }
        let windows = self.curve.len().max(recovery.curve.len());
        self.curve.resize_with(windows, Thinned::default);
        self.curve.iter_mut().zip(recovery.curve).for_each(|(values, value)| values.push(value));
    }

    pub fn steps(&self, children: usize) -> Vec<Step> {
        let step = |(step, values): (usize, &Thinned<f64>)| {
            let loops = median_of(values)?;
            let children = Ramp::active(children, step);
            Some(Step { children, throughput_per_s: loops.value, throughput_ci: loops.interval })
        };
        self.steps.iter().enumerate().filter_map(step).collect()
    }

    pub fn recovery_ns(&self) -> Option<Estimate> {
        median_of(&self.recoveries_ns)
    }

    /// Returns the part of the runs that did not recover; `None` without a stop.
    pub fn failed_share(&self) -> Option<f64> {
        (self.stops > 0).then(|| self.failed as f64 / self.stops as f64)
    }

    pub fn curve(&self) -> Vec<f64> {
        self.curve.iter().filter_map(|values| median(values)).collect()
    }
}

/// Returns the length of the windows of [`Observed::curve`] in nanoseconds.
pub fn window_ns(times: Times) -> f64 {
    times.part().as_nanos() as f64 * WINDOW as f64
}

struct Recovery {
    /// `None` if the run ended before.
    after_ns: Option<f64>,
    curve: Vec<f64>,
}

/// Returns the recovery from a stop, by the rounds in each part of a run; `None` if there is nothing to compare with.
fn recovery(parts: &[u64], counts_from: usize, part_ns: f64, (stopped, resumed): (f64, f64)) -> Option<Recovery> {
    let before = parts.get(counts_from..(stopped / part_ns) as usize)?;
    let after = parts.get((resumed / part_ns).ceil() as usize..)?;
    let usual = before.iter().sum::<u64>() as f64 / before.len() as f64 * WINDOW as f64;
    if before.len() < WINDOW || after.len() < WINDOW || usual == 0.0 {
        return None;
    }
    let relative = |window: &[u64]| window.iter().sum::<u64>() as f64 / usual;
    let recovered = after.windows(WINDOW).position(|window| relative(window) >= RECOVERED);
    Some(Recovery {
        after_ns: recovered.map(|part| part as f64 * part_ns),
        curve: after.chunks_exact(WINDOW).map(relative).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::throughput::record::sample;

    /// Returns the recovery after 20 parts with 10 rounds each, a stop of 10 parts, and then those.
    fn stopped(after: &[u64]) -> Option<Recovery> {
        let parts: Vec<u64> = [10; 20].into_iter().chain([0; 10]).chain(after.iter().copied()).collect();
        recovery(&parts, 2, 100.0, (2_000.0, 3_000.0))
    }

    #[test]
    fn recovery_at_once_takes_no_time() {
        let found = stopped(&[10; 20]).unwrap();
        assert_eq!(found.after_ns, Some(0.0));
        assert_eq!(found.curve, [1.0; 4]);
    }

    #[test]
    fn convoy_lasts_until_the_throughput_is_back() {
        let found = stopped(&[[5; 10], [10; 10]].concat()).unwrap();
        // The window with four parts of 10 and one of 5 has 0.9.
        assert_eq!(found.after_ns, Some(900.0));
        assert_eq!(found.curve, [0.5, 0.5, 1.0, 1.0]);
        assert_eq!(stopped(&[5; 20]).unwrap().after_ns, None);
    }

    #[test]
    fn run_without_rounds_before_the_stop_says_nothing() {
        assert!(recovery(&[0; 40], 2, 100.0, (2_000.0, 3_000.0)).is_none());
        assert!(stopped(&[10; 3]).is_none());
    }

    #[test]
    fn held_time_is_shared_by_child() {
        let children = [1_u64, 3].map(|held_ticks| ChildCounters { held_ticks, ..ChildCounters::default() });
        let mut plan = sample::cell("std", 2, 0.0, 1.0);
        plan.variations.hold_ratio = 3;
        let mut observed = Observed::default();
        observed.add_held(&plan, children.iter());
        let Observed { held_least, held_most, held_long, held_cov, .. } = &observed;
        assert_eq!([held_least, held_most, held_long, held_cov].map(|values| values[0]), [0.25, 0.75, 0.75, 0.5]);
    }
}
