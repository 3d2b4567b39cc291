//! What each kind of code loses while the core is shared.

use super::observed::{Ran, Step};
use crate::core::record::Cost;
use instruments::neighbour::{KINDS, Sharing};
use instruments::statistics::Interval;
use instruments::statistics::bootstrap::ratio_of_medians;
use instruments::statistics::order::median;
use instruments::statistics::summary::CONFIDENCE;

/// More values add nothing to an interval but time.
const MOST_VALUES: usize = 400;
const FEWEST_VALUES: usize = 20;

/// Of each kind, in the order of [`KINDS`], by a clock that advances by `step_ns`.
pub fn costs(steps: &[Step], told: &[(f64, Sharing)], step_ns: f64) -> Vec<Cost> {
    let mut values = vec![(Vec::new(), Vec::new()); KINDS.len()];
    for (step, (_, sharing)) in steps.iter().zip(told) {
        let Ran::Kind(kind, ns) = step.ran else { continue };
        let (alone, shared) = &mut values[usize::from(kind)];
        match sharing {
            Sharing::Alone => alone.push(f64::from(ns)),
            Sharing::Shared => shared.push(f64::from(ns)),
            Sharing::Neither => {}
        }
    }
    let each = KINDS.iter().zip(values);
    each.map(|(kind, (alone, shared))| cost(kind.name, &thinned(alone), &thinned(shared), step_ns)).collect()
}

/// By half a step of the clock in either median: where all values fall on one step, no sample of them shows what the
/// clock leaves open.
fn widened(ratio: Interval, alone_ns: f64, shared_ns: f64, step_ns: f64) -> Interval {
    let [alone, shared] = [alone_ns, shared_ns].map(|median_ns| (step_ns / 2.0 / median_ns).min(0.5));
    Interval::new(ratio.low * (1.0 - shared) / (1.0 + alone), ratio.high * (1.0 + shared) / (1.0 - alone))
}

fn cost(kind: &str, alone: &[f64], shared: &[f64], step_ns: f64) -> Cost {
    let of = |values: &[f64]| median(values).filter(|_| values.len() >= FEWEST_VALUES);
    let (alone_ns, shared_ns) = (of(alone), of(shared));
    let both = alone_ns.is_some() && shared_ns.is_some();
    let mut rng = fastrand::Rng::with_seed(1);
    let ratio = both.then(|| ratio_of_medians(shared, alone, CONFIDENCE, &mut rng)).flatten();
    Cost {
        kind: kind.to_owned(),
        alone_ns,
        shared_ns,
        ratio: ratio.as_ref().map(|ratio| ratio.estimate),
        ratio_ci: ratio.and_then(|ratio| Some(widened(ratio.interval, alone_ns?, shared_ns?, step_ns))),
    }
}

/// Every so many, over the whole run.
fn thinned(values: Vec<f64>) -> Vec<f64> {
    let every = values.len().div_ceil(MOST_VALUES).max(1);
    values.into_iter().step_by(every).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_no_narrower_than_the_clock() {
        let found = cost("store to load", &[120.0; 50], &[220.0; 50], 10.0);
        let ends = found.ratio_ci.unwrap();
        assert!(ends.low <= 215.0 / 125.0 + 1e-9 && ends.high >= 225.0 / 115.0 - 1e-9, "{ends:?}");
    }
}
