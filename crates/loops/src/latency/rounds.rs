//! The measured loop, and the positions of its timestamps.
//!
//! Each iteration has four timestamps: before the lock, after it, before the unlock, after it. Storing, counting and
//! testing are between the last timestamp of one iteration and the first of the next, so they are in no latency of this
//! thread. In 1998 there were two timestamps per iteration. Then the loop's own work falls into the lock's difference,
//! where a lock hides it and no lock does not. An unlock is then a difference of two hold times, each of which scatters
//! by more than an unlock takes.

use instruments::clock::Clock;
use instruments::grind::Work;
use instruments::neighbour::{Probe, Probed, Reading};
use locks::Lock;
use std::ops::Range;
use std::sync::atomic::{Ordering, fence};

/// The moments of an iteration, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// The begin of the lock operation.
    pub began: u64,
    /// The end of the lock operation.
    pub locked: u64,
    /// The end of the hold time.
    pub releasing: u64,
    /// The end of the unlock operation.
    pub ended: u64,
}

impl Round {
    pub fn lock(&self) -> u64 {
        self.locked - self.began
    }

    pub fn hold(&self) -> u64 {
        self.releasing - self.locked
    }

    pub fn unlock(&self) -> u64 {
        self.ended - self.releasing
    }

    pub fn whole(&self) -> u64 {
        self.ended - self.began
    }
}

/// The instructions for iterations.
#[derive(Clone, Copy)]
pub struct IterationSpec {
    pub clock: Clock,
    /// The work during the hold time.
    pub hold: Work,
    /// The probe of the SMT sibling, if that was requested.
    pub probe: Option<Probe>,
}

/// A thread's iterations of one window.
///
/// Its memory is touched and locked before any clock starts.
#[derive(Clone)]
pub struct Trace {
    rounds: Vec<Round>,
    used: usize,
    /// The maximum number of iterations.
    limit: usize,
    /// The ends of pieces that had a probe before and one after, and the readings of those.
    pieces: Vec<(usize, Probed)>,
    /// The begin and the end of each probe, in ticks: the thread used no lock then, and its CPU was busy.
    probes: Vec<(u64, u64)>,
}

/// The maximum number of probes in a window; after those the thread probes no more.
const MOST_PROBES: usize = 256;

impl Trace {
    /// Creates a trace for `capacity` iterations.
    ///
    /// The second value is the reason why its memory could not be locked, if any.
    pub fn with_capacity(capacity: usize) -> (Self, Option<String>) {
        // `vec![zero]` may leave untouched pages that fault in the middle of a measurement.
        let mut rounds = Vec::with_capacity(capacity);
        rounds.resize_with(capacity, || std::hint::black_box(Round { began: 1, locked: 1, releasing: 1, ended: 1 }));
        let bytes = std::mem::size_of_val(rounds.as_slice());
        // SAFETY: the range is the vector's own allocation, which is not moved as long as the trace lives; locking
        // pages changes no content.
        let locked = unsafe { rustix::mm::mlock(rounds.as_mut_ptr().cast(), bytes) };
        let (pieces, probes) = (Vec::with_capacity(MOST_PROBES), Vec::with_capacity(MOST_PROBES));
        (Self { rounds, used: 0, limit: capacity, pieces, probes }, locked.err().map(|error| error.to_string()))
    }

    /// Creates the trace of iterations that were not measured.
    pub fn of(rounds: Vec<Round>) -> Self {
        Self { used: rounds.len(), limit: rounds.len(), rounds, pieces: Vec::new(), probes: Vec::new() }
    }

    /// Adds the times of probes.
    pub fn with_probes(mut self, probes: &[(u64, u64)]) -> Self {
        self.probes = probes.to_vec();
        self
    }

    /// Returns the times of the probes, in ticks and in order.
    pub fn probes(&self) -> &[(u64, u64)] {
        &self.probes
    }

    /// Probes, and notes the time; `None` where that has no room, since a probe that is not noted would lengthen the
    /// waits of other threads.
    fn probe(&mut self, probe: &Probe, clock: Clock) -> Option<Reading> {
        if self.probes.len() == MOST_PROBES {
            return None;
        }
        let began = clock.now();
        let reading = probe.take();
        self.probes.push((began, clock.now()));
        Some(reading)
    }

