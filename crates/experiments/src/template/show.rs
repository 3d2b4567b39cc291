//! The record on a terminal; and on a page: statements, a picture, and the table with its numbers.

use super::NAME;
use super::record::{Row, TemplateRecord};
use record::{Bar, Bars, Column, Figure, Picture, Section, Statement, Unit, column};
use terminal::Page;

/// The columns of the table, for the terminal and the page.
const COLUMNS: [Column<Row>; 3] = [
    Column::new("CPU", |row| Some(row.cpu.to_string())),
    Column::new("batches", |row| Some(row.batches.to_string())),
    Column::new("a system call (95 %)", |row| Some(Unit::Ns.words_with(row.call_ns, row.call_ci_ns))),
];

/// Draws a line for each CPU.
pub fn show(record: &TemplateRecord<'_>, page: &Page) -> String {
    column::in_letters(&COLUMNS, record.results, page)
}

/// Returns the section of this experiment.
pub fn section(rows: &[Row]) -> Section {
    let bar = |row: &Row| Bar {
        name: format!("CPU {}", row.cpu),
        value: Ok(row.call_ns),
        interval: row.call_ci_ns,
        limit: None,
    };
    let bars = Bars { unit: Unit::Ns, logarithmic: false, bars: rows.iter().map(bar).collect() };
    Section {
        experiment: NAME,
        title: "System calls".into(),
        findings: rows.iter().map(|row| Statement::from(statement(row))).collect(),
        figures: vec![Figure {
            title: "What a system call costs".into(),
            picture: Picture::Bars(bars),
            tables: vec![column::on_page("A system call", &COLUMNS, rows)],
            secondary: false,
        }],
        histograms: Vec::new(),
    }
}

fn statement(row: &Row) -> String {
    format!("A system call on CPU {} costs {}.", row.cpu, Unit::Ns.words(row.call_ns))
}
