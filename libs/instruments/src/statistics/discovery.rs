//! Which of many comparisons show something.
//!
//! Five of a hundred comparisons in which nothing differs have an interval that excludes "nothing". Holm ("A simple
//! sequentially rejective multiple test procedure", 1979) bounds the whole family instead: the chance that any
//! comparison is called different without being so is at most a given one, whatever differs in the others and however
//! they depend on each other.

/// Returns for each comparison, by the chance that it had to come out so, whether it is called different.
///
/// # Examples
/// ```
/// use instruments::statistics::discovery::discoveries;
///
/// // By itself 0.04 would do; among four it does not.
/// assert_eq!(discoveries(&[0.04, 0.5, 0.001, 0.9], 0.05), [false, false, true, false]);
/// // 0.02 is the last of two once the other is called.
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