    /// Returns whether the next iteration has no room.
    pub fn is_full(&self) -> bool {
        self.used == self.limit
    }

    /// Limits the next run to this number of iterations, as far as there is room.
    pub fn limit_to(&mut self, rounds: usize) {
        self.limit = rounds.min(self.rounds.len());
    }

    /// Returns the iterations, oldest first.
    pub fn rounds(&self) -> &[Round] {
        &self.rounds[..self.used]
    }

    /// Removes all of them.
    pub fn clear(&mut self) {
        self.used = 0;
        self.pieces.clear();
        self.probes.clear();
    }

    /// Ends a piece, which has the iterations since the last one.
    fn end_piece(&mut self, before: Reading, after: Reading) {
        if self.pieces.last().is_none_or(|(until, _)| *until < self.used) {
            self.pieces.push((self.used, Probed::between(before, after)));
        }
    }

    /// Returns the positions of each piece's iterations, and the readings of the probes around them.
    pub fn pieces(&self) -> impl Iterator<Item = (Range<usize>, Probed)> + '_ {
        let starts = std::iter::once(0).chain(self.pieces.iter().map(|(until, _)| *until));
        starts.zip(&self.pieces).map(|(from, (until, probed))| (from..*until, *probed))
    }

    /// Returns the readings of all probes.
    pub fn probed(&self) -> Option<Probed> {
        self.pieces.iter().map(|(_, probed)| *probed).reduce(Probed::with)
    }
}

/// The interval of probes: SMT interference comes and goes within milliseconds.
const LOOK_EVERY_NS: f64 = 1_500_000.0;

/// Acquires and releases the lock until `stop`, in ticks, or until the trace is full; probes regularly whether another
/// hardware thread uses the core.
///
/// A probe runs between two iterations of this thread, so it is in none of its latencies. It may run during a wait of
/// another thread. Therefore its time is noted, and the sums of that thread's iterations exclude such a wait.
pub fn run_and_look<L: Lock>(lock: &L, spec: IterationSpec, trace: &mut Trace, stop: impl Fn() -> u64) {
    let IterationSpec { clock, hold, probe } = spec;
    let Some(probe) = probe else { return run(lock, clock, hold, trace, stop) };
    let every = clock.to_ticks(LOOK_EVERY_NS);
    let mut before = trace.probe(&probe, clock);
    while !trace.is_full() && clock.now() < stop() {
        let look_at = if before.is_some() { clock.now() + every } else { u64::MAX };
        run(lock, clock, hold, trace, || stop().min(look_at));
        let after = trace.probe(&probe, clock);
        if let Some((before, after)) = before.zip(after) {
            trace.end_piece(before, after);
        }
        before = after;
    }
}

/// Acquires and releases the lock until `stop`, in ticks, or until the trace is full.
///
/// Never inlined: every lock, and no lock, gets the same frame around it.
#[inline(never)]
fn run<L: Lock>(lock: &L, clock: Clock, hold: Work, trace: &mut Trace, stop: impl Fn() -> u64) {
    for slot in &mut trace.rounds[trace.used..trace.limit] {
        // The stores of the last iteration are still on their way to the cache, and no timestamp waits for that; but an
        // atomic does, so that the next lock would pay for the recording.
        fence(Ordering::SeqCst);
        let lock = at_hand(lock);
        let began = clock.stamp();
        let guard = lock.lock();
        let locked = clock.stamp();
        hold.run();
        let releasing = clock.stamp();
        drop(guard);
        let ended = clock.stamp();
        *slot = Round { began, locked, releasing, ended };
        trace.used += 1;
        if ended >= stop() {
            break;
        }
    }
}

