//! The comparison on a terminal.

use super::compare::sleeping;
use super::record::{SearchArm, SwapParameters, SwapRecord, SwapRow, Verdict, WatchedLock};
use super::words;
use instruments::warning::WarningKind;
use record::Unit;
use terminal::{Page, counted, percent, range, ratio};

pub fn show(record: &SwapRecord, page: &Page) -> String {
    let mut text = format!("{}\n", record.parameters.compared_program.join(" "));
    text.extend(record.parameters.client.iter().map(|client| format!("client: {client}\n")));
    if !record.parameters.swap_only.is_empty() {
        text.push_str(&format!("substituted only: {}\n", record.parameters.swap_only.join(", ")));
    }
    let mut metrics: Vec<&str> = Vec::new();
    for row in &record.results {
        if !metrics.contains(&row.metric.as_str()) {
            metrics.push(&row.metric);
        }
    }
    for metric in metrics {
        let rows = record.results.iter().filter(|row| row.metric == metric);
        text.push_str(&format!("\n{metric}\n"));
        text.push_str(&terminal::table(&HEADER, rows.map(line)));
    }
    let slept = sleeping(&record.parameters.watched)
        .map(|one| format!("{}. Another lock cannot shorten that time.", one.message()));
    let said = words::first(&record.results).into_iter().chain(slept);
    said.for_each(|said| text.push_str(&format!("\n{}", terminal::wrapped("", "", &said, page))));
    text.extend(judged(record));
    text.push_str(&searched(record));
    text.push_str(&watched(record));
    let left: Vec<String> = record.parameters.left.iter().filter_map(words::left).collect();
    text.extend(left.into_iter().map(|said| format!("{said}\n")));
    text
}

/// How a verdict came about.
fn judged(record: &SwapRecord) -> Option<String> {
    let SwapParameters { comparisons, least_effect_share: least, .. } = record.parameters;
    (comparisons > 0).then(|| {
        format!(
            "Better or worse: by more than {}, at 95 % confidence over {comparisons} comparisons.\n",
            percent(least)
        )
    })
}

/// What a search tried, and what it comes to.
fn searched(record: &SwapRecord) -> String {
    let parameters = &record.parameters;
    let Some(last) = parameters.search.last() else { return String::new() };
    let line = |arm: &SearchArm| {
        let dash = || "–".to_owned();
        let ends = arm.ratio_ci.map_or_else(dash, |ends| range(ends.low, ends.high));
        let times = arm.ratio.map_or_else(dash, ratio);
        vec![arm.stage.to_string(), arm.mutex.clone(), arm.lock.clone(), times, ends, arm.verdict.label().to_owned()]
    };
    let header = ["stage", "mutex", "lock", "vs plain", "95 % CI", "verdict"];
    let end = match &parameters.search_flags {
        Some(flags) => format!("Equivalent options without --search: {flags}"),
        None => format!(
            "No single mutex was shown to make the program better, in {}.",
            counted(last.stage as usize, "stage")
        ),
    };
    format!("\nSearch: each mutex alone\n{}{end}\n", terminal::table(&header, parameters.search.iter().map(line)))
}

/// What was waited for and held, lock by lock, plainly and with each of ours.
fn watched(record: &SwapRecord) -> String {
    let parameters = &record.parameters;
    if let Some(why) = &parameters.unwatched {
        return format!("\nNo data on waits and hold times: {}\n", why.lines().next().unwrap_or_default());
    }
    let mut names: Vec<&str> = Vec::new();
    for lock in &parameters.watched {
        if !names.contains(&lock.name.as_str()) {
            names.push(&lock.name);
        }
    }
    let line = |lock: &WatchedLock| {
        let ns = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| Unit::Ns.words(value));
        let (waited, share) = (Unit::Ns.words(lock.wait_total_s * 1e9), terminal::count(lock.contended));
        vec![
            lock.lock.clone(),
            terminal::count(lock.acquisitions),
            share,
            waited,
            ns(lock.wait_p99_ns),
            ns(lock.hold_p50_ns),
        ]
    };
    let of = |name: &&str| {
        let rows = parameters.watched.iter().filter(|lock| lock.name == *name);
        format!("\n{name}, one traced run each\n{}", terminal::table(&WATCHED, rows.map(line)))
    };
    names.iter().map(of).collect()
}

const WATCHED: [&str; 6] = ["lock", "acquired", "contended", "total wait", "wait p99", "hold p50"];

pub const HEADER: [&str; 7] = ["lock", "runs", "median", "95 % CI", "vs plain", "95 % CI", "verdict"];

/// A row as a line of a table.
pub fn line(row: &SwapRow) -> Vec<String> {
    let dash = || "–".to_owned();
    let ends =
        row.ci.map_or_else(dash, |ends| format!("{} to {}", row.unit.words(ends.low), row.unit.words(ends.high)));
    let times = match row.verdict {
        Verdict::Baseline => Unit::Times.words(1.0),
        _ => row.ratio.map_or_else(dash, ratio),
    };
    vec![
        row.lock.clone(),
        row.runs.to_string(),
        words::figure(row, row.median),
        ends,
        times,
        row.ratio_ci.map_or_else(dash, |ends| range(ends.low, ends.high)),
        row.verdict.label().to_owned(),
    ]
}
