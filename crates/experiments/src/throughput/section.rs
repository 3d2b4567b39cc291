//! Throughput against threads, and against the hold time.

use super::ranking::{LOOPS, Loops, among, contest, ranking};
use super::record::Row;
use instruments::statistics::levels::Levels;
use record::ranking::{Rank, best, worst};
use record::ranking_figure::figures;
use record::{Axis, Figure, Mark, Picture, Plot, Point, Section, Series, Statement, Table, Unit, distinct, optional};
use terminal::{counted, nanoseconds, percent};

pub fn section(rows: &[Row]) -> Section {
    let (loops, ranks) = (Loops::of(rows), ranking(rows));
    let against_children = distinct(rows, mix).into_iter().map(|wanted| {
        let chosen: Vec<&Row> = rows.iter().filter(|row| mix(row) == wanted).collect();
        let axis = Axis { label: "threads or processes", unit: Unit::Number, logarithmic: true };
        figure(&wanted, axis, (&chosen, &loops), |row| row.children as f64)
    });
    let against_hold = distinct(rows, surroundings).into_iter().filter_map(|wanted| {
        let chosen: Vec<&Row> = rows.iter().filter(|row| surroundings(row) == wanted && row.hold_us > 0.0).collect();
        let axis = Axis { label: "hold time", unit: Unit::Ns, logarithmic: true };
        let several = distinct(&chosen, |row| row.hold_us.to_bits()).len() > 1;
        several.then(|| figure(&wanted, axis, (&chosen, &loops), |row| row.hold_us * 1e3))
    });
    Section {
        experiment: "throughput",
        title: "Throughput of locks".into(),
        findings: findings(rows, &loops, &ranks).into_iter().map(Statement::from).collect(),
        figures: figures(&ranks, &[LOOPS]).into_iter().chain(against_children).chain(against_hold).collect(),
        histograms: Vec::new(),
    }
}

/// What stays the same where the children vary.
fn mix(row: &Row) -> String {
    let readers = if row.share > 0 { format!(", {} % reads", row.share) } else { String::new() };
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
    let readers = if row.share > 0 { format!(", {} % reads", row.share) } else { String::new() };
    format!("{}, {}: non-hold {}{readers}", counted(row.locks, "lock"), workers(row), nanoseconds(row.nonhold_us * 1e3))
}

/// For each number of children and mix of work, the ends of its ranking.
fn findings(rows: &[Row], loops: &Loops, ranks: &[Rank]) -> Vec<String> {
    let mut said = Vec::new();
    for words in distinct(rows, among) {
        let ranks = contest(ranks, &words);
        let row = |rank: &Rank| rows.iter().find(|row| row.lock == rank.lock && among(row) == words);
        let Some((first, last)) = ranks.first().zip(ranks.last()) else { continue };
        let Some((top, bottom)) = row(first).zip(row(last)) else { continue };
        let value = |row: &Row| Unit::PerS.estimate(loops.of_row(row));
        let conditions = format!("{words}, {}", loops.basis(top));
        let of_best = if best(ranks).is_some() { " has the highest throughput," } else { ":" };
        let of_worst = if worst(ranks).is_some() { " has the lowest throughput," } else { ":" };
        said.push(match ranks.len() {
            1 => format!("{conditions}. {}: {}.", top.lock, value(top)),
            _ => format!(
                "{conditions}. {}{of_best} {}; {}{of_worst} {}.",
                top.lock,
                value(top),
                bottom.lock,
                value(bottom)
            ),
        });
    }
    said
}

fn figure(title: &str, x: Axis, (rows, loops): (&[&Row], &Loops), across: impl Fn(&Row) -> f64) -> Figure {
    let series = distinct(rows, |row| row.lock.clone()).into_iter().map(|lock| {
        let of_lock = rows.iter().filter(|row| row.lock == lock);
        let point = |row: &&Row| {
            let loops = loops.of_row(row);
            Point::with_interval(across(row), loops.value, loops.interval)
        };
        let mut points: Vec<Point> = of_lock.map(point).collect();
        points.sort_by(|one, other| one.x.total_cmp(&other.x));
        Series { name: lock, mark: Mark::Line, points }
    });
    let y = Axis { label: "iterations/s of all children", unit: Unit::PerS, logarithmic: true };
    Figure {
        title: title.to_owned(),
        picture: Picture::Locks(Plot { x, y, series: series.collect() }),
        tables: vec![table(rows, loops)],
        secondary: false,
    }
}

fn table(rows: &[&Row], loops: &Loops) -> Table {
    let line = |row: &&Row| {
        let shown = loops.of_row(row);
        vec![
            row.lock.clone(),
            row.children.to_string(),
            nanoseconds(row.hold_us * 1e3),
            Unit::PerS.words_with(shown.value, shown.interval),
            loops.basis(row).to_owned(),
            row.levels_per_s.map_or_else(|| "1".to_owned(), levels),
            optional(loops.ideal_share(row), Unit::Share),
            format!("{:.3}", row.cov),
            optional(row.wait_p50_ns, Unit::Ns),
            optional(row.wait_p99_ns, Unit::Ns),
            optional(row.wait_max_ns, Unit::Ns),
        ]
    };
    Table {
        caption: "Throughput, fairness (CV of the children's iterations: 0 is fair) and waits; –: not measured".into(),
        header: vec![
            "lock",
            "children",
            "hold",
            "iterations/s (95 % CI)",
            "basis",
            "levels of the runs",
            "share of the ideal",
            "CV",
            "wait, p50",
            "wait, p99",
            "wait, max",
        ],
        rows: rows.iter().map(line).collect(),
    }
}

/// `2: 44.3 k/s and 73.8 k/s (17 % of runs)`.
fn levels(levels: Levels) -> String {
    let [lower, upper] = [levels.lower, levels.upper].map(|loops| Unit::PerS.words(loops));
    format!("2: {lower} and {upper} ({} of runs)", percent(levels.upper_share))
}
