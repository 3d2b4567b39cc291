//! How a program behaves that is near two limits at once.
//!
//! Along the lags it takes some time, and the CPUs need some time for what there is to do. Where one of them is far
//! below the other, that one is what it takes. Where they are near each other it takes longer than either: who has the
//! lock waits for a CPU at times, and at others a CPU is idle, since all wait for who has the lock. Shorter sections
//! move a program towards that corner or away from it, so that its waits for CPUs cannot be kept, nor left out.
//!
//! A curve through all three cases is the length of a vector, `(along^p + least^p)^(1/p)`: `p` without bound is a sharp
//! corner, where the greater holds, and `p = 1` one where both are added, as if nothing could go on beside another. The
//! program with nothing shorter says which `p` is its own, by how much longer it takes than either.

use instruments::statistics::order;

/// The corner between the two limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Corner {
    /// `p`.
    sharpness: f64,
    explained: Option<f64>,
}

/// Beyond it a corner is sharp to 1 %.
const SHARPEST: f64 = 64.0;
const HALVINGS: usize = 50;

impl Default for Corner {
    /// A sharp one.
    fn default() -> Self {
        Self { sharpness: f64::INFINITY, explained: None }
    }
}

impl Corner {
    /// That of a program, by its runs with nothing shorter: what they take along the lags, and what the CPUs need, as
    /// shares of what they took.
    pub fn of(runs: &[(f64, f64)]) -> Self {
        let median = |of: fn(&(f64, f64)) -> f64| order::median(&runs.iter().map(of).collect::<Vec<f64>>());
        let (along, least) = (median(|run| run.0), median(|run| run.1));
        along.zip(least).map_or_else(Self::default, |(along, least)| Self::with(along, least))
    }

    /// The one with which both together take 1.
    fn with(along: f64, least: f64) -> Self {
        let (mut blunt, mut sharp) = (1.0, SHARPEST);
        let is_longer = |sharpness: f64| Self { sharpness, explained: None }.both(along, least) > 1.0;
        if is_longer(sharp) {
            return Self::default();
        }
        for _ in 0..HALVINGS {
            let middle = (blunt + sharp) / 2.0;
            if is_longer(middle) { blunt = middle } else { sharp = middle }
        }
        let most = Self { sharpness: 1.0, explained: None }.both(along, least);
        Self { sharpness: sharp, explained: (most < 1.0).then_some(most) }
    }

    /// What both limits explain at most of what the program takes, where that is not all of it: even one after the
    /// other they are shorter, so that it has a third.
    pub fn explained(self) -> Option<f64> {
        self.explained
    }

    /// What both limits together take.
    pub fn both(self, along: f64, least: f64) -> f64 {
        let (greater, lesser) = if along > least { (along, least) } else { (least, along) };
        let lesser = (lesser / greater).max(0.0);
        if self.sharpness.is_finite() {
            greater * (1.0 + lesser.powf(self.sharpness)).powf(1.0 / self.sharpness)
        } else {
            greater
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6
    }

    #[test]
    fn a_corner_is_as_blunt_as_the_program_that_it_is_of() {
        for (along, least) in [(0.8, 0.8), (0.9, 0.7), (0.5, 0.95), (0.97, 0.6)] {
            assert!(is_near(Corner::with(along, least).both(along, least), 1.0), "{along} {least}");
        }
        // No waits for CPUs at all, and more than there can be.
        assert_eq!(Corner::with(1.0, 0.9), Corner::default());
        let another = Corner::with(0.3, 0.3);
        assert!(is_near(another.both(0.3, 0.3), 0.6) && another.explained().is_some_and(|share| is_near(share, 0.6)));
        assert_eq!((Corner::with(0.8, 0.8).explained(), Corner::with(1.0, 0.9).explained()), (None, None));
    }

    #[test]
    fn far_from_the_corner_the_greater_limit_holds() {
        let corner = Corner::with(0.8, 0.8);
        assert!(corner.both(0.8, 0.1) < 0.81 && corner.both(0.1, 0.8) < 0.81 && corner.both(0.7, 0.8) > 0.85);
        assert_eq!((corner.both(-0.5, 0.8), Corner::default().both(0.4, 0.8)), (0.8, 0.8));
    }
}
