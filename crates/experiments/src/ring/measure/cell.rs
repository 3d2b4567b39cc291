//! One contestant in one ring: its turns, and the row that comes of them.

use super::build_dir::Ready;
use super::cut::Cut;
use super::difference::{self, TwoRuns};
use super::run::{self, Order, Place, Run, RunError, Switches};
use crate::ring::contestants::Runs;
use crate::ring::plan::{CellPlan, Plan};
use crate::ring::record::Failure;
use harness::{Lookout, Session, Shown, turns};
use instruments::environment::Activity;
use instruments::neighbour::{Probe, Probed, Split};
use instruments::statistics::Interval;
use instruments::statistics::comparison::Estimate;
use instruments::statistics::order::{median, sample_quantile_interval};
use instruments::statistics::summary::CONFIDENCE;
use instruments::team::on_cpu;
use loops::ring::{Arrangement, BuiltIn, Class, RingSpec};
use record::Unit;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Fewer give no interval without assuming a distribution.
pub const LEAST_TURNS: u64 = 6;
pub const MOST_TURNS: u64 = 30;
/// A program's time without hops comes from a run with so many times fewer, past the first that warm it up.
const FEWER: u64 = 5;
/// A first turn that was shorter than planned by more than this is taken again, once.
const FAR_OFF: f64 = 4.0;
const ATTEMPTS: u32 = 2;
/// A guess becomes greater or smaller by no more than this at a time.
const STEP: f64 = 8.0;
/// Nothing is run for longer because it starts slowly.
const LONGEST_NS: f64 = 100e6;
/// A hop to somewhere in megabytes of memory, about.
const FAR_MEMORY_NS: f64 = 150.0;
const FEWEST_HOPS: f64 = 1.0;
const MOST_HOPS: f64 = 4e9;

/// A contestant in a ring, and what is known of it so far.
pub struct Cell {
    pub plan: CellPlan,
    /// Time of a hop in ns, turn by turn.
    pub samples: Vec<f64>,
    /// The runs of a program, turn by turn, which all samples come of.
    two_runs: Vec<TwoRuns>,
    pub(super) starts_ns: Vec<f64>,
    /// What it probably takes, to choose the hops.
    pub(super) guess_ns: f64,
    pub(super) hops: u64,
    pub answer: Option<usize>,
    pub failure: Option<Failure>,
    /// The time that its turns took.
    pub spent: Duration,
    pub(super) turns: u64,
    pub(super) all_hops: u64,
    pub(super) wasted_polls: Option<u64>,
    pub(super) switches: Switches,
    pub(super) stolen_s: f64,
    pub(super) watched_s: f64,
    /// Turn by turn, what hops took in its parts, and who was on the core.
    pub(super) parts: Vec<Vec<(f64, Probed)>>,
    pub(super) split: Split,
}

