//! Throughput against threads, and against the hold time.

use super::ranking::{LOOPS, ranking};
use super::record::Row;
use record::ranking_figure::figures;
use record::{Axis, Figure, Mark, Picture, Plot, Point, Section, Series, Statement, Table, Unit, distinct, optional};
use terminal::{counted, nanoseconds};

pub fn section(rows: &[Row]) -> Section {
    let against_children = distinct(rows, mix).into_iter().map(|wanted| {
        let chosen: Vec<&Row> = rows.iter().filter(|row| mix(row) == wanted).collect();
        let axis = Axis { label: "threads or processes", unit: Unit::Number, logarithmic: true };
        figure(&wanted, axis, &chosen, |row| row.children as f64)
    });
    let against_hold = distinct(rows, surroundings).into_iter().filter_map(|wanted| {
        let chosen: Vec<&Row> = rows.iter().filter(|row| surroundings(row) == wanted && row.hold_us > 0.0).collect();
        let axis = Axis { label: "hold time", unit: Unit::Ns, logarithmic: true };
        let several = distinct(&chosen, |row| row.hold_us.to_bits()).len() > 1;
        several.then(|| figure(&wanted, axis, &chosen, |row| row.hold_us * 1e3))
    });
    Section {
        experiment: "throughput",
        title: "Throughput of locks".into(),
        findings: findings(rows).into_iter().map(Statement::from).collect(),
        figures: figures(&ranking(rows), &[LOOPS]).into_iter().chain(against_children).chain(against_hold).collect(),
        histograms: Vec::new(),
    }
}

/// What stays the same where the children vary.
fn mix(row: &Row) -> String {
    let readers = if row.share > 0 { format!(", {} % read", row.share) } else { String::new() };
    let processes = if row.processes { ", processes" } else { "" };
    format!(
        "{}: hold {}, non-hold {}{readers}{processes}",
        counted(row.locks, "lock"),
        nanoseconds(row.hold_us * 1e3),
        nanoseconds(row.nonhold_us * 1e3)
    )
}

fn workers(row: &Row) -> String {
    match (row.processes, row.children) {
        (true, 1) => "1 process".into(),
        (true, several) => format!("{several} processes"),
        (false, children) => counted(children, "thread"),
    }
}

/// What stays the same where the hold time varies.
fn surroundings(row: &Row) -> String {
    let readers = if row.share > 0 { format!(", {} % read", row.share) } else { String::new() };
    format!("{}, {}: non-hold {}{readers}", counted(row.locks, "lock"), workers(row), nanoseconds(row.nonhold_us * 1e3))
}

fn findings(rows: &[Row]) -> Vec<String> {
    let mut said = Vec::new();
    for wanted in distinct(rows, |row| (mix(row), row.children)) {
        let cell = || rows.iter().filter(|row| row.lock != locks::NONE && (mix(row), row.children) == wanted);
        let best = cell().max_by(|one, other| one.throughput_per_s.total_cmp(&other.throughput_per_s));
        let least = cell().min_by(|one, other| one.throughput_per_s.total_cmp(&other.throughput_per_s));
        let (Some(best), Some(least)) = (best, least) else { continue };
        let words = |row: &Row| Unit::PerS.words_with(row.throughput_per_s, row.throughput_ci);
        let most = format!("{}, {}: {} does {}", wanted.0, workers(best), best.lock, words(best));
        said.push(match best.lock == least.lock {
            true => format!("{most}."),
            false => format!("{most}, the most; {} {}, the least.", least.lock, words(least)),
        });
    }
    said
}

fn figure(title: &str, x: Axis, rows: &[&Row], across: impl Fn(&Row) -> f64) -> Figure {
    let series = distinct(rows, |row| row.lock.clone()).into_iter().map(|lock| {
        let of_lock = rows.iter().filter(|row| row.lock == lock);
        let mut points: Vec<Point> =
            of_lock.map(|row| Point::with_interval(across(row), row.throughput_per_s, row.throughput_ci)).collect();
        points.sort_by(|one, other| one.x.total_cmp(&other.x));
        Series { name: lock, mark: Mark::Line, points }
    });
    let y = Axis { label: "loops of all together", unit: Unit::PerS, logarithmic: true };
    Figure {
        title: title.to_owned(),
        picture: Picture::Locks(Plot { x, y, series: series.collect() }),
        tables: vec![table(rows)],
        secondary: false,
    }
}

fn table(rows: &[&Row]) -> Table {
    let line = |row: &&Row| {
        vec![
            row.lock.clone(),
            row.children.to_string(),
            nanoseconds(row.hold_us * 1e3),
            Unit::PerS.words_with(row.throughput_per_s, row.throughput_ci),
            optional(row.ideal_share, Unit::Share),
            format!("{:.3}", row.cov),
            optional(row.wait_p50_ns, Unit::Ns),
            optional(row.wait_p99_ns, Unit::Ns),
            optional(row.wait_max_ns, Unit::Ns),
        ]
    };
    Table {
        caption: "Throughput, fairness (0 is fair) and waits".into(),
        header: vec![
            "lock",
            "children",
            "hold",
            "loops (95 %)",
            "of the ideal",
            "unfairness",
            "wait, median",
            "99 %",
            "longest",
        ],
        rows: rows.iter().map(line).collect(),
    }
}
