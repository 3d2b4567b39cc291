//! The old documents' figures beside today's.

use instruments::statistics::comparison::Estimate;
use record::{Bar, Bars, Figure, Picture, Section, Table, ThenAndNow, Unit};
use terminal::{range, ratio};

pub fn section(rows: &[ThenAndNow]) -> Section {
    let bars = rows.iter().filter_map(|row| {
        Some(Bar {
            name: format!("{} {}", row.year, row.figure),
            value: row.ratio?,
            interval: row.ratio_ci,
            limit: Some((1.0, "as then".into())),
        })
    });
    Section {
        experiment: "survey",
        title: "Then and now".into(),
        findings: Vec::new(),
        figures: vec![Figure {
            title: "How many times as much it was then".into(),
            picture: Picture::Bars(Bars { unit: Unit::Times, logarithmic: true, bars: bars.collect() }),
            tables: vec![Table {
                caption: "Then and now".into(),
                header: vec!["figure", "year", "then", "now (95 %)", "then/now", "95 %"],
                rows: rows.iter().map(line).collect(),
            }],
            secondary: false,
        }],
        histograms: Vec::new(),
    }
}

fn line(row: &ThenAndNow) -> Vec<String> {
    let today = |value| row.unit.rounded_with(Estimate::new(value, row.today_ci));
    vec![
        row.figure.clone(),
        row.year.to_string(),
        row.unit.rounded(row.then),
        row.today.map_or_else(|| row.note.clone().unwrap_or_default(), today),
        row.ratio.map_or_else(String::new, ratio),
        row.ratio_ci.map_or_else(String::new, |ends| range(ends.low, ends.high)),
    ]
}
