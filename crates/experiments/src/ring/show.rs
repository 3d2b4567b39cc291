//! The record on a terminal (a table for each class, the limits, the large rings, the values of 2008) and on a page
//! (hops as bars).

use super::findings::{HOPS_2008, THREADS_2008, cycles_in_words, table_2008};
use super::plan::Absent;
use super::record::{Hops, RingRecord, Row, failures};
use instruments::statistics::comparison::Estimate;
use instruments::statistics::order::median;
use loops::ring::{Arrangement, Class};
use record::{Bar, Bars, Basis, Figure, Picture, Section, Statement, Table, Unit, distinct, optional};
use terminal::{self, Page, count, nanoseconds, percent, ratio};

pub fn show(record: &RingRecord<'_>, page: &Page) -> String {
    let rows = &record.results;
    let mut parts: Vec<String> = rings(rows)
        .into_iter()
        .flat_map(|threads| {
            let ring: Vec<&Row> = rows.iter().filter(|row| is_ring_of(row, threads)).collect();
            tables(&ring, threads, record.parameters.across_classes)
        })
        .collect();
    parts.extend([
        limits(rows),
        large(rows),
        memory_in_kernel(rows),
        beside_2008(rows),
        failures(rows).iter().map(|failure| failed(failure, page)).collect(),
        record.parameters.absent.iter().map(Absent::line).collect(),
    ]);
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

fn failed(failure: &str, page: &Page) -> String {
    format!("FAILED {failure}").lines().map(|line| terminal::wrapped("", "  ", line, page)).collect()
}

fn is_ring_of(row: &Row, threads: usize) -> bool {
    row.class != Class::Limit && !row.large && row.threads == threads
}

/// Returns the sizes of the rings, in the requested order.
fn rings(rows: &[Row]) -> Vec<usize> {
    let small: Vec<&Row> = rows.iter().filter(|row| row.class != Class::Limit && !row.large).collect();
    distinct(&small, |row| row.threads)
}

/// Draws one table for each class, or one for all.
fn tables(ring: &[&Row], threads: usize, across_classes: bool) -> Vec<String> {
    let plural = if threads == 1 { "" } else { "s" };
    let heading = |what: &str| format!("{} thread{plural}: {what}\n", count(threads as u64));
    if across_classes {
        return vec![heading("all classes") + &table(ring)];
    }
    let classes = [Class::Mailbox, Class::Channel, Class::OsBlock];
    let of = |class| ring.iter().copied().filter(move |row: &&Row| row.class == class).collect::<Vec<_>>();
    let described = |class: Class| match class {
        Class::Mailbox => "mailbox, a slot for one token",
        Class::Channel => "channel, for any number of senders",
        _ => "os-block, a kernel thread blocks at each hop",
    };
    let tables = classes.into_iter().map(|class| (class, of(class))).filter(|(_, rows)| !rows.is_empty());
    tables.map(|(class, rows)| heading(described(class)) + &table(&rows)).collect()
}

/// Draws a line for each contestant, the fastest first: pinned and free side by side.
fn table(rows: &[&Row]) -> String {
    let of = |pinned: bool| Hops::of(rows.iter().copied().filter(move |row| row.pinned == pinned));
    let (pinned, free) = (of(true), of(false));
    let hops = |row: &Row| if row.pinned { pinned } else { free };
    let mut pairs = pairs(rows);
    // One that failed on one CPU may have a time on all.
    let timed = |row: &&Row| hops(row).of_row(row).is_some();
    let order = |pair: &Pair<'_>| {
        let row = pair.pinned.filter(timed).or(pair.free);
        row.map_or(f64::INFINITY, |row| hops(row).order(row))
    };
    pairs.sort_by(|one, other| order(one).total_cmp(&order(other)));
    // Old records lack the value, and most cores are seldom shared.
    let has_shared = rows.iter().any(|row| row.ns_per_hop_shared.is_some());
    let before = ["contestant", "pinned", "±"].into_iter().chain(has_shared.then_some("shared"));
    let header: Vec<&str> = before.chain(["limits", "free", "switches", "B/thread", "KiB"]).collect();
    let lines = pairs.iter().map(|pair| {
        let best = pair.pinned.or(pair.free);
        let before = [
            pair.name.to_owned(),
            pair.pinned.map_or_else(String::new, |row| time_or_fault(row, pinned.of_row(row))),
            best.map_or_else(String::new, |row| half_width(hops(row).of_row(row))),
        ];
        let shared = pair.pinned.and_then(|row| row.ns_per_hop_shared).map_or_else(String::new, nanoseconds);
        let after = [
            best.and_then(|row| row.times_limit).map_or_else(String::new, ratio),
            pair.free.map_or_else(String::new, |row| time_or_fault(row, free.of_row(row))),
            pair.free.or(pair.pinned).map_or_else(String::new, switches),
            best.and_then(|row| row.bytes_per_thread).map_or_else(String::new, bytes),
            best.and_then(|row| row.rss_kib).map_or_else(String::new, |kib| count(kib.round() as u64)),
        ];
        before.into_iter().chain(has_shared.then_some(shared)).chain(after).collect::<Vec<String>>()
    });
    in_cycles(rows) + &terminal::table(&header, lines) + &neighbour(rows, pinned.basis)
}

