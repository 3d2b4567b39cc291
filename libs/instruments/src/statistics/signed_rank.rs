//! Paired differences: their centre, and its interval without assumptions about distributions.
//!
//! Two configurations are measured in blocks, one run of each in random order; each block gives one difference. If
//! the two are equal, the random order alone makes both signs of a difference equally likely. Drift, several modes
//! and runs that depend on their neighbours do not change this: it is a property of the order, not of the values. The
//! sign of each rank of the absolute differences is therefore a fair coin, which is the distribution of the
//! signed-rank statistic (Wilcoxon, "Individual Comparisons by Ranking Methods", 1945).
//!
//! The interval contains every shift that the test does not reject. Its ends are order statistics of the Walsh
//! averages: the means of all pairs of differences, including each difference with itself. The estimate is their
//! median (Hodges and Lehmann, "Estimates of Location Based on Rank Tests", 1963). A single outlier moves neither by
//! much. Equal differences make the interval wider than necessary, never narrower.
//!
//! The distribution is exact up to 60 differences. Beyond, it is the normal approximation with a continuity
//! correction.

use super::interval::Interval;
use statrs::distribution::{ContinuousCDF, Normal};

const EXACT: usize = 60;
/// Number of differences up to which all Walsh averages are sorted; beyond, they are counted.
const SORTED: usize = 100;
/// Bisections that find an order statistic to the last digits of a number.
const BISECTIONS: usize = 100;

/// The centre of paired differences.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Centre {
    /// Hodges-Lehmann estimate.
    pub estimate: f64,
    /// Confidence interval; `None` with fewer differences than the level needs.
    pub interval: Option<Interval>,
}

/// Estimates the centre of paired differences; the interval misses it with at most the probability `level`.
///
/// Returns `None` without any difference.
///
/// # Examples
///
/// ```
/// use instruments::statistics::signed_rank::centre;
///
/// let differences = [0.9, 1.1, 1.0, 0.8, 1.3, 1.2, 0.7];
/// let found = centre(&differences, 0.05).unwrap();
/// assert!((found.estimate - 1.0).abs() < 1e-12);
/// assert!(found.interval.unwrap().low > 0.0);
/// // Five differences of one sign occur by chance in one of sixteen cases.
/// assert_eq!(centre(&differences[..5], 0.05).unwrap().interval, None);
/// ```
pub fn centre(differences: &[f64], level: f64) -> Option<Centre> {
    if differences.is_empty() {
        return None;
    }
    let walsh = Walsh::of(differences);
    let count = walsh.count();
    let estimate = (walsh.at(count.div_ceil(2)) + walsh.at(count / 2 + 1)) / 2.0;
    let interval = omitted(differences.len(), level / 2.0)
        .map(|omitted| Interval::new(walsh.at(omitted + 1), walsh.at(count - omitted)));
    Some(Centre { estimate, interval })
}

/// Returns the least number of differences that have an interval at this level.
pub fn fewest(level: f64) -> usize {
    (1..).find(|&count| omitted(count, level / 2.0).is_some()).unwrap_or(usize::MAX)
}

/// Returns the number of Walsh averages below the lower end of the interval: the largest rank sum whose probability
/// is at most `tail`.
///
/// Returns `None` if even a sum of 0 is more likely.
fn omitted(count: usize, tail: f64) -> Option<usize> {
    if count > EXACT {
        let count = count as f64;
        let (mean, variance) = (count * (count + 1.0) / 4.0, count * (count + 1.0) * (2.0 * count + 1.0) / 24.0);
        if tail <= 0.0 {
            return None;
        }
        let sum = mean + Normal::standard().inverse_cdf(tail) * variance.sqrt() - 0.5;
        return (sum >= 0.0).then_some(sum as usize);
    }
    let most = count * (count + 1) / 2;
    // The share of the sign patterns with each sum of positive ranks.
    let mut shares = vec![0.0_f64; most + 1];
    shares[0] = 1.0;
    for rank in 1..=count {
        for sum in (0..=most).rev() {
            let with = if sum >= rank { shares[sum - rank] } else { 0.0 };
            shares[sum] = (shares[sum] + with) / 2.0;
        }
    }
    let mut below = 0.0;
    let first_above = shares.iter().position(|share| {
        below += share;
        // Sums of halves are exact up to the last digit.
        below > tail * (1.0 + 1e-12)
    });
    first_above?.checked_sub(1)
}

/// The means of all pairs of differences.
enum Walsh {
    All(Vec<f64>),
    /// The sorted differences, whose means are counted.
    Counted(Vec<f64>),
}

