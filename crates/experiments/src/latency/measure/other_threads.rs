//! When the other threads of a slice had the lock, and when they waited for it.
use loops::latency::{Round, Trace};

/// When other threads had the lock, and when they waited for it: intervals in order of time that do not overlap.
#[derive(Default)]
pub struct OtherThreads {
    pub holds: Vec<(u64, u64)>,
    pub waits: Vec<(u64, u64)>,
}

/// The rounds of all threads of a slice, each with its thread's number, in the order in which they took the lock.
pub struct Rounds(Vec<(usize, Round)>);

impl Rounds {
    pub fn of<'a>(traces: impl Iterator<Item = &'a Trace>) -> Self {
        let of_thread = |(thread, trace): (usize, &'a Trace)| trace.rounds().iter().map(move |round| (thread, *round));
        let mut rounds: Vec<(usize, Round)> = traces.enumerate().flat_map(of_thread).collect();
        rounds.sort_unstable_by_key(|(_, round)| round.locked);
        Self(rounds)
    }

    /// What thread number `place` shares the lock with.
    pub fn others(&self, place: usize) -> OtherThreads {
        let (holds, waits): (Vec<_>, Vec<_>) =
            self.of_others(place).map(|(_, round, until)| ((round.locked, until), (round.began, round.locked))).unzip();
        OtherThreads { holds, waits: joined(waits) }
    }

    /// Which of the other threads had the lock at some time of a span, from when, and until when.
    pub fn holds_within(&self, place: usize, (from, to): (u64, u64)) -> impl Iterator<Item = (usize, u64, u64)> {
        let holds = self.of_others(place).map(|(thread, round, until)| (thread, round.locked, until));
        holds.filter(move |(_, locked, until)| *locked < to && *until > from)
    }

    /// The rounds of the others, and when each no longer had the lock.
    ///
    /// A holder can be switched out between its release and the timestamp behind it. The lock was free by then, since
    /// somebody else could take it: a hold ends when the next one begins.
    fn of_others(&self, place: usize) -> impl Iterator<Item = (usize, &Round, u64)> {
        let next = self.0.iter().skip(1).map(|(_, round)| round.locked).chain([u64::MAX]);
        let others = self.0.iter().zip(next).filter(move |((thread, _), _)| *thread != place);
        others.map(|((thread, round), next)| (*thread, round, round.ended.min(next)))
    }
}

/// The same time in intervals that do not overlap, in order.
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

/// For how long some of `intervals`, which are in order, overlap a time; times come in order too.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_joined_where_they_overlap() {
        assert_eq!(joined(vec![(20, 30), (0, 10), (25, 40), (10, 12)]), [(0, 12), (20, 40)]);
        assert_eq!(joined(Vec::new()), []);
    }

    #[test]
    fn a_sweep_adds_up_what_overlaps() {
        let intervals = [(0, 10), (20, 30), (30, 40)];
        let mut sweep = Sweep::over(&intervals);
        assert_eq!(sweep.overlap(5, 8), 3);
        assert_eq!(sweep.overlap(9, 22), 1 + 2);
        assert_eq!(sweep.overlap(26, 100), 4 + 10);
        assert_eq!(sweep.overlap(100, 200), 0);
    }
}
