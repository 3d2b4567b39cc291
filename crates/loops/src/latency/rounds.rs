//! The loop that is measured, and where its timestamps go.
//!
//! Four timestamps a round: before the lock, after it, before the unlock, after it. Storing, counting and testing lie
//! between the last stamp of one round and the first of the next, so they are in no latency of this thread. 1998 had two
//! stamps a round: then the loop's own work falls into the lock's difference, where a lock hides it and no lock does
//! not, and an unlock is a difference of two hold times, each of which scatters by more than an unlock takes.

use instruments::clock::Clock;
use instruments::grind::Work;
use instruments::neighbour::{Probe, Probed, Reading};
use locks::Lock;
use std::ops::Range;
use std::sync::atomic::{Ordering, fence};

/// The moments of a round, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Wants the lock.
    pub began: u64,
    /// Has it.
    pub locked: u64,
    /// Has held it for its time.
    pub releasing: u64,
    /// Has released it.
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

/// How rounds are made.
#[derive(Clone, Copy)]
pub struct Way {
    pub clock: Clock,
    /// What holds the lock for its time.
    pub hold: Work,
    /// What looks for a neighbour on the core, if anybody wants to know.
    pub probe: Option<Probe>,
}

/// A thread's rounds of one slice. Its memory is touched and locked before any clock starts.
#[derive(Clone)]
pub struct Trace {
    rounds: Vec<Round>,
    used: usize,
    /// So many rounds at most.
    limit: usize,
    /// Where pieces end that had a probe before and one after, and what those said.
    pieces: Vec<(usize, Probed)>,
    /// When the thread probed, from and until, in ticks: it wanted no lock then, and its CPU was taken.
    probes: Vec<(u64, u64)>,
}

/// Room for this number of probes in a slice; after those the thread probes no more.
const MOST_PROBES: usize = 256;

impl Trace {
    /// Room for `capacity` rounds. The second value says why its memory could not be locked, if it could not.
    pub fn with_capacity(capacity: usize) -> (Self, Option<String>) {
        // Not `vec![zero]`, which may leave untouched pages that fault in the middle of a measurement.
        let mut rounds = Vec::with_capacity(capacity);
        rounds.resize_with(capacity, || std::hint::black_box(Round { began: 1, locked: 1, releasing: 1, ended: 1 }));
        let bytes = std::mem::size_of_val(rounds.as_slice());
        // SAFETY: the range is the vector's own allocation, which is not moved as long as the trace lives; locking
        // pages changes no content.
        let locked = unsafe { rustix::mm::mlock(rounds.as_mut_ptr().cast(), bytes) };
        let (pieces, probes) = (Vec::with_capacity(MOST_PROBES), Vec::with_capacity(MOST_PROBES));
        (Self { rounds, used: 0, limit: capacity, pieces, probes }, locked.err().map(|error| error.to_string()))
    }

    /// What such rounds would have left, which were not measured.
    pub fn of(rounds: Vec<Round>) -> Self {
        Self { used: rounds.len(), limit: rounds.len(), rounds, pieces: Vec::new(), probes: Vec::new() }
    }

    /// The same trace of a thread that probed at these times.
    pub fn with_probes(mut self, probes: &[(u64, u64)]) -> Self {
        self.probes = probes.to_vec();
        self
    }

    /// When the thread probed, in ticks and in order.
    pub fn probes(&self) -> &[(u64, u64)] {
        &self.probes
    }

    /// Probes, and notes when; `None` where there is no room for that, since a probe that is not noted would lengthen
    /// the others' waits.
    fn probe(&mut self, probe: &Probe, clock: Clock) -> Option<Reading> {
        if self.probes.len() == MOST_PROBES {
            return None;
        }
        let began = clock.now();
        let reading = probe.take();
        self.probes.push((began, clock.now()));
        Some(reading)
    }

    /// Whether the next round has no room.
    pub fn is_full(&self) -> bool {
        self.used == self.limit
    }

    /// The next run has so many rounds at most, as far as there is room.
    pub fn limit_to(&mut self, rounds: usize) {
        self.limit = rounds.min(self.rounds.len());
    }

    /// The rounds, oldest first.
    pub fn rounds(&self) -> &[Round] {
        &self.rounds[..self.used]
    }

    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.used = 0;
        self.pieces.clear();
        self.probes.clear();
    }

    /// The rounds since the last piece are one.
    fn end_piece(&mut self, before: Reading, after: Reading) {
        if self.pieces.last().is_none_or(|(until, _)| *until < self.used) {
            self.pieces.push((self.used, Probed::between(before, after)));
        }
    }

    /// The places of each piece's rounds, and what the probes around them said.
    pub fn pieces(&self) -> impl Iterator<Item = (Range<usize>, Probed)> + '_ {
        let starts = std::iter::once(0).chain(self.pieces.iter().map(|(until, _)| *until));
        starts.zip(&self.pieces).map(|(from, (until, probed))| (from..*until, *probed))
    }

    /// What all probes said.
    pub fn probed(&self) -> Option<Probed> {
        self.pieces.iter().map(|(_, probed)| *probed).reduce(Probed::with)
    }
}

