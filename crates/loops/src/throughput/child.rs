//! The loop of a child, as in ulockflex.
//!
//! ```text
//!     loop { work without the lock; lock; work with it; unlock }
//! ```
//!
//! Both works last a uniformly random time of 0.5 to 1.5 times their mean, by a calibrated chain of loads. The locks of a
//! cell are made here, too, with a type that is no longer known.

use super::counters::{ChildCounters, Usage};
use super::guarded::Guarded;
use super::phase::{COUNTING, OVER, RunPhase};
use super::pieces::Prober;
use super::random::Random;
use super::spec::{LoopSpec, Observation};
use super::variations::{Data, Popularity};
use super::varied;
use instruments::shared_memory::SharedArray;
use instruments::team::StartGate;
use locks::{Builder, Lock, Reach, SharedBuilder, SharedLock};
use std::io;
use ulocks::Counts;

/// Locks whose type is no longer known.
pub trait AnyLocks: Send + Sync {
    /// A whole run of one child.
    fn work(&self, child: usize, spec: &LoopSpec, phase: &RunPhase, counters: &mut ChildCounters, gate: &StartGate);
    /// Returns the counts of the locks since they were made.
    fn counts(&self) -> Option<Counts>;
    /// Rounds that the protected counters have seen since they were made.
    fn protected_rounds(&self) -> u64;
    /// Forgets who had a lock last; between runs.
    fn reset_streaks(&self);
}

/// Which rounds a child makes: with an exclusive lock, or with one that has readers.
pub trait Rounds<L>: Send + Sync {
    fn round(
        &self,
        guarded: &Guarded<L>,
        child: usize,
        spec: &LoopSpec,
        random: &mut Random,
        counters: &mut ChildCounters,
        counting: bool,
    );
}

/// Every round is exclusive.
struct Exclusive;

/// A share of the rounds reads.
struct WithReaders;

impl<L: Lock> Rounds<L> for Exclusive {
    #[inline(always)]
    fn round(
        &self,
        guarded: &Guarded<L>,
        child: usize,
        spec: &LoopSpec,
        random: &mut Random,
        counters: &mut ChildCounters,
        counting: bool,
    ) {
        write_round(guarded, child, spec, random, counters, counting);
    }
}

impl<L: SharedLock> Rounds<L> for WithReaders {
    #[inline(always)]
    fn round(
        &self,
        guarded: &Guarded<L>,
        child: usize,
        spec: &LoopSpec,
        random: &mut Random,
        counters: &mut ChildCounters,
        counting: bool,
    ) {
        if random.per_cent() < spec.share {
            read_round(guarded, spec, random, counters, counting);
        } else {
            write_round(guarded, child, spec, random, counters, counting);
        }
    }
}

/// Locks, dealt to the children in turn.
struct Dealt<L, R> {
    locks: SharedArray<Guarded<L>>,
    data: Data,
    popularity: Option<Popularity>,
    rounds: R,
}

impl<L: Lock, R: Rounds<L>> AnyLocks for Dealt<L, R> {
    fn work(&self, child: usize, spec: &LoopSpec, phase: &RunPhase, counters: &mut ChildCounters, gate: &StartGate) {
        if let Some(variations) = &spec.variations {
            let shared = (&*self.locks, &self.data, self.popularity.as_ref());
            varied::work(shared, child, (spec, variations), phase, counters, gate);
            return;
        }
        let guarded = &self.locks[child % self.locks.len()];
        run(child, spec, phase, counters, gate, |spec, random, counters, counting| {
            self.rounds.round(guarded, child, spec, random, counters, counting);
        });
    }

    fn counts(&self) -> Option<Counts> {
        sum(self.locks.iter().map(|guarded| guarded.lock.counts()))
    }

    fn protected_rounds(&self) -> u64 {
        self.locks.iter().map(Guarded::protected_rounds).sum()
    }

    fn reset_streaks(&self) {
        self.locks.iter().for_each(Guarded::reset_streak);
    }
}

/// `None` when the locks do not count.
fn sum(counts: impl Iterator<Item = Option<Counts>>) -> Option<Counts> {
    counts.reduce(|a, b| Some(together(a?, b?))).flatten()
}

/// Returns the sum of the counts of two locks, or of one lock in two runs.
pub fn together(a: Counts, b: Counts) -> Counts {
    Counts {
        write_contended: a.write_contended + b.write_contended,
        read_contended: a.read_contended + b.read_contended,
        spun: a.spun + b.spun,
        slept: a.slept + b.slept,
    }
}

