//! The corrected time of a run: its time, less the lag of its threads, but not less than its two limits allow.
//!
//! A thread's virtual time is the real one less its lag. The virtual end of the program is the virtual time at which
//! its last thread ended. A program that counts in a fixed time counts while the threads lag more and more: a rate is
//! corrected by the lag of the thread that lags most, since the others are paused until they lag as much. The time that
//! a thread waited for a CPU is in its lag and in no other's; so where the thread that ended the program lags more,
//! that counts.
//!
//! Paused threads leave their CPU to others, which should pause with them; and the simulation along the lags has as
//! many CPUs as it likes. So there is a second limit: the time that the CPUs need for the work, all of them busy. The
//! part of the sections that slept in a traced run is not work, and is not subtracted.
//!
//! A program can be near both limits at once, and then waits for CPUs put it above both ([`TwoLimits`]). No run is
//! shorter than the greater of the two. A run is not longer than `least + along * (1 - 1/CPUs)` either: at any moment
//! all CPUs are at work, or the longest path goes on (Graham, "Bounds on multiprocessing timing anomalies", SIAM J.
//! Appl. Math. 17, 1969). Both bounds hold for the order in which the locks are acquired. The place of the program
//! between its two bounds is known where nothing is shorter, from its own time. That place is kept for the prediction,
//! which is an assumption. The interval of the prediction therefore does not rely on it.

use blame::Lost;
use instruments::statistics::order;
use interpose::{Region, SHARE_ONE};
use launch::FinishedRun;
use std::sync::atomic::Ordering::Relaxed;

/// A run with the library.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ran {
    pub wall_s: f64,
    pub cpu_s: f64,
    pub cpus: f64,
    /// Share by which sections were shorter.
    pub share: f64,
    /// Lag of the thread that ended the program, and of the one that lagged most.
    pub end_lag_s: f64,
    pub most_lag_s: f64,
    /// Handoffs on the way to the end.
    pub handoffs_s: f64,
    /// Threads that used locks at once, at most.
    pub threads: u64,
    /// The part of a section in which its thread slept; `None` if that is not known.
    pub slept_share: Option<f64>,
    pub sections: u64,
    pub section_s: f64,
    /// The share of the CPUs that other programs had during the run.
    pub others_share: f64,
    pub lost: Lost,
}

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// The program's time, until its end.
    Wall,
    /// A time that the program says.
    Time,
    /// A rate that it says.
    Rate,
}

impl Ran {
    /// Reads the library's notes.
    pub fn of(region: &Region, took: &FinishedRun, around: Around) -> Self {
        let Around { cpus, slept_share, others_share, ns_per_tick } = around;
        let what_if = &region.what_if;
        let seconds = |ticks: u64| ticks as f64 * ns_per_tick / 1e9;
        let most = what_if.most.load(Relaxed);
        // A process that leaves by `_exit` or a signal says nothing of its end; one that waits for a child has its lag.
        let is_known = what_if.has_exited.load(Relaxed) != 0 && what_if.elsewhere.load(Relaxed) == 0;
        let end = if is_known { what_if.exit_lag.load(Relaxed) } else { most };
        let any = || region.thread_lags.iter().map(|own| own.handoffs.load(Relaxed)).max().unwrap_or(0);
        let handoffs = if is_known { what_if.exit_handoffs.load(Relaxed) } else { any() };
        Self {
            wall_s: took.wall_s,
            // The spin that ends a pause on time is not work of the program.
            cpu_s: took.usage.cpu_s() - seconds(what_if.spun_ticks.load(Relaxed)),
            cpus,
            share: f64::from(what_if.share.load(Relaxed)) / SHARE_ONE as f64,
            end_lag_s: seconds(end),
            most_lag_s: seconds(most),
            handoffs_s: seconds(handoffs),
            threads: region.threads().count() as u64,
            slept_share,
            sections: what_if.sections.load(Relaxed),
            section_s: seconds(what_if.section_ticks.load(Relaxed)),
            others_share,
            lost: Lost::of(region),
        }
    }

    /// Returns the time that the CPUs need at least for the work, if this part of the sections slept.
    fn least_s(&self, slept_share: f64) -> f64 {
        ((self.cpu_s - self.share * self.section_s * (1.0 - slept_share)) / self.cpus).max(1e-9)
    }

