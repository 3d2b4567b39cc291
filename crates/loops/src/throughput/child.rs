//! The loop of a child, which is ulockflex's:
//!
//! ```text
//!     loop { work without the lock; lock; work with it; unlock }
//! ```
//!
//! Both works last a uniformly random time of 0.5 to 1.5 times their mean, by a calibrated chain of loads. The locks of
//! a cell are created here, too, with their type erased.

use super::counters::{ChildCounters, Usage};
use super::phase::{COUNTING, OVER, RunPhase};
use super::pieces::{Looks, Prober};
use crossbeam_utils::CachePadded;
use instruments::clock::Clock;
use instruments::grind::Work;
use instruments::shared_memory::SharedArray;
use instruments::team::StartGate;
use locks::{Builder, Lock, Reach, SharedBuilder, SharedLock};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use ulocks::Counts;

/// The loop that a child runs.
#[derive(Clone, Copy, Debug)]
pub struct LoopSpec {
    pub clock: Clock,
    /// The dependent loads that last the mean time without and with the lock.
    pub nonhold_loads: u64,
    pub hold_loads: u64,
    /// The reads per 100 acquisitions.
    pub share: u32,
    /// Whether this run takes timestamps.
    pub timed: bool,
    pub seed: u64,
    /// The probing of the children's cores, if any.
    pub looks: Option<Looks>,
}

/// A lock on separate cache lines, and the data that it protects.
pub struct Guarded<L> {
    lock: CachePadded<L>,
    protected: CachePadded<Protected>,
}

/// Data accessed only under the lock, with loads and stores that only the lock orders: lost updates show a lock that
/// does not exclude.
#[derive(Default)]
struct Protected {
    rounds: AtomicU64,
    last_child: AtomicU64,
    streak: AtomicU64,
}

impl Protected {
    /// Counts an iteration, and returns the number of consecutive ones of the child.
    fn enter(&self, child: u64) -> u64 {
        let rounds = self.rounds.load(Ordering::Relaxed);
        let streak =
            if self.last_child.load(Ordering::Relaxed) == child { self.streak.load(Ordering::Relaxed) + 1 } else { 1 };
        self.last_child.store(child, Ordering::Relaxed);
        self.streak.store(streak, Ordering::Relaxed);
        self.rounds.store(rounds + 1, Ordering::Relaxed);
        streak
    }
}

/// Locks whose type is erased.
pub trait AnyLocks: Send + Sync {
    /// Runs one child to its end.
    fn work(&self, child: usize, spec: &LoopSpec, phase: &RunPhase, counters: &mut ChildCounters, gate: &StartGate);
    /// Returns the locks' own counts since they were created.
    fn counts(&self) -> Option<Counts>;
    /// Returns the iterations that the protected counters have seen since the locks were created.
    fn protected_rounds(&self) -> u64;
    /// Forgets the last owner of each lock; called between runs.
    fn reset_streaks(&self);
}

impl<L: Lock> Guarded<L> {
    pub fn new() -> std::io::Result<Self> {
        Ok(Self { lock: CachePadded::new(L::create()?), protected: CachePadded::default() })
    }

    pub fn settle(&mut self) -> std::io::Result<()> {
        self.lock.settle()
    }

    fn protected_rounds(&self) -> u64 {
        self.protected.rounds.load(Ordering::Relaxed)
    }

    fn reset_streak(&self) {
        self.protected.streak.store(0, Ordering::Relaxed);
    }
}

/// The kind of iterations: with an exclusive lock, or with one that has readers.
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

/// A share of the iterations reads.
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

/// Locks, distributed over the children.
struct Dealt<L, R> {
    locks: SharedArray<Guarded<L>>,
    rounds: R,
}

impl<L, R> Dealt<L, R> {
    pub fn new(locks: SharedArray<Guarded<L>>, rounds: R) -> Self {
        Self { locks, rounds }
    }
}

