//! Predictions from the ranks' traces: steps as they were recorded, with the noise of each rank apart, and for many
//! more nodes.

use chance::{Delay, Ranks};
use instruments::statistics::Interval;

/// The traces, and the time of a step outside its work.
pub struct Job<'a> {
    /// The ranks at work.
    pub ranks: &'a Ranks,
    /// The time from the last arrival until all continue.
    pub barrier_ns: u64,
}

/// A slowdown with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Predicted {
    /// The ratio of the mean step to the same step without noise.
    pub slowdown: f64,
    /// The interval from the parts of the recording; `None` where they are too few.
    pub interval: Option<Interval>,
}

impl Predicted {
    /// Clamps the interval at 1, since noise makes no step shorter.
    fn around(slowdown: f64, half: Option<f64>) -> Self {
        Self { slowdown, interval: half.map(|half| Interval::new((slowdown - half).max(1.0), slowdown + half)) }
    }

    /// Returns the interval that contains the mean of a measurement of this length in 95 % of cases.
    ///
    /// The steps meet noise of the same kind in another period, which scatters as much as the recorded one does, and
    /// more the shorter it is.
    #[must_use]
    pub fn of_steps(self, made_ns: f64, recorded_ns: f64) -> Self {
        let half = self.interval.map(|interval| interval.high - self.slowdown);
        let wider = (1.0 + recorded_ns / made_ns.max(1.0)).sqrt();
        Self::around(self.slowdown, half.map(|half| half * wider))
    }
}

/// The number of passes through the recording, each from a random moment on.
const PASSES: usize = 10;
/// The number of shifts of the recordings against each other.
const SHIFTS: usize = 10;
/// The maximum number of nodes of a prediction.
pub const MOST_NODES: u64 = 10_000_000;

impl Job<'_> {
    /// Returns the length of a step of the first `workers` without noise.
    pub fn quiet_ns(&self, workers: usize) -> f64 {
        (self.ranks.work_ns(workers) + self.barrier_ns) as f64
    }

    /// Simulates consecutive steps with the noise as it was recorded; interruptions of several ranks at once stay
    /// together.
    pub fn as_recorded(&self, workers: usize, seed: u64) -> Predicted {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut parts = vec![(0.0, 0.0); TENTHS];
        for _ in 0..PASSES {
            self.pass(self.ranks, workers, rng.u64(..self.ranks.span_ns()), &mut parts);
        }
        let quiet_ns = self.quiet_ns(workers);
        let (sum, steps) = parts.iter().fold((0.0, 0.0), |all, part| (all.0 + part.0, all.1 + part.1));
        let means: Vec<f64> = parts.iter().filter(|part| part.1 > 0.0).map(|part| part.0 / part.1).collect();
        Predicted::around(sum / steps / quiet_ns, half_of_mean(&means).map(|half_ns| half_ns / quiet_ns))
    }

    /// Simulates the steps with each rank's recording shifted by a random amount: the prediction of a model without
    /// common causes.
    pub fn apart(&self, workers: usize, seed: u64) -> f64 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut parts = vec![(0.0, 0.0); TENTHS];
        for _ in 0..SHIFTS {
            let shifted = self.ranks.shifted(|| rng.u64(..self.ranks.span_ns()));
            self.pass(&shifted, workers, rng.u64(..self.ranks.span_ns()), &mut parts);
        }
        let (sum, steps) = parts.iter().fold((0.0, 0.0), |all, part| (all.0 + part.0, all.1 + part.1));
        sum / steps / self.quiet_ns(workers)
    }

    /// Adds the steps of one pass to the part of the recording that each begins in: their time and their number.
    fn pass(&self, ranks: &Ranks, workers: usize, from_ns: u64, parts: &mut [(f64, f64)]) {
        let span_ns = ranks.span_ns();
        let mut playback = ranks.play(workers, from_ns);
        while playback.now_ns() < from_ns + span_ns {
            let part = (playback.now_ns() % span_ns) as u128 * parts.len() as u128 / u128::from(span_ns);
            let (length, _) = playback.step(self.barrier_ns);
            parts[part as usize].0 += length as f64;
            parts[part as usize].1 += 1.0;
        }
    }

    /// Returns the model for many more nodes: groups of the first `workers`, each group interrupted as these were, and
    /// independently of the others.
    pub fn groups(&self, workers: usize) -> Groups {
        let edge = |part: usize| (u128::from(self.ranks.span_ns()) * part as u128 / TENTHS as u128) as u64;
        let without = (0..TENTHS).filter_map(|part| self.ranks.without(edge(part), edge(part + 1)));
        Groups {
            workers: workers as u64,
            barrier_ns: self.barrier_ns as f64,
            full: self.ranks.delay(workers),
            without: without.map(|ranks| ranks.delay(workers)).collect(),
        }
    }
}

