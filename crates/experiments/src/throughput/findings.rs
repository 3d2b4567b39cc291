//! Statements about the rows: which lock to choose when several threads want it, the values that are compared with other
//! records, and those of 2002.

use super::ranking::sound;
use super::ranking::{Ends, Loops, contest, ranking};
use super::record::{Row, ThroughputRecord};
use harness::report_to;
use record::ranking::{Rank, contests, is_object};
use record::{Better, Cell, Finding, MOSTLY, Metric, Origin, ThenAndNow, Unit, VariationSource};

type Placed<'a> = (usize, &'a Row);

/// Returns the command that follows: how long single waits for the best and the worst lock are.
pub fn next(record: &ThroughputRecord<'_>) -> Option<Vec<String>> {
    let ranks = ranking(record.results);
    let most = record.results.iter().map(|row| row.children).max().unwrap_or(1);
    let cpus = record.environment.machine.cpu.allowed.as_ref().map_or(1, |cpus| cpus.len());
    let is_of_processes = record.results.iter().any(|row| row.processes);
    match contests(&ranks).last() {
        // The record has the file's name of a user's own lock, without its directory.
        Some([first, .., last]) if [first, last].iter().any(|rank| is_object(&rank.lock)) => {
            Some(report_to("throughput.html"))
        }
        Some([first, .., last]) if most > 1 && cpus > 1 && !is_of_processes => {
            let (locks, threads) = (format!("{},{}", first.lock, last.lock), most.min(cpus).to_string());
            let words = ["latency", "--lock", &locks, "--threads", &threads, "--placement", "spread"];
            Some(words.map(str::to_owned).into())
        }
        _ => Some(report_to("throughput.html")),
    }
}

