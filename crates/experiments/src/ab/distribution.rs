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

    /// Returns the ends of a column on the axis.
    pub fn ends(&self, column: usize, columns: usize) -> (f64, f64) {
        let width = (self.high - self.low) / columns as f64;
        (self.low + width * column as f64, self.low + width * (column + 1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(side: &str, values: Vec<f64>) -> AbRow {
        AbRow {
            metric: "wall_s".into(),
            side: side.into(),
            is_decisive: true,
            higher_is_better: false,
            runs: values.len() as u64,
            median: 1.0,
            ci: None,
            compared_with: None,
            ratio: None,
            ratio_ci: None,
            verdict: None,
            missing_runs: None,
            power: None,
            values,
        }
    }

    #[test]
    fn every_value_is_in_a_column_or_above_the_axis() {
        // The slowest run of a hundred does not stretch the axis.
        let first = row("a", (0..100).map(|n| if n == 99 { 50.0 } else { 1.0 + f64::from(n) / 100.0 }).collect());
        let second = row("b", vec![1.2; 10]);
        let distribution = Distribution::of(&[&first, &second], 20).unwrap();
        assert!(distribution.high < 2.0, "{}", distribution.high);
        assert_eq!(distribution.sides[0].above, 1);
        for (side, count) in distribution.sides.iter().zip([100, 10]) {
            assert_eq!(side.counts.iter().sum::<u64>() + side.above, count, "{}", side.label);
        }
        assert_eq!(distribution.ends(0, 20).0, 1.0);
    }

    #[test]
    fn equal_values_have_no_distribution() {
        assert!(Distribution::of(&[&row("a", vec![2.0; 5])], 20).is_none());
        assert!(Distribution::of(&[&row("a", Vec::new())], 20).is_none());
    }
}
