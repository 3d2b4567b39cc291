//! The rows on a page: the sentences, the waiting by lock, and the tables.

use super::findings::sentence;
use super::record::{Row, RowKind};
use super::show::tables;
use record::{Bar, Bars, Figure, Picture, Section, Statement, Unit};

const MOST_BARS: usize = 15;

/// Returns the section of this experiment.
pub fn section(rows: &[Row]) -> Section {
    let preempted = || rows.iter().filter(|row| row.kind == RowKind::Preempted);
    let bar = |row: &Row| Bar {
        name: format!("{} ({})", row.lock, row.site),
        value: Ok(row.waited_s * 1e9),
        interval: None,
        limit: None,
    };
    let bars: Vec<Bar> = preempted().take(MOST_BARS).map(bar).collect();
    let picture = Picture::Bars(Bars { unit: Unit::Ns, logarithmic: false, bars });
    let sentences = rows.iter().filter(|row| row.kind == RowKind::Total).chain(preempted().take(1));
    Section {
        experiment: "preempted",
        title: "Preempted lock holders".into(),
        findings: sentences.filter_map(sentence).map(Statement::from).collect(),
        figures: vec![Figure {
            title: "Time waited for preempted holders".into(),
            picture,
            tables: tables(rows),
            secondary: false,
        }],
        histograms: Vec::new(),
    }
}
