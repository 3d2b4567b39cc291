//! The record on a terminal.

use super::record::{Row, TemplateRecord};
use record::Unit;

/// Draws a line for each CPU.
pub fn show(record: &TemplateRecord<'_>) -> String {
    let line = |row: &Row| {
        vec![row.cpu.to_string(), row.batches.to_string(), Unit::Ns.words_with(row.call_ns, row.call_ci_ns)]
    };
    terminal::table(&["CPU", "batches", "a system call (95 %)"], record.results.iter().map(line))
}
