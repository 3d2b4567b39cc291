//! The old documents' values next to today's: times together, whose ratio is meaningful; all others separately.

use instruments::statistics::comparison::Estimate;
use record::{Cost, Figure, Ladder, Picture, Section, Table, ThenAndNow, Unit};
use terminal::{range, ratio};

pub fn section(rows: &[ThenAndNow]) -> Section {
    let (times, others): (Vec<&ThenAndNow>, Vec<&ThenAndNow>) = rows.iter().partition(|row| row.unit == Unit::Ns);
    let figures = [(!times.is_empty()).then(|| of_times(&times)), (!others.is_empty()).then(|| of_others(&others))];
    Section {
        experiment: "survey",
        title: "Then and now".into(),
        findings: Vec::new(),
        figures: figures.into_iter().flatten().collect(),
        histograms: Vec::new(),
    }
}

fn of_times(rows: &[&ThenAndNow]) -> Figure {
    let line = |row: &&ThenAndNow| {
        let times = [
            row.ratio.map_or_else(String::new, ratio),
            row.ratio_ci.map_or_else(String::new, |ends| range(ends.low, ends.high)),
        ];
        begin(row).into_iter().chain(times).collect()
    };
    let table = Table {
        caption: "Times of 1998 to 2008 and of today".into(),
        header: vec!["figure", "year", "then", "now (95 %)", "then/now", "95 %"],
        rows: rows.iter().map(line).collect(),
    };
    let picture = drawn(rows).map_or(Picture::None, Picture::Ladder);
    Figure { title: "Times, then and now".into(), picture, tables: vec![table], secondary: false }
}

/// Returns the times of both on one axis: one line for each time that was measured today too.
fn drawn(rows: &[&ThenAndNow]) -> Option<Ladder> {
    Ladder::of(rows.iter().filter_map(|row| {
        let today = Estimate::new(row.today?, row.today_ci);
        Some(Cost::new(row.figure.clone(), "", today).with_old_value(row.year, Some(row.then)))
    }))
}

/// Returns shares, rates and counts: each is meaningful by itself, but their ratios are not.
fn of_others(rows: &[&ThenAndNow]) -> Figure {
    let table = Table {
        caption: "Shares, rates and counts of 1998 to 2008 and of today".into(),
        header: vec!["figure", "year", "then", "now (95 %)"],
        rows: rows.iter().map(|row| begin(row).into()).collect(),
    };
    folded("Other values, then and now", table)
}

fn folded(title: &str, table: Table) -> Figure {
    Figure { title: title.into(), picture: Picture::None, tables: vec![table], secondary: true }
}

fn begin(row: &ThenAndNow) -> [String; 4] {
    let today = |value| row.unit.rounded_with(Estimate::new(value, row.today_ci));
    [
        row.figure.clone(),
        row.year.to_string(),
        row.unit.rounded(row.then),
        row.today.map_or_else(|| row.note.clone().unwrap_or_default(), today),
    ]
}
