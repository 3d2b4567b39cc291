//! Statements about the rows, their lines of the ladder, the values that are compared with other records, and those of
//! 2008.
//!
//! The table of 2008 is from "The lightest lightweight threads, Protothreads" and "Comparing lightweight threads",
//! eigenclass.org, 1 April and 24 March 2008. It was measured with 503 threads on a dual-core AMD Athlon 64 X2 6000+ in
//! 32-bit mode. The page does not give the number of hops; 10 million fit its values best.

use super::record::{Hops, Line, Row};
use instruments::statistics::comparison::Estimate;
use loops::ring::Class;
use record::{Aspect, Basis, Cell, Cost, Finding, Metric, Origin, ThenAndNow, Unit, VariationSource};
use terminal::count;

type Placed<'a> = (usize, &'a Row);

/// Returns the cost of a switch between stackless threads, between tasks, and between kernel threads.
pub fn findings(rows: &[Placed<'_>]) -> Vec<Finding> {
    let small: Vec<Placed<'_>> = rows.iter().copied().filter(|(_, row)| is_small(row)).collect();
    let named = |name: &str| small.iter().copied().find(|(_, row)| row.contestant == name && row.hop().is_some());
    let base = named("rust-fifo");
    let than = base.map(|(_, row)| row);
    let stackless = base.and_then(|placed| switch("stackless_switch", "stackless threads", placed, None));
    let task = named("tokio-notify").and_then(|placed| switch("task_switch", "tokio's tasks", placed, than));
    let kernel = fastest_of_kernel(small.iter().map(|(_, row)| *row));
    let kernel = small.iter().copied().find(|(_, row)| kernel.is_some_and(|kernel| std::ptr::eq(kernel, *row)));
    let kernel = kernel.and_then(|placed| switch("kernel_switch", "kernel threads", placed, than));
    [stackless, task, kernel.map(Finding::repeated)].into_iter().flatten().collect()
}

/// Returns whether a hop of the row is a switch between threads whose memory is in the caches of one CPU.
fn is_small(row: &Row) -> bool {
    row.pinned && !row.large
}

/// Returns the kernel threads that represent all others: those with the shortest hop.
fn fastest_of_kernel<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<&'a Row> {
    let timed: Vec<&Row> = rows.filter(|row| row.class == Class::OsBlock && row.hop().is_some()).collect();
    let hops = Hops::of(timed.iter().copied());
    timed.into_iter().min_by(|one, other| hops.order(one).total_cmp(&hops.order(other)))
}

fn switch(what: &str, between: &str, (place, row): Placed<'_>, base: Option<&Row>) -> Option<Finding> {
    let hops = Hops::of(std::iter::once(row).chain(base));
    let figure = hops.of_row(row)?;
    let field = if hops.basis == Basis::Exclusive { "ns_per_hop_alone" } else { "ns_per_hop" };
    let times = base.and_then(|base| {
        let of_base = hops.of_row(base)?;
        // The line of the base itself may have another value, with the core exclusive.
        let is_that_line = base.hop().is_some_and(|own| own.value == of_base.value);
        let value = if is_that_line {
            String::new()
        } else {
            format!(" in all repetitions, {}", Unit::Ns.words(of_base.value))
        };
        let times = Unit::Times.words(figure.value / of_base.value);
        Some(format!(", {times} the cost between stackless threads{value}"))
    });
    let words = format!("A switch between {between} costs {}{}", Unit::Ns.estimate(figure), times.unwrap_or_default());
    Some(Finding::new(what, words, Unit::Ns, figure, Origin::of("ring", place, row.name(), field)))
}

/// Contestants that represent a kind of thread.
const KINDS: [(&str, &str, Aspect); 4] = [
    ("rust-fifo", "a switch, stackless threads", Aspect::Handoff),
    ("tokio-notify", "a switch, tokio's tasks", Aspect::Handoff),
    ("c-protothreads-optimum", "a switch, C protothreads", Aspect::Handoff),
    ("c-pthread-mutex", "a switch, C and POSIX threads", Aspect::Handoff),
];

/// Limits by their common names.
const LIMITS: [(&str, &str, Aspect); 3] = [
    ("system-call", "a system call", Aspect::Calls),
    ("cache-line-across", "a cache line from another CPU", Aspect::Memory),
    ("futex-across", "waking a thread, another CPU", Aspect::Handoff),
];

