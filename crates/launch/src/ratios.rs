//! One side's figures over the plain ones.

use instruments::statistics::Ratio;
use instruments::statistics::bootstrap::ratio_of_medians;
use instruments::warning::{Warning, WarningKind};
use serde::Serialize;

/// Returns the ratio of the medians, with its interval; `None` with fewer than six runs of either.
///
/// The same samples give the same interval: what is random in it has the run's seed.
pub fn ratio(over: &[f64], under: &[f64], seed: u64) -> Option<Ratio> {
    ratio_of_medians(over, under, 0.95, &mut fastrand::Rng::with_seed(seed))
}

/// Returns how far the runs of the same differ: the largest over the smallest.
pub fn spread(samples: &[f64]) -> f64 {
    let (least, most) = samples.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), &x| (a.min(x), b.max(x)));
    if least > 0.0 { most / least } else { 1.0 }
}

/// Plain runs whose times differ by a larger ratio are unsteady.
const STEADY: f64 = 1.5;

/// Warns if the times of the plain runs differ much.
pub fn unsteady(plain: &[f64]) -> Option<Warning> {
    let spread = spread(plain);
    (spread > STEADY).then(|| UnsteadyProgram { spread }.into())
}

/// The program's own runs differ much.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnsteadyProgram {
    /// The longest plain run over the shortest.
    pub spread: f64,
}

impl WarningKind for UnsteadyProgram {
    const CODE: &'static str = "unsteady_program";

    fn message(&self) -> String {
        format!("the longest run of the unmodified program took {:.1} times as long as the shortest", self.spread)
    }

    fn remedy(&self) -> &'static str {
        "give it a fixed amount of work, reset its state with --prepare, or raise --runs: this variation hides the \
         effect of locks"
    }
}
