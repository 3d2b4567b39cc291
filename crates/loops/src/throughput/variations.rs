//! The differences of a child's loop from that of 2002, as data: data under the lock, locks of unequal popularity, a
//! number of children that changes within a run, and a holder that is stopped.

use instruments::shared_memory::SharedArray;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The differences from the loop of 2002.
#[derive(Clone, Copy, Debug)]
pub struct Variations {
    pub ramp: Option<Ramp>,
    pub stop: Option<Stop>,
}

/// A number of children that rises from 1 to all and falls again: it doubles from step to step, and halves.
#[derive(Clone, Copy, Debug)]
pub struct Ramp {
    pub children: usize,
    /// When the first step begins, in ticks after the common start.
    pub begins: u64,
    /// Length of a step, in ticks.
    pub step: u64,
}

impl Ramp {
    /// The number of steps for that many children: 5 for 4 (1, 2, 4, 2, 1).
    pub fn steps(children: usize) -> usize {
        2 * children.next_power_of_two().ilog2() as usize + 1
    }

    /// The number of active children in a step, of `children`; 0 after the last one.
    pub fn active(children: usize, step: usize) -> usize {
        match Self::steps(children).checked_sub(step + 1) {
            Some(left) => children.min(1 << step.min(left)),
            None => 0,
        }
    }

    /// The step at this time after the common start. In the time before the first step, its children are active.
    pub fn at(&self, elapsed: u64) -> usize {
        (elapsed.saturating_sub(self.begins) / self.step.max(1)) as usize
    }

    /// The next step in which the child is active, and the time after the common start at which it begins.
    pub fn next_of(&self, child: usize, step: usize) -> Option<(usize, u64)> {
        let mut later = step..Self::steps(self.children);
        let found = later.find(|&step| child < Self::active(self.children, step))?;
        Some((found, self.begins + found as u64 * self.step))
    }
}

/// The first child that acquires a lock after this time sleeps while it holds it.
#[derive(Clone, Copy, Debug)]
pub struct Stop {
    /// In ticks after the common start.
    pub at: u64,
    pub length: Duration,
    /// Length of a part of the run, in ticks: rounds are counted by part.
    pub part: u64,
}

/// A cache line of data.
#[derive(Default)]
#[repr(align(64))]
struct Line(AtomicU64);

/// The data of all locks, which is written in every critical section.
pub struct Data {
    lines: SharedArray<Line>,
    of_each: usize,
}

impl Data {
    pub fn new(locks: usize, of_each: usize) -> io::Result<Self> {
        Ok(Self { lines: SharedArray::from_fn(locks * of_each, |_| Ok(Line::default()))?, of_each })
    }

    /// Reads and writes each line of a lock.
    #[inline(always)]
    pub fn touch(&self, lock: usize) {
        for line in &self.lines[lock * self.of_each..(lock + 1) * self.of_each] {
            line.0.store(line.0.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }
}

/// How often each lock is drawn.
pub struct Popularity {
    /// The sums of the shares up to each lock, of 2^64.
    up_to: Vec<u64>,
}

impl Popularity {
    /// Lock k (from 1) is drawn in proportion to 1 / k^exponent.
    pub fn by_zipf(locks: usize, exponent: f64) -> Self {
        let weights: Vec<f64> = (1..=locks).map(|rank| (rank as f64).powf(-exponent)).collect();
        let all: f64 = weights.iter().sum();
        let mut sum = 0.0;
        let up_to = weights.iter().map(|weight| {
            sum += weight / all;
            (sum * u64::MAX as f64) as u64
        });
        Self { up_to: up_to.collect() }
    }

    #[inline(always)]
    pub fn draw(&self, random: u64) -> usize {
        self.up_to.partition_point(|&sum| sum < random).min(self.up_to.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::Random;
    use super::*;

    #[test]
    fn children_double_and_halve() {
        let all = |children| (0..=Ramp::steps(children)).map(move |step| Ramp::active(children, step));
        assert_eq!(all(1).collect::<Vec<_>>(), [1, 0]);
        assert_eq!(all(4).collect::<Vec<_>>(), [1, 2, 4, 2, 1, 0]);
        assert_eq!(all(6).collect::<Vec<_>>(), [1, 2, 4, 6, 4, 2, 1, 0]);
        assert!(Ramp::steps(100_000) <= super::super::MOST_STEPS);
    }

    #[test]
    fn child_sleeps_until_its_next_step() {
        let ramp = Ramp { children: 4, begins: 100, step: 10 };
        assert_eq!(ramp.next_of(1, 0), Some((1, 110)));
        assert_eq!(ramp.next_of(3, 1), Some((2, 120)));
        assert_eq!(ramp.next_of(3, 3), None);
        assert_eq!((ramp.at(5), ramp.at(119), ramp.at(149)), (0, 1, 4));
    }

    #[test]
    fn popularity_follows_zipf() {
        let popularity = Popularity::by_zipf(4, 1.0);
        let mut random = Random::new(3, 0);
        let mut draws = [0_u32; 4];
        (0..100_000).for_each(|_| draws[popularity.draw(random.next())] += 1);
        // 1, 1/2, 1/3 and 1/4 of 25/12.
        for (count, expected) in draws.into_iter().zip([48_000.0, 24_000.0, 16_000.0, 12_000.0]) {
            assert!((f64::from(count) - expected).abs() < 700.0, "{draws:?}");
        }
        assert_eq!(popularity.draw(u64::MAX), 3);
        assert_eq!(Popularity::by_zipf(1, 1.0).draw(u64::MAX), 0);
    }
}
