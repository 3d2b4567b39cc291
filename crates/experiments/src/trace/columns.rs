//! The columns of the tables of locks, of their call sites, of the holders and of the longest waits: the terminal and the
//! page draw from them. The page's table of call sites also has the lock, since it is one table for all locks.

use super::record::{Blocker, LongWait, Row};
use super::words;
use blame::names::short;
use record::{Column, Unit, optional};
use terminal::{count, nanoseconds, percent};

/// Returns the columns of locks whose wait is given as a share of this whole ([`words::wait_share_head`]).
pub fn locks(whole: &'static str) -> [Column<Row>; 14] {
    [
        Column::new("lock", |row: &Row| Some(row.lock.clone())),
        Column::new("type", |row: &Row| Some(row.lock_type.clone())),
        Column::page("call site", |row: &Row| row.symbol.is_some().then(|| place(row))),
        Column::new("acquired", acquired),
        contended(),
        waited(),
        Column::new(whole, wait_share),
        wait_p50(),
        Column::new("p99", |row: &Row| time(row.wait_p99_ns)),
        Column::new("max", |row: &Row| time(row.wait_max_ns)),
        hold_p50(),
        Column::page("total hold", |row: &Row| Some(words::held(row))),
        Column::page("holds timed", |row: &Row| Some(count(row.holds_timed))),
        Column::new("holder off CPU", |row: &Row| Some(optional(row.holder_off_cpu_share, Unit::Share))),
    ]
}

/// Returns the columns of call sites.
pub fn sites(whole: &'static str) -> [Column<Row>; 13] {
    [
        Column::page("lock", |row: &Row| Some(row.lock.clone())),
        Column::page("type", |row: &Row| Some(row.lock_type.clone())),
        Column::new("acquired at", |row: &Row| Some(place(row))),
        Column::new("count", acquired),
        contended(),
        waited(),
        Column::page(whole, wait_share),
        wait_p50(),
        Column::page("p99", |row: &Row| time(row.wait_p99_ns)),
        hold_p50(),
        Column::new("total hold", |row: &Row| Some(words::held(row))),
        Column::new("holds timed", |row: &Row| Some(count(row.holds_timed))),
        Column::page("holder off CPU", |row: &Row| Some(optional(row.holder_off_cpu_share, Unit::Share))),
    ]
}

/// Returns the columns of those that the waiters of a lock waited for.
pub fn holders(lock: &Row) -> [Column<Blocker>; 2] {
    // Where acquisitions are not seen, the place is that of the wake-up.
    let place = if lock.acquisitions == 0 { "woken from" } else { "holder acquired it at" };
    [
        Column::new(place, |blocker: &Blocker| Some(blocker.site.clone())),
        Column::new("share of wait", |blocker: &Blocker| Some(percent(blocker.share))),
    ]
}

/// A long wait and its lock.
pub struct WaitLine<'a> {
    pub lock: &'a Row,
    pub wait: &'a LongWait,
}

/// Returns the columns of the longest waits.
pub fn waits<'a>(lines: &[WaitLine<'a>]) -> [Column<WaitLine<'a>>; 8] {
    // From outside only the call that ended the wait is seen; else the holder is named by its acquisition.
    let is_outside = lines.iter().all(|line| line.lock.acquisitions == 0);
    [
        Column::page("lock", |line: &WaitLine<'a>| Some(line.lock.lock.clone())),
        // The table has no caption on a terminal.
        Column::terminal("longest waits at", site).with_page("waiting at", site),
        Column::page("thread", |line: &WaitLine<'a>| Some(line.wait.thread.to_string())),
        Column::new("start", |line: &WaitLine<'a>| Some(format!("{:.3} s", line.wait.began_s))),
        Column::new("waited", |line: &WaitLine<'a>| time(Some(line.wait.wait_ns))),
        Column::new("holder off CPU", |line: &WaitLine<'a>| {
            Some(optional(line.wait.holder_off_cpu_share, Unit::Share))
        }),
        Column::new("handoff delay", |line: &WaitLine<'a>| time(line.wait.handoff_ns)),
        Column::new(if is_outside { "released at" } else { "released by" }, |line: &WaitLine<'a>| {
            Some(line.wait.holder.clone().unwrap_or_else(unknown))
        }),
    ]
}

fn site(line: &WaitLine<'_>) -> Option<String> {
    Some(line.wait.site.clone())
}

/// Writes the function and the line of a row.
fn place(row: &Row) -> String {
    let line = row.source.as_deref().map_or_else(String::new, |source| format!(" ({})", short(source)));
    row.symbol.clone().unwrap_or_else(|| "?".into()) + &line
}

fn contended() -> Column<Row> {
    Column::new("contended", |row| Some(count(row.contended)))
}

fn waited() -> Column<Row> {
    Column::new("waited", |row| Some(nanoseconds(row.wait_total_s * 1e9)))
}

fn wait_share(row: &Row) -> Option<String> {
    Some(optional(words::wait_share(row), Unit::Share))
}

fn wait_p50() -> Column<Row> {
    Column::new("wait p50", |row| time(row.wait_p50_ns))
}

fn hold_p50() -> Column<Row> {
    Column::new("hold p50", |row| time(row.hold_p50_ns))
}

/// Returns how often a lock was acquired, where that was seen.
fn acquired(row: &Row) -> Option<String> {
    Some(if row.acquisitions == 0 { unknown() } else { count(row.acquisitions) })
}

/// Writes a time in nanoseconds, or a dash.
fn time(ns: Option<f64>) -> Option<String> {
    Some(optional(ns, Unit::Ns))
}

fn unknown() -> String {
    "–".into()
}
