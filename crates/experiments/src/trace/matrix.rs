//! Who blocks whom, from the rows.

use super::record::{Cause, Row, RowKind};
use std::collections::HashMap;

/// Time waited, in s: by place that waited and place that was the cause in the end.
pub struct Matrix {
    /// The causes, the worst first.
    pub causes: Vec<String>,
    /// Places that waited, the longest first: for each cause, and in all.
    pub lines: Vec<(String, Vec<f64>, f64)>,
}

const MOST_LINES: usize = 8;
const MOST_CAUSES: usize = 8;

impl Matrix {
    pub fn of(rows: &[Row]) -> Self {
        let mut waiting: Vec<&Row> = rows.iter().filter(|row| is_waiting(row)).collect();
        waiting.sort_by(|one, other| other.wait_total_s.total_cmp(&one.wait_total_s));
        waiting.truncate(MOST_LINES);
        let mut totals: HashMap<String, f64> = HashMap::new();
        for row in &waiting {
            row.caused_by.iter().for_each(|cause| *totals.entry(name(cause)).or_default() += seconds(row, cause));
        }
        let mut causes: Vec<(String, f64)> = totals.into_iter().collect();
        causes.sort_by(|one, other| other.1.total_cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        causes.truncate(MOST_CAUSES);
        let causes: Vec<String> = causes.into_iter().map(|(name, _)| name).collect();
        let cell = |row: &Row, cause: &String| {
            row.caused_by.iter().filter(|one| name(one) == *cause).map(|one| seconds(row, one)).sum()
        };
        let line = |row: &&Row| {
            let place = format!("{} @ {}", row.lock, row.symbol.as_deref().unwrap_or("?"));
            (place, causes.iter().map(|cause| cell(row, cause)).collect(), row.wait_total_s)
        };
        let lines = waiting.iter().map(line).collect();
        Self { causes, lines }
    }
}

fn is_waiting(row: &Row) -> bool {
    row.kind == RowKind::Site && row.excludes() && !row.caused_by.is_empty()
}

fn name(cause: &Cause) -> String {
    format!("{} @ {}", cause.lock, cause.site)
}

fn seconds(row: &Row, cause: &Cause) -> f64 {
    row.wait_total_s * cause.share
}
