//! What a job takes, by many runs of it.

use crate::clock::Clock;

/// Of which the best is taken.
pub const RUNS: usize = 100;

/// What `job` takes in nanoseconds, the clock's own cost included.
pub fn run_ns(clock: Clock, mut job: impl FnMut()) -> f64 {
    let start = clock.stamp();
    job();
    clock.to_ns(clock.stamp() - start)
}

/// The same of many runs, sorted.
pub fn runs(clock: Clock, count: usize, mut job: impl FnMut()) -> Vec<f64> {
    let mut took: Vec<f64> = (0..count).map(|_| run_ns(clock, &mut job)).collect();
    took.sort_by(f64::total_cmp);
    took
}

/// Of the runs that nothing interrupted, which are those within a few dozen ns of the median. A counter that advances
/// in steps hides nothing from a mean, but up to a step from a minimum; leaving out a fixed share would cut into the
/// upper of two neighbouring steps.
pub fn undisturbed_mean(sorted: &[f64]) -> f64 {
    let limit = sorted[sorted.len() / 2] * 1.1 + 30.0;
    let kept = &sorted[..sorted.partition_point(|&ns| ns <= limit)];
    kept.iter().sum::<f64>() / kept.len() as f64
}
