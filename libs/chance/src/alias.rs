//! Drawing from weights in constant time: Walker's alias method (1977), built as by Vose (1991), in integers.
//!
//! Each of n columns holds `total` units, so n·total in all; outcome i owns n·weight(i) of them. A column is split
//! between its own outcome and one other, its alias. To draw: any column, any unit in it. No rounding anywhere.
use fastrand::Rng;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Alias {
    /// Per column: how many units are its own, and whose the others are.
    columns: Vec<(u64, u32)>,
    total: u64,
}

impl Alias {
    /// `weights` are positive and sum to `total`; there are at most 2^32.
    pub(crate) fn new(weights: &[u64], total: u64) -> Self {
        let (n, full) = (weights.len() as u128, u128::from(total));
        let mut units: Vec<u128> = weights.iter().map(|&weight| u128::from(weight) * n).collect();
        let mut columns: Vec<(u64, u32)> = (0..weights.len()).map(|i| (total, i as u32)).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..weights.len()).partition(|&i| units[i] < full);
        while let (Some(&poor), Some(&rich)) = (small.last(), large.last()) {
            small.pop();
            columns[poor] = (units[poor] as u64, rich as u32);
            units[rich] -= full - units[poor];
            if units[rich] < full {
                large.pop();
                small.push(rich);
            }
        }
        Self { columns, total }
    }

    /// The index of an outcome.
    #[inline]
    pub(crate) fn draw(&self, rng: &mut Rng) -> usize {
        let column = rng.usize(..self.columns.len());
        let (own, other) = self.columns[column];
        if rng.u64(..self.total) < own { column } else { other as usize }
    }
}
