//! What a record of this experiment can be: of a program that was watched, that was compared with other locks, or whose
//! sections were virtually shorter.

use super::plan::Parameters;
use super::record::{Row, TraceRecord};
use super::swap::record::{SwapParameters, SwapRecord, SwapRow};
use super::what_if::record::{WhatIfParameters, WhatIfRecord, WhatIfRow};
use harness::Finished;
use record::Record;
use serde::{Deserialize, Serialize};

/// The parameters of any.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum AnyParameters {
    Compared(Box<SwapParameters>),
    Shortened(Box<WhatIfParameters>),
    Watched(Box<Parameters>),
}

/// A row of any.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum AnyRow {
    Compared(SwapRow),
    Shortened(WhatIfRow),
    Watched(Box<Row>),
}

/// A record of any.
pub enum Kind {
    Compared(SwapRecord),
    Shortened(WhatIfRecord),
    Watched(TraceRecord),
}

/// A record, as what it is.
pub fn of(record: &Record<AnyParameters, AnyRow>) -> Kind {
    match &record.parameters {
        AnyParameters::Compared(parameters) => {
            Kind::Compared(with(record, (**parameters).clone(), compared(&record.results)))
        }
        AnyParameters::Shortened(parameters) => {
            Kind::Shortened(with(record, (**parameters).clone(), shortened(&record.results)))
        }
        AnyParameters::Watched(parameters) => {
            Kind::Watched(with(record, (**parameters).clone(), watched(&record.results)))
        }
    }
}

fn with<P, R>(record: &Record<AnyParameters, AnyRow>, parameters: P, results: Vec<R>) -> Record<P, R> {
    Record {
        schema: record.schema.clone(),
        experiment: record.experiment.clone(),
        environment: record.environment.clone(),
        parameters,
        results,
        ranking: record.ranking.clone(),
        warnings: record.warnings.clone(),
    }
}

/// The rows that are of a comparison.
pub fn compared(rows: &[AnyRow]) -> Vec<SwapRow> {
    let of = |row: &AnyRow| if let AnyRow::Compared(row) = row { Some(row.clone()) } else { None };
    rows.iter().filter_map(of).collect()
}

/// The rows that are of shorter sections.
pub fn shortened(rows: &[AnyRow]) -> Vec<WhatIfRow> {
    let of = |row: &AnyRow| if let AnyRow::Shortened(row) = row { Some(row.clone()) } else { None };
    rows.iter().filter_map(of).collect()
}

/// The rows that are of a watched program.
pub fn watched(rows: &[AnyRow]) -> Vec<Row> {
    let of = |row: &AnyRow| if let AnyRow::Watched(row) = row { Some((**row).clone()) } else { None };
    rows.iter().filter_map(of).collect()
}

/// What a watched program left, as any.
pub fn of_watched(finished: Finished<Parameters, Row>) -> Finished<AnyParameters, AnyRow> {
    finished.map(|parameters| AnyParameters::Watched(Box::new(parameters)), |row| AnyRow::Watched(Box::new(row)))
}

/// What shorter sections left, as any.
pub fn of_shortened(finished: Finished<WhatIfParameters, WhatIfRow>) -> Finished<AnyParameters, AnyRow> {
    finished.map(|parameters| AnyParameters::Shortened(Box::new(parameters)), AnyRow::Shortened)
}

/// What a comparison left, as any.
pub fn of_compared(finished: Finished<SwapParameters, SwapRow>) -> Finished<AnyParameters, AnyRow> {
    finished.map(|parameters| AnyParameters::Compared(Box::new(parameters)), AnyRow::Compared)
}
