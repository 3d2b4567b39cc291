//! The rows on a page: statements, the run, the stretches, the loss of code.

use super::findings::sharing_words;
use super::record::{Hour, Row};
use super::show::{CostLine, cost_columns};
use record::{
    Axis, Bar, Bars, Figure, Mark, Picture, Plot, Point, Section, Series, Statement, Table, Unit, column, optional,
};

pub fn section(rows: &[Row]) -> Section {
    Section {
        experiment: "core",
        title: "SMT interference".into(),
        findings: rows.iter().map(|row| Statement::from(format!("{}.", sharing_words(row)))).collect(),
        figures: [timeline(rows), costs(rows)]
            .into_iter()
            .chain(hours(rows))
            .chain(rows.iter().filter_map(stretches))
            .collect(),
        histograms: Vec::new(),
    }
}

fn timeline(rows: &[Row]) -> Figure {
    let series = |row: &Row| Series {
        name: format!("CPU {}", row.cpu),
        mark: Mark::Line,
        points: row.timeline.iter().filter_map(|piece| Some(Point::new(piece.from_s, piece.shared_share?))).collect(),
    };
    let line = |row: &Row| {
        vec![
            format!("CPU {}", row.cpu),
            row.shared_share.map_or_else(|| "–".to_owned(), |share| Unit::Share.words_with(share, row.shared_share_ci)),
            Unit::Share.words(row.neither_share),
            optional(row.stretches.median_ms.map(|ms| ms * 1e6), Unit::Ns),
            optional(row.stretches.longest_ms.map(|ms| ms * 1e6), Unit::Ns),
            optional(row.agreement_share, Unit::Share),
        ]
    };
    Figure {
        title: "Share of the core that SMT siblings used, over the run".into(),
        picture: Picture::Plot(Plot {
            x: Axis { label: "time in s", unit: Unit::Number, logarithmic: false },
            y: Axis { label: "share of steps", unit: Unit::Share, logarithmic: false },
            series: rows.iter().map(series).collect(),
        }),
        tables: vec![Table {
            caption: "Time that the core was shared".into(),
            header: vec!["CPU", "shared (95 % CI)", "neither", "median stretch", "longest", "long probes agree"],
            rows: rows.iter().map(line).collect(),
        }],
        secondary: false,
    }
}

/// Returns the shares by the hour of the day, where a run has more than one.
fn hours(rows: &[Row]) -> Option<Figure> {
    let series = |row: &Row| Series {
        name: format!("CPU {}", row.cpu),
        mark: Mark::Line,
        points: row.hours.iter().map(|hour| Point::new(f64::from(hour.hour), hour.shared_share)).collect(),
    };
    let line = |(row, hour): (&Row, &Hour)| {
        let when = format!("CPU {}, {:02}:00", row.cpu, hour.hour);
        vec![when, Unit::Share.words(hour.shared_share), terminal::count(hour.steps)]
    };
    let each = rows.iter().flat_map(|row| row.hours.iter().map(move |hour| (row, hour)));
    rows.iter().any(|row| row.hours.len() > 1).then(|| Figure {
        title: "Time that the core was shared, by hour of the day".into(),
        picture: Picture::Plot(Plot {
            x: Axis { label: "hour of the day, UTC", unit: Unit::Number, logarithmic: false },
            y: Axis { label: "share of steps", unit: Unit::Share, logarithmic: false },
            series: rows.iter().map(series).collect(),
        }),
        tables: vec![Table {
            caption: "Time that the core was shared, by the hour".into(),
            header: vec!["from (UTC)", "shared", "steps"],
            rows: each.map(line).collect(),
        }],
        secondary: false,
    })
}

fn costs(rows: &[Row]) -> Figure {
    let lines: Vec<CostLine<'_>> =
        rows.iter().flat_map(|row| row.costs.iter().map(move |cost| CostLine { row, cost })).collect();
    let bar = |line: &CostLine<'_>| {
        Some(Bar { name: line.name(), value: Ok(line.cost.ratio?), interval: line.cost.ratio_ci, limit: None })
    };
    Figure {
        title: "Run time while the core is shared, relative to exclusive, by bottleneck".into(),
        picture: Picture::Bars(Bars {
            unit: Unit::Times,
            logarithmic: false,
            bars: lines.iter().filter_map(bar).collect(),
        }),
        tables: vec![column::on_page("Medians of each loop", &cost_columns(), &lines)],
        secondary: false,
    }
}

fn stretches(row: &Row) -> Option<Figure> {
    let bins = &row.stretches.histogram;
    let point = |bin: &record::Bin| Point {
        low: Some(bin.from_ns),
        high: Some(bin.to_ns),
        ..Point::new(bin.from_ns, bin.count as f64)
    };
    let line = |bin: &record::Bin| vec![Unit::Ns.words(bin.from_ns), bin.count.to_string()];
    (!bins.is_empty()).then(|| Figure {
        title: format!("Stretches in which the core of CPU {} was shared", row.cpu),
        picture: Picture::Plot(Plot {
            x: Axis { label: "length", unit: Unit::Ns, logarithmic: true },
            y: Axis { label: "stretches", unit: Unit::Number, logarithmic: false },
            series: vec![Series {
                name: format!("CPU {}", row.cpu),
                mark: Mark::Columns,
                points: bins.iter().map(point).collect(),
            }],
        }),
        tables: vec![Table {
            caption: "Stretches of at least this length".into(),
            header: vec!["from", "stretches"],
            rows: bins.iter().map(line).collect(),
        }],
        secondary: true,
    })
}
