//! The sides of the comparison: the plain program, the library with unchanged sections, and each share of each lock.

use super::corner::Corner;
use super::correct::{Figure, Ran};
use harness::turns::Cell;
use instruments::statistics::comparison::Estimate;
use launch::ratio;
use std::cell::RefCell;
use std::rc::Rc;

/// The shares by which sections are shorter, besides 0.
pub const SHARES: [f64; 4] = [0.25, 0.5, 0.75, 1.0];
/// This many runs without a section of the lock for each run with one are not chance.
const MANY: usize = 6;
/// The places of the first two.
pub const PLAIN: usize = 0;
pub const NOTHING_SHORTER: usize = 1;

/// One figure of all runs of a side.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// As they would be.
    pub values: Vec<f64>,
    /// As they would be at best, and at worst: the ends of what the model does not know.
    pub at_best: Vec<f64>,
    pub at_worst: Vec<f64>,
    /// As they were.
    pub uncorrected: Vec<f64>,
}

/// The figures of each side, by metric: the wall time in ns, then the program's own.
pub type All = Rc<RefCell<Vec<Vec<Figures>>>>;

/// A side and its runs.
pub struct Side {
    pub place: usize,
    /// The lock, by number.
    pub lock: usize,
    pub share: f64,
    /// What the library noted of its runs.
    pub ran: Vec<Ran>,
    /// Runs in which the lock had no section, so that nothing was shorter.
    pub without_sections: usize,
    /// Why it has no more runs.
    pub failed: Option<String>,
    /// It failed for nothing but too many of those runs.
    pub is_left_out: bool,
    all: All,
    seed: u64,
}

impl Side {
    /// Makes the sides for this number of locks, and of metrics that the program prints.
    pub fn all(locks: usize, metrics: usize, seed: u64) -> (Vec<Self>, All) {
        let of_lock = |lock: usize| SHARES.map(|share| (lock, share));
        let kinds: Vec<(usize, f64)> = [(0, 0.0), (0, 0.0)].into_iter().chain((0..locks).flat_map(of_lock)).collect();
        let all = Rc::new(RefCell::new(vec![vec![Figures::default(); 1 + metrics]; kinds.len()]));
        let side = |(place, &(lock, share)): (usize, &(usize, f64))| {
            let all = Rc::clone(&all);
            let (ran, without_sections, failed, is_left_out) = (Vec::new(), 0, None, false);
            Self { place, lock, share, ran, without_sections, failed, is_left_out, all, seed }
        };
        (kinds.iter().enumerate().map(side).collect(), all)
    }

    pub fn is_plain(&self) -> bool {
        self.place == PLAIN
    }

    /// Its label.
    pub fn words(&self) -> String {
        match self.place {
            PLAIN => "plain".into(),
            NOTHING_SHORTER => "unchanged sections".into(),
            _ => format!("sections {} shorter", terminal::percent(self.share)),
        }
    }

    /// Adds the values of a run as they were.
    pub fn add(&mut self, ran: Option<Ran>, figures: impl Iterator<Item = (Figure, f64)>) {
        self.ran.extend(ran);
        for (of, (figure, value)) in self.all.borrow_mut()[self.place].iter_mut().zip(figures) {
            of.uncorrected.push(value);
            let corrected = ran.map_or(value, |ran| ran.corrected(figure, value, Corner::default()));
            of.values.push(corrected);
        }
    }

    /// A run in which the lock had no section says nothing of shorter ones; too many of them, and there are no more.
    pub fn leave_out(&mut self) {
        self.without_sections += 1;
        if self.without_sections >= MANY * (1 + self.ran.len()) {
            let of = self.without_sections + self.ran.len();
            self.is_left_out = true;
            self.failed =
                Some(format!("had no critical section of the lock in {} of {of} runs", self.without_sections));
        }
    }

    /// How it failed, for people. Of a lock that no run used it is said elsewhere, and once, that it had no section; a
    /// crash is said of it all the same.
    pub fn failure(&self, was_used: bool) -> Option<String> {
        let failed = self.failed.as_ref().filter(|_| was_used || !self.is_left_out);
        failed.map(|how| format!("with {}, the program {how}", self.words()))
    }

    /// All figures as they would be, now that it is known how each behaves between the program's limits.
    ///
    /// With nothing shorter, a figure is what it was. Where other programs disturbed the runs (`is_disturbed`), it is
    /// between the limits of the program alone and what it was.
    pub fn correct(&self, corners: &[(Figure, Corner)], is_disturbed: bool) {
        for (of, &(figure, corner)) in self.all.borrow_mut()[self.place].iter_mut().zip(corners) {
            let runs = || self.ran.iter().zip(&of.uncorrected);
            let each =
                |one: &dyn Fn(&Ran, f64) -> f64| runs().map(|(ran, &value)| one(ran, value)).collect::<Vec<f64>>();
            let values = each(&|ran, value| ran.corrected(figure, value, corner));
            let (at_best, at_worst) = match self.place {
                NOTHING_SHORTER if is_disturbed => (values.clone(), of.uncorrected.clone()),
                NOTHING_SHORTER => (values.clone(), values.clone()),
                _ => (
                    each(&|ran, value| ran.at_best(figure, value)),
                    each(&|ran, value| ran.at_worst(figure, value, corner)),
                ),
            };
            *of = Figures { values, at_best, at_worst, uncorrected: std::mem::take(&mut of.uncorrected) };
        }
    }
}

impl Cell for Side {
    fn title(&self) -> String {
        self.words()
    }

    fn turns(&self) -> u64 {
        self.all.borrow()[self.place][0].values.len() as u64
    }

    /// The ratio to the runs with unchanged sections, in the first metric, or in the wall time without one.
    fn figures(&self) -> Vec<Estimate> {
        let all = self.all.borrow();
        let metric = usize::from(all[0].len() > 1);
        let estimate = |place: usize| {
            let ratio = ratio(&all[place][metric].values, &all[NOTHING_SHORTER][metric].values, self.seed);
            Estimate::new(ratio.map_or(1.0, |ratio| ratio.estimate), ratio.map(|ratio| ratio.interval))
        };
        match self.place {
            PLAIN | NOTHING_SHORTER => (NOTHING_SHORTER + 1..all.len()).map(estimate).collect(),
            place => vec![estimate(place)],
        }
    }

    fn is_over(&self) -> bool {
        self.failed.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_after_a_run_without_a_section_is_said_though_no_run_had_one() {
        let (mut sides, _) = Side::all(1, 0, 1);
        let crashed = &mut sides[NOTHING_SHORTER + 1];
        crashed.leave_out();
        assert_eq!(crashed.failure(false), None);
        crashed.failed = Some("was killed by signal 11".into());
        assert_eq!(
            crashed.failure(false).as_deref(),
            Some("with sections 25.0 % shorter, the program was killed by signal 11")
        );
        let left_out = &mut sides[NOTHING_SHORTER + 2];
        (0..MANY).for_each(|_| left_out.leave_out());
        assert!(left_out.failure(false).is_none() && left_out.failure(true).is_some());
    }
}