/// Describes how often an SMT sibling used the core.
fn neighbour(rows: &[&Row], basis: Basis) -> String {
    let shares: Vec<f64> = rows.iter().filter_map(|row| row.core_shared_share).collect();
    let Some(share) = median(&shares) else { return String::new() };
    let has_shared = rows.iter().any(|row| row.ns_per_hop_shared.is_some());
    let pinned = match (basis, has_shared) {
        (Basis::Exclusive, _) => "pinned: core exclusive; shared: core shared with ",
        (Basis::All, true) => "pinned: all repetitions; shared: core shared with ",
        (Basis::All, false) => "Core shared with ",
    };
    format!("{pinned}an SMT sibling, {} of the time\n", percent(share))
}

/// Writes the fastest one's hop in cycles, and the frequency, which explains differences of times.
fn in_cycles(rows: &[&Row]) -> String {
    let known = rows.iter().filter_map(|row| Some((row.hops().exclusive?.value, row.cycles()?, row)));
    let fastest = known.min_by(|one, other| one.0.total_cmp(&other.0));
    let line = |(ns, cycles, row): (f64, Estimate, &&Row)| {
        let (name, hop) = (&row.contestant, cycles_in_words(cycles));
        format!("{name}: {hop} per hop\nwith the core exclusive: {}{}\n", nanoseconds(ns), frequency(row))
    };
    fastest.map_or_else(String::new, line)
}

fn frequency(row: &Row) -> String {
    let Some((ghz, span)) = row.core_ghz_alone.zip(row.core_ghz_alone_span) else { return String::new() };
    format!(" at {ghz:.2} GHz ({:.2}–{:.2} in its runs)", span.low, span.high)
}

/// The rows of one contestant.
struct Pair<'a> {
    name: &'a str,
    pinned: Option<&'a Row>,
    free: Option<&'a Row>,
}

fn pairs<'a>(rows: &[&'a Row]) -> Vec<Pair<'a>> {
    rows.iter().fold(Vec::new(), |mut pairs: Vec<Pair<'a>>, row| {
        let place = pairs.iter().position(|pair| pair.name == row.contestant).unwrap_or_else(|| {
            pairs.push(Pair { name: &row.contestant, pinned: None, free: None });
            pairs.len() - 1
        });
        let side = if row.pinned { &mut pairs[place].pinned } else { &mut pairs[place].free };
        *side = Some(row);
        pairs
    })
}

fn time_or_fault(row: &Row, hop: Option<Estimate>) -> String {
    match (&row.failure, hop) {
        (Some(_), _) => "failed".to_owned(),
        (None, Some(hop)) => nanoseconds(hop.value),
        (None, None) => "?".to_owned(),
    }
}

