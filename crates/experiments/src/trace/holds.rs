//! The sum of all holds, from the holds that were timed.
//!
//! At a place where holds are long each is timed; elsewhere one in 64 is. The holds that were not timed are estimated
//! by those of the sample. A sample cannot rule out a few long holds among the others (a holder that was preempted), so
//! the sum's interval allows for them: by the empirical Bernstein bound (Audibert, Munos and Szepesvári,
//! "Exploration-exploitation tradeoff using variance estimates", 2009), which holds for any distribution of bounded
//! values. Where that interval is wide, there is no sum.

use instruments::statistics::Interval;

/// The holds of one or several places. Times are in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Timed {
    pub acquisitions: u64,
    /// All that were timed, and their sum.
    pub timed: u64,
    pub timed_ns: f64,
    /// Those of them that were timed because each was.
    pub every: u64,
    pub every_ns: f64,
    pub longest_ns: f64,
}

/// The sum, with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Total {
    pub ns: f64,
    pub interval_ns: Interval,
}

/// A hold that was not timed is taken as no longer than this, or than the longest that was: about what a preempted
/// holder waits until it runs again.
const PREEMPTED_NS: f64 = 10e6;
/// A sum whose interval is wider than this part of it is not given.
const WIDEST: f64 = 0.5;
/// One less 95 %.
const ERROR: f64 = 0.05;

impl Timed {
    /// The sum of all holds; `None` if too few of them were timed to tell.
    pub fn total(&self) -> Option<Total> {
        let estimated = self.estimated()?;
        (estimated.interval_ns.width() <= WIDEST * estimated.ns).then_some(estimated)
    }

    fn estimated(&self) -> Option<Total> {
        let Self { acquisitions, timed, timed_ns, every, every_ns, longest_ns } = *self;
        let untimed = acquisitions.saturating_sub(timed) as f64;
        if timed == 0 {
            return None;
        }
        if untimed == 0.0 {
            return Some(Total { ns: timed_ns, interval_ns: Interval::new(timed_ns, timed_ns) });
        }
        let bound = longest_ns.max(PREEMPTED_NS);
        let sampled = timed.saturating_sub(every) as f64;
        let (mean, most) = if sampled == 0.0 {
            (timed_ns / timed as f64, bound)
        } else {
            let mean = (timed_ns - every_ns).max(0.0) / sampled;
            // The variance of values of this mean is greatest if they are 0 or the longest.
            let variance = mean * longest_ns;
            let log = (3.0 / ERROR).ln();
            (mean, (mean + (2.0 * variance * log / sampled).sqrt() + 3.0 * bound * log / sampled).min(bound))
        };
        // The holds that were timed are a part of the sum, however long the others were.
        let interval_ns = Interval::new(timed_ns, timed_ns + untimed * most);
        Some(Total { ns: timed_ns + untimed * mean, interval_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A place of the library's: which holds it times, and what it notes.
    fn watched(holds: &[f64], is_full: bool) -> Timed {
        const LONG_NS: f64 = 1_500.0;
        let mut noted = Timed { acquisitions: holds.len() as u64, ..Timed::default() };
        let mut times_all = false;
        for (number, &hold) in holds.iter().enumerate() {
            if !(is_full || times_all || number % 64 == 0) {
                continue;
            }
            (noted.timed, noted.timed_ns) = (noted.timed + 1, noted.timed_ns + hold);
            noted.longest_ns = noted.longest_ns.max(hold);
            times_all = if times_all {
                (noted.every, noted.every_ns) = (noted.every + 1, noted.every_ns + hold);
                noted.every < 8 || noted.every_ns >= noted.every as f64 * LONG_NS
            } else {
                hold >= LONG_NS
            };
        }
        noted
    }

    /// Holds with heavy tails: log-normal, Pareto, short ones of which one in 2,000 is preempted, two lengths.
    fn hold(shape: usize, random: &mut fastrand::Rng) -> f64 {
        let normal = (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        match shape {
            0 => 300.0 * (1.5 * normal).exp(),
            1 => 40_000.0 * (2.0 * normal).exp(),
            2 => 200.0 * (1.0 - random.f64()).powf(-1.0 / 1.3),
            3 => 20_000.0 * (1.0 - random.f64()).powf(-1.0 / 1.3),
            4 => {
                if random.usize(..2_000) == 0 {
                    4e6 * random.f64()
                } else {
                    100.0
                }
            }
            5 => {
                if random.usize(..50) == 0 {
                    300_000.0
                } else {
                    80.0
                }
            }
            _ => 2_000.0 * (0.2 * normal).exp(),
        }
    }

    #[test]
    fn the_sum_lies_in_its_interval_in_nineteen_of_twenty_cases_whatever_the_tail() {
        let mut random = fastrand::Rng::with_seed(5);
        let mut given = [0; 7];
        for (shape, given) in given.iter_mut().enumerate() {
            let (mut estimated, mut inside, mut shown, mut shown_inside) = (0, 0, 0, 0);
            for case in 0..400 {
                let count = [30, 300, 3_000, 30_000][case % 4];
                let holds: Vec<f64> = (0..count).map(|_| hold(shape, &mut random)).collect();
                let (noted, sum) = (watched(&holds, false), holds.iter().sum::<f64>());
                let is_in = |total: &Total| {
                    total.interval_ns.low <= sum * 1.000_001 && sum <= total.interval_ns.high * 1.000_001
                };
                if let Some(total) = noted.estimated() {
                    (estimated, inside) = (estimated + 1, inside + usize::from(is_in(&total)));
                }
                if let Some(total) = noted.total() {
                    (shown, shown_inside) = (shown + 1, shown_inside + usize::from(is_in(&total)));
                    assert!((total.ns / sum - 1.0).abs() < 0.6, "{shape}: {total:?} for {sum}");
                }
            }
            assert!(inside * 20 >= estimated * 19, "shape {shape}: {inside} of {estimated}");
            assert!(shown_inside * 20 >= shown * 19, "shape {shape}: {shown_inside} of {shown}");
            *given = shown;
        }
        // Long holds have a sum, though they are sampled at first; short ones have none.
        assert!(given[1] > 200 && given[3] > 200 && given[6] > 300, "{given:?}");
        assert!(given[0] < 100 && given[4] < 100, "{given:?}");
    }

    #[test]
    fn with_every_hold_timed_the_sum_is_exact() {
        let holds: Vec<f64> = (0..500).map(|number| f64::from(number % 7) * 100.0).collect();
        let sum = holds.iter().sum();
        assert_eq!(watched(&holds, true).total(), Some(Total { ns: sum, interval_ns: Interval::new(sum, sum) }));
        assert_eq!(Timed::default().total(), None);
    }
}
