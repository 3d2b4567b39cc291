//! The record on a terminal: a table for each number of children and mix, 2002's throughput beside today's.

use super::ranking::{Loops, among, contest, ranking};
use super::record::{Row, ThroughputRecord};
use record::{Rank, distinct};
use terminal::{self, Page, nanoseconds, percent};

/// All of it.
pub fn show(record: &ThroughputRecord, page: &Page) -> String {
    let rows = &record.results;
    // A stored ranking may be of an older revision; the rows say the same as when they were measured.
    let (loops, ranks) = (Loops::of(rows), ranking(rows));
    let tables: Vec<String> = distinct(rows, among)
        .iter()
        .map(|words| {
            let block: Vec<&Row> = rows.iter().filter(|row| among(row) == *words).collect();
            table(&block, contest(&ranks, words), &loops, page)
        })
        .collect();
    tables.join("\n") + "\n" + &legend(rows, &ranks)
}

const COLUMNS: &str = "\
loops/s: iterations/s of all children, median of the runs; exclusive cores:
the time in which no SMT sibling was active; COV: coefficient of
variation of the children's loops (0 is fair); waits: runs with timestamps.
";

/// The column of 2002, which most mixes and locks have no value for.
const THEN: &str = "2002: loops/s on two Pentium III at 550 MHz.\n";

fn legend(rows: &[Row], ranks: &[Rank]) -> String {
    let then = if rows.iter().any(|row| row.then.is_some()) { THEN } else { "" };
    format!("{}\n{COLUMNS}{then}", record::ranking::legend(ranks))
}

fn heading(row: &Row, loops: &Loops) -> String {
    let ideal =
        row.ideal_per_s.map_or_else(String::new, |ideal| format!("; ideal {}/s", terminal::count(ideal as u64)));
    format!("{}{ideal}; {}\n", among(row), loops.basis(row))
}

/// Below this width the columns beyond the waits are left to the other formats.
const WIDE: usize = 128;

fn table(block: &[&Row], ranks: &[Rank], loops: &Loops, page: &Page) -> String {
    let mut header = vec!["", "loops/s", "times the best (95 %)", "COV", "wait p99", "longest"];
    let has_then = block.iter().any(|row| row.then.is_some());
    header.extend(has_then.then_some("2002"));
    let wide = page.width >= WIDE;
    if wide {
        header.extend(["ideal", "WC", "R", "row", "calls/op", "sleeps/op", "CPUs"]);
    }
    // A loop without a lock excludes nothing and has no rank: it is the last line.
    let unranked = block.iter().filter(|row| !ranks.iter().any(|rank| rank.lock == row.lock)).map(|row| (*row, None));
    let ranked = ranks.iter().filter_map(|rank| Some((*block.iter().find(|row| row.lock == rank.lock)?, Some(rank))));
    let lines = ranked.chain(unranked).map(|(row, rank)| {
        let mut line = narrow_line(row, rank, loops);
        line.extend(has_then.then(|| then(row)));
        if wide {
            line.extend(wide_line(row, loops));
        }
        line
    });
    let text = terminal::table(&header, lines);
    let cut: String = text.lines().map(|line| page.cut(line) + "\n").collect();
    heading(block[0], loops) + &cut + &levels(block, page) + &neighbours(block, page)
}

/// The locks whose runs are on one of two levels: the median is one of them by chance.
fn levels(block: &[&Row], page: &Page) -> String {
    let words = |row: &&Row| {
        let levels = row.levels_per_s?;
        let [lower, upper] = [levels.lower, levels.upper].map(|loops| terminal::count(loops.round() as u64));
        Some(format!("{} {lower} and {upper} ({} of the runs)", row.lock, percent(levels.upper_share)))
    };
    let found: Vec<String> = block.iter().filter_map(words).collect();
    if found.is_empty() {
        return String::new();
    }
    let title = "Runs at one of two levels (loops/s), which the CI spans:";
    terminal::folded(&format!("{title} {}.", found.join(", ")), page)
}

/// The loops of those whose cores were also seen shared.
fn neighbours(block: &[&Row], page: &Page) -> String {
    let words = |row: &&Row| {
        let (_, shared, share) = (row.throughput_per_s_alone?, row.throughput_per_s_shared?, row.core_shared_share?);
        Some(format!("{} {} ({})", row.lock, terminal::count(shared.round() as u64), percent(share)))
    };
    let found: Vec<String> = block.iter().filter_map(words).collect();
    if found.is_empty() {
        return String::new();
    }
    let title = "While an SMT sibling was active (loops/s, share of time):";
    terminal::folded(&format!("{title} {}.", found.join(", ")), page)
}

fn narrow_line(row: &Row, rank: Option<&Rank>, loops: &Loops) -> Vec<String> {
    let wait = |ns: Option<f64>| ns.map_or_else(String::new, nanoseconds);
    let place = rank.map_or_else(String::new, Rank::place);
    vec![
        format!("{place:>2}  {}", row.lock),
        terminal::count(loops.of_row(row).value.round() as u64),
        rank.map_or_else(String::new, Rank::times),
        format!("{:.2}", row.cov),
        wait(row.wait_p99_ns),
        wait(row.wait_max_ns),
    ]
}

fn then(row: &Row) -> String {
    row.then.as_ref().map_or_else(String::new, |then| terminal::count(then.throughput_per_s as u64))
}

fn wide_line(row: &Row, loops: &Loops) -> Vec<String> {
    let figure = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.2}"));
    vec![
        loops.ideal_share(row).map_or_else(String::new, |share| format!("{:.0} %", share * 100.0)),
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