fn half_width(hop: Option<Estimate>) -> String {
    let relative = hop.and_then(|hop| Some(hop.interval?.relative_width(hop.value) * 50.0));
    relative.map_or_else(|| "?".to_owned(), |percent| format!("{percent:.0} %"))
}

/// Writes all context switches per hop; almost none is written as none.
fn switches(row: &Row) -> String {
    let all = row.voluntary_switches_per_hop.zip(row.involuntary_switches_per_hop).map(|(a, b)| a + b);
    all.map_or_else(String::new, |all| if all < 0.005 { "0".to_owned() } else { format!("{all:.2}") })
}

fn bytes(bytes: f64) -> String {
    if bytes < 100.0 { format!("{bytes:.1}") } else { count(bytes.round() as u64) }
}

fn limits(rows: &[Row]) -> String {
    let limits: Vec<&Row> = rows.iter().filter(|row| row.class == Class::Limit && !row.large).collect();
    if limits.is_empty() {
        return String::new();
    }
    let several = rings(rows).len() > 1;
    let lines = limits.iter().map(|row| {
        let ring =
            if several && row.contestant == "chase" { format!(", {} lines", row.threads) } else { String::new() };
        vec![
            format!("{}{ring}", row.contestant),
            time_or_fault(row, row.hop()),
            half_width(row.hop()),
            described(&row.contestant).to_owned(),
        ]
    });
    let title = "Limits of this machine\n";
    title.to_owned() + &terminal::table_of_words(&["limit", "time", "±", ""], lines)
}

fn described(limit: &str) -> &'static str {
    match limit {
        "chase" => "a chain of cache lines, one per thread",
        "system-call" => "enters the kernel and returns",
        "cache-line-across" => "moves a cache line from one CPU to another",
        "sched-yield-one-cpu" => "switches to the other thread of the CPU",
        limit if limit.ends_with("-one-cpu") => "wakes the other thread of the CPU, then blocks",
        _ => "wakes the thread on the other CPU, then blocks",
    }
}

/// Draws million-thread rings, in order and shuffled, with the chase at the same stride.
fn large(rows: &[Row]) -> String {
    let large: Vec<&Row> = rows.iter().filter(|row| row.large && row.class != Class::Limit).collect();
    let Some(first) = large.first() else { return String::new() };
    let hops = Hops::of(large.iter().copied());
    let lines = large.iter().filter(|row| row.arrangement == Some(Arrangement::InOrder)).map(|in_order| {
        let shuffled =
            large.iter().find(|row| row.contestant == in_order.contestant && row.arrangement != in_order.arrangement);
        let columns = |row: &Row| {
            let times = row.times_limit.map_or_else(String::new, ratio);
            [time_or_fault(row, hops.of_row(row)), row.limit_ns.map_or_else(String::new, nanoseconds), times]
        };
        let mut line = vec![in_order.contestant.clone()];
        line.extend(columns(in_order));
        line.extend(shuffled.map_or_else(Default::default, |row| columns(row)));
        line
    });
    let header = ["contestant", "in order", "chase", "", "shuffled", "chase", ""];
    let title = format!("{} threads, in order and shuffled; chase: at the same stride\n", count(first.threads as u64));
    title + &terminal::table(&header, lines)
}

/// Describes the memory of kernel threads that is not resident memory.
fn memory_in_kernel(rows: &[Row]) -> String {
    let measured = |row: &&Row| row.kernel_bytes_per_thread.is_some() && !row.large;
    let rows: Vec<&Row> = rows.iter().filter(measured).collect();
    let lines: Vec<_> = pairs(&rows)
        .iter()
        .filter_map(|pair| pair.pinned.or(pair.free))
        .map(|row| {
            let figure = |value: Option<f64>| value.map_or_else(String::new, bytes);
            vec![
                row.contestant.clone(),
                figure(row.bytes_per_thread),
                figure(row.kernel_stack_bytes_per_thread),
                figure(row.slab_bytes_per_thread),
                figure(row.page_table_bytes_per_thread),
                figure(row.bytes_per_thread.zip(row.kernel_bytes_per_thread).map(|(a, b)| a + b)),
            ]
        })
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    let header = ["", "resident", "kernel stack", "slab", "page tables", "all"];
    "Memory of a kernel thread in bytes\n".to_owned() + &terminal::table(&header, lines)
}

