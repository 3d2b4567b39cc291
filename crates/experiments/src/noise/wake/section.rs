//! Wake-ups on a page: the latency, as histograms by interval and CPU, and its causes.

use super::record::WakeRow;
use super::show::of_group;
use crate::noise::cause_groups::{CauseGroup, groups, largest, lines};
use record::{Axis, Figure, Mark, Picture, Plot, Point, Section, Series, Stack, Statement, Table, Unit};
use terminal::{count, nanoseconds, percent};

pub fn section(rows: &[WakeRow]) -> Section {
    Section {
        experiment: "noise",
        title: "OS noise".into(),
        findings: findings(rows),
        figures: figures(rows),
        histograms: Vec::new(),
    }
}

fn name(row: &WakeRow) -> String {
    format!("CPU {}, every {}", row.cpu, nanoseconds(row.interval_us * 1e3))
}

fn findings(rows: &[WakeRow]) -> Vec<Statement> {
    let finding = |row: &WakeRow| {
        let most = largest(&row.causes)
            .map(|cause| format!("; main cause, {} of the latency: {}", percent(cause.row.share), of_group(&cause)));
        Statement::from(format!(
            "{}: wake-up latency with policy {}: median {}{}, maximum {}{}.",
            name(row),
            row.policy,
            Unit::Ns.words_with(row.late_p50_us * 1e3, row.late_p50_ci_us.map(|ends| ends.scaled(1e3))),
            row.p999_us().map_or_else(String::new, |us| format!(", p99.9 {}", nanoseconds(us * 1e3))),
            nanoseconds(row.late_max_us * 1e3),
            most.unwrap_or_default()
        ))
    };
    rows.iter().map(finding).collect()
}

fn figures(rows: &[WakeRow]) -> Vec<Figure> {
    if rows.is_empty() {
        return Vec::new();
    }
    std::iter::once(histograms(rows)).chain(rows.iter().filter(|row| !row.causes.is_empty()).map(causes)).collect()
}

fn histograms(rows: &[WakeRow]) -> Figure {
    let series = rows.iter().map(|row| Series {
        name: name(row),
        mark: Mark::Outline,
        points: row
            .histogram
            .iter()
            .map(|bin| Point {
                low: Some(bin.from_ns),
                high: Some(bin.to_ns),
                ..Point::new((bin.from_ns + bin.to_ns) / 2.0, bin.count as f64)
            })
            .collect(),
    });
    Figure {
        title: "Wake-up latency".into(),
        picture: Picture::Plot(Plot {
            x: Axis { label: "latency", unit: Unit::Ns, logarithmic: true },
            y: Axis { label: "wake-ups", unit: Unit::Number, logarithmic: true },
            series: series.collect(),
        }),
        tables: vec![lateness(rows)],
        secondary: false,
    }
}

fn lateness(rows: &[WakeRow]) -> Table {
    let line = |row: &WakeRow| {
        let us = |value: f64| nanoseconds(value * 1e3);
        vec![
            name(row),
            count(row.count),
            us(row.late_p50_us),
            us(row.late_p99_us),
            row.p999_us().map_or_else(|| "–".to_owned(), us),
            us(row.late_max_us),
            count(row.skipped),
        ]
    };
    Table {
        caption: "Wake-ups".into(),
        header: vec!["configuration", "wake-ups", "median", "p99", "p99.9", "max", "skipped"],
        rows: rows.iter().map(line).collect(),
    }
}

/// Returns the words of a group, with the process ID where it has a single one.
fn with_pid(cause: &CauseGroup) -> String {
    let pid = cause.row.pid.map_or_else(String::new, |pid| format!(" ({pid})"));
    of_group(cause) + &pid
}

fn causes(row: &WakeRow) -> Figure {
    let part = |cause: &CauseGroup| cause.part(with_pid(cause));
    let stack = Stack { name: name(row), parts: groups(&row.causes).iter().map(part).collect() };
    let lines = lines(&row.causes, usize::MAX, with_pid);
    let lines = lines.iter().map(|line| {
        vec![
            line.label.clone(),
            percent(line.share),
            count(line.count),
            nanoseconds(line.total_us / line.count.max(1) as f64 * 1e3),
            nanoseconds(line.longest_us * 1e3),
        ]
    });
    Figure {
        title: format!("{}: causes", name(row)),
        picture: Picture::Stacks(vec![stack]),
        tables: vec![Table {
            caption: "Causes".into(),
            header: vec!["cause", "share of latency", "wake-ups", "mean", "longest"],
            rows: lines.collect(),
        }],
        secondary: false,
    }
}
