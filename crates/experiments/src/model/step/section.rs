//! A bulk-synchronous job of many nodes with this machine's noise.

use super::record::{Method, Row};
use record::{Axis, Figure, Mark, Picture, Plot, Point, Section, Series, Statement, Table, Unit, optional};
use terminal::{count, nanoseconds, ratio};

pub fn section(rows: &[Row]) -> Section {
    Section {
        experiment: "model",
        title: "Bulk-synchronous nodes (model)".into(),
        findings: findings(rows).into_iter().map(Statement::from).collect(),
        figures: vec![figure(rows)],
        histograms: Vec::new(),
    }
}

fn method(row: &Row) -> &'static str {
    match row.method {
        Method::Exact => "exact",
        Method::Barrier => "simulated barrier",
        Method::Ranks => "recorded ranks",
    }
}

fn findings(rows: &[Row]) -> Vec<String> {
    let exact = || rows.iter().filter(|row| row.method != Method::Barrier);
    let most = exact().max_by_key(|row| row.nodes).map(|row| {
        format!(
            "On {} nodes with this noise, a step of {} takes {} as long as without noise.",
            count(row.nodes),
            nanoseconds(row.step_us * 1e3),
            ratio(row.slowdown)
        )
    });
    let half = exact().find_map(|row| row.half_lost_nodes);
    let half = half.map(|nodes| format!("With {} or more nodes, half of the time is lost.", count(nodes)));
    most.into_iter().chain(half).collect()
}

fn figure(rows: &[Row]) -> Figure {
    let of = |wanted: Method| rows.iter().filter(move |row| row.method == wanted);
    let series = |name: &str, points: Vec<Point>| Series { name: name.to_owned(), mark: Mark::Line, points };
    let slowed = |row: &Row| Point::with_interval(row.nodes as f64, row.slowdown, row.slowdown_ci);
    let running = of(Method::Exact).filter_map(|row| Some(Point::new(row.nodes as f64, row.running_slowdown?)));
    Figure {
        title: "Slowdown by number of nodes".into(),
        picture: Picture::Plot(Plot {
            x: Axis { label: "nodes", unit: Unit::Number, logarithmic: true },
            y: Axis { label: "slowdown", unit: Unit::Times, logarithmic: false },
            series: match of(Method::Ranks).next() {
                Some(_) => vec![series("ranks", of(Method::Ranks).map(slowed).collect())],
                None => vec![
                    series("exact", of(Method::Exact).map(slowed).collect()),
                    series("running", running.collect()),
                    series("barrier", of(Method::Barrier).map(slowed).collect()),
                ],
            },
        }),
        tables: vec![table(rows)],
        secondary: false,
    }
}

fn table(rows: &[Row]) -> Table {
    let line = |row: &Row| {
        vec![
            method(row).to_owned(),
            count(row.nodes),
            ratio(row.slowdown)
                + &row
                    .slowdown_ci
                    .map_or_else(String::new, |ends| format!(" ({} to {})", ratio(ends.low), ratio(ends.high))),
            optional(row.running_slowdown, Unit::Times),
            ratio(row.together_slowdown),
            nanoseconds(row.p50_us * 1e3),
            optional(row.p99_us.map(|us| us * 1e3), Unit::Ns),
        ]
    };
    Table {
        caption: "Slowdown".into(),
        header: vec![
            "method",
            "nodes",
            "slowdown (95 % CI)",
            "starts outside gaps",
            "together",
            "median step",
            "p99 step",
        ],
        rows: rows.iter().map(line).collect(),
    }
}