fn beside_2008(rows: &[Row]) -> String {
    let is_it = |row: &Row| !row.large && row.threads == THREADS_2008 && row.ns_per_hop.is_some();
    let today = |name: &str| rows.iter().find(|row| row.contestant == name && is_it(row));
    if table_2008().iter().filter_map(|line| line.today.as_deref()).all(|name| today(name).is_none()) {
        return String::new();
    }
    let lines = table_2008().into_iter().map(|line| {
        let row = line.today.as_deref().and_then(today);
        let seconds = row.and_then(|row| row.hop()).map(|hop| hop.value * HOPS_2008 / 1e9);
        vec![
            line.implementation,
            count(line.memory_kib),
            format!("{:.3}", line.time_s),
            row.and_then(|row| row.rss_kib).map_or_else(String::new, |kib| count(kib.round() as u64)),
            seconds.map_or_else(String::new, |seconds| format!("{seconds:.3}")),
        ]
    });
    let header = ["2008", "KiB", "s", "today KiB", "today s"];
    let foot = "The times of today are for 10 million hops; the number of 2008 is not published.\n";
    terminal::table(&header, lines) + foot
}

pub fn section(rows: &[Row]) -> Section {
    let all: Vec<&Row> = rows.iter().collect();
    Section {
        experiment: "ring",
        title: "The thread ring".into(),
        findings: distinct(rows, group).iter().flat_map(|wanted| findings(&sorted(wanted, &all))).collect(),
        figures: distinct(rows, group).iter().map(|wanted| figure(wanted, &sorted(wanted, &all))).collect(),
        histograms: Vec::new(),
    }
}

fn group(row: &Row) -> String {
    let place = if row.pinned { "pinned to one CPU" } else { "free to move" };
    let size = if row.large { format!(", large ring of {} threads", count(row.threads as u64)) } else { String::new() };
    format!("A hop, {place}{size}")
}

/// Returns the rows of a group, the fastest first.
fn sorted<'a>(wanted: &str, rows: &[&'a Row]) -> Vec<&'a Row> {
    let mut sorted: Vec<&Row> = rows.iter().copied().filter(|row| group(row) == wanted).collect();
    let hops = Hops::of(sorted.iter().copied());
    sorted.sort_by(|one, other| hops.order(one).total_cmp(&hops.order(other)));
    sorted
}

fn findings(rows: &[&Row]) -> Vec<Statement> {
    rows.iter().filter_map(|row| finding(row)).map(Statement::from).collect()
}

fn finding(row: &Row) -> Option<String> {
    if let Some(failure) = &row.failure {
        return Some(format!("{} {}: {}.", row.variant(), failure.fault.label(), failure.message));
    }
    if row.class == Class::Limit || row.large || !row.pinned {
        return None;
    }
    let than = row.times_limit.zip(row.limit.as_ref());
    let than = than.map(|(times, limit)| format!(", {} the limit of this machine ({limit})", ratio(times)));
    let hop = Unit::Ns.estimate(row.hop()?);
    let cycles = cycles_at_frequency(row).unwrap_or_default();
    let shared = beside_neighbour(row).map(|words| format!("; {words}")).unwrap_or_default();
    Some(format!("A hop in {} takes {cycles}{hop}{}{shared}.", row.variant(), than.unwrap_or_default()))
}

/// Writes the cycles of a hop, in which two runs agree even where the frequency of the core differs.
fn cycles_at_frequency(row: &Row) -> Option<String> {
    Some(format!("{} at {:.2} GHz, ", cycles_in_words(row.cycles()?), row.core_ghz_alone?))
}

