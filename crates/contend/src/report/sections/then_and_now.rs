//! The old documents' figures beside today's.

use super::super::figure::{Bar, Bars, Figure, Picture, Quantity, Section, Table};
use crate::experiments::survey::{ThenAndNow, Unit};
use crate::terminal::ratio;

pub fn section(rows: &[ThenAndNow]) -> Section {
    let line = |row: &ThenAndNow| {
        let today = row.today.map_or_else(|| row.note.clone().unwrap_or_default(), |today| words(today, row.unit));
        vec![row.figure.clone(), words(row.then, row.unit), today, row.ratio.map_or_else(String::new, ratio)]
    };
    let bars = rows.iter().filter_map(|row| {
        Some(Bar {
            name: row.figure.trim().to_owned(),
            value: row.ratio?,
            interval: None,
            limit: Some((1.0, "as then".into())),
        })
    });
    Section {
        experiment: "survey",
        title: "Then and now".into(),
        findings: Vec::new(),
        figures: vec![Figure {
            title: "How many times as much it was then".into(),
            picture: Picture::Bars(Bars { quantity: Quantity::Times, logarithmic: true, bars: bars.collect() }),
            tables: vec![Table {
                caption: "Then and now".into(),
                header: vec!["figure", "then", "now", "then/now"],
                rows: rows.iter().map(line).collect(),
            }],
            secondary: false,
        }],
    }
}

fn words(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Ns => Quantity::Time.words(value),
        Unit::Share => Quantity::Share.words(value),
        Unit::Times => Quantity::Times.words(value),
        Unit::Mhz => Quantity::Megahertz.words(value),
        Unit::Cycles => format!("{value:.1} cycles"),
    }
}
