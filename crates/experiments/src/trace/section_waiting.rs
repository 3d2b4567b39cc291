//! Pictures of the waiting: what it is made of, when the longest waits were, and who kept whom.

use super::matrix::Matrix;
use super::record::{Row, RowKind};
use record::{Figure, Flame, FlamePart, Lane, Picture, Span, Table, Timeline, Unit, optional};
use std::collections::BTreeMap;
use terminal::nanoseconds;

const MOST_LOCKS: usize = 12;

/// All waiting: the lock, the place that waited, the place whose hold it was in the end.
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

/// The matrix, a line for each pair of who waited and who was the cause.
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

/// The longest waits of each lock, a line for each thread.
pub fn timeline(waited: &[&Row]) -> Option<Figure> {
    let mut lanes: BTreeMap<u32, Vec<Span>> = BTreeMap::new();
    let mut stories = Vec::new();
    for (group, lock) in waited.iter().take(MOST_LOCKS).enumerate() {
        for wait in &lock.longest {
            let name = format!("{} at {}", lock.lock, wait.site);
            let from_ns = wait.began_s * 1e9;
            let span = Span { name, from_ns, to_ns: from_ns + wait.wait_ns, group };
            lanes.entry(wait.thread).or_default().push(span);
            stories.push(story(lock, wait));
        }
    }
    let lane = |(thread, spans): (u32, Vec<Span>)| Lane { name: format!("thread {thread}"), spans };
    let lanes: Vec<Lane> = lanes.into_iter().map(lane).collect();
    (!lanes.is_empty()).then(|| Figure {
        title: "Longest waits".into(),
        picture: Picture::Timeline(Timeline { lanes }),
        tables: vec![Table {
            caption: "Event timeline of the longest waits".into(),
            header: vec!["lock", "call site", "thread", "start", "waited", "holder off CPU", "released by"],
            rows: stories,
        }],
        secondary: false,
    })
}

fn story(row: &Row, wait: &super::record::LongWait) -> Vec<String> {
    vec![
        row.lock.clone(),
        wait.site.clone(),
        wait.thread.to_string(),
        format!("{:.3} s", wait.began_s),
        nanoseconds(wait.wait_ns),
        optional(wait.holder_off_cpu_share, Unit::Share),
        wait.holder.clone().unwrap_or_else(|| "–".into()),
    ]
}
