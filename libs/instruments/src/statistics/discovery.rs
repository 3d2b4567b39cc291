//! Correction for multiple comparisons: which of many show a difference.
//!
//! Five of a hundred comparisons without a difference have an interval that excludes "no difference". Holm ("A simple
//! sequentially rejective multiple test procedure", 1979) bounds the whole family instead. The probability that any
//! equal pair is called different is at most the given one, whatever differs in the other comparisons and however
//! they depend on each other.

/// Returns for each comparison, by its p value, whether it is called different.
///
/// # Examples
///
/// ```
/// use instruments::statistics::discovery::discoveries;
///
/// // 0.04 would suffice for a single comparison, but not among four.
/// assert_eq!(discoveries(&[0.04, 0.5, 0.001, 0.9], 0.05), [false, false, true, false]);
/// // 0.03 is the last of two once the other is called different.
/// assert_eq!(discoveries(&[0.02, 0.03], 0.05), [true, true]);
/// ```
pub fn discoveries(p: &[f64], chance: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|one, other| p[*one].total_cmp(&p[*other]));
    let mut called = vec![false; p.len()];
    let is_called = |(place, which): &(usize, &usize)| p[**which] <= chance / (p.len() - place) as f64;
    order.iter().enumerate().take_while(is_called).for_each(|(_, which)| called[*which] = true);
    called
}
