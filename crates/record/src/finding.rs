//! What a person would say of the rows: a file for each experiment. A figure that was not measured is in no finding.

mod clock;
mod latency;
mod load;
mod noise;
mod ring;
mod step;
mod throughput;

use super::record::{self, Figure, Row, Unit};
use instruments::statistics::Interval;
use serde::{Deserialize, Serialize};

/// One sentence, its figure, and where that comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The figure's name, for programs.
    pub what: String,
    /// The sentence, with the figure and its interval.
    pub words: String,
    pub value: f64,
    pub unit: Unit,
    /// 95 %; `null` where there is none.
    pub value_ci: Option<Interval>,
    pub source: Source,
}

/// The row of the same record that a finding's figure stands in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    pub experiment: String,
    /// Its place among the results, from 0.
    pub row: usize,
    /// What it is the row of.
    pub cell: String,
    /// The figure's field; its name has the unit that it is in there.
    pub field: String,
}

impl Source {
    fn of(experiment: &str, row: usize, cell: impl Into<String>, field: &str) -> Self {
        Self { experiment: experiment.to_owned(), row, cell: cell.into(), field: field.to_owned() }
    }

    /// For people: `[latency: std, 1 thread]`.
    pub fn words(&self) -> String {
        format!("[{}: {}]", self.experiment, self.cell)
    }
}

impl Finding {
    fn new(what: &str, words: String, unit: Unit, figure: Figure, source: Source) -> Self {
        let Figure { value, interval: value_ci } = figure;
        Self { what: what.to_owned(), words, value, unit, value_ci, source }
    }
}

/// What is found in the rows of a survey.
pub fn findings(rows: &[Row]) -> Vec<Finding> {
    [
        clock::findings(&record::clock_rows(rows)),
        latency::findings(&record::latency_rows(rows)),
        throughput::findings(&record::throughput_rows(rows)),
        noise::findings(&record::noise_rows(rows)),
        load::findings(&record::load_rows(rows)),
        ring::findings(&record::ring_rows(rows)),
        step::findings(&record::step_rows(rows)),
    ]
    .concat()
}
