//! The variants of a program: plain, with unchanged sections, and with sections of one lock shorter; and their runs.

use super::correction::{Figure, Ran, TwoLimits};
use harness::turns::{self};
use instruments::statistics::comparison::Estimate;
use launch::ratio;
use std::cell::RefCell;
use std::rc::Rc;

/// The shares by which sections are shorter, besides 0.
const SHARES: [f64; 4] = [0.25, 0.5, 0.75, 1.0];
/// This many runs without a section of the lock for each run with one are not chance.
pub const MANY: usize = 6;

/// One metric of all runs of a variant.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// The values as they would be.
    pub values: Vec<f64>,
    /// The values at best, and at worst: the ends of the range that the model does not know.
    pub at_best: Vec<f64>,
    pub at_worst: Vec<f64>,
    /// The values as they were.
    pub uncorrected: Vec<f64>,
}

/// The figures of each variant, by metric: the wall time in ns, then the program's own.
pub type All = Rc<RefCell<Vec<Vec<Figures>>>>;

/// A variant and its runs.
pub struct Variant {
    pub place: usize,
    /// The lock, by number.
    pub lock: usize,
    pub share: f64,
    /// The library's notes on its runs.
    pub ran: Vec<Ran>,
    /// Runs in which the lock had no section, so that nothing was shorter.
    pub without_sections: usize,
    /// The reason why it has no more runs.
    pub failed: Option<String>,
    /// It failed for nothing but too many of those runs.
    pub is_left_out: bool,
    all: All,
    seed: u64,
}

impl Variant {
    /// Makes the variants for this number of locks, and of metrics that the program prints.
    pub fn all(locks: usize, metrics: usize, seed: u64) -> (Vec<Self>, All) {
        let of_lock = |lock: usize| SHARES.map(|share| (lock, share));
        let kinds: Vec<(usize, f64)> = [(0, 0.0), (0, 0.0)].into_iter().chain((0..locks).flat_map(of_lock)).collect();
        let all = Rc::new(RefCell::new(vec![vec![Figures::default(); 1 + metrics]; kinds.len()]));
        let variant = |(place, &(lock, share)): (usize, &(usize, f64))| {
            let all = Rc::clone(&all);
            let (ran, without_sections, failed, is_left_out) = (Vec::new(), 0, None, false);
            Self { place, lock, share, ran, without_sections, failed, is_left_out, all, seed }
        };
        (kinds.iter().enumerate().map(variant).collect(), all)
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
            let corrected = ran.map_or(value, |ran| ran.corrected(figure, value, TwoLimits::default()));
            of.values.push(corrected);
        }
    }

    /// Counts a run in which the lock had no section, which shows nothing of shorter ones; too many end the variant.
    pub fn leave_out(&mut self) {
        self.without_sections += 1;
        if self.without_sections >= MANY * (1 + self.ran.len()) {
            let of = self.without_sections + self.ran.len();
            self.is_left_out = true;
            self.failed =
                Some(format!("had no critical section of the lock in {} of {of} runs", self.without_sections));
        }
    }

    /// Returns how it failed, for people. For a lock that no run used, another message says once that it had no
    /// section; a crash is reported all the same.
    pub fn failure(&self, was_used: bool) -> Option<String> {
        let failed = self.failed.as_ref().filter(|_| was_used || !self.is_left_out);
        failed.map(|how| format!("with {}, the program {how}", self.words()))
    }

    /// Computes all values as they would be, now that the place between the program's limits is known.
    ///
    /// With nothing shorter, a figure is what it was. Where other programs disturbed the runs (`is_disturbed`), it is
    /// between the limits of the program alone and what it was.
    pub fn correct(&self, limits_of_figures: &[(Figure, TwoLimits)], is_disturbed: bool) {
        for (of, &(figure, two_limits)) in self.all.borrow_mut()[self.place].iter_mut().zip(limits_of_figures) {
            let runs = || self.ran.iter().zip(&of.uncorrected);
            let each =
                |one: &dyn Fn(&Ran, f64) -> f64| runs().map(|(ran, &value)| one(ran, value)).collect::<Vec<f64>>();
            let values = each(&|ran, value| ran.corrected(figure, value, two_limits));
            let (at_best, at_worst) = match self.place {
                NOTHING_SHORTER if is_disturbed => (values.clone(), of.uncorrected.clone()),
                NOTHING_SHORTER => (values.clone(), values.clone()),
                _ => (
                    each(&|ran, value| ran.at_best(figure, value)),
                    each(&|ran, value| ran.at_worst(figure, value, two_limits)),
                ),
            };
            *of = Figures { values, at_best, at_worst, uncorrected: std::mem::take(&mut of.uncorrected) };
        }
    }
}

impl turns::Cell for Variant {
    /// Returns whether the others are compared with it, or it with them.
    fn is_needed(&self) -> bool {
        true
    }

    fn title(&self) -> String {
        self.words()
    }

    fn turns(&self) -> u64 {
        self.all.borrow()[self.place][0].values.len() as u64
    }

    /// Returns the ratio to the runs with unchanged sections, in the first metric, or in the wall time without one.
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

/// The places of the first two.
pub const PLAIN: usize = 0;

pub const NOTHING_SHORTER: usize = 1;
