//! Rank correlation, in which an outlier counts only by its rank.

/// Returns Spearman's coefficient, from -1 to 1, of pairs of values: Pearson's of their ranks, with the mean rank for
/// equal values.
///
/// The result is `None` for fewer than three pairs, or if all values of a side are equal.
///
/// # Panics
///
/// Panics if the two sides have different lengths.
///
/// # Examples
///
/// ```
/// use instruments::statistics::ranks::rank_correlation;
///
/// assert_eq!(rank_correlation(&[1.0, 2.0, 30.0], &[5.0, 6.0, 7.0]), Some(1.0));
/// assert_eq!(rank_correlation(&[1.0, 2.0, 3.0], &[5.0, 5.0, 5.0]), None);
/// ```
pub fn rank_correlation(one: &[f64], other: &[f64]) -> Option<f64> {
    assert_eq!(one.len(), other.len(), "values come in pairs");
    if one.len() < 3 {
        return None;
    }
    let (one, other) = (centred(ranks(one)), centred(ranks(other)));
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let spread = (product(&one, &one) * product(&other, &other)).sqrt();
    (spread > 0.0).then(|| (product(&one, &other) / spread).clamp(-1.0, 1.0))
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
    let (mut ranks, mut first) = (vec![0.0; values.len()], 0);
    for equal in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let middle = first as f64 + (equal.len() - 1) as f64 / 2.0;
        equal.iter().for_each(|&place| ranks[place] = middle);
        first += equal.len();
    }
    ranks
}

fn centred(mut ranks: Vec<f64>) -> Vec<f64> {
    let mean = (ranks.len() - 1) as f64 / 2.0;
    ranks.iter_mut().for_each(|rank| *rank -= mean);
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_all_that_counts() {
        assert_eq!(rank_correlation(&[3.0, 1.0, 2.0, 9.0], &[-3.0, -1.0, -2.0, -4.0]), Some(-1.0));
        let outlier = rank_correlation(&[1.0, 2.0, 3.0, 4.0, 1e9], &[0.0, 1.0, 0.0, 1.0, 0.0]).unwrap();
        assert!(outlier.abs() < 1e-12, "{outlier}");
        // Two separate groups of equal size: the ties keep the coefficient below 1, at the value of the textbook.
        let apart = rank_correlation(&[1.0, 2.0, 3.0, 4.0], &[0.0, 0.0, 1.0, 1.0]).unwrap();
        assert!((apart - 0.8_f64.sqrt()).abs() < 1e-12, "{apart}");
        assert_eq!(rank_correlation(&[1.0, 2.0], &[1.0, 2.0]), None);
    }
}
