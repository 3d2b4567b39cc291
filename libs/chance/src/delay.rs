//! The delay of work, alone or as the slowest of many: a distribution of steps and straight lines.
use crate::{Continuous, Distribution};

/// The delay of work among recorded gaps, made by [`Gaps::delay`](crate::Gaps::delay).
///
/// Its cumulative distribution jumps (delays of many starting moments) and climbs in straight lines (starts within a
/// gap). Jumps and slopes are whole nanoseconds of the recording.
///
/// The slowest of N independent workers has the N-th power of this distribution. Its mean has a closed form on each
/// line: there is no sampling, and ten million workers cost as much as one.
///
/// # Examples
///
/// ```
/// use chance::{Gap, Gaps};
/// // A gap of 1 ms once a second, steps of 1 ms.
/// let step = Gaps::new([Gap { start_ns: 0, duration_ns: 1_000_000 }], 1_000_000_000)?.delay(1_000_000)?;
/// assert!((step.slowdown(1) - 1.0015).abs() < 1e-12);
/// assert!((step.slowdown(1_000_000) - 2.0).abs() < 1e-3);
/// assert_eq!(step.slowdown_together(), step.slowdown(1));
/// assert_eq!(step.workers_for(1.5), Some(468));
/// # Ok::<(), chance::GapsError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Delay {
    knots: Vec<Knot>,
    span_ns: u64,
    work_ns: u64,
}

/// A delay at which the cumulative distribution jumps or bends.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Knot {
    delay_ns: u64,
    /// Time of the recording with this delay or more.
    at_least: u64,
    /// Time of the recording with more delay.
    above: u64,
}

/// The most workers that [`Delay::workers_for`] tries.
const MOST_WORKERS: u64 = 10_000_000;

impl Delay {
    /// Creates the distribution from pieces `(from, to, time)`: `time` ns of the recording have delays that are
    /// uniform between two bounds, or all equal.
    pub(crate) fn new(pieces: impl Iterator<Item = (u64, u64, u64)>, work_ns: u64) -> Self {
        // For each delay: the jump there, and the change of the slope. A gap climbs by one for each of its
        // nanoseconds.
        let mut events: Vec<(u64, u64, i64)> = Vec::new();
        let mut span_ns = 0;
        for (from, to, time) in pieces {
            span_ns += time;
            if from == to {
                events.push((from, time, 0));
            } else {
                events.extend([(from, 0, 1), (to, 0, -1)]);
            }
        }
        events.sort_unstable();
        let mut knots: Vec<Knot> = Vec::new();
        let (mut above, mut slope) = (span_ns, 0_i64);
        for group in events.chunk_by(|a, b| a.0 == b.0) {
            let delay_ns = group[0].0;
            let at_least = knots.last().map_or(span_ns, |last| above - (delay_ns - last.delay_ns) * slope as u64);
            above = at_least - group.iter().map(|event| event.1).sum::<u64>();
            slope += group.iter().map(|event| event.2).sum::<i64>();
            knots.push(Knot { delay_ns, at_least, above });
        }
        Self { knots, span_ns, work_ns }
    }

    /// Returns the length of the work, in nanoseconds.
    pub fn work_ns(&self) -> u64 {
        self.work_ns
    }

    /// Returns the mean delay of one worker, in nanoseconds.
    pub fn mean_ns(&self) -> f64 {
        self.slowest_mean_ns(1)
    }

    /// Returns the mean delay of the slowest of `workers` independent workers, in nanoseconds.
    ///
    /// # Panics
    ///
    /// Panics if `workers` is 0.
    pub fn slowest_mean_ns(&self, workers: u64) -> f64 {
        assert!(workers > 0, "the slowest of zero workers does not exist");
        let line = |pair: &[Knot]| {
            let length = (pair[1].delay_ns - pair[0].delay_ns) as f64;
            length * mean_exceeding(self.share(pair[0].above), self.share(pair[1].at_least), workers as f64)
        };
        self.knots[0].delay_ns as f64 + self.knots.windows(2).map(line).sum::<f64>()
    }

    /// Returns the delay that the slowest of `workers` exceeds with probability 1 − `p` at most, in nanoseconds.
    ///
    /// # Panics
    ///
    /// Panics if `workers` is 0 or `p` is not between 0 and 1.
    pub fn slowest_quantile_ns(&self, workers: u64, p: f64) -> f64 {
        assert!(workers > 0, "the slowest of zero workers does not exist");
        let tail = one_workers_tail(workers, p) * self.span_ns as f64;
        let right = self.knots.partition_point(|knot| knot.above as f64 > tail).min(self.knots.len() - 1);
        let knot = self.knots[right];
        if right == 0 || knot.at_least as f64 > tail {
            return knot.delay_ns as f64;
        }
        let left = self.knots[right - 1];
        let fraction = (left.above as f64 - tail) / (left.above - knot.at_least).max(1) as f64;
        left.delay_ns as f64 + fraction * (knot.delay_ns - left.delay_ns) as f64
    }

    /// Returns the mean time of a step that waits for the slowest of `workers`, divided by the time of the work
    /// alone.
    ///
    /// # Panics
    ///
    /// Panics if `workers` is 0.
    pub fn slowdown(&self, workers: u64) -> f64 {
        1.0 + self.slowest_mean_ns(workers) / self.work_ns as f64
    }

    /// Returns the slowdown if all workers are interrupted at the same moments: the slowdown of one worker, for any
    /// number of them.
    pub fn slowdown_together(&self) -> f64 {
        self.slowdown(1)
    }