/// Returns the lines of the ladder: switches, and the time that the machine itself takes for a step.
pub fn costs(rows: &[Row]) -> Vec<Cost> {
    let small = || rows.iter().filter(|row| is_small(row));
    let named = |names: &'static [(&str, &str, Aspect)]| {
        names.iter().filter_map(move |(name, words, aspect)| {
            let row = small().find(|row| row.contestant == *name)?;
            Some(cost(row, words)?.compared_as(*aspect, variation(row)))
        })
    };
    let of_kernel = fastest_of_kernel(small())
        .and_then(|row| Some(cost(row, "a switch, kernel threads")?.compared_as(Aspect::Handoff, variation(row))));
    named(&KINDS).chain(of_kernel).chain(named(&LIMITS)).collect()
}

fn cost(row: &Row, words: &str) -> Option<Cost> {
    let subject = if row.class == Class::Limit { "limit" } else { "a hop" };
    let figure = format!("{}: {subject}", row.name());
    let then = row.then.first().map(|line| line.time_s * 1e9 / HOPS_2008);
    Some(Cost::new(words, figure, row.hop()?).with_old_value(2008, then))
}

fn variation(row: &Row) -> VariationSource {
    if row.class == Class::Limit { VariationSource::Limit } else { VariationSource::Elapsed }
}

/// Returns the time of a hop, and its cycles, which do not depend on the frequency of the core.
pub fn metrics(row: &Row) -> Vec<Metric> {
    let Some(ns_per_hop) = row.ns_per_hop else { return Vec::new() };
    let laid = row.arrangement.filter(|_| row.large).map(|arrangement| arrangement.label().to_owned());
    let cell = Cell::of([
        row.contestant.clone(),
        laid.unwrap_or_default(),
        if row.pinned { "pinned to one CPU" } else { "free to move" }.to_owned(),
        if row.large { "large ring".to_owned() } else { String::new() },
    ])
    .with("threads", format!("{} threads", count(row.threads as u64)));
    let alone = row.hops().exclusive;
    let metric = Metric::time(&cell, "a hop", ns_per_hop, row.ns_per_hop_ci);
    let is_limit = row.class == Class::Limit;
    let time = Metric { variation: variation(row), alone, ..metric };
    // The time of an access to far memory does not depend on the core's frequency.
    let cycles = row.cycles().filter(|_| !row.large);
    let cycles = cycles.map(|Estimate { value, interval, .. }| {
        let metric = Metric::time(&cell, "a hop in cycles, core exclusive", value, interval);
        let variation = if is_limit { VariationSource::Limit } else { metric.variation };
        Metric { unit: Unit::Cycles, variation, ..metric }
    });
    std::iter::once(time).chain(cycles).collect()
}

/// Writes cycles to the hundredth: runs differ by no more than that.
pub fn cycles_in_words(figure: Estimate) -> String {
    let ends = figure.interval.map(|ends| format!(" ({:.2}–{:.2})", ends.low, ends.high));
    format!("{:.2} cycles{}", figure.value, ends.unwrap_or_default())
}

/// The lines whose programs exist here: the same sources, another machine.
const PROGRAMS: [(&str, &str); 3] = [
    ("c-protothreads-optimum", "a hop, protothreads in order"),
    ("c-protothreads-pessimum", "a hop, protothreads in reverse"),
    ("c-pthread-mutex", "a hop, POSIX threads"),
];