/// Returns the first and the last lock of the ranking with the most children.
pub fn findings(rows: &[Placed<'_>]) -> Vec<Finding> {
    let sound = sound(rows.iter().map(|(_, row)| *row));
    let all = || sound.iter().copied();
    let locked = || all().filter(|row| row.lock != locks::NONE);
    let most = locked().map(|row| row.children).max().unwrap_or(0);
    let Some(words) = locked().find(|row| row.children == most).map(Row::contest) else { return Vec::new() };
    let (loops, ranking) = (Loops::of(all()), ranking(all()));
    let Some(ends) = Ends::of(contest(&ranking, &words)) else { return Vec::new() };
    let placed = |rank: &Rank| rows.iter().copied().find(|(_, row)| row.lock == rank.lock && row.contest() == words);
    let first = placed(ends.first).map(|placed| {
        let words = ends.about_first(&value(placed.1, &loops));
        match ends.last {
            Some(_) => finding("best_throughput", placed, &loops, &words).repeated(),
            None => finding("throughput", placed, &loops, &words),
        }
    });
    let last = ends.last.and_then(placed).and_then(|placed| {
        let words = ends.about_last(&value(placed.1, &loops))?;
        Some(finding("least_throughput", placed, &loops, &words))
    });
    first.into_iter().chain(last).collect()
}

/// Returns the value with its kind, and both levels where the runs have two: no single value describes the lock then.
fn value(row: &Row, loops: &Loops) -> String {
    let levels = row.levels_per_s.map_or_else(String::new, |levels| {
        let [lower, upper] = [levels.lower, levels.upper].map(|loops| Unit::PerS.rounded(loops));
        format!("; single runs are at {lower} or at {upper}")
    });
    format!("{}, {}{levels}", Unit::PerS.estimate(loops.of_row(row)), loops.basis(row))
}

fn finding(what: &str, (place, row): Placed<'_>, loops: &Loops, statement: &str) -> Finding {
    let words = format!(
        "With {} ({} in the critical section, {} outside), {statement}",
        row.conditions().workers(),
        Unit::Ns.words(row.hold_us * 1e3),
        Unit::Ns.words(row.nonhold_us * 1e3),
    );
    let origin = Origin::of("throughput", place, row.name(), loops.field(row));
    Finding::new(what, words, Unit::PerS, loops.of_row(row), origin)
}

/// Returns the iterations/s, and the long waits.
pub fn metrics(row: &Row) -> Vec<Metric> {
    let cell = cell(row);
    let loops = Metric {
        unit: Unit::PerS,
        better: Better::More,
        variation: variation(row),
        alone: row.throughput().exclusive,
        ..Metric::time(&cell, "loops", row.throughput_per_s, row.throughput_ci)
    };
    let wait = row
        .wait_p99_ns
        .map(|wait| Metric { variation: VariationSource::Rare, ..Metric::time(&cell, "wait, p99", wait, None) });
    std::iter::once(loops).chain(wait).collect()
}

fn variation(row: &Row) -> VariationSource {
    let work_ns = (row.hold_us + row.nonhold_us) * 1e3;
    if row.children == 1 && work_ns * row.throughput_per_s / 1e9 >= MOSTLY {
        VariationSource::WorkRate
    } else {
        VariationSource::Elapsed
    }
}

fn cell(row: &Row) -> Cell {
    let conditions = row.conditions();
    Cell::of([
        row.lock.clone(),
        conditions.workers(),
        conditions.locks(),
        conditions.reads(),
        conditions.variations.to_string(),
        if row.counts_in_all_runs { "counted".to_owned() } else { String::new() },
    ])
    .with("hold_us", conditions.hold())
    .with("nonhold_us", conditions.nonhold())
}

/// Returns the throughputs of Hubertus Franke, "Lightweight userspace semaphores", linux-kernel, 2002: ulockflex.
pub fn then_and_now(rows: &[Placed<'_>]) -> Vec<ThenAndNow> {
    let loops = Loops::of(rows.iter().map(|(_, row)| *row));
    let compared = |row: &Row| {
        let then = row.then.as_ref()?.throughput_per_s;
        Some(ThenAndNow::new(2002, &row.name(), Unit::PerS, then, Some(loops.of_row(row))))
    };
    rows.iter().filter_map(|(_, row)| compared(row)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::record::sample::row;
    use super::*;
    use instruments::statistics::Interval;

    fn words(rows: &[Row]) -> Vec<String> {
        let placed: Vec<_> = rows.iter().enumerate().collect();
        findings(&placed).into_iter().map(|finding| finding.words).collect()
    }

    #[test]
    fn the_highest_and_the_lowest_of_the_most_children_are_named() {
        let rows = [
            row("adaptive", 2, 300_000.0),
            row("adaptive", 4, 230_000.0),
            row("sysv", 4, 100_000.0),
            row("std", 4, 150_000.0),
        ];
        let placed: Vec<_> = rows.iter().enumerate().collect();
        let found = findings(&placed);
        assert_eq!((found[0].value, found[0].source.row), (230_000.0, 1));
        assert_eq!(
            found[0].words,
            "With 4 threads (3.00 µs in the critical section, 7.00 µs outside), adaptive has the highest throughput: \
             230,000/s (95 % CI 227,700–232,300/s), all runs"
        );
        assert_eq!((found[1].value, found[1].source.row), (100_000.0, 2));
        assert!(found[1].words.contains("sysv has the lowest throughput: 100,000/s"), "{}", found[1].words);
    }

    /// A survey once said "174,112/s with adaptive, the most", where std had 169,913/s (160,600 to 175,700).
    #[test]
    fn the_highest_is_said_only_where_it_differs_from_the_second() {
        let with = |ends, row: Row| Row { throughput_ci: Some(ends), ..row };
        let rows = [
            with(Interval::new(163_714.0, 186_630.0), row("adaptive", 4, 174_112.0)),
            with(Interval::new(160_600.0, 175_700.0), row("std", 4, 169_913.0)),
            with(Interval::new(60_000.0, 70_000.0), row("usema", 4, 63_000.0)),
            with(Interval::new(58_000.0, 66_000.0), row("sysv", 4, 62_000.0)),
        ];
        let said = words(&rows);
        assert!(said.iter().all(|words| !words.contains("highest") && !words.contains("lowest")), "{said:?}");
        assert!(
            said[0].contains("adaptive has a throughput of 174,112/s") && said[0].contains("not shown"),
            "{said:?}"
        );
        assert!(said[1].contains("sysv has a throughput of 62,000/s") && said[1].contains("not shown"), "{said:?}");
    }

    #[test]
    fn one_lock_is_compared_with_none() {
        assert_eq!(words(&[row("adaptive", 4, 190_000.0)]).len(), 1);
        assert_eq!(words(&[]), [""; 0]);
    }
}