/// Who shares the core comes and goes within milliseconds: so often somebody looks.
const LOOK_EVERY_NS: f64 = 1_500_000.0;

/// Takes and releases the lock until `stop`, in ticks, or until the trace is full; probes every so often whether another
/// hardware thread uses the core.
///
/// A probe runs between two rounds of this thread, so it is in none of its latencies. It may run during a wait of another
/// thread: so its time is noted, and the sums of that thread's rounds exclude such a wait.
pub fn run_and_look<L: Lock>(lock: &L, way: Way, trace: &mut Trace, stop: impl Fn() -> u64) {
    let Way { clock, hold, probe } = way;
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

/// Takes and releases the lock until `stop`, in ticks, or until the trace is full.
///
/// Never inlined: every lock, and no lock, gets the same frame around it.
#[inline(never)]
fn run<L: Lock>(lock: &L, clock: Clock, hold: Work, trace: &mut Trace, stop: impl Fn() -> u64) {
    for slot in &mut trace.rounds[trace.used..trace.limit] {
        // What was stored of the last round is still on its way to the cache, and no stamp waits for that; but an
        // atomic does, so that it would be the next lock that pays for the recording.
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

/// The same, in a register. Left on the stack it would be fetched behind the stamp, where nothing else can be done
/// meanwhile: five cycles a lock and as many an unlock that are the loop's and not theirs.
#[inline(always)]
#[allow(clippy::pointers_in_nomem_asm_block, reason = "nothing is read or written there")]
fn at_hand<T>(value: &T) -> &T {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    let value = {
        let mut address: *const T = value;
        // SAFETY: no instruction at all, and so no change of what the register has: the same valid reference.
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
    fn the_moments_of_a_round_and_the_rounds_follow_each_other() {
        let (mut trace, _) = Trace::with_capacity(100);
        run(&NoLock, clock(), Work::of_loads(64), &mut trace, || u64::MAX);
        assert!(trace.is_full());
        assert_eq!(trace.rounds().len(), 100);
        assert!(trace.rounds().windows(2).all(|pair| pair[0].ended <= pair[1].began));
        let in_order = |round: &Round| round.began <= round.locked && round.releasing <= round.ended;
        assert!(trace.rounds().iter().all(|round| in_order(round) && round.locked <= round.releasing));
    }

    #[test]
    fn a_trace_is_used_again_from_its_start_and_as_far_as_it_may() {
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

    #[test]
    fn every_probe_is_noted_between_two_rounds_and_there_is_room_for_each() {
        let clock = clock();
        let Some(probe) = Probe::calibrate(clock) else { return };
        let (mut trace, _) = Trace::with_capacity(200_000);
        let way = Way { clock, hold: Work::of_loads(2_000), probe: Some(probe) };
        let stop = clock.now() + clock.to_ticks(20.0 * LOOK_EVERY_NS);
        run_and_look(&NoLock, way, &mut trace, || stop);
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

    /// Nothing that is measured shows it: how long an atomic waits for a store differs by processor.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn between_what_is_stored_and_the_first_stamp_the_code_waits_until_it_has_left_the_core() {
        type Run = fn(&NoLock, Clock, Work, &mut Trace, fn() -> u64);
        let first = run as Run as *const u8;
        // SAFETY: this program's code, in which a function of fewer bytes is followed by many others.
        let code = unsafe { std::slice::from_raw_parts(first, 1_024) };
        let starts_with = |at: usize, all: &[&[u8]]| all.iter().any(|bytes| code[at..].starts_with(bytes));
        // `rdtsc`; `mfence`, or `lock orl $0` at the top of the stack or below it.
        let read: [&[u8]; 1] = [&[0x0f, 0x31]];
        let wait: [&[u8]; 3] = [&[0x0f, 0xae, 0xf0], &[0xf0, 0x83, 0x0c, 0x24], &[0xf0, 0x83, 0x4c, 0x24]];
        let reads: Vec<usize> = (0..code.len()).filter(|&at| starts_with(at, &read)).take(4).collect();
        // Before them may lie the same round with a clock that is called.
        let round = reads[0].saturating_sub(64)..reads[3];
        let waits: Vec<usize> = round.filter(|&at| starts_with(at, &wait)).collect();
        let [wait] = waits[..] else { panic!("one wait: {waits:?} among readings at {reads:?}") };
        assert!(reads.iter().any(|read| (wait..wait + 64).contains(read)), "{wait} before {reads:?}");
    }
}
