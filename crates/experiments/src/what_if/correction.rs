//! The corrected time of a run: its time, less the lag of its threads.
//!
//! A thread's virtual time is the real one less its lag. The program's end is virtually when the thread got there that
//! ended it. A program that counts in a fixed time counts while the threads lag more and more: a rate is
//! corrected by the lag of the thread that lags most, since the others are paused until they lag as much. What a thread
//! waited for a CPU is in its lag and in no other's; so where the thread that ended the program lags more, that counts.
//!
//! Paused threads leave their CPU to others, which should pause with them; and the simulation along the
//! lags has as many CPUs as it likes. So there is a second limit: what the CPUs have to do takes them, all at work,
//! some time. The part of the sections that slept in a watched run is not work, and is not taken off.
//!
//! A program is at both limits at once at times, and then waits for CPUs put it above both: [`Corner`].

use super::corner::{Corner, Limits};
use blame::Lost;
use interpose::{Region, SHARE_ONE};
use launch::Took;
use std::sync::atomic::Ordering::Relaxed;

/// A run with the library.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ran {
    pub wall_s: f64,
    pub cpu_s: f64,
    pub cpus: f64,
    /// By how much sections were shorter.
    pub share: f64,
    /// How far the thread lagged that ended the program, and the one that lagged most.
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

/// What a figure is.
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
    /// Reads what the library noted.
    pub fn of(region: &Region, took: &Took, around: Around) -> Self {
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
            cpu_s: took.cpu_s - seconds(what_if.spun_ticks.load(Relaxed)),
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

    /// The time that the CPUs need at least for the work, if this part of the sections slept.
    fn least_s(&self, slept_share: f64) -> f64 {
        ((self.cpu_s - self.share * self.section_s * (1.0 - slept_share)) / self.cpus).max(1e-9)
    }

    /// The time along the lags, with any number of CPUs.
    pub fn along_s(&self, figure: Figure) -> f64 {
        match figure {
            Figure::Wall => self.wall_s - self.end_lag_s,
            Figure::Time | Figure::Rate => self.wall_s - self.end_lag_s.max(self.most_lag_s),
        }
    }

    /// The limits of a figure, as shares of what the run took.
    pub fn limits(&self, figure: Figure) -> Limits {
        Limits {
            along: self.along_s(figure) / self.wall_s,
            handoffs: self.handoffs_s / self.wall_s,
            least: self.least_s(0.0) / self.wall_s,
            least_asleep: self.least_s(self.slept_share.unwrap_or(0.0)) / self.wall_s,
            cpus: self.cpus,
        }
    }

    /// What a figure would be.
    pub fn corrected(&self, figure: Figure, value: f64, corner: Corner) -> f64 {
        scaled(figure, value, corner.both(self.limits(figure)))
    }

    /// The figure at best: no handoff is left, and no thread waits for a CPU.
    pub fn at_best(&self, figure: Figure, value: f64) -> f64 {
        scaled(figure, value, self.limits(figure).fastest())
    }

    /// The figure at worst. If it is not known whether sections slept, all of them did.
    pub fn at_worst(&self, figure: Figure, value: f64, corner: Corner) -> f64 {
        let slept = self.least_s(self.slept_share.unwrap_or(1.0)) / self.wall_s;
        scaled(figure, value, corner.slowest(Limits { least_asleep: slept, ..self.limits(figure) }))
    }

    /// Whether the CPUs are the limit.
    pub fn is_limited_by_cpus(&self) -> bool {
        self.along_s(Figure::Rate) < self.least_s(self.slept_share.unwrap_or(0.0))
    }
}

/// A figure of a run that would take `times` as long.
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
        ran.corrected(figure, value, Corner::default())
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
                let corner = Corner::of(
                    &[Ran { share: 0.0, end_lag_s: 0.0, most_lag_s: 0.0, ..ran }.limits(figure)],
                    true,
                    false,
                );
                let (best, worst) = (ran.at_best(figure, 2.0), ran.at_worst(figure, 2.0, corner));
                let predicted = ran.corrected(figure, 2.0, corner);
                assert!(best.min(worst) <= predicted && predicted <= best.max(worst), "{best} {predicted} {worst}");
            }
        }
    }
}
