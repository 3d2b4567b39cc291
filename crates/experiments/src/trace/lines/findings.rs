//! Sentences about the rows, and the values that are compared with other records.

use super::record::LinesRecord;
use crate::trace::sharing::record::{Row, RowKind};
use crate::trace::sharing::rules;
use instruments::statistics::comparison::Estimate;
use record::{Better, Cell, Finding, Metric, Origin, Unit, VariationSource};

/// Returns the command that follows: the waits of the same program.
pub fn next(record: &LinesRecord<'_>) -> Option<Vec<String>> {
    let (first, rest) = match record.parameters.attached_pid {
        Some(pid) => ("--pid".to_owned(), vec![pid.to_string()]),
        None => ("--".to_owned(), record.parameters.program.clone()),
    };
    Some(["trace".to_owned(), first].into_iter().chain(rest).collect())
}

/// Returns the part of the CPU time of each line that moves between CPUs.
pub fn metrics(row: &Row) -> Vec<Metric> {
    if row.kind != RowKind::Line || !row.sharing.is_contended() {
        return Vec::new();
    }
    let cell = Cell::of([row.object.clone()]);
    let metric = |share: f64| Metric {
        unit: Unit::Share,
        better: Better::Less,
        variation: VariationSource::Elapsed,
        ..Metric::time(&cell, "CPU time at this cache line", share, row.cpu_share_ci)
    };
    row.cpu_share.map(metric).into_iter().collect()
}

/// Returns the findings about lines that threads fight for.
pub fn findings(rows: &[(usize, &Row)]) -> Vec<Finding> {
    let all: Vec<Row> = rows.iter().map(|(_, row)| (*row).clone()).collect();
    let found = |problem: rules::Problem| {
        let (place, _) = rows.iter().find(|(_, row)| **row == problem.row)?;
        let figure = Estimate::new(problem.share, Some(problem.ends));
        let source = Origin::of("lines", *place, problem.object(), "cpu_share");
        Some(Finding::new(problem.rule.code(), problem.sentence(), Unit::Share, figure, source))
    };
    rules::problems(&all).into_iter().filter_map(found).collect()
}
