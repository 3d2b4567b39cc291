//! The gains on a page: a picture of gain by share for each metric, and a table.

use super::record::WhatIfRow;
use super::{show, words};
use record::{Axis, Figure, Mark, Picture, Plot, Point, Section, Series, Statement, Table, Unit};

pub fn section(rows: &[WhatIfRow]) -> Section {
    Section {
        experiment: "trace",
        title: "Predicted gain from shorter critical sections".into(),
        findings: words::findings(rows).into_iter().map(Statement::from).collect(),
        figures: words::metrics(rows).into_iter().map(|metric| of_metric(metric, rows)).collect(),
        histograms: Vec::new(),
    }
}

fn of_metric(metric: &str, rows: &[WhatIfRow]) -> Figure {
    let of = |lock: &str| {
        let own = rows.iter().filter(move |row| row.metric == metric);
        own.filter(|row| row.what_if.as_ref().is_some_and(|what_if| what_if.lock == lock)).collect::<Vec<_>>()
    };
    let locks = words::locks(rows);
    let point = |row: &&WhatIfRow| {
        let share = row.what_if.as_ref()?.shorter_share;
        let y = if share == 0.0 { 0.0 } else { row.gain? };
        let (low, high) = (row.gain_ci.map(|ends| ends.low), row.gain_ci.map(|ends| ends.high));
        Some(Point { x: share, y, low, high })
    };
    let series = locks.iter().map(|lock| Series {
        name: (*lock).to_owned(),
        mark: Mark::Line,
        points: of(lock).iter().filter_map(point).collect(),
    });
    let axis = |label| Axis { label, unit: Unit::Share, logarithmic: false };
    let table = |lock: &&str| Table {
        caption: (*lock).to_owned(),
        header: show::HEADER.to_vec(),
        rows: of(lock).iter().map(|row| show::line(row)).collect(),
    };
    Figure {
        title: format!("{metric}: gain by reduction of the critical sections"),
        picture: Picture::Plot(Plot { x: axis("shorter by"), y: axis("gain"), series: series.collect() }),
        tables: locks.iter().map(table).collect(),
        secondary: false,
    }
}