    /// Returns the fewest workers with at least this slowdown, or `None` if ten million do not reach it.
    ///
    /// At a slowdown of 2, half the time is lost. The slowdown of the longest delay is a limit that is never reached,
    /// unless there is no other delay.
    pub fn workers_for(&self, slowdown: f64) -> Option<u64> {
        let longest_ns = self.knots[self.knots.len() - 1].delay_ns as f64;
        if self.knots.len() > 1 && slowdown > 1.0 && slowdown >= 1.0 + longest_ns / self.work_ns as f64 {
            return None;
        }
        let (mut low, mut high) = (0, MOST_WORKERS + 1);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.slowdown(middle) >= slowdown { high = middle } else { low = middle }
        }
        (high <= MOST_WORKERS).then_some(high)
    }

    /// Returns whether the recording is long enough for the `p`-quantile of the slowest of `workers`.
    ///
    /// A recording holds as many separate pieces of work as fit in it, and cannot show rarer delays than one in that
    /// number.
    ///
    /// # Panics
    ///
    /// Panics if `workers` is 0 or `p` is not between 0 and 1.
    pub fn supports(&self, workers: u64, p: f64) -> bool {
        assert!(workers > 0, "the slowest of zero workers does not exist");
        one_workers_tail(workers, p) * self.span_ns as f64 >= self.work_ns as f64
    }

    /// Returns the most workers for which the recording supports the `p`-quantile of the slowest, as
    /// [`supports`](Self::supports) defines it.
    ///
    /// # Panics
    ///
    /// Panics if `p` is not between 0 and 1.
    ///
    /// # Examples
    ///
    /// ```
    /// use chance::{Gap, Gaps};
    /// let step = Gaps::new([Gap { start_ns: 0, duration_ns: 1_000_000 }], 1_000_000_000)?.delay(1_000_000)?;
    /// assert_eq!((step.supported_workers(0.5), step.supported_workers(0.99)), (692, 10));
    /// assert!(step.supports(692, 0.5) && !step.supports(693, 0.5));
    /// # Ok::<(), chance::GapsError>(())
    /// ```
    pub fn supported_workers(&self, p: f64) -> u64 {
        assert!((0.0..=1.0).contains(&p), "quantile {p}: it must lie between 0 and 1");
        let share = self.work_ns as f64 / self.span_ns as f64;
        if share >= 1.0 { 0 } else { (p.ln() / (-share).ln_1p()) as u64 }
    }

    /// Returns the delays in cells of `cell_ns`, as a distribution over the cells' numbers.
    ///
    /// # Errors
    ///
    /// Returns [`crate::Error::BadParameter`] if `cell_ns` is 0.
    pub fn binned(&self, cell_ns: u64) -> Result<Distribution<u64, f64>, crate::Error> {
        let last = self.knots[self.knots.len() - 1].delay_ns;
        Distribution::binned(self, cell_ns as f64, last / cell_ns.max(1) + 1)
    }

    fn share(&self, time: u64) -> f64 {
        time as f64 / self.span_ns as f64
    }
}

impl Continuous for Delay {
    fn cdf(&self, delay_ns: f64) -> f64 {
        let right = self.knots.partition_point(|knot| knot.delay_ns as f64 <= delay_ns);
        let Some(left) = right.checked_sub(1).map(|index| self.knots[index]) else { return 0.0 };
        let Some(knot) = self.knots.get(right) else { return 1.0 };
        let fraction = (delay_ns - left.delay_ns as f64) / (knot.delay_ns - left.delay_ns) as f64;
        1.0 - (left.above as f64 - fraction * (left.above - knot.at_least) as f64) / self.span_ns as f64
    }

    fn quantile(&self, p: f64) -> f64 {
        self.slowest_quantile_ns(1, p)
    }
}

/// Returns the tail of one worker at which the tail of the slowest is 1 − p.
fn one_workers_tail(workers: u64, p: f64) -> f64 {
    assert!((0.0..=1.0).contains(&p), "quantile {p}: it must lie between 0 and 1");
    -(p.ln() / workers as f64).exp_m1()
}

/// Returns the mean of 1 − (1 − s)^n for tails s that are uniform between `from` and `to`, where `from` is the
/// greater.
///
/// The antiderivative is (1 − s)^(n+1)/(n+1). Where it hardly changes, its difference would lose digits. There the
/// function is smooth, and five-point Gauss-Legendre quadrature is exact to the last digits.
fn mean_exceeding(from: f64, to: f64, n: f64) -> f64 {
    const NODES: [(f64, f64); 5] = [
        (0.0, 128.0 / 225.0),
        (0.538_469_310_105_683_1, 0.478_628_670_499_366_5),
        (-0.538_469_310_105_683_1, 0.478_628_670_499_366_5),
        (0.906_179_845_938_664, 0.236_926_885_056_189_1),
        (-0.906_179_845_938_664, 0.236_926_885_056_189_1),
    ];
    let width = from - to;
    if n * width > 0.5 {
        let power = |tail: f64| ((n + 1.0) * (-tail).ln_1p()).exp();
        return 1.0 - (power(to) - power(from)) / ((n + 1.0) * width);
    }
    let exceeding = |tail: f64| -(n * (-tail).ln_1p()).exp_m1();
    NODES.iter().map(|(x, weight)| weight / 2.0 * exceeding(to + width * (x + 1.0) / 2.0)).sum()
}
