//! Holders that were preempted: how often a thread lost its CPU while it had a lock, for how long the lock was kept, who
//! ran, and how much more CPU time the hold needed.

use crate::switches::{Competitor, Preemption, Schedule};
use std::collections::HashMap;

/// Sums of the preemptions of the holders of one lock that acquired it at one place. Times are in ns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sums {
    pub times: u64,
    /// Time in which the lock was held by a thread that was preempted.
    pub kept_ns: f64,
    /// Time that others waited during the preemptions: two waiters count twice.
    pub waited_ns: f64,
    /// Preemptions after which the hold needed at most 5 and at most 50 µs of CPU time.
    pub covered: [u64; 2],
    /// CPU times that holds needed after preemptions: the first ones.
    pub left_ns: Vec<f64>,
    /// Time that each competitor kept the lock from being released.
    pub by: HashMap<Competitor, f64>,
}

/// CPU times by which a longer time slice covers a preemption.
pub const SLICES_NS: [f64; 2] = [5e3, 50e3];
/// CPU times that are kept for a pair.
const MOST_LEFT: usize = 4_096;

impl Sums {
    /// Adds a preemption within a hold that still needed this CPU time.
    pub fn note(&mut self, preemption: &Preemption, left_ns: f64, by: Competitor) {
        self.times += 1;
        let kept_ns = preemption.to - preemption.from;
        self.kept_ns += kept_ns;
        for (count, slice_ns) in self.covered.iter_mut().zip(SLICES_NS) {
            *count += u64::from(left_ns <= slice_ns);
        }
        if self.left_ns.len() < MOST_LEFT {
            self.left_ns.push(left_ns);
        }
        *self.by.entry(by).or_default() += kept_ns;
    }

    /// Adds the sums of another pair.
    pub fn merge(&mut self, other: &Self) {
        self.times += other.times;
        self.kept_ns += other.kept_ns;
        self.waited_ns += other.waited_ns;
        self.covered.iter_mut().zip(other.covered).for_each(|(sum, more)| *sum += more);
        self.left_ns.extend(&other.left_ns);
        other.by.iter().for_each(|(by, ns)| *self.by.entry(by.clone()).or_default() += ns);
    }
}

/// The preempted holders of a program, by the pair that says which lock was acquired where.
#[derive(Default)]
pub struct Preempted {
    pub by_pair: HashMap<u32, Sums>,
    /// Holds whose thread's switches may not have been read yet.
    fresh: Vec<Held>,
    older: Vec<Held>,
    /// Holds that lasted long enough for a preemption, and those of them for which it is known.
    pub holds: u64,
    pub known: u64,
}

struct Held {
    thread: u32,
    pair: u32,
    from: f64,
    to: f64,
}

impl Preempted {
    /// Notes a hold; times in ns since the start.
    pub fn held(&mut self, thread: u32, pair: u32, from: f64, to: f64) {
        if from.is_finite() {
            self.fresh.push(Held { thread, pair, from, to });
        }
    }

    /// Ends a reading: the holds before it are judged by the next [`judge`](Self::judge).
    pub fn next_reading(&mut self) {
        self.older.append(&mut self.fresh);
    }

    /// Finds the preemptions within the holds; the switches up to their ends are known.
    pub fn judge(&mut self, schedule: &Schedule) {
        for Held { thread, pair, from, to } in std::mem::take(&mut self.older) {
            self.holds += 1;
            // A part of it may be unknown by the error of the two clocks.
            self.known += u64::from(schedule.seen(thread, from, to).known > 0.99 * (to - from));
            for preemption in schedule.preemptions(thread, from, to) {
                let rest = to - preemption.to;
                let left_ns = (rest - schedule.seen(thread, preemption.to, to).off).max(0.0);
                let by = schedule.competitor(preemption.next);
                self.by_pair.entry(pair).or_default().note(&preemption, left_ns, by);
            }
        }
    }

