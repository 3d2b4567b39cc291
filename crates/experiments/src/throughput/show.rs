//! The record on a terminal: a table for each number of children and mix, 2002's throughput beside today's.

use super::ranking::{among, ranking};
use super::record::{Row, ThroughputRecord};
use record::{Rank, distinct};
use terminal::{self, Page, nanoseconds, percent};

/// All of it.
pub fn show(record: &ThroughputRecord, page: &Page) -> String {
    let ranks = if record.ranking.is_empty() { ranking(&record.results) } else { record.ranking.clone() };
    let tables: Vec<String> = distinct(&record.results, among)
        .iter()
        .map(|words| {
            let block: Vec<&Row> = record.results.iter().filter(|row| among(row) == *words).collect();
            let ranks: Vec<&Rank> = ranks.iter().filter(|rank| rank.among == *words).collect();
            table(&block, &ranks, page)
        })
        .collect();
    tables.join("\n") + "\n" + LEGEND
}

const LEGEND: &str = "\
Best first; those that cannot be told apart share a place. loops/s: all children
together, the median of the runs, alone on their cores where that is known of
all; × less: the best one's by it, and its 95 % interval; COV: coefficient of
variation of the children's loops (0 is fair); waits: from runs with timestamps;
2002: loops/s on two Pentium III at 550 MHz.
";

fn heading(row: &Row) -> String {
    let ideal =
        row.ideal_per_s.map_or_else(String::new, |ideal| format!("; ideal {}/s", terminal::count(ideal as u64)));
    format!("{}{ideal}\n", among(row))
}

/// Below this width the columns beyond the waits are left to the other formats.
const WIDE: usize = 128;

fn table(block: &[&Row], ranks: &[&Rank], page: &Page) -> String {
    let mut header = vec!["", "loops/s", "× less (95 %)", "COV", "wait p99", "longest", "2002"];
    let wide = page.width >= WIDE;
    if wide {
        header.extend(["ideal", "WC", "R", "row", "calls/op", "sleeps/op", "CPUs"]);
    }
    // What excludes nobody has no place: it stands below.
    let unranked = block.iter().filter(|row| !ranks.iter().any(|rank| rank.lock == row.lock)).map(|row| (*row, None));
    let ranked = ranks.iter().filter_map(|rank| Some((*block.iter().find(|row| row.lock == rank.lock)?, Some(*rank))));
    let lines = ranked.chain(unranked).map(|(row, rank)| {
        let mut line = narrow_line(row, rank);
        if wide {
            line.extend(wide_line(row));
        }
        line
    });
    let text = terminal::table(&header, lines);
    let cut: String = text.lines().map(|line| page.cut(line) + "\n").collect();
    heading(block[0]) + &cut + &neighbours(block, page)
}

/// What those loop that were also seen beside a neighbour.
fn neighbours(block: &[&Row], page: &Page) -> String {
    let words = |row: &&Row| {
        let (_, shared, share) = (row.throughput_per_s_alone?, row.throughput_per_s_shared?, row.core_shared_share?);
        Some(format!("{} {} ({})", row.lock, terminal::count(shared.round() as u64), percent(share)))
    };
    let found: Vec<String> = block.iter().filter_map(words).collect();
    if found.is_empty() {
        return String::new();
    }
    let title = "Beside another hardware thread on a core (and for which share of the time):";
    terminal::folded(&format!("{title} {}.", found.join(", ")), page)
}

fn narrow_line(row: &Row, rank: Option<&Rank>) -> Vec<String> {
    let wait = |ns: Option<f64>| ns.map_or_else(String::new, nanoseconds);
    let place = rank.map_or_else(String::new, |rank| rank.rank.to_string());
    vec![
        format!("{place:>2}  {}", row.lock),
        terminal::count(rank.and_then(|rank| rank.value).unwrap_or(row.throughput_per_s).round() as u64),
        rank.map_or_else(String::new, Rank::times),
        format!("{:.2}", row.cov),
        wait(row.wait_p99_ns),
        wait(row.wait_max_ns),
        row.then.as_ref().map_or_else(String::new, |then| terminal::count(then.throughput_per_s as u64)),
    ]
}

fn wide_line(row: &Row) -> Vec<String> {
    let figure = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.2}"));
    vec![
        row.ideal_share.map_or_else(String::new, |share| format!("{:.0} %", share * 100.0)),
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
