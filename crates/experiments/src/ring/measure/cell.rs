//! One contestant in one ring: its turns, and the row that comes of them.

use super::build_dir::Ready;
use super::memory::Memory;
use super::run::{self, Order, Run, RunError, Switches};
use crate::ring::contestants::{Arrangement, BuiltIn, Class, RingSpec, Runs};
use crate::ring::plan::{CellPlan, Plan};
use crate::ring::record::{Failure, Row};
use crate::ring::then;
use harness::{Session, turns};
use instruments::environment::Activity;
use instruments::statistics::comparison::Estimate;
use instruments::statistics::order::{median, sample_quantile_interval};
use instruments::statistics::summary::CONFIDENCE;
use instruments::statistics::{EndedBy, Interval};
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
    starts_ns: Vec<f64>,
    /// What it probably takes, to choose the hops.
    guess_ns: f64,
    hops: u64,
    pub answer: Option<usize>,
    pub failure: Option<Failure>,
    /// The time that its turns took.
    pub spent: Duration,
    turns: u64,
    all_hops: u64,
    wasted_polls: Option<u64>,
    switches: Switches,
    stolen_s: f64,
    watched_s: f64,
}

impl Cell {
    pub fn new(plan: CellPlan) -> Self {
        let anywhere = plan.arrangement == Some(Arrangement::Shuffled);
        Self {
            guess_ns: if anywhere { FAR_MEMORY_NS } else { plan.contestant.guess_ns(plan.threads) },
            plan,
            samples: Vec::new(),
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
        }
    }

    fn is_limit(&self) -> bool {
        self.plan.contestant.class == Class::Limit
    }

    /// One turn of about this length. A failure ends the cell, an interruption everything.
    pub fn visit(&mut self, plan: &Plan, ready: Option<&Ready>, slice: Duration, session: &Session) -> ControlFlow<()> {
        let (began, before) = (Instant::now(), Activity::now().ok());
        let outcome = self.turn(plan, ready, slice, session);
        self.spent += began.elapsed();
        self.turns += 1;
        let since = before.zip(Activity::now().ok()).and_then(|(before, now)| now.since(&before, &session.cpus));
        if let Some(share) = since {
            self.stolen_s += share.steal_share * share.wall_s;
            self.watched_s += share.wall_s;
        }
        match outcome {
            Ok(()) => ControlFlow::Continue(()),
            Err(RunError::Interrupted) => ControlFlow::Break(()),
            Err(RunError::Failed(failure)) => {
                self.failure = Some(failure);
                ControlFlow::Continue(())
            }
        }
    }

    fn turn(&mut self, plan: &Plan, ready: Option<&Ready>, slice: Duration, session: &Session) -> Result<(), RunError> {
        let fixed = plan.hops.filter(|_| !self.is_limit());
        for attempt in 1.. {
            let slice_ns = self.slice_ns(slice);
            let hops = fixed.unwrap_or_else(|| (slice_ns / self.guess_ns).clamp(FEWEST_HOPS, MOST_HOPS) as u64);
            let ns = self.run_hops(hops, plan, ready, session)?;
            // Step by step: what is seen of a few hops is mostly the scatter of the start.
            self.guess_ns = ns.clamp(self.guess_ns / STEP, self.guess_ns * STEP);
            let hops_ns = ns * hops as f64;
            let too_short = hops_ns * FAR_OFF < slice_ns;
            if fixed.is_some() || !too_short || self.turns > 0 || attempt == ATTEMPTS {
                self.samples.extend((hops > 0).then_some(ns));
                break;
            }
        }
        // One turn that was disturbed says little of the next.
        self.guess_ns = self.ns_per_hop().unwrap_or(self.guess_ns);
        Ok(())
    }

    /// What takes long to start is run for longer, or its hops would drown in the scatter of its start.
    fn slice_ns(&self, slice: Duration) -> f64 {
        let start_ns = self.starts_ns.iter().copied().reduce(f64::min).unwrap_or(0.0);
        (slice.as_nanos() as f64).max((start_ns / 2.0).min(LONGEST_NS))
    }

