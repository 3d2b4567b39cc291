//! The distribution of each side's values over one axis: columns for a terminal and for a page.

use super::record::AbRow;

/// The columns of all sides.
pub struct Distribution {
    pub low: f64,
    pub high: f64,
    pub sides: Vec<Side>,
}

/// The values of one side.
pub struct Side {
    pub label: String,
    /// The number of values in each column.
    pub counts: Vec<u64>,
    /// The number of values beyond the axis.
    pub above: u64,
}

/// The axis ends at this quantile of each side, so that single slow runs do not press all others into one column.
const END: f64 = 0.98;

impl Distribution {
    /// Counts the values of one metric, which has these rows; `None` where all values are the same.
    pub fn of(rows: &[&AbRow], columns: usize) -> Option<Self> {
        let sorted: Vec<Vec<f64>> = rows
            .iter()
            .map(|row| {
                let mut values = row.values.clone();
                values.sort_unstable_by(f64::total_cmp);
                values
            })
            .collect();
        let low = sorted.iter().filter_map(|values| values.first()).copied().fold(f64::INFINITY, f64::min);
        let end = |values: &Vec<f64>| {
            values.get(((values.len() as f64 * END) as usize).min(values.len().max(1) - 1)).copied()
        };
        let high = sorted.iter().filter_map(end).fold(f64::NEG_INFINITY, f64::max);
        if high <= low || !low.is_finite() {
            return None;
        }
        let side = |(row, values): (&&AbRow, &Vec<f64>)| {
            let (mut counts, mut above) = (vec![0; columns], 0);
            for value in values {
                match ((value - low) / (high - low) * columns as f64) as usize {
                    _ if *value > high => above += 1,
                    column => counts[column.min(columns - 1)] += 1,
                }
            }
            Side { label: row.side.clone(), counts, above }
        };
        Some(Self { low, high, sides: rows.iter().zip(&sorted).map(side).collect() })
    }

    /// The ends of a column on the axis.
    pub fn ends(&self, column: usize, columns: usize) -> (f64, f64) {
        let width = (self.high - self.low) / columns as f64;
        (self.low + width * column as f64, self.low + width * (column + 1) as f64)
    }
}
