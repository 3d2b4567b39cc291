//! The rows on a page: the sentences, the CPU time by line, and the table.

use super::show::tables;
use crate::trace::sharing::record::{Row, RowKind};
use crate::trace::sharing::rules;
use record::{Bar, Bars, Figure, Picture, Section, Statement, Unit};

const MOST_BARS: usize = 15;

/// Returns the section of this experiment.
pub fn section(rows: &[Row]) -> Section {
    let lines = rows.iter().filter(|row| row.kind == RowKind::Line);
    let bar = |row: &Row| Bar {
        name: format!("{} ({})", row.object, row.sharing.words()),
        value: Ok(row.cpu_share.unwrap_or(0.0)),
        interval: row.cpu_share_ci,
        limit: None,
    };
    let bars: Vec<Bar> = lines.take(MOST_BARS).map(bar).collect();
    let sentences = std::iter::once(rules::verdict(rows))
        .chain(rules::problems(rows).into_iter().map(|problem| problem.sentence()));
    Section {
        experiment: "lines",
        title: "Cache lines".into(),
        findings: sentences.map(Statement::from).collect(),
        figures: vec![Figure {
            title: "CPU time by cache line".into(),
            picture: Picture::Bars(Bars { unit: Unit::Share, logarithmic: false, bars }),
            tables: tables(rows),
            secondary: false,
        }],
        histograms: Vec::new(),
    }
}