    /// Runs so many hops; the time of one, in ns.
    fn run_hops(&mut self, hops: u64, plan: &Plan, ready: Option<&Ready>, session: &Session) -> Result<f64, RunError> {
        let contestant = Rc::clone(&self.plan.contestant);
        let (ns, start_ns) = match (&contestant.runs, ready) {
            (Runs::BuiltIn(built_in), _) => {
                let (hops_ns, start_ns) = self.run_built_in(built_in, hops, session)?;
                (hops_ns / hops.max(1) as f64, start_ns)
            }
            (Runs::Program(_), Some(ready)) => self.run_program_twice(hops, plan, ready, session)?,
            (Runs::Program(_), None) => unreachable!("what cannot be run is not visited"),
        };
        self.starts_ns.push(start_ns);
        Ok(ns)
    }

    /// The time of the hops, and that of making the threads.
    fn run_built_in(&mut self, built_in: &BuiltIn, hops: u64, session: &Session) -> Result<(f64, f64), RunError> {
        let spec = RingSpec {
            threads: self.plan.threads,
            hops,
            arrangement: self.plan.arrangement,
            cpus: if built_in.across { session.cpus.iter().take(2).collect() } else { Vec::new() },
            seed: session.seed,
        };
        let cpu = session.cpus.first().filter(|_| self.plan.pinned && !built_in.across);
        let run = run::built_in(built_in, &spec, cpu, session)?;
        self.note(hops, &run);
        let hops_ns = run.hops_ns.unwrap_or(run.total_ns);
        Ok((hops_ns, run.total_ns - hops_ns))
    }

    /// With many hops and with fewer, so that starting and ending cancel: the time of a hop, and that of none.
    fn run_program_twice(
        &mut self,
        hops: u64,
        plan: &Plan,
        ready: &Ready,
        session: &Session,
    ) -> Result<(f64, f64), RunError> {
        let cpu = session.cpus.first().filter(|_| self.plan.pinned);
        let threads = self.plan.threads;
        let mut run = |hops| {
            let order = Order { threads, hops, cpu, timeout: plan.timeout };
            let run = run::program(ready, &order, session, None, |_| ())?;
            self.note(hops, &run);
            Ok(run.total_ns)
        };
        // With a number of hops that was asked for, the others are none.
        let fewer = if plan.hops.is_some() { 0 } else { hops / FEWER };
        let short_ns: f64 = run(fewer)?;
        let long_ns = run(hops)?;
        let ns = (long_ns - short_ns) / (hops - fewer).max(1) as f64;
        Ok((ns, (short_ns - ns * fewer as f64).max(0.0)))
    }

    fn note(&mut self, hops: u64, run: &Run) {
        self.hops = hops;
        self.answer = Some(run.answer);
        self.all_hops += hops;
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

    fn interval(&self) -> Option<Interval> {
        sample_quantile_interval(&self.samples, 0.5, CONFIDENCE)
    }

    /// Its row; `None` if it never had a turn.
    pub fn row(&self, ended_by: EndedBy, memory: Memory, limit: Option<(String, f64)>) -> Option<Row> {
        let had_a_turn = self.answer.is_some() || self.failure.is_some();
        let contestant = had_a_turn.then_some(&self.plan.contestant)?;
        // What failed once is not to be believed.
        let ns_per_hop = self.ns_per_hop().filter(|_| self.failure.is_none());
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
            repeats: self.samples.len(),
            spent_s: self.spent.as_secs_f64(),
            ended_by: ns_per_hop.map(|_| ended_by),
            start_ms: median(&self.starts_ns).map(|ns| ns / 1e6),
            limit_ns: limit.as_ref().map(|(_, ns)| *ns),
            times_limit: limit.as_ref().zip(ns_per_hop).map(|((_, limit_ns), ns)| ns / limit_ns),
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
            then: then::beside(&contestant.name, self.plan.threads),
        })
    }
}

impl turns::Cell for Cell {
    fn title(&self) -> String {
        self.plan.to_string()
    }

    fn turns(&self) -> u64 {
        self.turns
    }

    fn figures(&self) -> Vec<Estimate> {
        self.ns_per_hop().map(|ns| Estimate::new(ns, self.interval())).into_iter().collect()
    }

    /// What starts slowly has fewer turns.
    fn spent(&self) -> Duration {
        self.spent
    }

    fn is_over(&self) -> bool {
        self.failure.is_some()
    }
}
