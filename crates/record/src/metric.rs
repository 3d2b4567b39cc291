//! The values of a record that can be compared with other records, each of a cell.
//!
//! The rows themselves say which cell was measured: which lock, how many threads, where. The settings of the work (the
//! hold time) are part of the cell's name only where they vary. A run with `--hold 1us` and one with `--hold 2us` have
//! the same cells. A run with `--hold 1us,2us` has twice as many. Cells with the same name are the same.

use crate::unit::Unit;
use instruments::statistics::Interval;
use instruments::statistics::comparison::Estimate;

/// The least share that counts as nearly all.
pub const MOSTLY: f64 = 0.8;

/// A value of a cell.
#[derive(Clone, Debug)]
pub struct Metric {
    /// The name of the experiment, as in the rows of a survey.
    pub experiment: String,
    pub cell: Cell,
    pub figure: &'static str,
    pub value: f64,
    pub interval: Option<Interval>,
    /// The step of the clock that the value was read from; 0 where that is far below the value.
    pub resolution: f64,
    pub unit: Unit,
    pub better: Better,
    pub variation: VariationSource,
    /// The value with the core exclusive, where that is known.
    pub alone: Option<Estimate>,
    /// Whether this is the value with the core exclusive.
    pub is_alone: bool,
}

/// The configuration that was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    identity: Vec<String>,
    /// The settings of the work, by field.
    work: Vec<(&'static str, String)>,
}

/// Whether less or more of a value is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    Less,
    More,
    /// Neither value is better.
    Neither,
}

/// The source of a value's variation from run to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariationSource {
    /// No variation: the value is computed.
    Computed,
    /// The CPU's frequency: the value is a median of calibrated work.
    Work,
    /// The CPU's frequency while no other thread has the CPU: the value is a rate of calibrated work.
    WorkRate,
    /// The rest of the CPU's frequency where the work is corrected for it before each window.
    CorrectedWork,
    /// The addresses of code and data, and SMT interference: the value is the mean of a short operation, repeated many
    /// times.
    Operation,
    /// The causes of [`Self::Operation`], for single operations: their median is that of the phase that the machine was
    /// in for most of the run.
    SingleOperation,
    /// Other threads that ran: the clock continued while they had the CPU, as in every rate.
    Elapsed,
    /// The state of the machine at that moment: how fast a cache line or a wake-up crosses between two CPUs.
    ///
    /// Two runs may meet levels that are far apart.
    Limit,
    /// The rarity of the value: it is the far end of a distribution.
    Rare,
    /// The activity of other threads, which is the measured quantity.
    Others,
}

impl Cell {
    /// Creates the cell that the rows describe; empty words are skipped.
    pub fn of(identity: impl IntoIterator<Item = String>) -> Self {
        Self { identity: identity.into_iter().filter(|word| !word.is_empty()).collect(), work: Vec::new() }
    }

    /// Restricts the cell to the time with the core exclusive.
    pub fn alone(mut self) -> Self {
        self.identity.push("core exclusive".into());
        self
    }

    /// Adds a setting of the work, in words.
    pub fn with(mut self, field: &'static str, words: String) -> Self {
        self.work.push((field, words));
        self
    }

    /// Returns its settings of the work, by field.
    pub fn work(&self) -> &[(&'static str, String)] {
        &self.work
    }
}

impl Metric {
    /// Creates a metric of time, of which less is better; the clock's step is far below it.
    pub fn time(cell: &Cell, figure: &'static str, ns: f64, interval: Option<Interval>) -> Self {
        Self {
            experiment: String::new(),
            cell: cell.clone(),
            figure,
            value: ns,
            interval,
            resolution: 0.0,
            unit: Unit::Ns,
            better: Better::Less,
            variation: VariationSource::Operation,
            alone: None,
            is_alone: false,
        }
    }

    /// Returns the metric with the core exclusive, where that is known.
    pub fn alone(&self) -> Option<Self> {
        self.alone.map(|Estimate { value, interval, .. }| Self { value, interval, is_alone: true, ..self.clone() })
    }

    pub fn estimate(&self) -> Estimate {
        Estimate { value: self.value, interval: self.interval, resolution: self.resolution }
    }
}

/// The settings of the work that are part of the cells' names, by experiment and field.
#[derive(Debug, Default)]
pub struct Naming(Vec<(String, &'static str)>);

impl Naming {
    /// Collects the settings that vary within a record.
    pub fn within(records: &[Vec<Metric>]) -> Self {
        let mut naming = Self::default();
        records.iter().for_each(|record| naming.learn(record));
        naming
    }

    /// Collects the settings that vary at all.
    pub fn across<'a>(metrics: impl IntoIterator<Item = &'a Metric>) -> Self {
        let mut naming = Self::default();
        naming.learn(metrics);
        naming
    }

    fn learn<'a>(&mut self, metrics: impl IntoIterator<Item = &'a Metric>) {
        let mut seen: Vec<(&str, &'static str, &str)> = Vec::new();
        for metric in metrics {
            for (field, words) in &metric.cell.work {
                let of_field =
                    |(experiment, name, _): &&(&str, &str, &str)| *experiment == metric.experiment && name == field;
                match seen.iter().find(of_field) {
                    None => seen.push((&metric.experiment, field, words)),
                    Some((_, _, first)) if first != words && !self.has(metric, field) => {
                        self.0.push((metric.experiment.clone(), field));
                    }
                    Some(_) => {}
                }
            }
        }
    }

    /// Returns whether a setting of the work is part of the name.
    pub fn has(&self, metric: &Metric, field: &str) -> bool {
        self.0.iter().any(|(experiment, name)| *experiment == metric.experiment && *name == field)
    }

    /// Returns the name of the metric's cell.
    pub fn name(&self, metric: &Metric) -> String {
        let work = metric.cell.work.iter().filter(|(field, _)| self.has(metric, field)).map(|(_, words)| words);
        metric.cell.identity.iter().chain(work).cloned().collect::<Vec<String>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(lock: &str, hold: &str) -> Metric {
        let cell = Cell::of([lock.to_owned()]).with("hold_us", format!("hold {hold}"));
        Metric { experiment: "latency".into(), ..Metric::time(&cell, "lock, median", 1.0, None) }
    }

    #[test]
    fn the_work_is_named_only_where_it_varies() {
        let (one, other) = (metric("std", "1 µs"), metric("std", "2 µs"));
        let records = [vec![one.clone()], vec![other.clone()]];
        let naming = Naming::within(&records);
        assert_eq!((naming.name(&one), naming.name(&other)), ("std".into(), "std".into()));
        assert_eq!(Naming::across(records.iter().flatten()).name(&other), "std, hold 2 µs");
        assert_eq!(Naming::within(&[vec![one, other.clone()], Vec::new()]).name(&other), "std, hold 2 µs");
    }
}
