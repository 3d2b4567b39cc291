//! The first wait that is longer than `--stop-above`: the holders of the lock during it, and the kernel events.

use super::causes::DelayCause;
use super::other_threads::OthersProbes;
use super::other_threads::Rounds;
use super::slice::{LOCKER, StopRule, ThreadSlice};
use crate::latency::plan::CellPlan;
use crate::latency::plan::{CpuStory, Holder, StoppedWait};
use crate::latency::record::Operation;
use harness::story;
use instruments::clock::Clock;
use instruments::evidence::{Cause, Kind, Ran, Timeline, ran};
use loops::latency::Round;
use std::collections::BTreeMap;

/// A window that has ended.
pub struct Ended<'a> {
    pub plan: &'a CellPlan,
    pub clock: Clock,
    pub parts: &'a [ThreadSlice],
    /// The CPUs of the threads.
    pub cpus: Vec<usize>,
    /// The timeline of all CPUs, where there is one.
    pub timeline: Option<&'a Timeline>,
}

/// The maximum number of holders that are kept.
const MOST: usize = 8;

/// The ticks for which a thread had the lock, while another waited.
#[derive(Clone, Copy)]
struct Hold {
    thread: usize,
    from: u64,
    until: u64,
}

impl StopRule {
    /// Returns the first wait of the window that is longer.
    pub fn first(&self, ended: &Ended<'_>) -> Option<StoppedWait> {
        let of_thread = |(thread, part): (usize, &ThreadSlice)| {
            let probes = OthersProbes::of(ended.parts.iter().map(|part| &part.trace), thread);
            let is_long =
                |round: &&Round| round.lock() > self.above_ticks && !probes.spoil(Operation::Lock.span(round));
            let long = part.trace.rounds().iter().find(is_long)?;
            part.start.map(|_| (thread, *long))
        };
        let long = ended.parts.iter().enumerate().filter_map(of_thread);
        let (thread, round) = long.min_by_key(|(_, round)| round.locked)?;
        Some(ended.stopped_wait(thread, round, self.origin))
    }
}

impl Ended<'_> {
    fn stopped_wait(&self, thread: usize, round: Round, origin: u64) -> StoppedWait {
        let rounds = Rounds::of(self.parts.iter().map(|part| &part.trace));
        // A thread without a lock waits for no other.
        let is_lock = self.plan.lock != locks::NONE;
        let holds: Vec<Hold> = rounds
            .holds_within(thread, (round.began, round.locked))
            .filter(|_| is_lock)
            .map(|(thread, from, until)| Hold { thread, from, until })
            .collect();
        let us = |ticks: u64| self.clock.to_ns(ticks) / 1e3;
        let (cause, ticks) = self.cause(thread, round, &holds);
        StoppedWait {
            lock: self.plan.lock.clone(),
            threads: self.plan.threads,
            competitors: self.plan.competitors,
            thread,
            cpu: self.cpus[thread],
            start_s: self.clock.to_ns(round.began.saturating_sub(origin)) / 1e9,
            wait_us: us(round.lock()),
            cause: cause.label(),
            cause_us: us(ticks),
            stories: self.stories(thread, round, &holds),
            holders: self.holders(round, holds),
        }
    }

    /// Returns the main cause of the wait.
    ///
    /// While another thread had the lock, the events of that thread's CPU count, otherwise those of the own.
    fn cause(&self, thread: usize, round: Round, holds: &[Hold]) -> (DelayCause, u64) {
        let mut sums: BTreeMap<DelayCause, u64> = BTreeMap::new();
        let mut add = |thread: usize, (from, until): (u64, u64), usual: DelayCause| {
            let mut left = until.saturating_sub(from);
            for part in self.ran(thread, from, until).into_iter().filter(|part| is_foreign(&part.who)) {
                let ticks = (part.end - part.start).min(left);
                left -= ticks;
                *sums.entry(DelayCause::Kernel(part.who)).or_default() += ticks;
            }
            *sums.entry(usual).or_default() += left;
        };
        let mut free_since = round.began;
        for hold in holds {
            let (from, until) = (hold.from.max(free_since), hold.until.min(round.locked));
            add(thread, (free_since, from), DelayCause::Unexplained);
            add(hold.thread, (from, until), DelayCause::Holder);
            free_since = until.max(free_since);
        }
        add(thread, (free_since, round.locked), DelayCause::Unexplained);
        sums.into_iter().max_by_key(|(_, ticks)| *ticks).unwrap_or((DelayCause::Unexplained, round.lock()))
    }

    /// Returns the tasks that had the CPU of that thread.
    fn ran(&self, thread: usize, from: u64, until: u64) -> Vec<Ran> {
        self.timeline_of(thread).map(|timeline| ran(timeline, self.cpus[thread], from, until)).unwrap_or_default()
    }

    fn timeline_of(&self, thread: usize) -> Option<&Timeline> {
        self.timeline.or(self.parts[thread].timeline.as_ref())
    }

    /// Returns the timeline of each CPU once, that of the thread that waited first.
    fn stories(&self, thread: usize, round: Round, holds: &[Hold]) -> Vec<CpuStory> {
        let mut stories: Vec<CpuStory> = Vec::new();
        for thread in std::iter::once(thread).chain(holds.iter().map(|hold| hold.thread)) {
            let cpu = self.cpus[thread];
            if let Some(timeline) = self.timeline_of(thread).filter(|_| stories.iter().all(|story| story.cpu != cpu)) {
                stories.push(CpuStory { cpu, story: story(timeline, cpu, (round.began, round.locked)) });
            }
        }
        stories
    }

    fn holders(&self, round: Round, mut holds: Vec<Hold>) -> Vec<Holder> {
        holds.sort_by_key(|hold| std::cmp::Reverse(hold.until - hold.from));
        holds.truncate(MOST);
        holds.sort_by_key(|hold| hold.from);
        let us = |ticks: u64| self.clock.to_ns(ticks) / 1e3;
        let since = |at: u64| if at >= round.began { us(at - round.began) } else { -us(round.began - at) };
        let holder = |hold: Hold| Holder {
            thread: hold.thread,
            cpu: self.cpus[hold.thread],
            from_us: since(hold.from),
            length_us: us(hold.until - hold.from),
        };
        holds.into_iter().map(holder).collect()
    }
}

/// Returns whether it is neither a thread of the lock nor idle.
fn is_foreign(who: &Cause) -> bool {
    match who.kind {
        Kind::Own | Kind::Idle | Kind::Blocked | Kind::Unexplained => false,
        Kind::Task => who.name.as_deref() != LOCKER.to_str().ok(),
        _ => true,
    }
}
