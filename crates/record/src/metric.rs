//! What of a record can be held against other records: figures, each of a cell.
//!
//! A cell is what the rows themselves say was measured: which lock, how many threads, where. How the work was set (the hold
//! time) is part of its name only where it varies: a run with `--hold 1us` and one with `--hold 2us` have the same cells, and a
//! run with `--hold 1us,2us` has twice as many. Cells are the same when their names are.

mod clock;
mod frames;
mod latency;
mod load;
mod noise;
mod ring;
mod step;
mod throughput;

use crate::reading::{Source, typed};
use crate::terminal::Quantity;
use anyhow::Context;
use instruments::statistics::Interval;
use instruments::statistics::comparison::Estimate;
use serde_json::Value;

/// A share that is nearly all of it.
const MOSTLY: f64 = 0.8;

/// A figure of a cell.
#[derive(Clone, Debug)]
pub struct Measure {
    /// By the name that rows of a survey have, too.
    pub experiment: String,
    pub cell: Cell,
    pub figure: &'static str,
    pub value: f64,
    pub interval: Option<Interval>,
    /// The step of the clock that it was read from; 0 where that is far below it.
    pub resolution: f64,
    pub quantity: Quantity,
    pub better: Better,
    pub scatter: Scatter,
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
pub enum Scatter {
    /// None: it is computed.
    Computed,
    /// The CPU's frequency: it is the median of something that consists of calibrated work.
    Work,
    /// The same, while nobody else has the CPU: a rate of calibrated work.
    WorkRate,
    /// Where code and data lie: it is the median of a short operation.
    Operation,
    /// Whoever else ran: time passed in it while others had the CPU, as in every rate.
    Elapsed,
    /// That it is rare: the far end of a distribution.
    Rare,
    /// What the others did is what it measures.
    Others,
}

impl Cell {
    fn of(identity: impl IntoIterator<Item = String>) -> Self {
        Self { identity: identity.into_iter().filter(|word| !word.is_empty()).collect(), work: Vec::new() }
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

impl Measure {
    /// Of time, where less is better; the clock's step is far below it.
    fn time(cell: &Cell, figure: &'static str, ns: f64, interval: Option<Interval>) -> Self {
        Self {
            experiment: String::new(),
            cell: cell.clone(),
            figure,
            value: ns,
            interval,
            resolution: 0.0,
            quantity: Quantity::Time,
            better: Better::Less,
            scatter: Scatter::Operation,
        }
    }

    pub fn estimate(&self) -> Estimate {
        Estimate { value: self.value, interval: self.interval, resolution: self.resolution }
    }
}

/// The figures of a record.
///
/// # Errors
/// An experiment that this program does not know, or a row that is not as this experiment writes it.
pub fn of(source: &Source) -> anyhow::Result<Vec<Measure>> {
    let mut all = Vec::new();
    for (experiment, rows) in &source.parts {
        let of_part = of_rows(experiment, rows).with_context(|| format!("{} cannot be compared", source.name))?;
        all.extend(of_part.into_iter().map(|measure| Measure { experiment: experiment.clone(), ..measure }));
    }
    Ok(all)
}

fn of_rows(experiment: &str, rows: &[Value]) -> anyhow::Result<Vec<Measure>> {
    Ok(match experiment {
        "clock" => typed(rows)?.iter().filter_map(clock::measure).collect(),
        "latency" => typed(rows)?.iter().flat_map(latency::measures).collect(),
        "throughput" => typed(rows)?.iter().flat_map(throughput::measures).collect(),
        "noise" => typed(rows)?.iter().flat_map(noise::measures).collect(),
        "load" => typed(rows)?.iter().flat_map(load::measures).collect(),
        "ring" => typed(rows)?.iter().filter_map(ring::measure).collect(),
        "model frames" => typed(rows)?.iter().filter_map(frames::measure).collect(),
        "model step" => typed(rows)?.iter().map(step::measure).collect(),
        // Figures of the other rows, beside old ones.
        "then_and_now" | "findings" => Vec::new(),
        other => anyhow::bail!("its experiment {other:?} is not known to this contend"),
    })
}

/// Which settings of the work are part of the cells' names, by experiment and field.
#[derive(Debug, Default)]
pub struct Naming(Vec<(String, &'static str)>);

impl Naming {
    /// Those that vary within a record.
    pub fn within(records: &[Vec<Measure>]) -> Self {
        let mut naming = Self::default();
        records.iter().for_each(|record| naming.learn(record));
        naming
    }

    /// Those that vary at all.
    pub fn across<'a>(measures: impl IntoIterator<Item = &'a Measure>) -> Self {
        let mut naming = Self::default();
        naming.learn(measures);
        naming
    }

    fn learn<'a>(&mut self, measures: impl IntoIterator<Item = &'a Measure>) {
        let mut seen: Vec<(&str, &'static str, &str)> = Vec::new();
        for measure in measures {
            for (field, words) in &measure.cell.work {
                let of_field =
                    |(experiment, name, _): &&(&str, &str, &str)| *experiment == measure.experiment && name == field;
                match seen.iter().find(of_field) {
                    None => seen.push((&measure.experiment, field, words)),
                    Some((_, _, first)) if first != words && !self.has(measure, field) => {
                        self.0.push((measure.experiment.clone(), field));
                    }
                    Some(_) => {}
                }
            }
        }
    }

    /// Whether a setting of the work is part of the name.
    pub fn has(&self, measure: &Measure, field: &str) -> bool {
        self.0.iter().any(|(experiment, name)| *experiment == measure.experiment && *name == field)
    }

    /// The name of the measure's cell.
    pub fn name(&self, measure: &Measure) -> String {
        let work = measure.cell.work.iter().filter(|(field, _)| self.has(measure, field)).map(|(_, words)| words);
        measure.cell.identity.iter().chain(work).cloned().collect::<Vec<String>>().join(", ")
    }
}

/// `1 thread`, `2 threads`.
fn counted(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(lock: &str, hold: &str) -> Measure {
        let cell = Cell::of([lock.to_owned()]).with("hold_us", format!("hold {hold}"));
        Measure { experiment: "latency".into(), ..Measure::time(&cell, "lock, median", 1.0, None) }
    }

    #[test]
    fn the_work_is_named_only_where_it_varies() {
        let (one, other) = (measure("std", "1 µs"), measure("std", "2 µs"));
        let records = [vec![one.clone()], vec![other.clone()]];
        let naming = Naming::within(&records);
        assert_eq!((naming.name(&one), naming.name(&other)), ("std".into(), "std".into()));
        assert_eq!(Naming::across(records.iter().flatten()).name(&other), "std, hold 2 µs");
        assert_eq!(Naming::within(&[vec![one, other.clone()], Vec::new()]).name(&other), "std, hold 2 µs");
    }
}
