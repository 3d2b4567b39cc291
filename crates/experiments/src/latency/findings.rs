//! What a free lock costs, a wait for its holder, and a busy neighbour.

use super::ranking::FreePairs;
use super::record::{Operation, Row};
use super::then_and_now::waited;
use record::{Finding, Origin, Unit};
use terminal::counted;

/// The lock that most programs have.
const USUAL: &str = "std";

type Placed<'a> = (usize, &'a Row);

pub fn findings(rows: &[Placed<'_>]) -> Vec<Finding> {
    let alone = cells(rows, Operation::Lock, (1, 0));
    let together = cells(rows, Operation::Lock, (2, 0));
    let contested = cells(rows, Operation::RoundTrip, (1, 1));
    let usual_first = |cells: &[Placed<'_>], of: fn(Placed<'_>) -> Option<Finding>| {
        let mut cells = cells.to_vec();
        cells.sort_by_key(|(_, row)| row.lock != USUAL);
        cells.into_iter().find_map(of)
    };
    let pairs = FreePairs::of(rows.iter().map(|(_, row)| *row));
    let found = [
        free(&alone, pairs),
        slowest(&alone, pairs),
        usual_first(&together, handed_over),
        usual_first(&contested, with_competitor),
    ];
    found.into_iter().flatten().collect()
}

/// The first thread's rows of an operation, with so many threads and competitors.
fn cells<'a>(rows: &[Placed<'a>], operation: Operation, company: (usize, usize)) -> Vec<Placed<'a>> {
    let wanted = |row: &Row| row.thread == 0 && row.operation == operation && (row.threads, row.competitors) == company;
    rows.iter().copied().filter(|(_, row)| wanted(row)).collect()
}

fn cell(row: &Row) -> String {
    let threads = counted(row.threads, "thread");
    let company =
        if row.competitors > 0 { format!(", {}", counted(row.competitors, "competitor")) } else { String::new() };
    format!("{}, {threads}{company}", row.lock)
}