    /// Returns the time along the lags, with any number of CPUs.
    pub fn along_s(&self, figure: Figure) -> f64 {
        match figure {
            Figure::Wall => self.wall_s - self.end_lag_s,
            Figure::Time | Figure::Rate => self.wall_s - self.end_lag_s.max(self.most_lag_s),
        }
    }

    /// Returns the limits of a figure, as shares of what the run took.
    pub fn limits(&self, figure: Figure) -> Limits {
        Limits {
            along: self.along_s(figure) / self.wall_s,
            handoffs: self.handoffs_s / self.wall_s,
            least: self.least_s(0.0) / self.wall_s,
            least_asleep: self.least_s(self.slept_share.unwrap_or(0.0)) / self.wall_s,
            cpus: self.cpus,
        }
    }

    /// Returns a value as it would be.
    pub fn corrected(&self, figure: Figure, value: f64, two_limits: TwoLimits) -> f64 {
        scaled(figure, value, two_limits.both(self.limits(figure)))
    }

    /// Returns the figure at best: no handoff is left, and no thread waits for a CPU.
    pub fn at_best(&self, figure: Figure, value: f64) -> f64 {
        scaled(figure, value, self.limits(figure).fastest())
    }

    /// Returns the figure at worst. If it is not known whether sections slept, all of them did.
    pub fn at_worst(&self, figure: Figure, value: f64, two_limits: TwoLimits) -> f64 {
        let slept = self.least_s(self.slept_share.unwrap_or(1.0)) / self.wall_s;
        scaled(figure, value, two_limits.slowest(Limits { least_asleep: slept, ..self.limits(figure) }))
    }

    /// Returns whether the CPUs are the limit.
    pub fn is_limited_by_cpus(&self) -> bool {
        self.along_s(Figure::Rate) < self.least_s(self.slept_share.unwrap_or(0.0))
    }
}

/// Returns a figure of a run that would take `times` as long.
fn scaled(figure: Figure, value: f64, times: f64) -> f64 {
    if figure == Figure::Rate { value / times } else { value * times }
}

/// The facts about a run that the library does not note.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    pub cpus: f64,
    pub slept_share: Option<f64>,
    pub others_share: f64,
    pub ns_per_tick: f64,
}

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

    /// Returns Graham's bound.
    pub fn most(self) -> f64 {
        self.sharp().max(self.least_asleep + self.along * (1.0 - 1.0 / self.cpus))
    }

    /// Returns the bound where no handoff is left, and no thread waits for a CPU.
    pub fn fastest(self) -> f64 {
        (self.along - self.handoffs).max(self.least).max(0.0)
    }

    /// Returns the part of its CPUs that the program could use.
    fn demand(self) -> f64 {
        if self.along > 0.0 { self.least_asleep / self.along } else { f64::INFINITY }
    }
}

/// The place of a program between its bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TwoLimits {
    /// 0: the greater limit alone; 1: Graham's bound.
    bluntness: f64,
    /// The median limits with nothing shorter; `None` without a run.
    base: Option<Limits>,
    /// Whether the program has more threads than CPUs, so that they can wait for each other's.
    is_crowded: bool,
}

/// The share of a program's time from which on its waits for CPUs do not predict those with shorter sections.
pub const WAITED: f64 = 0.1;

/// Returns the part of the program's time by which a prediction is off for reasons that the limits do not know, above
/// all that its threads acquire the locks in another order: 2 %, and a twentieth of what is saved. By simulation
/// ([`super::simulated`]) the interval with it has the real time in 95 of 100 programs.
pub fn own_error(saved: f64) -> f64 {
    0.02 + 0.05 * saved.abs()
}

impl TwoLimits {
    /// Returns the place of a program, by its runs with nothing shorter. If other programs took the CPUs, its own waits
    /// for them are not known: then the greater limit alone counts.
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

    /// Returns the part of the program's time that both limits explain at most, where that is not all of it: then it
    /// has a third limit.
    pub fn explained(self) -> Option<f64> {
        self.base.map(Limits::most).filter(|most| *most < 1.0)
    }

    /// Returns the time that a run would take.
    pub fn both(self, limits: Limits) -> f64 {
        limits.sharp() + self.bluntness * (limits.most() - limits.sharp())
    }

    /// Returns the longest time that a run could take. Waits for CPUs that the program does not have yet are to be
    /// expected as far as it comes nearer to what its CPUs can do.
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

