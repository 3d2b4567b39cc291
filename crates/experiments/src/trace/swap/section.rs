//! The comparison on a page: a picture and a table for each metric.

use super::record::SwapRow;
use super::{show, words};
use record::{Bar, Bars, Figure, Picture, Section, Statement, Table, Unit};

pub fn section(rows: &[SwapRow]) -> Section {
    let mut metrics: Vec<&str> = Vec::new();
    for row in rows {
        if !metrics.contains(&row.metric.as_str()) {
            metrics.push(&row.metric);
        }
    }
    let figure =
        |metric: &&str| of_metric(metric, &rows.iter().filter(|row| row.metric == *metric).collect::<Vec<_>>());
    Section {
        experiment: "trace",
        title: "Lock substitution".into(),
        findings: words::first(rows).into_iter().map(Statement::from).collect(),
        figures: metrics.iter().map(figure).collect(),
        histograms: Vec::new(),
    }
}

fn of_metric(metric: &str, rows: &[&SwapRow]) -> Figure {
    let bar =
        |row: &&SwapRow| Some(Bar { name: row.lock.clone(), value: row.ratio?, interval: row.ratio_ci, limit: None });
    let bars = Bars { unit: Unit::Times, logarithmic: false, bars: rows.iter().filter_map(bar).collect() };
    Figure {
        title: format!("{metric} relative to the plain program"),
        picture: if bars.bars.is_empty() { Picture::None } else { Picture::Bars(bars) },
        tables: vec![Table {
            caption: "Runs".into(),
            header: show::HEADER.to_vec(),
            rows: rows.iter().map(|row| show::line(row)).collect(),
        }],
        secondary: false,
    }
}
