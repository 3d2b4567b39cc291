//! The load of the last hours, for means over the last 1, 2, 4 … seconds.

use std::collections::VecDeque;

/// Means go back this far: 2 to the 15th seconds, about nine hours.
pub const POWERS: u32 = 15;

/// Sums from the first interval on, so that every mean is one subtraction, as in 1998.
#[derive(Debug, Default)]
pub struct History {
    /// The end of each interval and the load's time up to it, in seconds; oldest first.
    sums: VecDeque<(f64, f64)>,
}

impl History {
    /// Adds an interval that ended at `time_s`.
    pub fn push(&mut self, time_s: f64, load_share: f64) {
        let (last_s, sum_s) = self.sums.back().copied().unwrap_or((0.0, 0.0));
        if self.sums.is_empty() {
            self.sums.push_back((0.0, 0.0));
        }
        self.sums.push_back((time_s, sum_s + load_share * (time_s - last_s)));
        let oldest_s = time_s - f64::from(1 << POWERS);
        while self.sums.get(1).is_some_and(|&(time_s, _)| time_s <= oldest_s) {
            self.sums.pop_front();
        }
    }

    /// Returns the mean load over the last `2^power` seconds; `None` until this time has passed.
    pub fn mean_over(&self, power: u32) -> Option<f64> {
        let &(now_s, now_sum_s) = self.sums.back()?;
        let from_s = now_s - f64::from(1_u32 << power);
        // The ends of intervals are slightly off whole seconds.
        let at = self.sums.partition_point(|&(time_s, _)| time_s <= from_s + 0.05);
        let &(then_s, then_sum_s) = self.sums.get(at.checked_sub(1)?)?;
        (now_s > then_s).then(|| (now_sum_s - then_sum_s) / (now_s - then_s))
    }

    /// Returns the loads of the last intervals, newest first.
    pub fn latest(&self) -> impl Iterator<Item = f64> + '_ {
        let newer = self.sums.iter().rev();
        newer.zip(self.sums.iter().rev().skip(1)).map(|(new, old)| (new.1 - old.1) / (new.0 - old.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_go_back_in_powers_of_two() {
        let mut history = History::default();
        (1..=8).for_each(|second| history.push(f64::from(second), if second > 4 { 1.0 } else { 0.0 }));
        let close = |power, mean: f64| assert!((history.mean_over(power).unwrap() - mean).abs() < 1e-9, "2^{power}");
        close(0, 1.0);
        close(2, 1.0);
        close(3, 0.5);
        assert_eq!(history.mean_over(4), None);
        assert_eq!(history.latest().take(5).collect::<Vec<_>>(), [1.0, 1.0, 1.0, 1.0, 0.0]);
    }

    #[test]
    fn an_endless_run_keeps_nine_hours() {
        let mut history = History::default();
        (1..=40_000).for_each(|second| history.push(f64::from(second), 0.25));
        assert!(history.sums.len() <= (1 << POWERS) + 2);
        assert!((history.mean_over(POWERS).unwrap() - 0.25).abs() < 1e-9);
    }
}