    /// Adds time that was waited for a preempted holder.
    pub fn waited(&mut self, pair: u32, ns: f64) {
        if ns > 0.0 {
            self.by_pair.entry(pair).or_default().waited_ns += ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::switches::{State, Timeline};

    /// The truth about one preemption: its length, and the CPU time that the hold needed afterwards.
    struct Truth {
        kept_ns: f64,
        left_ns: f64,
        by: u32,
    }

    /// Simulates a thread that holds a lock for 20 to 120 µs of CPU time again and again, with ticks every 4 ms at which
    /// another thread may take its CPU for 1 to 12 ms; returns its holds, its timeline, and the truth.
    fn simulated(seed: u64) -> (Vec<(f64, f64)>, Timeline, Vec<Truth>) {
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut timeline, mut holds, mut truth) = (Timeline::default(), Vec::new(), Vec::new());
        timeline.begin(0.0, State::Ready(Some(1)));
        let (mut now, mut tick) = (0.0, 4e6);
        while now < 10e9 {
            // Time outside of the lock, then in it.
            for is_held in [false, true] {
                let (began, mut left) = (now, if is_held { 20e3 + 100e3 * random.f64() } else { 300e3 * random.f64() });
                let mut own = Vec::new();
                while now + left >= tick {
                    left -= tick - now;
                    now = tick;
                    tick += 4e6;
                    if random.bool() {
                        let (kept_ns, by) = (1e6 + 11e6 * random.f64(), random.u32(7..10));
                        timeline.note(now, true, true);
                        timeline.followed_by(now, by);
                        now += kept_ns;
                        timeline.note(now, false, false);
                        own.push(Truth { kept_ns, left_ns: left, by });
                        while tick <= now {
                            tick += 4e6;
                        }
                    }
                }
                now += left;
                if is_held {
                    holds.push((began, now));
                    truth.extend(own);
                }
            }
        }
        (holds, timeline, truth)
    }

    #[test]
    fn count_time_and_covers_equal_those_of_a_simulation() {
        for seed in 0..4 {
            let (holds, timeline, truth) = simulated(seed);
            let mut schedule = Schedule::default();
            schedule.threads.insert(3, timeline);
            schedule.threads.insert(7, Timeline::default());
            schedule.competitors.insert(8, (80, "cc1".into()));
            let mut preempted = Preempted::default();
            holds.iter().for_each(|(from, to)| preempted.held(3, 5, *from, *to));
            preempted.judge(&schedule);
            assert!(preempted.by_pair.is_empty(), "their switches may not have been read");
            preempted.next_reading();
            preempted.judge(&schedule);
            let sums = &preempted.by_pair[&5];
            let sum = |of: &dyn Fn(&Truth) -> f64| truth.iter().map(of).sum::<f64>();
            let within = |ns: f64| truth.iter().filter(|one| one.left_ns <= ns).count() as u64;
            assert!(truth.len() > 100, "{}", truth.len());
            assert_eq!(sums.times, truth.len() as u64);
            assert!((sums.kept_ns - sum(&|one| one.kept_ns)).abs() < 1e3);
            assert_eq!(sums.covered, [within(5e3), within(50e3)]);
            let by = |by: u32| sum(&|one| if one.by == by { one.kept_ns } else { 0.0 });
            let of = |competitor: &Competitor| sums.by[competitor];
            for (competitor, thread) in
                [(Competitor::Own, 7), (Competitor::Named("cc1".into()), 8), (Competitor::Unknown, 9)]
            {
                assert!((of(&competitor) - by(thread)).abs() < 1e3, "{competitor:?}");
            }
            assert_eq!((preempted.holds, preempted.known), (holds.len() as u64, holds.len() as u64));
        }
    }

    #[test]
    fn hold_without_a_known_beginning_is_not_judged() {
        let mut preempted = Preempted::default();
        preempted.held(1, 0, f64::NEG_INFINITY, 1e9);
        preempted.next_reading();
        preempted.judge(&Schedule::default());
        assert_eq!((preempted.holds, preempted.known), (0, 0));
        preempted.held(1, 0, 0.0, 1e9);
        preempted.next_reading();
        preempted.judge(&Schedule::default());
        assert_eq!((preempted.holds, preempted.known), (1, 0), "nothing is known of its thread");
    }
}
