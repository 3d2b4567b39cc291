//! The rows on a page: wait time by lock and by its parts, the longest waits over time, the waits of the first locks.

use super::columns::{self, WaitLine};
use super::record::{Row, RowKind};
use super::show_words;
use super::words;
use super::words::Matrix;
use record::column::on_page;
use record::{
    Axis, Bar, Bars, Column, Figure, Flame, FlamePart, Histogram, Lane, Mark, Picture, Plot, Point, Section, Series,
    Span, Statement, Table, Timeline, Unit,
};
use std::collections::BTreeMap;
use terminal::{count, nanoseconds, percent};

const MOST_BARS: usize = 15;
const MOST_PICTURES: usize = 4;

pub fn section(rows: &[Row]) -> Section {
    let locks: Vec<&Row> = rows.iter().filter(|row| row.kind == RowKind::Lock && row.excludes()).collect();
    let waited: Vec<&Row> = locks.iter().copied().filter(|row| row.contended > 0).collect();
    let tables = [words::budget_table(rows), words::places_table(rows, rows.len()), words::label_table(rows)]
        .into_iter()
        .flatten();
    let mut figures: Vec<Figure> = tables.map(table).collect();
    figures.extend(show_words::figure(rows));
    figures.push(by_lock(&waited, rows));
    figures.extend(flame(&waited, rows));
    figures.extend(timeline(&waited));
    figures.extend(waited.iter().take(MOST_PICTURES).map(|lock| waits(lock)));
    Section {
        experiment: "trace",
        title: "Lock waits".into(),
        findings: words::summary(rows)
            .into_iter()
            .chain(rows.iter().filter_map(words::ending))
            .chain(show_words::sentences(rows))
            .map(Statement::from)
            .collect(),
        figures,
        histograms: waited.iter().map(|lock| Histogram { cell: lock.lock.clone(), bins: lock.waits.clone() }).collect(),
    }
}

/// Returns a table without a chart.
fn table(table: Table) -> Figure {
    Figure { title: table.caption.clone(), picture: Picture::None, tables: vec![table], secondary: false }
}

fn by_lock(waited: &[&Row], rows: &[Row]) -> Figure {
    let bar =
        |row: &&Row| Bar { name: row.lock.clone(), value: Ok(row.wait_total_s * 1e9), interval: None, limit: None };
    let bars = Bars { unit: Unit::Ns, logarithmic: false, bars: waited.iter().take(MOST_BARS).map(bar).collect() };
    let of = |kind: RowKind, excludes: bool| -> Vec<&Row> {
        rows.iter().filter(|row| row.kind == kind && row.excludes() == excludes).collect()
    };
    let table = |caption: &str, rows: &[&Row], columns: &[Column<Row>]| {
        (!rows.is_empty()).then(|| on_page(caption, columns, rows.iter().copied()))
    };
    let (locks, sites, signals) = (of(RowKind::Lock, true), of(RowKind::Site, true), of(RowKind::Lock, false));
    let whole = words::wait_share_head;
    Figure {
        title: "Wait time by lock".into(),
        picture: Picture::Bars(bars),
        tables: [
            table("Locks", &locks, &columns::locks(whole(&locks))),
            table("Call sites", &sites, &columns::sites(whole(&sites))),
            table(
                "Condition variables, semaphores, barriers, joins: waits may be idle time",
                &signals,
                &columns::locks(whole(&signals)),
            ),
        ]
        .into_iter()
        .flatten()
        .collect(),
        secondary: false,
    }
}

fn waits(lock: &Row) -> Figure {
    let columns = |name: &str, bins: &[record::Bin]| Series {
        name: name.into(),
        mark: Mark::Outline,
        points: bins
            .iter()
            .map(|bin| Point {
                x: (bin.from_ns + bin.to_ns) / 2.0,
                y: bin.count as f64,
                low: Some(bin.from_ns),
                high: Some(bin.to_ns),
            })
            .collect(),
    };
    Figure {
        title: format!("{}: wait and hold times", lock.lock),
        picture: Picture::Plot(Plot {
            x: Axis { label: "time", unit: Unit::Ns, logarithmic: true },
            y: Axis { label: "count", unit: Unit::Number, logarithmic: true },
            series: vec![columns("wait time", &lock.waits), columns("hold time", &lock.holds)],
        }),
        tables: vec![spikes(lock), on_page("Holders during the waits", &columns::holders(lock), &lock.blocked_by)],
        secondary: false,
    }
}