impl Walsh {
    fn of(differences: &[f64]) -> Self {
        let sorted = super::order::sorted(differences);
        if sorted.len() > SORTED {
            return Self::Counted(sorted);
        }
        let of = |place: usize| sorted[place..].iter().map(|other| f64::midpoint(sorted[place], *other)).collect();
        let mut all: Vec<f64> = (0..sorted.len()).flat_map(|place| -> Vec<f64> { of(place) }).collect();
        all.sort_unstable_by(f64::total_cmp);
        Self::All(all)
    }

    fn count(&self) -> usize {
        match self {
            Self::All(all) => all.len(),
            Self::Counted(sorted) => sorted.len() * (sorted.len() + 1) / 2,
        }
    }

    /// Returns the average at this rank, counted from 1.
    fn at(&self, rank: usize) -> f64 {
        let sorted = match self {
            Self::All(all) => return all[rank - 1],
            Self::Counted(sorted) => sorted,
        };
        let (mut low, mut high) = (sorted[0], sorted[sorted.len() - 1]);
        if at_most(sorted, low) >= rank {
            return low;
        }
        // Fewer than `rank` averages are at most `low`; `rank` or more are at most `high`.
        for _ in 0..BISECTIONS {
            let middle = f64::midpoint(low, high);
            if middle <= low || middle >= high {
                break;
            }
            if at_most(sorted, middle) >= rank { high = middle } else { low = middle }
        }
        high
    }
}

/// Returns the number of Walsh averages that are at most `value`.
fn at_most(sorted: &[f64], value: f64) -> usize {
    let (mut count, mut end) = (0, sorted.len());
    for (place, &one) in sorted.iter().enumerate() {
        while end > 0 && f64::midpoint(one, sorted[end - 1]) > value {
            end -= 1;
        }
        // Each pair is counted once, by its smaller index.
        count += end.saturating_sub(place);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the share of all sign patterns whose sum of positive ranks is at most `sum`.
    fn counted(count: usize, sum: usize) -> f64 {
        let sum_of =
            |mask: u32| (0..count).filter(|place| mask >> place & 1 == 1).map(|place| place + 1).sum::<usize>();
        (0..1_u32 << count).filter(|mask| sum_of(*mask) <= sum).count() as f64 / f64::from(1_u32 << count)
    }

    #[test]
    fn omitted_averages_agree_with_all_sign_patterns() {
        for count in 1..=12 {
            for tail in [0.1, 0.05, 0.025, 0.005] {
                match omitted(count, tail) {
                    None => assert!(counted(count, 0) > tail, "{count} {tail}"),
                    Some(sum) => {
                        assert!(counted(count, sum) <= tail && counted(count, sum + 1) > tail, "{count} {tail}")
                    }
                }
            }
        }
        assert_eq!((fewest(0.05), fewest(0.1)), (6, 5));
    }

    #[test]
    fn normal_approximation_agrees_with_the_exact_one() {
        let exact = omitted(EXACT, 0.025).unwrap() as f64;
        let count = EXACT as f64;
        let (mean, variance) = (count * (count + 1.0) / 4.0, count * (count + 1.0) * (2.0 * count + 1.0) / 24.0);
        assert!((mean - 1.959_964 * variance.sqrt() - 0.5 - exact).abs() <= 1.0);
    }

    #[test]
    fn counted_averages_equal_the_sorted_ones() {
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..20 {
            let values: Vec<f64> = (0..SORTED + 20).map(|_| f64::from(random.i32(-50..50)) / 7.0).collect();
            let sorted = super::super::order::sorted(&values);
            let mut all: Vec<f64> = Vec::new();
            for (place, one) in sorted.iter().enumerate() {
                all.extend(sorted[place..].iter().map(|other| f64::midpoint(*one, *other)));
            }
            all.sort_unstable_by(f64::total_cmp);
            let walsh = Walsh::of(&values);
            for rank in [1, 2, all.len() / 3, all.len() / 2, all.len() - 1, all.len()] {
                assert!((walsh.at(rank) - all[rank - 1]).abs() < 1e-9, "{rank}: {} {}", walsh.at(rank), all[rank - 1]);
            }
        }
    }

    #[test]
    fn zero_differences_have_a_centre_of_zero() {
        for count in [6, SORTED + 1] {
            let found = centre(&vec![0.0; count], 0.05).unwrap();
            assert_eq!((found.estimate, found.interval), (0.0, Some(Interval::new(0.0, 0.0))));
        }
    }
}