/// Returns the time of a hop while an SMT sibling uses the core, where both states were observed.
fn beside_neighbour(row: &Row) -> Option<String> {
    let (_, shared, share) = (row.ns_per_hop_alone?, row.ns_per_hop_shared?, row.core_shared_share?);
    let hop = Unit::Ns.words_with(shared, row.ns_per_hop_shared_ci);
    Some(format!("{hop} while an SMT sibling used the core ({} of the time)", percent(share)))
}

/// Returns the picture and the table of a group, whose rows are in order.
fn figure(title: &str, rows: &[&Row]) -> Figure {
    let hops = Hops::of(rows.iter().copied());
    let bar = |row: &&Row| {
        let limit = row.limit_ns.map(|ns| (ns, row.limit.clone().unwrap_or_default()));
        let name = if row.class == Class::Limit { format!("(limit) {}", row.variant()) } else { row.variant() };
        let hop = hops.of_row(row);
        let missing = || row.failure.as_ref().map_or("not measured", |failure| failure.fault.label()).to_owned();
        let value = hop.map(|hop| hop.value).ok_or_else(missing);
        Bar { name, value, interval: hop.and_then(|hop| hop.interval), limit }
    };
    Figure {
        title: title.to_owned(),
        picture: Picture::Bars(Bars { unit: Unit::Ns, logarithmic: true, bars: rows.iter().map(bar).collect() }),
        tables: vec![table_of_hops(rows, hops)],
        secondary: false,
    }
}

fn table_of_hops(rows: &[&Row], hops: Hops) -> Table {
    let line = |row: &&Row| {
        vec![
            row.variant(),
            row.class.name().to_owned(),
            hops.of_row(row).map_or_else(
                || row.failure.as_ref().map_or("–".into(), |failure| failure.fault.label().to_owned()),
                |hop| Unit::Ns.words_with(hop.value, hop.interval),
            ),
            row.cycles().map_or_else(|| "–".into(), cycles_in_words),
            row.core_ghz_alone.map_or_else(|| "–".into(), |ghz| format!("{ghz:.2}")),
            optional(row.ns_per_hop_shared, Unit::Ns),
            optional(row.core_shared_share, Unit::Share),
            row.limit_ns.map_or_else(
                || "–".into(),
                |ns| format!("{} {}", nanoseconds(ns), row.limit.as_deref().unwrap_or_default()),
            ),
            optional(row.times_limit, Unit::Times),
            optional(row.bytes_per_thread, Unit::Number),
            optional(row.kernel_bytes_per_thread, Unit::Number),
        ]
    };
    Table {
        caption: "Time of a hop, and memory of a thread in bytes".into(),
        header: vec![
            "contestant",
            "class",
            "a hop (95 % CI)",
            "cycles, core exclusive",
            "GHz",
            "core shared",
            "share of time",
            "limit",
            "times",
            "bytes per thread",
            "bytes in the kernel",
        ],
        rows: rows.iter().map(line).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::record::sample::row;
    use instruments::statistics::Interval;

    #[test]
    fn table_begins_with_cycles_of_the_fastest_and_frequency() {
        let on_core = |name: &str, cycles: f64| Row {
            ns_per_hop_alone: Some(cycles / 4.0),
            cycles_per_hop_alone: Some(cycles),
            cycles_per_hop_alone_ci: Some(Interval::new(cycles - 0.05, cycles + 0.05)),
            core_ghz_alone: Some(4.0),
            core_ghz_alone_span: Some(Interval::new(3.9, 4.1)),
            ..row(name, Class::Mailbox, 3.0)
        };
        let text = tables(&[&on_core("rust-random", 90.0), &on_core("rust-fifo", 7.0)], 503, false).concat();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "rust-fifo: 7.00 cycles (6.95–7.05) per hop");
        assert_eq!(lines[2], "with the core exclusive: 1.75 ns at 4.00 GHz (3.90–4.10 in its runs)");
    }

    #[test]
    fn failure_fits_the_page() {
        let message = "ring-of-threads: the output \"no such number\" is not a thread number";
        let text = failed(&format!("a-contestant-of-the-user crashed: {message}"), &Page::plain());
        assert!(text.starts_with("FAILED a-contestant") && text.ends_with("number\n"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
