//! The record on a terminal: a table for each number of children and mix, 2002's throughput beside today's.

use super::record::{Row, ThroughputRecord};
use terminal::{self, Page, nanoseconds, percent};

/// All of it.
pub fn show(record: &ThroughputRecord, page: &Page) -> String {
    let blocks = blocks(&record.results);
    let tables: Vec<String> = blocks.iter().map(|block| table(block, page)).collect();
    tables.join("\n") + "\n" + LEGEND
}

const LEGEND: &str = "\
loops/s: all children together, the median of the runs; ±: half the width of its
95 % interval; ideal: share of what the work alone allows; COV: coefficient of
variation of the children's loops (0 is fair); waits: from runs with timestamps;
2002: loops/s on two Pentium III at 550 MHz.
";

/// Rows that are compared with each other.
fn blocks(rows: &[Row]) -> Vec<Vec<&Row>> {
    let same = |a: &Row, b: &Row| {
        (a.children, a.locks, a.share, a.processes) == (b.children, b.locks, b.share, b.processes)
            && (a.nonhold_us, a.hold_us) == (b.nonhold_us, b.hold_us)
    };
    rows.iter().fold(Vec::new(), |mut blocks: Vec<Vec<&Row>>, row| {
        match blocks.iter_mut().find(|block| same(block[0], row)) {
            Some(block) => block.push(row),
            None => blocks.push(vec![row]),
        }
        blocks
    })
}

fn heading(row: &Row) -> String {
    let plural = |number: usize| if number == 1 { "" } else { "s" };
    let children = match (row.processes, row.children) {
        (true, 1) => "1 process".to_owned(),
        (true, many) => format!("{many} processes"),
        (false, number) => format!("{number} thread{}", plural(number)),
    };
    let reading = if row.share > 0 { format!(", {} % reading", row.share) } else { String::new() };
    let work = format!("{}+{} µs", row.nonhold_us, row.hold_us);
    let ideal =
        row.ideal_per_s.map_or_else(String::new, |ideal| format!("; ideal {}/s", terminal::count(ideal as u64)));
    format!("{children}, {} lock{}, {work}{reading}{ideal}\n", row.locks, plural(row.locks))
}

/// Below this width the columns beyond the waits are left to the other formats.
const WIDE: usize = 128;

fn table(block: &[&Row], page: &Page) -> String {
    let mut header = vec!["lock", "loops/s", "±", "ideal", "COV", "wait p50", "p99", "max", "2002"];
    let wide = page.width >= WIDE;
    if wide {
        header.extend(["WC", "R", "row", "calls/op", "sleeps/op", "CPUs"]);
    }
    let lines = block.iter().map(|row| {
        let mut line = narrow_line(row);
        if wide {
            line.extend(wide_line(row));
        }
        line
    });
    heading(block[0]) + &terminal::table(&header, lines)
}

fn narrow_line(row: &Row) -> Vec<String> {
    let wait = |ns: Option<f64>| ns.map_or_else(String::new, nanoseconds);
    let half_width = row.throughput_ci.map_or_else(
        || "?".to_owned(),
        |interval| format!("{:.0} %", interval.relative_width(row.throughput_per_s) * 50.0),
    );
    vec![
        row.lock.clone(),
        terminal::count(row.throughput_per_s.round() as u64),
        half_width,
        row.ideal_share.map_or_else(String::new, |share| format!("{:.0} %", share * 100.0)),
        format!("{:.2}", row.cov),
        wait(row.wait_p50_ns),
        wait(row.wait_p99_ns),
        wait(row.wait_max_ns),
        row.then.as_ref().map_or_else(String::new, |then| terminal::count(then.throughput_per_s as u64)),
    ]
}

fn wide_line(row: &Row) -> Vec<String> {
    let figure = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.2}"));
    vec![
        row.write_contended_share.map_or_else(String::new, percent),
        figure(row.retry),
        row.longest_streak.map_or_else(String::new, terminal::count),
        figure(row.syscalls_per_op),
        figure(Some(row.voluntary_switches_per_op)),
        figure(Some(row.cpus_used)),
    ]
}

/// The columns of 2002, in its order: children, locks, seconds, iterations, lock, patience, non-hold, hold, contention
/// of writers and readers in per cent, retry rate, COV, throughput. A dash stands for what the lock does not count.
pub fn ulockflex(rows: &[Row]) -> String {
    let mut text = String::from("c a t i L p r x WC RC R COV ThPut\n");
    for row in rows {
        let per_cent =
            |share: Option<f64>| share.map_or_else(|| "-".to_owned(), |share| format!("{:.2}", share * 100.0));
        let retry = row.retry.map_or_else(|| "-".to_owned(), |retry| format!("{retry:.2}"));
        text.push_str(&format!(
            "{} {} {} {} {} {} {} {} {} {} {} {:.6} {:.0}\n",
            row.children,
            row.locks,
            row.run_s,
            row.iterations,
            letter(row),
            row.patience_us,
            row.nonhold_us,
            row.hold_us,
            per_cent(row.write_contended_share),
            per_cent(row.read_contended_share),
            retry,
            row.cov,
            row.throughput_per_s
        ));
    }
    text
}

/// 2002's letter for a lock (a capital for one that spins); the name of a lock that it did not have.
fn letter(row: &Row) -> String {
    match row.lock.as_str() {
        "none" => "e".into(),
        "sysv" => "k".into(),
        "usema" => "f".into(),
        "usema-spin" => "F".into(),
        "calock" => "c".into(),
        "calock-spin" => "C".into(),
        "rwlock" => format!("s{}", row.share),
        name => name.into(),
    }
}
