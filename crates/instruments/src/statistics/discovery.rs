//! Which of many comparisons show something.
//!
//! Of a hundred comparisons in which nothing differs, five have an interval that excludes "nothing". Benjamini and
//! Hochberg ("Controlling the false discovery rate", 1995) ask instead that of those that are *called* different, at
//! most a given share is called so by chance, on average; where nothing differs at all, that any is called so at most
//! so often. The cells of a run have part of their scatter in common, and the rule holds for such dependence too
//! (Benjamini and Yekutieli, 2001).

/// For each comparison, by the chance that it had to come out so, whether it is called different.
///
/// ```
/// use instruments::statistics::discovery::discoveries;
///
/// // By itself 0.04 would do; among four it does not.
/// assert_eq!(discoveries(&[0.04, 0.5, 0.001, 0.9], 0.05), [false, false, true, false]);
/// ```
pub fn discoveries(p: &[f64], rate: f64) -> Vec<bool> {
    let mut sorted = p.to_vec();
    sorted.sort_by(f64::total_cmp);
    let share = |place: usize| rate * (place + 1) as f64 / sorted.len() as f64;
    let limit = (0..sorted.len()).rev().map(|place| (place, sorted[place])).find(|(place, p)| *p <= share(*place));
    p.iter().map(|p| limit.is_some_and(|(_, limit)| *p <= limit)).collect()
}