/// Returns the clusters of the waits and of the holds.
fn spikes(lock: &Row) -> Table {
    let line = |what: &str, spike: &super::record::TimeSpike| {
        let echo = spike.echo_of.as_ref().zip(spike.delay_ns);
        vec![
            format!("{what} {}", spike.label),
            nanoseconds(spike.median_ns),
            percent(spike.share),
            count(spike.count),
            echo.map_or_else(|| "–".into(), |(of, delay)| format!("{of}, +{}", nanoseconds(delay))),
        ]
    };
    let waits = lock.wait_spikes.iter().map(|spike| line("wait time", spike));
    let holds = lock.hold_spikes.iter().map(|spike| line("hold time", spike));
    Table {
        caption: "Clusters of wait and hold times".into(),
        header: vec!["cluster", "median", "share of all", "count", "echo of"],
        rows: waits.chain(holds).collect(),
    }
}

const MOST_LOCKS: usize = 12;

/// Returns a chart of all waits: the lock, the place that waited, the place whose hold caused the wait in the end.
pub fn flame(waited: &[&Row], rows: &[Row]) -> Option<Figure> {
    let parts: Vec<FlamePart> = waited.iter().take(MOST_LOCKS).map(|lock| of_lock(lock, rows)).collect();
    let picture = Picture::Flame(Flame { unit: Unit::Ns, parts });
    (!waited.is_empty()).then(|| Figure {
        title: "Wait time by lock, call site and root holder".into(),
        picture,
        tables: vec![blame(rows)],
        secondary: false,
    })
}

fn of_lock(lock: &Row, rows: &[Row]) -> FlamePart {
    let here = |row: &&Row| {
        row.kind == RowKind::Site && row.process == lock.process && row.lock == lock.lock && row.wait_total_s > 0.0
    };
    let part = |name: String, value: f64, parts| FlamePart { name, value: value * 1e9, parts };
    let site = |row: &Row| {
        let cause = |cause: &super::record::Cause| {
            part(format!("{}, acquired at {}", cause.lock, cause.site), row.wait_total_s * cause.share, Vec::new())
        };
        let name = row.symbol.clone().unwrap_or_else(|| "?".into());
        part(name, row.wait_total_s, row.caused_by.iter().map(cause).collect())
    };
    part(lock.lock.clone(), lock.wait_total_s, rows.iter().filter(here).map(site).collect())
}

/// Returns the matrix, a line for each pair of waiter and cause.
fn blame(rows: &[Row]) -> Table {
    let matrix = Matrix::of(rows);
    let line = |(place, cells, _): &(String, Vec<f64>, f64)| -> Vec<Vec<String>> {
        let caused = cells.iter().zip(&matrix.causes).filter(|(seconds, _)| **seconds > 0.0);
        caused.map(|(seconds, cause)| vec![place.clone(), cause.clone(), nanoseconds(seconds * 1e9)]).collect()
    };
    Table {
        caption: "Wait time by waiting call site and root holder".into(),
        header: vec!["waiting at", "root holder", "wait time"],
        rows: matrix.lines.iter().flat_map(line).collect(),
    }
}

/// Returns the longest waits of each lock, a line for each thread.
pub fn timeline(waited: &[&Row]) -> Option<Figure> {
    let mut lanes: BTreeMap<u32, Vec<Span>> = BTreeMap::new();
    let mut stories = Vec::new();
    for (group, lock) in waited.iter().take(MOST_LOCKS).enumerate() {
        for wait in &lock.longest {
            let name = format!("{} at {}", lock.lock, wait.site);
            let from_ns = wait.began_s * 1e9;
            let span = Span { name, from_ns, to_ns: from_ns + wait.wait_ns, group };
            lanes.entry(wait.thread).or_default().push(span);
            stories.push(WaitLine { lock, wait });
        }
    }
    let lane = |(thread, spans): (u32, Vec<Span>)| Lane { name: format!("thread {thread}"), spans };
    let lanes: Vec<Lane> = lanes.into_iter().map(lane).collect();
    (!lanes.is_empty()).then(|| Figure {
        title: "Longest waits".into(),
        picture: Picture::Timeline(Timeline { lanes }),
        tables: vec![on_page("Event timeline of the longest waits", &columns::waits(&stories), &stories)],
        secondary: false,
    })
}