    fn ran() -> Ran {
        Ran {
            wall_s: 2.0,
            cpu_s: 1.0,
            cpus: 2.0,
            share: 0.5,
            end_lag_s: 0.4,
            most_lag_s: 1.0,
            handoffs_s: 0.1,
            threads: 2,
            slept_share: Some(0.0),
            sections: 10,
            section_s: 1.0,
            others_share: 0.0,
            lost: Lost::default(),
        }
    }

    fn corrected(ran: &Ran, figure: Figure, value: f64) -> f64 {
        ran.corrected(figure, value, TwoLimits::default())
    }

    #[test]
    fn times_are_shorter_and_rates_higher_by_the_lags() {
        assert_eq!((corrected(&ran(), Figure::Wall, 2.0), ran().is_limited_by_cpus()), (1.6, false));
        assert_eq!((corrected(&ran(), Figure::Rate, 100.0), corrected(&ran(), Figure::Time, 3.0)), (200.0, 1.5));
        let none = Ran { share: 0.0, end_lag_s: 0.0, most_lag_s: 0.0, ..ran() };
        assert_eq!((corrected(&none, Figure::Wall, 2.0), corrected(&none, Figure::Rate, 100.0)), (2.0, 100.0));
    }

    #[test]
    fn nothing_takes_less_than_the_cpus_need() {
        let busy = Ran { cpu_s: 3.9, end_lag_s: 1.0, ..ran() };
        assert!((corrected(&busy, Figure::Wall, 2.0) - 1.7).abs() < 1e-12 && busy.is_limited_by_cpus());
        assert!((corrected(&busy, Figure::Time, 3.0) - 3.0 * 1.7 / 2.0).abs() < 1e-12);
        // Shorter sections do not save work if they slept.
        let asleep = Ran { slept_share: Some(1.0), ..busy };
        assert!((corrected(&asleep, Figure::Wall, 2.0) - 1.95).abs() < 1e-12);
    }

    #[test]
    fn a_prediction_lies_between_the_best_and_the_worst() {
        for figure in [Figure::Wall, Figure::Time, Figure::Rate] {
            for slept_share in [None, Some(0.0), Some(0.7)] {
                let ran = Ran { slept_share, cpu_s: 2.8, ..ran() };
                let two_limits = TwoLimits::of(
                    &[Ran { share: 0.0, end_lag_s: 0.0, most_lag_s: 0.0, ..ran }.limits(figure)],
                    true,
                    false,
                );
                let (best, worst) = (ran.at_best(figure, 2.0), ran.at_worst(figure, 2.0, two_limits));
                let predicted = ran.corrected(figure, 2.0, two_limits);
                assert!(best.min(worst) <= predicted && predicted <= best.max(worst), "{best} {predicted} {worst}");
            }
        }
    }

    fn limits(along: f64, least: f64) -> Limits {
        Limits { along, handoffs: 0.0, least, least_asleep: least, cpus: 2.0 }
    }

    fn two_limits(along: f64, least: f64) -> TwoLimits {
        TwoLimits::of(&[limits(along, least)], true, false)
    }

    fn is_near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn the_program_with_nothing_shorter_is_predicted_as_it_was() {
        for (along, least) in [(0.8, 0.8), (0.9, 0.7), (0.5, 0.95), (1.0, 0.6)] {
            assert!(is_near(two_limits(along, least).both(limits(along, least)), 1.0), "{along} {least}");
        }
        let third = two_limits(0.3, 0.3);
        assert!(is_near(third.both(limits(0.3, 0.3)), 0.45));
        assert!(third.explained().is_some_and(|share| is_near(share, 0.45)));
        assert!(is_near(third.slowest(limits(0.3, 0.3)), 1.0));
        assert_eq!((two_limits(0.8, 0.8).explained(), two_limits(1.0, 0.9).explained()), (None, None));
    }

    #[test]
    fn where_it_waited_for_cpus_the_slowest_is_grahams_bound() {
        assert!(is_near(two_limits(0.8, 0.8).slowest(limits(0.4, 0.5)), 0.7));
        // No waits, and no nearer to the CPUs' limit: the prediction is not widened.
        assert!(is_near(two_limits(1.0, 0.5).slowest(limits(0.6, 0.3)), 0.6));
        // Nearer to it, with more threads than CPUs.
        assert!(two_limits(1.0, 0.5).slowest(limits(0.5, 0.45)) > 0.6);
        let few = TwoLimits::of(&[limits(1.0, 0.5)], false, false);
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