/// What all turns of a cell are given.
pub struct Turn<'a> {
    pub plan: &'a Plan,
    pub ready: Option<&'a Ready>,
    /// About how long it is.
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

    /// One turn of about this length. A failure ends the cell, an interruption everything.
    pub fn visit(&mut self, turn: &Turn<'_>, lookout: &mut Lookout) -> ControlFlow<()> {
        let (began, before) = (Instant::now(), Activity::now().ok());
        self.parts.push(Vec::new());
        let outcome = self.turn(turn, lookout.probe);
        self.spent += began.elapsed();
        self.turns += 1;
        let since = before.zip(Activity::now().ok()).and_then(|(before, now)| now.since(&before, &turn.session.cpus));
        if let Some(share) = since {
            self.stolen_s += share.steal_share * share.wall_s;
            self.watched_s += share.wall_s;
        }
        lookout.learn(self.parts.iter().rev().take(1).flatten().map(|(_, probed)| probed));
        self.split = self.split(lookout);
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
            // Step by step: what is seen of a few hops is mostly the scatter of the start.
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
        // One turn that was disturbed says little of the next.
        self.guess_ns = self.ns_per_hop().unwrap_or(self.guess_ns);
        Ok(())
    }

    /// The hops of a program's turns, each compared with the short runs of all.
    fn compare_with_all_turns(&mut self) {
        if self.two_runs.is_empty() {
            return;
        }
        self.samples = difference::per_hop(&self.two_runs);
        let part = |(turn, ns): (&TwoRuns, &f64)| turn.probed.map(|probed| (*ns, probed)).into_iter().collect();
        self.parts = self.two_runs.iter().zip(&self.samples).map(part).collect();
    }

    /// What takes long to start is run for longer, or its hops would drown in the scatter of its start.
    fn slice_ns(&self, slice: Duration) -> f64 {
        let start_ns = self.starts_ns.iter().copied().reduce(f64::min).unwrap_or(0.0);
        (slice.as_nanos() as f64).max((start_ns / 2.0).min(LONGEST_NS))
    }

    /// Runs so many hops; the time of one, in ns.
    fn run_hops(&mut self, hops: u64, turn: &Turn<'_>, probe: Option<Probe>) -> Result<f64, RunError> {
        let contestant = Rc::clone(&self.plan.contestant);
        let (ns, start_ns) = match (&contestant.runs, turn.ready) {
            (Runs::BuiltIn(built_in), _) => {
                let is_cut = turn.plan.hops.is_none() && probe.is_some();
                let cut = if is_cut { self.cut(hops) } else { Cut::whole(hops) };
                let (hops_ns, start_ns) = self.run_built_in(built_in, cut, turn, probe)?;
                (hops_ns / cut.all_hops().max(1) as f64, start_ns)
            }
            (Runs::Program(_), Some(ready)) => self.run_program_twice(hops, ready, turn, probe)?,
            (Runs::Program(_), None) => unreachable!("what cannot be run is not visited"),
        };
        self.starts_ns.push(start_ns);
        Ok(ns)
    }

    /// The time of the hops, and that of making the threads.
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
        let place = Place { cpu, probe };
        let run = run::built_in(built_in, &spec, place, cut, session)?;
        self.note(cut.all_hops(), &run);
        let hops_ns = run.hops_ns.unwrap_or(run.total_ns);
        Ok((hops_ns, (run.total_ns - hops_ns) / f64::from(cut.runs())))
    }

    fn cut(&self, hops: u64) -> Cut {
        let start_ns = self.starts_ns.iter().copied().reduce(f64::min).unwrap_or(f64::INFINITY);
        Cut::of(hops, self.guess_ns, self.plan.threads, start_ns)
    }

    /// With many hops and with fewer, so that starting and ending cancel: the time of a hop, and that of none.
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
            let order = Order { threads, hops, cpu, timeout: turn.plan.timeout };
            let run = run::program(ready, &order, turn.session, None, |_| ())?;
            self.note(hops, &run);
            Ok(run.total_ns)
        };
        // With a number of hops that was asked for, the others are none.
        let fewer = if turn.plan.hops.is_some() { 0 } else { hops / FEWER };
        let before = look();
        let short_ns: f64 = run(fewer)?;
        let between = look();
        let long_ns = run(hops)?;
        let looks = before.zip(between).zip(look());
        let probed = looks.map(|((before, between), after)| Probed::between(before, between).and(after));
        // Runs of no hops have no time of a hop.
        self.two_runs.extend((hops > 0).then_some(TwoRuns { hops, long_ns, fewer, short_ns, probed }));
        let ns = difference::per_hop(&self.two_runs).pop().unwrap_or(0.0);
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

    /// A median that is not above nothing is none: the hops were too few to be seen.
    pub fn ns_per_hop(&self) -> Option<f64> {
        median(&self.samples).filter(|ns| *ns > 0.0)
    }

    pub(super) fn split(&self, lookout: &Lookout) -> Split {
        lookout.split_turns(&self.parts)
    }

    /// Alone on the core, where that is known; else of all turns.
    pub fn estimate(&self) -> Option<Estimate> {
        let of_all = || self.ns_per_hop().map(|ns| Estimate::new(ns, self.interval()));
        self.split.alone.or_else(of_all)
    }

    pub(super) fn interval(&self) -> Option<Interval> {
        if self.two_runs.is_empty() {
            return sample_quantile_interval(&self.samples, 0.5, CONFIDENCE);
        }
        difference::interval(&self.two_runs)
    }
}

/// Two CPUs that are cores of their own, as far as there are such.
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

    /// What starts slowly has fewer turns.
    fn spent(&self) -> Duration {
        self.spent
    }

    fn is_over(&self) -> bool {
        self.failure.is_some()
    }
}