#[inline(always)]
fn run(
    child: usize,
    spec: &LoopSpec,
    phase: &RunPhase,
    counters: &mut ChildCounters,
    gate: &StartGate,
    mut round: impl FnMut(&LoopSpec, &mut Random, &mut ChildCounters, bool),
) {
    let mut random = Random::new(spec.seed, child);
    if gate.ready().is_none() {
        return;
    }
    let began = spec.clock.now();
    let before = Usage::of_this_thread();
    let mut looker = spec.looks.map(|looks| Prober::new(looks, spec.clock));
    loop {
        let now = phase.current();
        if now == OVER {
            break;
        }
        random.work(spec.nonhold_loads);
        let counting = now == COUNTING;
        round(spec, &mut random, counters, counting);
        counters.all_rounds += 1;
        counters.rounds += u64::from(counting);
        if let Some(looker) = &mut looker {
            looker.round_ended(counters.all_rounds, counters.rounds, counting, &mut counters.pieces);
        }
    }
    counters.wall_ticks += spec.clock.now() - began;
    if let (Ok(before), Ok(after)) = (before, Usage::of_this_thread()) {
        counters.cpu_ns += after.cpu_ns - before.cpu_ns;
        counters.voluntary_switches += after.voluntary_switches - before.voluntary_switches;
        counters.involuntary_switches += after.involuntary_switches - before.involuntary_switches;
    }
}

#[inline(always)]
fn write_round<L: Lock>(
    guarded: &Guarded<L>,
    child: usize,
    spec: &LoopSpec,
    random: &mut Random,
    counters: &mut ChildCounters,
    counting: bool,
) {
    if spec.observation == Observation::Nothing {
        let guard = guarded.lock.lock();
        random.work(spec.hold_loads);
        drop(guard);
        return;
    }
    if spec.observation == Observation::Counts {
        let guard = guarded.lock.lock();
        let begun = guarded.protected.begin();
        random.work(spec.hold_loads);
        guarded.protected.end(begun);
        drop(guard);
        counters.protected_rounds += 1;
        return;
    }
    let requested = spec.clock.stamp();
    let guard = guarded.lock.lock();
    let got = spec.clock.stamp();
    let begun = guarded.protected.begin();
    let streak = guarded.protected.streak(child as u64);
    random.work(spec.hold_loads);
    guarded.protected.end(begun);
    let worked = spec.clock.stamp();
    drop(guard);
    counters.protected_rounds += 1;
    if counting {
        counters.longest_streak = counters.longest_streak.max(streak);
        counters.waits.add(got - requested);
        counters.holds.add(worked - got);
        counters.held_ticks += worked - got;
    }
}

#[inline(always)]
fn read_round<L: SharedLock>(
    guarded: &Guarded<L>,
    spec: &LoopSpec,
    random: &mut Random,
    counters: &mut ChildCounters,
    counting: bool,
) {
    counters.reads += 1;
    if spec.observation != Observation::Times {
        let guard = guarded.lock.read();
        random.work(spec.hold_loads);
        drop(guard);
        return;
    }
    let requested = spec.clock.stamp();
    let guard = guarded.lock.read();
    let got = spec.clock.stamp();
    random.work(spec.hold_loads);
    let worked = spec.clock.stamp();
    drop(guard);
    if counting {
        counters.waits.add(got - requested);
        counters.holds.add(worked - got);
    }
}

/// The locks of a configuration and the data that they protect.
#[derive(Clone, Copy, Debug)]
pub struct Made {
    pub locks: usize,
    pub readers: bool,
    /// Cache lines of data for each lock.
    pub lines: usize,
    /// The exponent of Zipf's law by which each round draws its lock; without it each child has one lock.
    pub zipf: Option<f64>,
}

impl Made {
    fn dealt<L: Lock, R: Rounds<L>>(self, rounds: R) -> io::Result<Dealt<L, R>> {
        let locks = settled::<L>(self.locks)?;
        let popularity = self.zipf.map(|exponent| Popularity::by_zipf(self.locks, exponent));
        Ok(Dealt { locks, data: Data::new(self.locks, self.lines)?, popularity, rounds })
    }
}

impl Builder for Made {
    type Output = Box<dyn AnyLocks>;

    fn build<L: Lock>(self) -> io::Result<Self::Output> {
        Ok(Box::new(self.dealt::<L, _>(Exclusive)?))
    }
}

impl SharedBuilder for Made {
    type Output = Box<dyn AnyLocks>;

    fn build_shared<L: SharedLock>(self) -> io::Result<Self::Output> {
        Ok(Box::new(self.dealt::<L, _>(WithReaders)?))
    }
}

/// Locks in memory that forked children share.
fn settled<L: Lock>(locks: usize) -> io::Result<SharedArray<Guarded<L>>> {
    let mut array = SharedArray::from_fn(locks, |_| Guarded::<L>::new())?;
    array.iter_mut().try_for_each(Guarded::settle)?;
    Ok(array)
}

/// The locks of that name that can be shared by what `reach` says, with their data. `None` if there is no such lock.
pub fn make(name: &str, made: Made, reach: Reach) -> Option<io::Result<Box<dyn AnyLocks>>> {
    if made.readers { locks::build_shared(name, reach, made) } else { locks::build(name, reach, made) }
}