/// Compares with the thread ring of "The lightest lightweight threads, Protothreads", eigenclass.org, 2008.
pub fn then_and_now(rows: &[Placed<'_>]) -> Vec<ThenAndNow> {
    if rows.is_empty() {
        return Vec::new();
    }
    let table = table_2008();
    let of = |(program, figure): (&str, &str)| {
        let then = table.iter().find(|line| line.today.as_deref() == Some(program))?;
        let row = rows.iter().map(|(_, row)| row).find(|row| row.contestant == program);
        let today = row.and_then(|row| row.hop());
        let compared = ThenAndNow::new(2008, figure, Unit::Ns, then.time_s * 1e9 / HOPS_2008, today);
        Some(compared.or("not measured"))
    };
    PROGRAMS.into_iter().filter_map(of).collect()
}

const TABLE: &str = include_str!("ring_2008.csv");

/// The number of threads of 2008's ring; a ring of another size is not compared with it.
pub const THREADS_2008: usize = 503;

/// The number of hops that 2008's times are assumed to be for.
pub const HOPS_2008: f64 = 1e7;

/// Returns the table, the fastest first.
pub fn table_2008() -> Vec<Line> {
    let mut reader = csv::Reader::from_reader(TABLE.as_bytes());
    reader.deserialize().collect::<Result<_, _>>().expect("the table is part of the program")
}

/// Returns the lines that a contestant in a ring of this size is compared with.
pub fn lines_2008(contestant: &str, threads: usize) -> Vec<Line> {
    let is_it = |line: &Line| threads == THREADS_2008 && line.today.as_deref() == Some(contestant);
    table_2008().into_iter().filter(is_it).collect()
}

#[cfg(test)]
mod tests {
    use super::super::record::sample::row;
    use super::*;
    use crate::ring::contestants::{embedded, recipes};

    #[test]
    fn kernel_switch_is_a_multiple_of_a_stackless_one() {
        let fifo = row("rust-fifo", Class::Mailbox, 2.0);
        let (futex, mutex) = (row("rust-futex", Class::OsBlock, 1_400.0), row("x", Class::OsBlock, 2e3));
        let found = findings(&[(1, &mutex), (2, &futex), (5, &fifo)]);
        assert_eq!(
            found[0].to_string(),
            "A switch between stackless threads costs 2.00 ns (95 % CI 1.80–2.20 ns) [ring: rust-fifo, 503 threads]"
        );
        assert!(
            found[1].words.ends_with(", 700× the cost between stackless threads") && found[1].source.row == 2,
            "{found:?}"
        );
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn failed_contestant_has_no_finding() {
        let failed = Row { ns_per_hop: None, ..row("rust-fifo", Class::Mailbox, 2.0) };
        assert_eq!(findings(&[(0, &failed)]), []);
    }

    #[test]
    fn kinds_of_threads_and_limits_have_distinct_words() {
        let futex = row("rust-futex", Class::OsBlock, 1_400.0);
        let slower = row("x", Class::OsBlock, 2e3);
        let found =
            costs(&[slower, futex, row("rust-fifo", Class::Mailbox, 2.0), row("system-call", Class::Limit, 90.0)]);
        let costs_by_name: Vec<(&str, f64)> = found.iter().map(|cost| (cost.what.as_str(), cost.ns)).collect();
        let wanted =
            [("a switch, stackless threads", 2.0), ("a switch, kernel threads", 1_400.0), ("a system call", 90.0)];
        assert_eq!(costs_by_name, wanted);
    }

    #[test]
    fn programs_of_2008_are_compared_with_themselves() {
        let name = "c-pthread-mutex";
        let mutex = Row { then: lines_2008(name, 503), ..row(name, Class::OsBlock, 2_750.0) };
        let found = costs(&[mutex]);
        assert!((found[0].then[0].ns - 2_870.0).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn switches_are_compared_with_like_hops() {
        let fifo = Row { ns_per_hop_alone: Some(1.0), ..row("rust-fifo", Class::Mailbox, 2.0) };
        let futex = row("rust-futex", Class::OsBlock, 1_400.0);
        let found = findings(&[(0, &fifo), (1, &futex)]);
        assert!(
            found[1].words.ends_with(", 700× the cost between stackless threads in all repetitions, 2.00 ns"),
            "{found:?}"
        );
        let exclusive = Row { ns_per_hop_alone: Some(1_300.0), ..futex };
        let found = findings(&[(0, &fifo), (1, &exclusive)]);
        assert!(found[1].words.ends_with(", 1300× the cost between stackless threads"), "{found:?}");
    }

    #[test]
    fn statements_and_ladder_have_the_same_kernel_threads() {
        let moved = Row { pinned: false, ..row("rust-futex", Class::OsBlock, 900.0) };
        let rows = [moved, row("rust-futex", Class::OsBlock, 1_400.0), row("x", Class::OsBlock, 2e3)];
        let found = findings(&[(0, &rows[0]), (1, &rows[1]), (2, &rows[2])]);
        assert_eq!((found[0].value, found[0].source.row, costs(&rows)[0].ns), (1_400.0, 1, 1_400.0));
    }

    #[test]
    fn table_of_2008_is_complete_and_sorted() {
        let table = table_2008();
        assert_eq!(table.len(), 12);
        assert!(table.is_sorted_by(|a, b| a.time_s <= b.time_s));
        // Polling against the ring took 245 times as long as with it.
        let time = |name: &str| lines_2008(name, THREADS_2008)[0].time_s;
        assert_eq!((time("c-protothreads-pessimum") / time("c-protothreads-optimum")).round(), 245.0);
        assert_eq!(lines_2008("c-protothreads-optimum", 1_000), []);
    }

    #[test]
    fn contestants_of_the_table_of_2008_exist() {
        let recipes = recipes(&embedded()).unwrap();
        for name in table_2008().into_iter().filter_map(|line| line.today) {
            assert!(recipes.iter().any(|recipe| recipe.name == name), "{name}");
        }
    }
}
