//! What a person would say of the rows.

use super::record::{Row, RowKind};
use super::words;
use instruments::statistics::comparison::Estimate;
use record::{Finding, Origin, Unit};

pub fn findings(rows: &[(usize, &Row)]) -> Vec<Finding> {
    let all: Vec<Row> = rows.iter().map(|(_, row)| (*row).clone()).collect();
    let lock = rows.iter().find(|(_, row)| row.kind == RowKind::Lock && row.excludes() && row.wait_total_s > 0.0);
    let found = lock.zip(words::first(&all)).map(|((place, row), said)| {
        let source = Origin::of("trace", *place, row.lock.clone(), "wait_total_s");
        Finding::new("most_waited_for", said, Unit::Ns, Estimate::new(row.wait_total_s * 1e9, None), source)
    });
    found.into_iter().collect()
}
