//! The thread ring: hops as bars, with the limits of the machine.

use super::findings::cycles_in_words;
use super::record::Row;
use loops::ring::Class;
use record::{Bar, Bars, Figure, Picture, Section, Statement, Table, Unit, distinct, optional};
use terminal::{count, nanoseconds, percent, ratio};

pub fn section(rows: &[Row]) -> Section {
    let mut sorted: Vec<&Row> = rows.iter().collect();
    let ns = |row: &Row| row.hop().map_or(f64::INFINITY, |hop| hop.value);
    sorted.sort_by(|one, other| ns(one).total_cmp(&ns(other)));
    Section {
        experiment: "ring",
        title: "The thread ring".into(),
        findings: sorted.iter().filter_map(|row| finding(row)).map(Statement::from).collect(),
        figures: distinct(rows, group).into_iter().map(|wanted| figure(&wanted, &sorted)).collect(),
        histograms: Vec::new(),
    }
}

fn group(row: &Row) -> String {
    let place = if row.pinned { "pinned to one CPU" } else { "free to move" };
    let size = if row.large { format!(", large ring of {} threads", count(row.threads as u64)) } else { String::new() };
    format!("A hop, {place}{size}")
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
    let cycles = in_cycles(row).unwrap_or_default();
    let shared = beside_neighbour(row).map(|words| format!("; {words}")).unwrap_or_default();
    Some(format!("A hop in {} takes {cycles}{hop}{}{shared}.", row.variant(), than.unwrap_or_default()))
}

/// Writes the cycles of a hop, in which two runs agree even where the frequency of the core differs.
fn in_cycles(row: &Row) -> Option<String> {
    Some(format!("{} at {:.2} GHz, ", cycles_in_words(row.cycles()?), row.core_ghz_alone?))
}

/// Returns the time of a hop while an SMT sibling uses the core, where both states were observed.
fn beside_neighbour(row: &Row) -> Option<String> {
    let (_, shared, share) = (row.ns_per_hop_alone?, row.ns_per_hop_shared?, row.core_shared_share?);
    let hop = Unit::Ns.words_with(shared, row.ns_per_hop_shared_ci);
    Some(format!("{hop} while an SMT sibling used the core ({} of the time)", percent(share)))
}

fn figure(wanted: &str, rows: &[&Row]) -> Figure {
    let chosen: Vec<&Row> = rows.iter().copied().filter(|row| group(row) == wanted).collect();
    let bar = |row: &&Row| {
        let limit = row.limit_ns.map(|ns| (ns, row.limit.clone().unwrap_or_default()));
        let name = if row.class == Class::Limit { format!("(limit) {}", row.variant()) } else { row.variant() };
        row.hop().map(|hop| Bar { name, value: hop.value, interval: hop.interval, limit })
    };
    Figure {
        title: wanted.to_owned(),
        picture: Picture::Bars(Bars {
            unit: Unit::Ns,
            logarithmic: true,
            bars: chosen.iter().filter_map(bar).collect(),
        }),
        tables: vec![table(&chosen)],
        secondary: false,
    }
}

fn table(rows: &[&Row]) -> Table {
    let line = |row: &&Row| {
        vec![
            row.variant(),
            row.class.name().to_owned(),
            row.hop().map_or_else(
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
