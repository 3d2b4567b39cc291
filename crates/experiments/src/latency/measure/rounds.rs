//! The loop that is measured, and where its timestamps go.
//!
//! Two timestamps a round, as in 1998: one when the lock has been taken, one when it has been released, which is also
//! the beginning of the next round. The first difference is the lock's latency; the second is the hold time and the
//! unlock's. Storing the pair falls between rounds, so into the next lock's difference; it costs about a nanosecond and
//! is in the baseline that is subtracted.

use instruments::clock::Clock;
use instruments::grind::Work;
use locks::Lock;

/// When the lock was taken and when it was released, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Round {
    pub locked: u64,
    pub ended: u64,
}

/// A thread's rounds of one slice. Its memory is touched and locked before any clock starts.
pub struct Trace {
    began: u64,
    rounds: Vec<Round>,
    used: usize,
}

/// One round with all three of its moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lap {
    pub began: u64,
    pub locked: u64,
    pub ended: u64,
}

impl Trace {
    /// Room for `capacity` rounds. The second value says why its memory could not be locked, if it could not.
    pub fn with_capacity(capacity: usize) -> (Self, Option<String>) {
        // Not `vec![zero]`, which may leave untouched pages that fault in the middle of a measurement.
        let mut rounds = Vec::with_capacity(capacity);
        rounds.resize_with(capacity, || std::hint::black_box(Round { locked: 1, ended: 1 }));
        let bytes = std::mem::size_of_val(rounds.as_slice());
        // SAFETY: the range is the vector's own allocation, which is not moved as long as the trace lives; locking
        // pages changes no content.
        let locked = unsafe { rustix::mm::mlock(rounds.as_mut_ptr().cast(), bytes) };
        (Self { began: 0, rounds, used: 0 }, locked.err().map(|error| error.to_string()))
    }

    /// Whether the next round has no room.
    pub fn is_full(&self) -> bool {
        self.used == self.rounds.len()
    }

    /// The rounds, oldest first.
    pub fn laps(&self) -> impl Iterator<Item = Lap> {
        let mut began = self.began;
        self.rounds[..self.used].iter().map(move |round| {
            let lap = Lap { began, locked: round.locked, ended: round.ended };
            began = round.ended;
            lap
        })
    }
}

/// Takes and releases the lock until `goes_on` says no or the trace is full.
///
/// Never inlined: every lock, and no lock, gets the same frame around it.
#[inline(never)]
pub fn run<L: Lock>(lock: &L, clock: Clock, hold: Work, trace: &mut Trace, goes_on: impl Fn(u64) -> bool) {
    trace.used = 0;
    trace.began = clock.stamp();
    for slot in &mut trace.rounds {
        let guard = lock.lock();
        let locked = clock.stamp();
        hold.run();
        drop(guard);
        let ended = clock.stamp();
        *slot = Round { locked, ended };
        trace.used += 1;
        if !goes_on(ended) {
            break;
        }
    }
}

/// Pairs in a batch of [`bare_pair`].
const PAIRS: u32 = 500;

/// What a lock and an unlock take in a loop with nothing else, in ticks: 500 pairs between two timestamps.
///
/// The check on what single timestamps say. It can be the smaller figure: without timestamps in between, the end of one
/// pair and the beginning of the next overlap in the CPU.
#[inline(never)]
pub fn bare_pair<L: Lock>(lock: &L, clock: Clock) -> f64 {
    let began = clock.stamp();
    for _ in 0..PAIRS {
        drop(lock.lock());
    }
    (clock.stamp() - began) as f64 / f64::from(PAIRS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use locks::NoLock;
    use std::time::Duration;

    #[test]
    fn laps_follow_each_other_without_a_gap() {
        let clock = Clock::calibrate(Duration::from_millis(10)).clock;
        let (mut trace, _) = Trace::with_capacity(100);
        run(&NoLock, clock, Work::of_loads(64), &mut trace, |_| true);
        assert!(trace.is_full());
        let laps: Vec<Lap> = trace.laps().collect();
        assert_eq!(laps.len(), 100);
        assert!(laps.windows(2).all(|pair| pair[0].ended == pair[1].began));
        assert!(laps.iter().all(|lap| lap.began <= lap.locked && lap.locked <= lap.ended));
    }

    #[test]
    fn a_trace_is_used_again_from_its_start() {
        let clock = Clock::calibrate(Duration::from_millis(10)).clock;
        let (mut trace, _) = Trace::with_capacity(100);
        run(&NoLock, clock, Work::of_loads(0), &mut trace, |_| true);
        run(&NoLock, clock, Work::of_loads(0), &mut trace, |_| false);
        assert_eq!(trace.laps().count(), 1);
        assert!(!trace.is_full());
    }
}
