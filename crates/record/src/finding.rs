//! Statements about the rows in sentences. A value that was not measured is in no finding.

use crate::unit::Unit;
use instruments::statistics::Interval;
use instruments::statistics::comparison::Estimate;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// Names that older records use, with today's.
const RENAMED: [(&str, &str); 2] = [("stolen", "cpu_time_lost"), ("busy_neighbour", "competitor_p999")];

/// One sentence, its value, and the origin of the value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The value's name, for programs.
    #[serde(deserialize_with = "code")]
    pub what: String,
    /// The sentence, with the value and its interval.
    pub words: String,
    pub value: f64,
    pub unit: Unit,
    /// The 95 % CI; `null` where there is none.
    pub value_ci: Option<Interval>,
    pub source: Origin,
    /// Whether it is one of the few that summaries repeat.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeated: bool,
}

fn code<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    let renamed = RENAMED.into_iter().find(|(old, _)| *old == name);
    Ok(renamed.map_or(name, |(_, new)| new.to_owned()))
}

/// The row of the same record that has a finding's value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Origin {
    pub experiment: String,
    /// The index of the row among the results, from 0.
    pub row: usize,
    /// The cell of the row.
    pub cell: String,
    /// The value's field; the name ends in the unit that the value has there.
    pub field: String,
}

impl Origin {
    /// Returns the origin in the row with this index and in this field.
    pub fn of(experiment: &str, row: usize, cell: impl Into<String>, field: &str) -> Self {
        Self { experiment: experiment.to_owned(), row, cell: cell.into(), field: field.to_owned() }
    }

    /// Returns the origin as text: `[latency: std, 1 thread]`.
    pub fn words(&self) -> String {
        format!("[{}: {}]", self.experiment, self.cell)
    }
}

impl Finding {
    /// Creates a finding of this value.
    pub fn new(what: &str, words: String, unit: Unit, figure: Estimate, source: Origin) -> Self {
        let Estimate { value, interval: value_ci, .. } = figure;
        Self { what: what.to_owned(), words, value, unit, value_ci, source, repeated: false }
    }
}

impl Finding {
    /// Marks the finding as one that summaries repeat; each experiment has at most one.
    pub fn repeated(self) -> Self {
        Self { repeated: true, ..self }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.words, self.source.words())
    }
}