/// Forces the reference into a register.
///
/// On the stack it would be loaded behind the timestamp, where nothing else can be done in the meantime. That would add
/// five cycles of the loop to each lock and unlock.
#[inline(always)]
#[allow(clippy::pointers_in_nomem_asm_block, reason = "nothing is read or written there")]
fn at_hand<T>(value: &T) -> &T {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    let value = {
        let mut address: *const T = value;
        // SAFETY: the block has no instruction, so the register keeps the same valid reference.
        unsafe {
            std::arch::asm!("/* {0} */", inout(reg) address, options(nomem, nostack, preserves_flags));
            &*address
        }
    };
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use locks::NoLock;
    use std::time::Duration;

    fn clock() -> Clock {
        Clock::calibrate(Duration::from_millis(10)).clock
    }

    #[test]
    fn moments_and_iterations_are_in_order() {
        let (mut trace, _) = Trace::with_capacity(100);
        run(&NoLock, clock(), Work::of_loads(64), &mut trace, || u64::MAX);
        assert!(trace.is_full());
        assert_eq!(trace.rounds().len(), 100);
        assert!(trace.rounds().windows(2).all(|pair| pair[0].ended <= pair[1].began));
        let in_order = |round: &Round| round.began <= round.locked && round.releasing <= round.ended;
        assert!(trace.rounds().iter().all(|round| in_order(round) && round.locked <= round.releasing));
    }

    #[test]
    fn trace_is_reused_from_its_start_up_to_its_limit() {
        let (mut trace, _) = Trace::with_capacity(100);
        run(&NoLock, clock(), Work::of_loads(0), &mut trace, || u64::MAX);
        trace.limit_to(10);
        trace.clear();
        run(&NoLock, clock(), Work::of_loads(0), &mut trace, || u64::MAX);
        assert!(trace.is_full() && trace.rounds().len() == 10);
        trace.limit_to(usize::MAX);
        trace.clear();
        run(&NoLock, clock(), Work::of_loads(0), &mut trace, || 0);
        assert!(!trace.is_full() && trace.rounds().len() == 1);
    }

    /// No measured value shows this: how long an atomic waits for a store differs by processor.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn fence_separates_stores_from_the_first_timestamp() {
        type Run = fn(&NoLock, Clock, Work, &mut Trace, fn() -> u64);
        let first = run as Run as *const u8;
        // SAFETY: the range is this program's code, in which a function of fewer bytes is followed by many others.
        let code = unsafe { std::slice::from_raw_parts(first, 1_024) };
        let starts_with = |at: usize, all: &[&[u8]]| all.iter().any(|bytes| code[at..].starts_with(bytes));
        // `rdtsc`; `mfence`, or `lock orl $0` at the top of the stack or below it.
        let read: [&[u8]; 1] = [&[0x0f, 0x31]];
        let wait: [&[u8]; 3] = [&[0x0f, 0xae, 0xf0], &[0xf0, 0x83, 0x0c, 0x24], &[0xf0, 0x83, 0x4c, 0x24]];
        let reads: Vec<usize> = (0..code.len()).filter(|&at| starts_with(at, &read)).take(4).collect();
        // Before them may be the same iteration with a clock that is called.
        let round = reads[0].saturating_sub(64)..reads[3];
        let waits: Vec<usize> = round.filter(|&at| starts_with(at, &wait)).collect();
        let [wait] = waits[..] else { panic!("one wait: {waits:?} among readings at {reads:?}") };
        assert!(reads.iter().any(|read| (wait..wait + 64).contains(read)), "{wait} before {reads:?}");
    }
}

#[cfg(test)]
mod measured {
    use super::*;
    use locks::NoLock;
    use std::time::Duration;

    #[test]
    #[ignore = "measured: needs a CPU"]
    fn every_probe_is_noted_between_two_iterations() {
        let clock = Clock::calibrate(Duration::from_millis(10)).clock;
        let Some(probe) = Probe::calibrate(clock) else { return };
        let (mut trace, _) = Trace::with_capacity(200_000);
        let spec = IterationSpec { clock, hold: Work::of_loads(2_000), probe: Some(probe) };
        let stop = clock.now() + clock.to_ticks(20.0 * LOOK_EVERY_NS);
        run_and_look(&NoLock, spec, &mut trace, || stop);
        assert!(trace.probes().len() > 2 && trace.probes().len() <= MOST_PROBES);
        assert!(trace.probes().windows(2).all(|pair| pair[0].1 <= pair[1].0));
        let is_within = |round: &Round, probe: &(u64, u64)| round.began < probe.1 && probe.0 < round.ended;
        for probe in trace.probes() {
            assert!(!trace.rounds().iter().any(|round| is_within(round, probe)), "{probe:?}");
        }
        trace.probes.resize(MOST_PROBES, (0, 1));
        assert!(trace.probe(&probe, clock).is_none());
        trace.clear();
        assert!(trace.probes().is_empty());
    }
}
