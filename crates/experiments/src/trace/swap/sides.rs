//! What is compared: the program as it is, with the library alone, with each lock.

use super::ratios::ratio;
use super::run::Took;
use super::variant::Variant;
use exchange::Counts;
use harness::turns::Cell;
use instruments::statistics::comparison::Estimate;
use std::cell::RefCell;
use std::rc::Rc;

/// The figures of each run, by metric: wall time, CPU time, what was found in the output.
pub type Samples = Vec<Vec<f64>>;

/// All sides' samples: a ratio is of two.
pub type All = Rc<RefCell<Vec<Samples>>>;

/// One of those that are compared.
pub struct Side {
    pub variant: Variant,
    pub place: usize,
    /// What it left to the C library.
    pub counts: Counts,
    /// Why it has no more runs.
    pub failed: Option<String>,
    /// The share of the CPUs that other programs had, by run, without runs that were too short for the kernel's
    /// account.
    pub others: Vec<f64>,
    all: All,
    seed: u64,
}

/// So many things are measured of each run before the program's own metrics: wall and CPU time.
pub const TIMES: usize = 2;

impl Side {
    /// One for each variant, with so many metrics of the program's own.
    ///
    /// # Errors
    /// The system gives no memory.
    pub fn all(variants: &[Variant], metrics: usize, seed: u64) -> anyhow::Result<(Vec<Self>, All)> {
        let all = Rc::new(RefCell::new(vec![vec![Vec::new(); TIMES + metrics]; variants.len()]));
        let side = |(place, variant): (usize, &Variant)| {
            let (counts, all, variant) = (Counts::new()?, Rc::clone(&all), variant.clone());
            Ok(Self { variant, place, counts, failed: None, others: Vec::new(), all, seed })
        };
        let sides = variants.iter().enumerate().map(side).collect::<anyhow::Result<_>>()?;
        Ok((sides, all))
    }

    pub fn is_plain(&self) -> bool {
        self.variant.is_plain()
    }

    pub fn is_lock(&self) -> bool {
        !self.is_plain() && self.variant.lock != exchange::PASS
    }

    /// Takes what a run brought.
    pub fn add(&mut self, took: &Took, metrics: &[f64]) {
        let figures = [took.wall_s * 1e9, took.cpu_s * 1e9].into_iter().chain(metrics.iter().copied());
        let mut all = self.all.borrow_mut();
        all[self.place].iter_mut().zip(figures).for_each(|(samples, figure)| samples.push(figure));
    }

    /// The place of the metric that decides.
    pub fn decisive_place(&self) -> usize {
        if self.all.borrow()[0].len() > TIMES { TIMES } else { 0 }
    }

    /// What decides whether it is known well enough: the ratio to the plain runs, of the first metric, or of the wall
    /// time if there is none. The plain runs are known when the others are.
    fn decisive(&self) -> Vec<Estimate> {
        let all = self.all.borrow();
        let metric = self.decisive_place();
        let estimate = |place: usize| {
            let ratio = ratio(&all[place][metric], &all[0][metric], self.seed);
            Estimate::new(ratio.map_or(1.0, |ratio| ratio.estimate), ratio.map(|ratio| ratio.interval))
        };
        if self.is_plain() { (1..all.len()).map(estimate).collect() } else { vec![estimate(self.place)] }
    }
}

impl Cell for Side {
    fn title(&self) -> String {
        self.variant.lock.to_owned()
    }

    fn turns(&self) -> u64 {
        self.all.borrow()[self.place][0].len() as u64
    }

    fn figures(&self) -> Vec<Estimate> {
        self.decisive()
    }

    fn is_over(&self) -> bool {
        self.failed.is_some()
    }
}
