//! Wake-ups on a page: the latency, as histograms by interval and CPU, and its causes.

use super::record::WakeRow;
use super::show::{CAUSES, WAKE_UPS, of_group};
use crate::noise::cause_groups::{CauseGroup, groups, largest, lines};
use record::column::on_page;
use record::{Axis, Figure, Mark, Picture, Plot, Point, Section, Series, Stack, Statement, Unit};
use terminal::{nanoseconds, percent};

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
        tables: vec![on_page("Wake-ups", &WAKE_UPS, rows)],
        secondary: false,
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
    Figure {
        title: format!("{}: causes", name(row)),
        picture: Picture::Stacks(vec![stack]),
        tables: vec![on_page("Causes", &CAUSES, &lines)],
        secondary: false,
    }
}
