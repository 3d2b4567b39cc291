//! The rank-sum test of whether the values of one sample are less than those of another.
//!
//! It assumes no distribution: if both samples were drawn from the same one, each assignment of the values to them is
//! equally likely (Wilcoxon, "Individual Comparisons by Ranking Methods", 1945; Mann and Whitney 1947). The
//! probability is exact, also with equal values, up to 60 values; beyond, it is that of the normal approximation,
//! corrected for equal values.

const EXACT: usize = 60;

/// Returns the probability that the rank sum of `less` is at most as small as it is, if both samples were drawn from
/// the same distribution.
///
/// A small result shows that the values of `less` are less.
///
/// # Examples
///
/// ```
/// use instruments::statistics::rank_sum::probability_of_less;
///
/// // One of the 20 assignments of six values to two samples of three.
/// assert_eq!(probability_of_less(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]), 0.05);
/// assert_eq!(probability_of_less(&[4.0, 5.0, 6.0], &[1.0, 2.0, 3.0]), 1.0);
/// ```
pub fn probability_of_less(less: &[f64], more: &[f64]) -> f64 {
    if less.is_empty() || more.is_empty() {
        return 1.0;
    }
    let all: Vec<f64> = less.iter().chain(more).copied().collect();
    let (ranks, ties) = doubled_ranks(&all);
    let sum: usize = ranks[..less.len()].iter().sum();
    if all.len() <= EXACT { exact(&ranks, less.len(), sum) } else { normal(all.len(), less.len(), sum, ties) }
}

/// Returns the least probability that samples of these sizes can have.
pub fn least_probability(one: usize, other: usize) -> f64 {
    // One divided by the number of ways to choose `one` of all.
    (1..=one).map(|place| place as f64 / (other + place) as f64).product()
}

/// Returns twice the rank of each value, so that equal values, which share their mean rank, have integers; and the
/// sum of `t^3 - t` over groups of `t` equal values.
fn doubled_ranks(values: &[f64]) -> (Vec<usize>, f64) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
    let (mut ranks, mut before, mut ties) = (vec![0; values.len()], 0, 0.0);
    for equal in order.chunk_by(|&a, &b| values[a] == values[b]) {
        equal.iter().for_each(|&place| ranks[place] = 2 * before + equal.len() + 1);
        before += equal.len();
        ties += (equal.len() as f64).powi(3) - equal.len() as f64;
    }
    (ranks, ties)
}

/// Counts the choices of `chosen` ranks by their sum.
fn exact(ranks: &[usize], chosen: usize, sum: usize) -> f64 {
    let most: usize = ranks.iter().sum();
    // `ways[k][s]`: choices of k of the ranks so far with the sum s.
    let mut ways = vec![vec![0.0_f64; most + 1]; chosen + 1];
    ways[0][0] = 1.0;
    for &rank in ranks {
        for k in (1..=chosen).rev() {
            let (fewer, same) = ways.split_at_mut(k);
            same[0][rank..].iter_mut().zip(&fewer[k - 1]).for_each(|(same, fewer)| *same += fewer);
        }
    }
    let all: f64 = ways[chosen].iter().sum();
    ways[chosen][..=sum].iter().sum::<f64>() / all
}

fn normal(all: usize, chosen: usize, doubled_sum: usize, ties: f64) -> f64 {
    let (all, chosen) = (all as f64, chosen as f64);
    let other = all - chosen;
    let mean = chosen * (all + 1.0) / 2.0;
    let variance = chosen * other / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    // Half a rank is added, because the sum is an integer.
    below((doubled_sum as f64 / 2.0 + 0.5 - mean) / variance.sqrt())
}

/// Returns the standard normal distribution, to 1e-7 (Abramowitz and Stegun, 26.2.17).
fn below(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let polynomial =
        t * (0.319_381_530 + t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    let tail = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() * polynomial;
    if z < 0.0 { tail } else { 1.0 - tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the probability by counting all assignments.
    fn counted(less: &[f64], more: &[f64]) -> f64 {
        let all: Vec<f64> = less.iter().chain(more).copied().collect();
        let (ranks, _) = doubled_ranks(&all);
        let seen: usize = ranks[..less.len()].iter().sum();
        let chosen = |mask: &u32| mask.count_ones() as usize == less.len();
        let sum =
            |mask: u32| (0..all.len()).filter(|place| mask >> place & 1 == 1).map(|place| ranks[place]).sum::<usize>();
        let masks: Vec<u32> = (0..1 << all.len()).filter(chosen).collect();
        masks.iter().filter(|mask| sum(**mask) <= seen).count() as f64 / masks.len() as f64
    }

    #[test]
    fn probability_equals_that_of_counting_all_assignments() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..40 {
            let mut values = |count: usize| (0..count).map(|_| f64::from(random.u8(..6))).collect::<Vec<f64>>();
            let (less, more) = (values(5), values(6));
            assert!((probability_of_less(&less, &more) - counted(&less, &more)).abs() < 1e-12, "{less:?} {more:?}");
        }
        assert_eq!(probability_of_less(&[], &[1.0]), 1.0);
        assert!((least_probability(6, 6) - 1.0 / 924.0).abs() < 1e-15);
    }

    #[test]
    fn many_values_are_judged_as_few_are() {
        let mut random = fastrand::Rng::with_seed(2);
        let mut values = |by: f64| (0..30).map(|_| random.f64() + by).collect::<Vec<f64>>();
        let (less, more) = (values(0.0), values(0.12));
        let few = probability_of_less(&less, &more);
        let (ranks, ties) = doubled_ranks(&[&less[..], &more[..]].concat());
        let many = normal(60, 30, ranks[..30].iter().sum(), ties);
        assert!((few - many).abs() < 0.003, "{few} {many}");
    }
}
