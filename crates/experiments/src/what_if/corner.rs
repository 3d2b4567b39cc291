//! The time of a program that is near two limits at once.
//!
//! Along the lags it takes some time, as if it had as many CPUs as threads; and its CPUs need some time for its work.
//! No run is shorter than the greater of the two. A run is not longer than `least + along * (1 - 1/CPUs)` either: at
//! any moment all CPUs are at work, or the longest path goes on (Graham, "Bounds on multiprocessing timing anomalies",
//! SIAM J. Appl. Math. 17, 1969). Both bounds hold for the order in which the locks are acquired.
//!
//! The place of the program between its two bounds is known where nothing is shorter: its own time tells. That place is
//! kept for the prediction, which is an assumption. The interval of the prediction therefore does not rely on it.

use instruments::statistics::order;

/// The limits of a run, as shares of its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Along the lags, with as many CPUs as threads.
    pub along: f64,
    /// Handoffs in `along`. Shorter sections have fewer of them, or as many.
    pub handoffs: f64,
    /// The work, with all CPUs busy: if the sections that are shorter compute.
    pub least: f64,
    /// The same if they sleep as much as they are known to.
    pub least_asleep: f64,
    pub cpus: f64,
}

impl Limits {
    fn sharp(self) -> f64 {
        self.along.max(self.least_asleep)
    }

    /// Graham's bound.
    pub fn most(self) -> f64 {
        self.sharp().max(self.least_asleep + self.along * (1.0 - 1.0 / self.cpus))
    }

    /// The bound where no handoff is left, and no thread waits for a CPU.
    pub fn fastest(self) -> f64 {
        (self.along - self.handoffs).max(self.least).max(0.0)
    }

    /// The part of its CPUs that the program could use.
    fn demand(self) -> f64 {
        if self.along > 0.0 { self.least_asleep / self.along } else { f64::INFINITY }
    }
}

/// The place of a program between its bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Corner {
    /// 0: the greater limit alone; 1: Graham's bound.
    bluntness: f64,
    /// The median limits with nothing shorter; `None` without a run.
    base: Option<Limits>,
    /// Whether the program has more threads than CPUs, so that they can wait for each other's.
    is_crowded: bool,
}

/// From this share of its time on, a program's waits for CPUs say nothing of those that it has with shorter sections.
pub const WAITED: f64 = 0.1;

/// The part of the program's time by which a prediction is off for reasons that the limits do not know, above all that
/// its threads acquire the locks in another order: 2 %, and a twentieth of what is saved. By simulation
/// ([`super::simulated`]) the interval with it has the real time in 95 of 100 programs.
pub fn own_error(saved: f64) -> f64 {
    0.02 + 0.05 * saved.abs()
}

impl Corner {
    /// The corner of a program, by its runs with nothing shorter. If other programs took the CPUs, its own waits for
    /// them are not known: then the corner is sharp.
    pub fn of(runs: &[Limits], is_crowded: bool, is_disturbed: bool) -> Self {
        let median = |of: fn(&Limits) -> f64| order::median(&runs.iter().map(of).collect::<Vec<f64>>());
        let base = || {
            Some(Limits {
                along: median(|run| run.along)?,
                handoffs: median(|run| run.handoffs)?,
                least: median(|run| run.least)?,
                least_asleep: median(|run| run.least_asleep)?,
                cpus: median(|run| run.cpus)?,
            })
        };
        let Some(base) = base() else { return Self::default() };
        let (sharp, most) = (base.sharp(), base.most());
        let bluntness = if most > sharp { ((1.0 - sharp) / (most - sharp)).clamp(0.0, 1.0) } else { 0.0 };
        Self { bluntness: if is_disturbed { 0.0 } else { bluntness }, base: Some(base), is_crowded }
    }

    /// The part of the program's time that both limits explain at most, where that is not all of it: then it has a
    /// third limit.
    pub fn explained(self) -> Option<f64> {
        self.base.map(Limits::most).filter(|most| *most < 1.0)
    }

    /// The time that a run would take.
    pub fn both(self, limits: Limits) -> f64 {
        limits.sharp() + self.bluntness * (limits.most() - limits.sharp())
    }

    /// The longest time that a run could take. Waits for CPUs that the program does not have yet are to be expected as
    /// far as it comes nearer to what its CPUs can do.
    pub fn slowest(self, limits: Limits) -> f64 {
        let Some(base) = self.base else { return limits.most() };
        let waited = (1.0 - base.along).max(0.0);
        let nearer = (limits.demand() - base.demand()) / (1.0 - base.demand()).max(0.01);
        let nearer = if self.is_crowded { nearer } else { 0.0 };
        let bluntness = (waited / WAITED).max(nearer).clamp(self.bluntness, 1.0);
        let third = self.explained().map_or(0.0, |explained| 1.0 - explained);
        limits.sharp() + bluntness * (limits.most() - limits.sharp()) + third
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(along: f64, least: f64) -> Limits {
        Limits { along, handoffs: 0.0, least, least_asleep: least, cpus: 2.0 }
    }

    fn corner(along: f64, least: f64) -> Corner {
        Corner::of(&[limits(along, least)], true, false)
    }

    fn is_near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn the_program_with_nothing_shorter_is_predicted_as_it_was() {
        for (along, least) in [(0.8, 0.8), (0.9, 0.7), (0.5, 0.95), (1.0, 0.6)] {
            assert!(is_near(corner(along, least).both(limits(along, least)), 1.0), "{along} {least}");
        }
        let third = corner(0.3, 0.3);
        assert!(is_near(third.both(limits(0.3, 0.3)), 0.45));
        assert!(third.explained().is_some_and(|share| is_near(share, 0.45)));
        assert!(is_near(third.slowest(limits(0.3, 0.3)), 1.0));
        assert_eq!((corner(0.8, 0.8).explained(), corner(1.0, 0.9).explained()), (None, None));
    }

    #[test]
    fn where_it_waited_for_cpus_the_slowest_is_grahams_bound() {
        assert!(is_near(corner(0.8, 0.8).slowest(limits(0.4, 0.5)), 0.7));
        // No waits, and no nearer to the CPUs' limit: the prediction is not widened.
        assert!(is_near(corner(1.0, 0.5).slowest(limits(0.6, 0.3)), 0.6));
        // Nearer to it, with more threads than CPUs.
        assert!(corner(1.0, 0.5).slowest(limits(0.5, 0.45)) > 0.6);
        let few = Corner::of(&[limits(1.0, 0.5)], false, false);
        assert!(is_near(few.slowest(limits(0.5, 0.45)), 0.5));
    }

    #[test]
    fn the_fastest_has_no_handoffs_and_never_less_than_the_work() {
        let run = Limits { handoffs: 0.3, ..limits(0.8, 0.4) };
        assert!(is_near(run.fastest(), 0.5) && is_near(Limits { handoffs: 0.7, ..run }.fastest(), 0.4));
        let asleep = Limits { least_asleep: 0.9, ..run };
        assert!(is_near(asleep.fastest(), 0.5) && asleep.most() > 0.9);
    }
}