impl<L: Lock, R: Rounds<L>> AnyLocks for Dealt<L, R> {
    fn work(&self, child: usize, spec: &LoopSpec, phase: &RunPhase, counters: &mut ChildCounters, gate: &StartGate) {
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

/// Returns the sum of the counts; `None` when the locks do not count.
fn sum(counts: impl Iterator<Item = Option<Counts>>) -> Option<Counts> {
    counts.reduce(|a, b| Some(together(a?, b?))).flatten()
}

/// Adds the counts of two locks, or of one lock in two runs.
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
    let mut prober = spec.looks.map(|looks| Prober::new(looks, spec.clock));
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
        if let Some(prober) = &mut prober {
            prober.round_ended(counters.all_rounds, counters.rounds, counting, &mut counters.pieces);
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
    if !spec.timed {
        let guard = guarded.lock.lock();
        random.work(spec.hold_loads);
        drop(guard);
        return;
    }
    let requested = spec.clock.stamp();
    let guard = guarded.lock.lock();
    let got = spec.clock.stamp();
    let streak = guarded.protected.enter(child as u64);
    random.work(spec.hold_loads);
    let worked = spec.clock.stamp();
    drop(guard);
    counters.protected_rounds += 1;
    if counting {
        counters.longest_streak = counters.longest_streak.max(streak);
        counters.waits.add(got - requested);
        counters.holds.add(worked - got);
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
    if !spec.timed {
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

struct MakeLocks {
    locks: usize,
}

impl Builder for MakeLocks {
    type Output = Box<dyn AnyLocks>;

    fn build<L: Lock>(self) -> io::Result<Self::Output> {
        Ok(Box::new(Dealt::new(settled::<L>(self.locks)?, Exclusive)))
    }
}

impl SharedBuilder for MakeLocks {
    type Output = Box<dyn AnyLocks>;

    fn build_shared<L: SharedLock>(self) -> io::Result<Self::Output> {
        Ok(Box::new(Dealt::new(settled::<L>(self.locks)?, WithReaders)))
    }
}

/// Creates locks in memory that forked children share.
fn settled<L: Lock>(locks: usize) -> io::Result<SharedArray<Guarded<L>>> {
    let mut array = SharedArray::from_fn(locks, |_| Guarded::<L>::new())?;
    array.iter_mut().try_for_each(Guarded::settle)?;
    Ok(array)
}

/// Creates this many locks of that name that the threads or processes of `reach` can share; with readers or without.
///
/// `None` if there is no such lock.
pub fn make(name: &str, locks: usize, readers: bool, reach: Reach) -> Option<io::Result<Box<dyn AnyLocks>>> {
    let make = MakeLocks { locks };
    if readers { locks::build_shared(name, reach, make) } else { locks::build(name, reach, make) }
}

/// A random number generator for the lengths of work; Marsaglia's xorshift64*, a nanosecond per number, a separate one
/// for each child.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64, child: usize) -> Self {
        // Distinct, never 0, and spread over all bits.
        Self((seed ^ (child as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)) | 1)
    }

    #[inline(always)]
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Returns a number uniform between half of the mean and one and a half.
    #[inline(always)]
    fn around(&mut self, mean: u64) -> u64 {
        let fraction = self.next() >> 32;
        // In 128 bits: a mean of seconds is billions of loads.
        mean / 2 + ((u128::from(mean) * u128::from(fraction)) >> 32) as u64
    }

    #[inline(always)]
    pub fn per_cent(&mut self) -> u32 {
        (((self.next() >> 32) * 100) >> 32) as u32
    }

    #[inline(always)]
    pub fn work(&mut self, mean_loads: u64) {
        if mean_loads > 0 {
            Work::of_loads(self.around(mean_loads)).run();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_uniform_around_their_mean() {
        let mut random = Random::new(42, 3);
        let draws: Vec<u64> = (0..100_000).map(|_| random.around(10_000)).collect();
        assert!(draws.iter().all(|&loads| (5_000..15_000).contains(&loads)));
        let mean = draws.iter().sum::<u64>() as f64 / draws.len() as f64;
        // The standard error of the mean is 9.
        assert!((mean - 10_000.0).abs() < 60.0, "{mean}");
        let low = draws.iter().filter(|&&loads| loads < 7_500).count();
        assert!((24_000..26_000).contains(&low), "{low}");
    }

    #[test]
    fn per_cents_are_below_one_hundred_and_even() {
        let mut random = Random::new(7, 0);
        let below_20 = (0..100_000).filter(|_| random.per_cent() < 20).count();
        assert!((19_000..21_000).contains(&below_20), "{below_20}");
    }
}
