//! The other threads of a window: the times at which they had the lock, waited for it, and probed their core.
//!
//! A probe runs between two iterations of its thread, and during iterations of the others. Where threads share a CPU, a
//! waiter waits for the end of the probe; where each has its own, a probing thread does not compete, so a wait is
//! shorter than it would have been. Neither is an effect of the lock: such an iteration is in no value. A probe takes
//! microseconds, and a time slice milliseconds, so a wait that lasts a time slice of the other thread always overlaps
//! one. If overlap alone excluded it, no long wait would remain. So an iteration counts if the probes take no more than
//! [`MOST_SHARE`] of it.

use crate::latency::record::Operation;
use loops::latency::{Round, Trace};

/// The times at which other threads had the lock, and waited for it: intervals in order of time that do not overlap.
#[derive(Default)]
pub struct OtherThreads {
    pub holds: Vec<(u64, u64)>,
    pub waits: Vec<(u64, u64)>,
}

/// The iterations of all threads of a window, each with its thread's number, in the order of acquisition.
pub struct Rounds(Vec<(usize, Round)>);

impl Rounds {
    pub fn of<'a>(traces: impl Iterator<Item = &'a Trace>) -> Self {
        let of_thread = |(thread, trace): (usize, &'a Trace)| trace.rounds().iter().map(move |round| (thread, *round));
        let mut rounds: Vec<(usize, Round)> = traces.enumerate().flat_map(of_thread).collect();
        rounds.sort_unstable_by_key(|(_, round)| round.locked);
        Self(rounds)
    }

    /// Returns the threads with which thread number `place` shares the lock.
    pub fn others(&self, place: usize) -> OtherThreads {
        let (holds, waits): (Vec<_>, Vec<_>) =
            self.of_others(place).map(|(_, round, until)| ((round.locked, until), (round.began, round.locked))).unzip();
        OtherThreads { holds, waits: joined(waits) }
    }

    /// Returns the other threads that had the lock at some time of a span, with the begin and the end.
    pub fn holds_within(&self, place: usize, (from, to): (u64, u64)) -> impl Iterator<Item = (usize, u64, u64)> {
        let holds = self.of_others(place).map(|(thread, round, until)| (thread, round.locked, until));
        holds.filter(move |(_, locked, until)| *locked < to && *until > from)
    }

    /// Returns the iterations of the others, and the end of each hold.
    ///
    /// A holder can be descheduled between its release and the timestamp behind it. The lock was free by then, since
    /// another thread could acquire it: a hold ends when the next one begins.
    fn of_others(&self, place: usize) -> impl Iterator<Item = (usize, &Round, u64)> {
        let next = self.0.iter().skip(1).map(|(_, round)| round.locked).chain([u64::MAX]);
        let others = self.0.iter().zip(next).filter(move |((thread, _), _)| *thread != place);
        others.map(|((thread, round), next)| (*thread, round, round.ended.min(next)))
    }
}

/// Returns the same time in intervals that do not overlap, in order.
pub(super) fn joined(mut intervals: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    intervals.sort_unstable();
    intervals.into_iter().fold(Vec::new(), |mut joined: Vec<(u64, u64)>, next| {
        match joined.last_mut() {
            Some(last) if next.0 <= last.1 => last.1 = last.1.max(next.1),
            _ => joined.push(next),
        }
        joined
    })
}

/// A sweep that returns for how long some of `intervals`, which are in order, overlap a time; times come in order too.
pub struct Sweep<'a> {
    intervals: &'a [(u64, u64)],
    first: usize,
}

impl<'a> Sweep<'a> {
    pub fn over(intervals: &'a [(u64, u64)]) -> Self {
        Self { intervals, first: 0 }
    }

    pub fn overlap(&mut self, start: u64, end: u64) -> u64 {
        while self.intervals.get(self.first).is_some_and(|interval| interval.1 <= start) {
            self.first += 1;
        }
        let reaching = self.intervals[self.first..].iter().take_while(|interval| interval.0 < end);
        reaching.map(|interval| interval.1.min(end).saturating_sub(interval.0.max(start))).sum()
    }
}

/// The part of an iteration (a twentieth) above which probes exclude it.
///
/// An iteration that counts is at most that much longer than without them, which is less than its intervals are wide.
const MOST_SHARE: u64 = 20;

/// The probes of the other threads of a window, in ticks: spans that do not overlap, in order of time.
#[derive(Debug, Default)]
pub struct OthersProbes {
    spans: Vec<(u64, u64)>,
    /// The length of all spans before each, and of all.
    before: Vec<u64>,
}

