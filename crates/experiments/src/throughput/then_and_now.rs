//! Hubertus Franke, "Lightweight userspace semaphores", linux-kernel, 2002: ulockflex.

use super::ranking::Loops;
use super::record::Row;
use record::{ThenAndNow, Unit};

pub fn figures(rows: &[(usize, &Row)]) -> Vec<ThenAndNow> {
    let loops = Loops::of(rows.iter().map(|(_, row)| *row));
    let of = |row: &Row| {
        let then = row.then.as_ref()?.throughput_per_s;
        let today = loops.of_row(row);
        let name = format!("{}, {} threads, {}+{} µs", row.lock, row.children, row.nonhold_us, row.hold_us);
        Some(ThenAndNow::new(2002, &name, Unit::PerS, then, Some(today)))
    };
    rows.iter().filter_map(|(_, row)| of(row)).collect()
}
