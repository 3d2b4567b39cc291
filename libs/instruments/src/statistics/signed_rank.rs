//! Paired differences: their centre, and an interval of it that assumes no distribution.
//!
//! Two things are measured in blocks, one run of each in random order, and each block gives the difference of the two.
//! If the two do not differ, the random order alone makes either sign of a difference equally likely. Drift, several
//! modes and runs that depend on their neighbours do not change that: it is a property of the order, not of the values.
//! So each rank of the absolute differences has a fair coin for its sign, which is the distribution of the signed-rank
//! statistic (Wilcoxon, "Individual Comparisons by Ranking Methods", 1945).
//!
//! The interval has every shift that the test does not reject. Its ends are order statistics of the Walsh averages, the
//! means of all pairs of differences, each difference with itself included; the estimate is their median (Hodges and
//! Lehmann, "Estimates of Location Based on Rank Tests", 1963). One wild difference moves neither by much. Equal
//! differences make the interval wider than necessary, never narrower.
//!
//! The distribution is exact up to 60 differences; beyond, it is the normal approximation with a continuity correction.

use super::interval::Interval;
use statrs::distribution::{ContinuousCDF, Normal};

const EXACT: usize = 60;
/// Up to this number of differences all Walsh averages are sorted; beyond, they are counted.
const SORTED: usize = 100;
/// Bisections that find an order statistic to the last digits of a number.
const BISECTIONS: usize = 100;

/// The centre of paired differences.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Centre {
    /// The Hodges-Lehmann estimate.
    pub estimate: f64,
    /// `None` with fewer differences than the level needs.
    pub interval: Option<Interval>,
}

/// Estimates the centre of paired differences; the interval misses it with at most the probability `level`. `None` without
/// any difference.
///
/// ```
/// use instruments::statistics::signed_rank::centre;
///
/// let differences = [0.9, 1.1, 1.0, 0.8, 1.3, 1.2, 0.7];
/// let found = centre(&differences, 0.05).unwrap();
/// assert!((found.estimate - 1.0).abs() < 1e-12);
/// assert!(found.interval.unwrap().low > 0.0);
/// // Five differences of one sign come by chance in one of sixteen cases.
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

/// The fewest differences that have an interval at this level.
pub fn fewest(level: f64) -> usize {
    (1..).find(|&count| omitted(count, level / 2.0).is_some()).unwrap_or(usize::MAX)
}

/// The number of Walsh averages below the lower end of the interval: the largest rank sum that is at most this likely.
/// `None` where even a sum of 0 is likelier.
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
    let likely = shares.iter().position(|share| {
        below += share;
        // The sums of halves are exact up to the last digit.
        below > tail * (1.0 + 1e-12)
    });
    likely?.checked_sub(1)
}

/// The means of all pairs of differences.
enum Walsh {
    All(Vec<f64>),
    /// The sorted differences of which they are counted.
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

    /// The average at this rank, from 1 on.
    fn at(&self, rank: usize) -> f64 {
        let sorted = match self {
            Self::All(all) => return all[rank - 1],
            Self::Counted(sorted) => sorted,
        };
        let (mut low, mut high) = (sorted[0], sorted[sorted.len() - 1]);
        if at_most(sorted, low) >= rank {
            return low;
        }
        // Fewer than `rank` are at most `low`, and `rank` or more at most `high`.
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

/// The number of Walsh averages that are at most this large.
fn at_most(sorted: &[f64], value: f64) -> usize {
    let (mut count, mut end) = (0, sorted.len());
    for (place, &one) in sorted.iter().enumerate() {
        while end > 0 && f64::midpoint(one, sorted[end - 1]) > value {
            end -= 1;
        }
        // Each pair is counted once, by its smaller place.
        count += end.saturating_sub(place);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By all sign patterns: how often the sum of the positive ranks is at most this.
    fn counted(count: usize, sum: usize) -> f64 {
        let sum_of =
            |mask: u32| (0..count).filter(|place| mask >> place & 1 == 1).map(|place| place + 1).sum::<usize>();
        (0..1_u32 << count).filter(|mask| sum_of(*mask) <= sum).count() as f64 / f64::from(1_u32 << count)
    }

    #[test]
    fn omitted_averages_are_those_of_all_sign_patterns() {
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
    fn many_differences_are_judged_as_few_are() {
        let exact = omitted(EXACT, 0.025).unwrap() as f64;
        let count = EXACT as f64;
        let (mean, variance) = (count * (count + 1.0) / 4.0, count * (count + 1.0) * (2.0 * count + 1.0) / 24.0);
        assert!((mean - 1.959_964 * variance.sqrt() - 0.5 - exact).abs() <= 1.0);
    }

    #[test]
    fn counted_averages_are_the_sorted_ones() {
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
    fn differences_that_are_all_zero_have_a_certain_centre() {
        for count in [6, SORTED + 1] {
            let found = centre(&vec![0.0; count], 0.05).unwrap();
            assert_eq!((found.estimate, found.interval), (0.0, Some(Interval::new(0.0, 0.0))));
        }
    }
}