impl OthersProbes {
    /// Collects the probes of all traces but that of thread number `thread`.
    pub fn of<'a>(traces: impl Iterator<Item = &'a Trace>, thread: usize) -> Self {
        let others = traces.enumerate().filter(|(place, _)| *place != thread);
        Self::new(joined(others.flat_map(|(_, trace)| trace.probes()).copied().collect()))
    }

    fn new(spans: Vec<(u64, u64)>) -> Self {
        let sums = spans.iter().scan(0, |sum, (from, to)| {
            *sum += to - from;
            Some(*sum)
        });
        let before = std::iter::once(0).chain(sums).collect();
        Self { spans, before }
    }

    /// Returns whether probes took too much of this time for it to count.
    pub fn spoil(&self, (start, end): (u64, u64)) -> bool {
        let first = self.spans.partition_point(|probe| probe.1 <= start);
        let last = self.spans.partition_point(|probe| probe.0 < end);
        if first >= last {
            return false;
        }
        let outside = start.saturating_sub(self.spans[first].0) + self.spans[last - 1].1.saturating_sub(end);
        let taken = self.before[last] - self.before[first] - outside;
        taken * MOST_SHARE > end - start
    }

    /// Returns the indices of the iterations whose operation is spoiled, in order.
    ///
    /// The iterations are in order of time. Each that overlaps a probe is looked at once: one that waits for hundreds of
    /// threads overlaps the probes of all of them.
    pub fn spoiled(&self, operation: Operation, rounds: &[Round]) -> Vec<usize> {
        // With many threads, each has few iterations next to the probes of all others.
        if rounds.len() < self.spans.len() {
            let places = 0..rounds.len();
            return places.filter(|place| self.spoil(operation.span(&rounds[*place]))).collect();
        }
        let (mut places, mut next) = (Vec::new(), 0);
        for probe in &self.spans {
            let first = rounds.partition_point(|round| round.ended <= probe.0).max(next);
            let last = rounds.partition_point(|round| round.began < probe.1);
            let spoiled = |place: &usize| self.spoil(operation.span(&rounds[*place]));
            places.extend((first..last).filter(spoiled));
            next = next.max(last);
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_joined_where_they_overlap() {
        assert_eq!(joined(vec![(20, 30), (0, 10), (25, 40), (10, 12)]), [(0, 12), (20, 40)]);
        assert_eq!(joined(Vec::new()), []);
    }

    #[test]
    fn sweep_adds_up_overlaps() {
        let intervals = [(0, 10), (20, 30), (30, 40)];
        let mut sweep = Sweep::over(&intervals);
        assert_eq!(sweep.overlap(5, 8), 3);
        assert_eq!(sweep.overlap(9, 22), 1 + 2);
        assert_eq!(sweep.overlap(26, 100), 4 + 10);
        assert_eq!(sweep.overlap(100, 200), 0);
    }

    fn round(began: u64, locked: u64, releasing: u64, ended: u64) -> Round {
        Round { began, locked, releasing, ended }
    }

    fn traces(probes: &[(u64, u64)]) -> [Trace; 2] {
        let prober = Trace::of(Vec::new()).with_probes(probes);
        [Trace::of(Vec::new()), prober]
    }

    fn probes(spans: &[(u64, u64)]) -> OthersProbes {
        OthersProbes::of(traces(spans).iter(), 0)
    }

    #[test]
    fn waits_that_overlap_another_threads_probe_are_spoiled() {
        // Two threads alternate, 10 ticks of hold; the other one probes for 7 ticks before its second hold.
        let rounds = [round(0, 12, 22, 23), round(23, 35, 45, 46), round(46, 65, 75, 76), round(76, 88, 98, 99)];
        let found = probes(&[(47, 54)]);
        assert_eq!(found.spoiled(Operation::Lock, &rounds), [2]);
        assert_eq!(found.spoiled(Operation::RoundTrip, &rounds), [2]);
        assert_eq!(found.spoiled(Operation::Unlock, &rounds), [0; 0]);
    }

    #[test]
    fn an_uncontended_acquisition_during_a_probe_is_spoiled() {
        let rounds = [round(0, 2, 4, 6), round(100, 102, 104, 106), round(200, 202, 204, 206)];
        assert_eq!(probes(&[(90, 160)]).spoiled(Operation::Lock, &rounds), [1], "the other thread did not compete");
    }

    #[test]
    fn long_wait_with_short_probes_counts() {
        // A time slice of the other thread, which probes three times in it.
        let slice = [round(0, 4_000_000, 4_006_000, 4_006_100)];
        let found = probes(&[(500_000, 506_800), (2_000_000, 2_006_800), (3_500_000, 3_506_800)]);
        assert_eq!(found.spoiled(Operation::Lock, &slice), [0; 0]);
        assert!(found.spoil((2_000_000, 2_100_000)) && !found.spoil((2_000_000, 2_200_000)));
    }

    #[test]
    fn a_threads_own_probes_spoil_none_of_its_rounds() {
        let own = [traces(&[(5, 9)])[1].clone(), Trace::of(Vec::new())];
        assert!(!OthersProbes::of(own.iter(), 0).spoil((0, 10)));
        assert!(OthersProbes::of(own.iter(), 1).spoil((0, 10)));
    }

    /// Simulates repetitions on one CPU: each thread holds for 6.1 µs, and every 240th iteration the other probes for
    /// 6.8 µs.
    #[test]
    fn p99_of_counted_waits_equals_that_without_probes() {
        let (hold, switch, probe) = (6_100_u64, 1_500, 6_800);
        let simulate = |probes_every: u64| {
            let (mut now, mut rounds, mut spans) = (0, Vec::new(), Vec::new());
            for number in 0..20_000 {
                let began = now;
                if probes_every > 0 && number % probes_every == 0 {
                    spans.push((now + switch, now + switch + probe));
                    now += probe;
                }
                let locked = now + 2 * switch + hold + number % 7 * 100;
                now = locked + hold;
                rounds.push(round(began, locked, now, now));
            }
            (rounds, spans)
        };
        let p99 = |rounds: &[Round], excluded: &[usize]| {
            let counted = rounds.iter().enumerate().filter(|(place, _)| excluded.binary_search(place).is_err());
            let mut waits: Vec<u64> = counted.map(|(_, round)| round.lock()).collect();
            waits.sort_unstable();
            waits[waits.len() * 99 / 100]
        };
        let ((plain, _), (rounds, spans)) = (simulate(0), simulate(90));
        let excluded = probes(&spans).spoiled(Operation::Lock, &rounds);
        assert!(p99(&rounds, &[]) > p99(&plain, &[]) + probe / 2, "the probes show in p99 where they are included");
        assert_eq!(p99(&rounds, &excluded), p99(&plain, &[]));
        assert_eq!(excluded.len(), spans.len(), "nothing else is excluded");
    }
}
