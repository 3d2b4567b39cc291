//! What of a record can be held against other records: figures, each of a cell.
//!
//! A cell is what the rows themselves say was measured: which lock, how many threads, where. How the work was set (the
//! hold time) is part of its name only where it varies: a run with `--hold 1us` and one with `--hold 2us` have the same
//! cells, and a run with `--hold 1us,2us` has twice as many. Cells are the same when their names are.

use crate::unit::Unit;
use instruments::statistics::Interval;
use instruments::statistics::comparison::Estimate;

/// A share that is nearly all of it.
pub const MOSTLY: f64 = 0.8;

/// A figure of a cell.
#[derive(Clone, Debug)]
pub struct Metric {
    /// By the name that rows of a survey have, too.
    pub experiment: String,
    pub cell: Cell,
    pub figure: &'static str,
    pub value: f64,
    pub interval: Option<Interval>,
    /// The step of the clock that it was read from; 0 where that is far below it.
    pub resolution: f64,
    pub unit: Unit,
    pub better: Better,
    pub variation: VariationSource,
    /// The same for the time alone on the core, where that is known.
    pub alone: Option<Estimate>,
    /// Whether this is that.
    pub is_alone: bool,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    identity: Vec<String>,
    /// By field.
    work: Vec<(&'static str, String)>,
}

/// Which of two values is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    Less,
    More,
    /// They are only different.
    Neither,
}

/// What a figure's differences from run to run come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariationSource {
    /// None: it is computed.
    Computed,
    /// The CPU's frequency: it is the median of something that consists of calibrated work.
    Work,
    /// The same, while nobody else has the CPU: a rate of calibrated work.
    WorkRate,
    /// What is left of the CPU's frequency where the work is corrected for it before each slice.
    CorrectedWork,
    /// Where code and data lie, and who shares the core: it is the mean of a short operation, many times in a row.
    Operation,
    /// The same, each time by itself: its median is that of the mood that the machine was in for most of the run.
    SingleOperation,
    /// Whoever else ran: time passed in it while others had the CPU, as in every rate.
    Elapsed,
    /// What the machine allows at that moment: how fast a cache line or a wake-up crosses between two CPUs. Two runs
    /// may meet levels that lie far apart.
    Limit,
    /// That it is rare: the far end of a distribution.
    Rare,
    /// What the others did is what it measures.
    Others,
}

impl Cell {
    /// What the rows themselves say was measured; empty words are left out.
    pub fn of(identity: impl IntoIterator<Item = String>) -> Self {
        Self { identity: identity.into_iter().filter(|word| !word.is_empty()).collect(), work: Vec::new() }
    }

    /// The same, where only the time alone on the core counts.
    pub fn alone(mut self) -> Self {
        self.identity.push("core exclusive".into());
        self
    }

    /// With a setting of the work, in words.
    pub fn with(mut self, field: &'static str, words: String) -> Self {
        self.work.push((field, words));
        self
    }

    /// Its settings of the work, by field.
    pub fn work(&self) -> &[(&'static str, String)] {
        &self.work
    }
}

impl Metric {
    /// Of time, where less is better; the clock's step is far below it.
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

    /// For the time alone on the core, where that is known.
    pub fn alone(&self) -> Option<Self> {
        self.alone.map(|Estimate { value, interval, .. }| Self { value, interval, is_alone: true, ..self.clone() })
    }

    pub fn estimate(&self) -> Estimate {
        Estimate { value: self.value, interval: self.interval, resolution: self.resolution }
    }
}

/// Which settings of the work are part of the cells' names, by experiment and field.
#[derive(Debug, Default)]
pub struct Naming(Vec<(String, &'static str)>);

impl Naming {
    /// Those that vary within a record.
    pub fn within(records: &[Vec<Metric>]) -> Self {
        let mut naming = Self::default();
        records.iter().for_each(|record| naming.learn(record));
        naming
    }

    /// Those that vary at all.
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

    /// Whether a setting of the work is part of the name.
    pub fn has(&self, metric: &Metric, field: &str) -> bool {
        self.0.iter().any(|(experiment, name)| *experiment == metric.experiment && *name == field)
    }

    /// The name of the metric's cell.
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
