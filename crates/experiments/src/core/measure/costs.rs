//! What each kind of code loses while the core is shared.

use super::observed::{Ran, Step};
use crate::core::record::Cost;
use instruments::neighbour::{KINDS, Sharing};
use instruments::statistics::bootstrap::ratio_of_medians;
use instruments::statistics::order::median;
use instruments::statistics::summary::CONFIDENCE;

/// More values add nothing to an interval but time.
const MOST_VALUES: usize = 400;
const FEWEST_VALUES: usize = 20;

/// Of each kind, in the order of [`KINDS`].
pub fn costs(steps: &[Step], told: &[(f64, Sharing)]) -> Vec<Cost> {
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
    KINDS.iter().zip(values).map(|(kind, (alone, shared))| cost(kind.name, &thinned(alone), &thinned(shared))).collect()
}

fn cost(kind: &str, alone: &[f64], shared: &[f64]) -> Cost {
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
        ratio_ci: ratio.map(|ratio| ratio.interval),
    }
}

/// Every so many, over the whole run.
fn thinned(values: Vec<f64>) -> Vec<f64> {
    let every = values.len().div_ceil(MOST_VALUES).max(1);
    values.into_iter().step_by(every).collect()
}