/// Groups of nodes that are interrupted as the recorded ranks were, each group independently.
pub struct Groups {
    workers: u64,
    barrier_ns: f64,
    full: Delay,
    /// The distributions of the recording without one of its parts.
    without: Vec<Delay>,
}

impl Groups {
    /// Returns the number of groups that these nodes form.
    pub fn of(&self, nodes: u64) -> u64 {
        nodes.div_ceil(self.workers)
    }

    /// Returns the mean slowdown of this many nodes; steps begin at random moments.
    ///
    /// The interval is the jackknife's over the parts of the recording: a result that depends on a single gap has a
    /// wide one.
    pub fn slowdown(&self, nodes: u64) -> Predicted {
        let groups = self.of(nodes);
        let of = |delay: &Delay| {
            let work_ns = delay.work_ns() as f64;
            1.0 + delay.slowest_mean_ns(groups) / (work_ns + self.barrier_ns)
        };
        let slowdown = of(&self.full);
        let left: Vec<f64> = self.without.iter().map(of).collect();
        let half = (left.len() == TENTHS).then(|| {
            let mean = left.iter().sum::<f64>() / TENTHS as f64;
            let squares: f64 = left.iter().map(|one| (one - mean).powi(2)).sum();
            T_OF_TENTHS * (squares * (TENTHS - 1) as f64 / TENTHS as f64).sqrt()
        });
        Predicted::around(slowdown, half)
    }

    /// Returns the loss of all groups if they were interrupted at once: more nodes then cost nothing more.
    pub fn together(&self) -> f64 {
        self.slowdown(self.workers).slowdown
    }

    /// Returns the maximum number of nodes whose median step the length of the recording supports.
    pub fn supported_nodes(&self) -> u64 {
        self.full.supported_workers(0.5).saturating_mul(self.workers).min(MOST_NODES)
    }

    /// Returns the distribution of the delay of one group.
    pub fn delay(&self) -> &Delay {
        &self.full
    }
}

/// The number of repetitions of a job, and of parts of a recording.
pub const TENTHS: usize = 10;
/// The 97.5 % point of Student's t with nine degrees of freedom.
const T_OF_TENTHS: f64 = 2.262;

/// Returns whether two values with 95 % intervals are not shown to differ: by less than the root of the sum of the
/// squared halves, which is the half of their difference's interval.
///
/// Two equal values differ by more in one of twenty pairs, however different their errors. It is not enough
/// that each interval contains the other value: in 17 to 70 % of such pairs one does not, the more the better one of them
/// is known.
pub fn agree(one: (f64, Interval), other: (f64, Interval)) -> bool {
    let half = (one.1.width() / 2.0).hypot(other.1.width() / 2.0);
    (one.0 - other.0).abs() <= half
}

/// Returns half of the 95 % interval of the mean over ten repetitions, or ten parts of a recording; `None` if they are
/// not ten.
///
/// Student's interval of the mean. The bootstrap's percentiles of ten values are those of a normal distribution with
/// the scatter of these ten: a fifth too narrow.
pub fn half_of_mean(values: &[f64]) -> Option<f64> {
    let count = TENTHS as f64;
    (values.len() == TENTHS).then(|| {
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        T_OF_TENTHS * (squares / (count - 1.0) / count).sqrt()
    })
}
