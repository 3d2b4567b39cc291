//! The record on a terminal; and on a page: statements, a picture, and the table with its numbers.

use super::NAME;
use super::record::{Row, TemplateRecord};
use record::{Bar, Bars, Figure, Picture, Section, Statement, Table, Unit};

/// Draws a line for each CPU.
pub fn show(record: &TemplateRecord<'_>) -> String {
    let line = |row: &Row| {
        vec![row.cpu.to_string(), row.batches.to_string(), Unit::Ns.words_with(row.call_ns, row.call_ci_ns)]
    };
    terminal::table(&["CPU", "batches", "a system call (95 %)"], record.results.iter().map(line))
}

/// Returns the section of this experiment.
pub fn section(rows: &[Row]) -> Section {
    let bar =
        |row: &Row| Bar { name: format!("CPU {}", row.cpu), value: row.call_ns, interval: row.call_ci_ns, limit: None };
    let bars = Bars { unit: Unit::Ns, logarithmic: false, bars: rows.iter().map(bar).collect() };
    let line = |row: &Row| vec![format!("CPU {}", row.cpu), Unit::Ns.words_with(row.call_ns, row.call_ci_ns)];
    let table = Table {
        caption: "A system call".into(),
        header: vec!["CPU", "median (95 %)"],
        rows: rows.iter().map(line).collect(),
    };
    Section {
        experiment: NAME,
        title: "System calls".into(),
        findings: rows.iter().map(|row| Statement::from(statement(row))).collect(),
        figures: vec![Figure {
            title: "What a system call costs".into(),
            picture: Picture::Bars(bars),
            tables: vec![table],
            secondary: false,
        }],
        histograms: Vec::new(),
    }
}

fn statement(row: &Row) -> String {
    format!("A system call on CPU {} costs {}.", row.cpu, Unit::Ns.words(row.call_ns))
}
