//! The views of a record of a trace.

use super::plan::Parameters;
use super::record::Row;
use super::{findings, section, show};
use harness::{Experiment, Views};

/// Returns the views of an experiment whose records have the parameters and the rows of a trace.
pub const fn views<E: Experiment<Parameters = Parameters, Row = Row>>() -> Views<E> {
    Views {
        metrics: findings::metrics,
        findings: findings::findings,
        next: |_| findings::next(),
        ..Views::of(show::show, section::section)
    }
}