fn free(alone: &[Placed<'_>], pairs: FreePairs) -> Option<Finding> {
    let of = |usual: bool| alone.iter().filter(move |(_, row)| (row.lock == USUAL) == usual);
    let (place, row) = *of(true).chain(of(false)).find(|(_, row)| row.bare_pair_ns.is_some())?;
    let figure = pairs.of_row(row)?;
    let words = format!(
        "Locking and unlocking an uncontended {} lock takes {}, {}",
        row.lock,
        Unit::Ns.estimate(figure),
        pairs.basis()
    );
    let source = Origin::of("latency", place, cell(row), pairs.field());
    Some(Finding::new("free_lock", words, Unit::Ns, figure, source))
}

/// The lock that costs most when it is free, if it is shown to cost more than the usual one.
fn slowest(alone: &[Placed<'_>], pairs: FreePairs) -> Option<Finding> {
    let (_, usual) = alone.iter().find(|(_, row)| row.lock == USUAL)?;
    let timed = alone.iter().filter_map(|(place, row)| Some((*place, *row, pairs.of_row(row)?)));
    let (place, row, figure) = timed.max_by(|one, other| one.2.value.total_cmp(&other.2.value))?;
    let ends = pairs.times_longer(usual, row)?;
    let words = format!(
        "An uncontended {} lock takes {} per lock/unlock pair, {} the time of {USUAL} ({})",
        row.lock,
        Unit::Ns.estimate(figure),
        Unit::Times.words_with(figure.value / pairs.of_row(usual)?.value, Some(ends)),
        pairs.basis()
    );
    let source = Origin::of("latency", place, cell(row), pairs.field());
    Some(Finding::new("slowest_free_lock", words, Unit::Ns, figure, source))
}

fn handed_over((place, row): Placed<'_>) -> Option<Finding> {
    let spike = waited(row)?;
    let number = row.spikes.iter().position(|other| other.label == spike.label)?;
    let figure = row.estimate(spike.median_ns, spike.median_ci_ns)?;
    let words = format!(
        "Acquiring a {} lock that another thread on the same CPU holds for {} takes {}; main cause: {}",
        row.lock,
        Unit::Ns.words(row.hold_us * 1e3),
        Unit::Ns.estimate(figure),
        spike.cause
    );
    let source = Origin::of(
        "latency",
        place,
        format!("{}, spike {}", cell(row), spike.label),
        &format!("spikes[{number}].median_ns"),
    );
    Some(Finding::new("lock_wait", words, Unit::Ns, figure, source))
}

fn with_competitor((place, row): Placed<'_>) -> Option<Finding> {
    let figure = row.estimate(row.p999_ns, row.p999_ci_ns)?;
    let words = format!(
        "With a competing thread on the same CPU, the p99.9 of a lock–hold–unlock cycle of {} (hold time {}) is {}",
        row.lock,
        Unit::Ns.words(row.hold_us * 1e3),
        Unit::Ns.estimate(figure)
    );
    let source = Origin::of("latency", place, cell(row), "p999_ns");
    Some(Finding::new("competitor_p999", words, Unit::Ns, figure, source).repeated())
}

#[cfg(test)]
mod tests {
    use super::super::sample::row;
    use super::*;
    use instruments::statistics::Interval;

    #[test]
    fn a_free_lock_is_the_usual_one_and_the_slowest_stands_beside() {
        let (sysv, std) = (row("sysv", 1, 0), row("std", 1, 0));
        let sysv = Row { bare_pair_ns: Some(600.0), bare_pair_ci_ns: Some(Interval::new(597.0, 603.0)), ..sysv };
        let found = findings(&[(3, &sysv), (7, &std)]);
        assert_eq!(
            found[0].words,
            "Locking and unlocking an uncontended std lock takes 18.0 ns (95 % CI 17.0–19.0 ns), all windows"
        );
        assert_eq!((found[0].value, found[0].source.row, found[0].source.field.as_str()), (18.0, 7, "bare_pair_ns"));
        assert!(
            found[1].words.starts_with(
                "An uncontended sysv lock takes 600 ns (95 % CI 597–603 ns) per lock/unlock pair, 33.3× ("
            ),
            "{found:?}"
        );
        assert_eq!(found[1].source.row, 3);
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn a_lock_that_is_not_shown_to_cost_more_is_not_called_slower() {
        let (std, near) = (row("std", 1, 0), Row { bare_pair_ns: Some(18.5), ..row("usema", 1, 0) });
        let without = Row { bare_pair_ns: Some(600.0), bare_pair_ci_ns: None, ..row("sysv", 1, 0) };
        assert_eq!(findings(&[(0, &std), (1, &near)]).len(), 1);
        assert_eq!(findings(&[(0, &std), (1, &without)]).len(), 1, "no interval");
    }

    #[test]
    fn a_wait_names_its_hold_its_cause_and_its_spike() {
        let row = row("std", 2, 0);
        let found = findings(&[(0, &row)]);
        assert_eq!(
            found[0].to_string(),
            "Acquiring a std lock that another thread on the same CPU holds for 6.10 µs takes 11.0 µs \
             (95 % CI 10.0–12.0 µs); main cause: waited for the holder [latency: std, 2 threads, spike B]"
        );
    }

    #[test]
    fn a_neighbour_shows_in_the_last_of_a_thousand_rounds() {
        let row = Row { operation: Operation::RoundTrip, p999_ns: Some(4e6), p999_ci_ns: None, ..row("std", 1, 1) };
        let found = findings(&[(0, &row)]);
        assert!(found[0].words.contains("(hold time 6.10 µs) is 4.00 ms"), "{}", found[0].words);
        assert_eq!(found[0].source.cell, "std, 1 thread, 1 competitor");
    }

    #[test]
    fn what_was_not_measured_is_not_found() {
        let untimed = Row { bare_pair_ns: None, ..row("std", 1, 0) };
        assert_eq!(findings(&[(0, &untimed)]), []);
        let unseen = Row { spikes: Vec::new(), ..row("std", 2, 0) };
        assert_eq!(findings(&[(0, &unseen)]), []);
    }
}
