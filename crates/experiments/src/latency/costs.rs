//! Locks among the costs: free, held by another thread, and beside a busy neighbour.

use super::flags::Placement;
use super::ranking::FreePairs;
use super::record::{Operation, Row};
use super::then_and_now::waited;
use record::Cost;
use terminal::nanoseconds;

/// The lock whose round a busy neighbour is said to lengthen: the one that most programs have.
const USUAL: &str = "std";

pub fn costs(rows: &[Row]) -> Vec<Cost> {
    let firsts = || rows.iter().filter(|row| row.thread == 0);
    let locking = || firsts().filter(|row| row.operation == Operation::Lock && row.competitors == 0);
    let pairs = FreePairs::of(rows);
    let free = locking().filter(|row| row.threads == 1).filter_map(|row| free(row, pairs));
    let held = locking().filter(|row| row.threads == 2).filter_map(held);
    let company = |row: &&Row| (row.threads, row.competitors, row.operation) == (1, 1, Operation::RoundTrip);
    let beside = firsts().filter(company).find(|row| row.lock == USUAL).and_then(beside);
    free.chain(held).chain(beside).collect()
}

/// A lock and an unlock.
fn free(row: &Row, pairs: FreePairs) -> Option<Cost> {
    let cost = Cost::new(
        format!("an uncontended {} lock", row.lock),
        format!("{}, 1 thread: lock and unlock in a bare loop ({})", row.lock, pairs.basis()),
        pairs.of_row(row)?,
    );
    let of_1998 = match row.lock.as_str() {
        "sysv" => Some(7_000.0),
        "benaphore" => Some(600.0),
        _ => None,
    };
    Some(cost.of_lock(&row.lock).beside(1998, of_1998).beside(2002, loop_2002(&row.lock)))
}

/// 2002's table of ulockflex has the loops a second of one child that does no work: with a lock, less those without
/// one.
fn loop_2002(lock: &str) -> Option<f64> {
    const WITHOUT_PER_S: f64 = 1_398_321.0;
    let with_per_s = match lock {
        "sysv" => 309_423.0,
        "usema" => 1_157_684.0,
        "usema-spin" => 1_136_147.0,
        "calock" => 1_115_431.0,
        "calock-spin" => 1_150_368.0,
        _ => return None,
    };
    Some(1e9 / with_per_s - 1e9 / WITHOUT_PER_S)
}

/// From wanting it to having it, when the other thread has it.
fn held(row: &Row) -> Option<Cost> {
    let spike = waited(row)?;
    let is_here = row.placement == Placement::OneCpu.to_string();
    let place = if is_here { "this CPU" } else { "another CPU" };
    let figure = format!(
        "{}, 2 threads, {}, hold time {}: median wait, spike {}",
        row.lock,
        row.placement,
        nanoseconds(row.hold_us * 1e3),
        spike.label
    );
    let estimate = row.estimate(spike.median_ns, spike.median_ci_ns)?;
    let of_1998 = match row.lock.as_str() {
        "sysv" => Some(24_138.0),
        "benaphore" => Some(24_700.0),
        _ => None,
    };
    let cost = Cost::new(format!("a contended {} lock, {place}", row.lock), figure, estimate);
    Some(cost.of_lock(&row.lock).beside(1998, of_1998.filter(|_| is_here)))
}

/// The round of a thread that shares its CPU with one that never sleeps.
fn beside(row: &Row) -> Option<Cost> {
    let figure = format!(
        "{}, 1 thread, 1 competitor, hold time {}: p99.9 of a lock–hold–unlock cycle",
        row.lock,
        nanoseconds(row.hold_us * 1e3)
    );
    let estimate = row.estimate(row.p999_ns, row.p999_ci_ns)?;
    Some(Cost::new("p99.9 of a lock, competitor", figure, estimate).of_lock(&row.lock))
}

#[cfg(test)]
mod tests {
    use super::super::sample::row;
    use super::*;

    fn words(costs: &[Cost]) -> Vec<&str> {
        costs.iter().map(|cost| cost.what.as_str()).collect()
    }

    #[test]
    fn a_lock_is_free_or_held_here_or_elsewhere() {
        let spread = Row { placement: "spread".into(), ..row("std", 2, 0) };
        let found = costs(&[row("std", 1, 0), row("sysv", 2, 0), spread]);
        assert_eq!(
            words(&found),
            ["an uncontended std lock", "a contended sysv lock, this CPU", "a contended std lock, another CPU"]
        );
        assert_eq!((found[0].ns, found[1].ns), (18.0, 11e3));
        assert_eq!(found[1].then.iter().map(|then| then.year).collect::<Vec<u16>>(), [1998]);
        assert!(found[2].then.is_empty() && found[2].figure.contains("spread, hold time 6.10 µs"), "{found:?}");
    }

    #[test]
    fn the_old_tables_stand_beside_their_locks() {
        let found = costs(&[row("sysv", 1, 0), row("usema", 1, 0), row("std", 1, 0)]);
        let years: Vec<Vec<u16>> = found.iter().map(|cost| cost.then.iter().map(|then| then.year).collect()).collect();
        assert_eq!(years, [vec![1998, 2002], vec![2002], vec![]]);
        assert!((found[0].then[1].ns - 2_516.7).abs() < 0.1, "{:?}", found[0]);
    }

    #[test]
    fn what_was_not_measured_costs_nothing() {
        let untimed = Row { bare_pair_ns: None, ..row("std", 1, 0) };
        let unseen = Row { spikes: Vec::new(), ..row("std", 2, 0) };
        assert_eq!(costs(&[untimed, unseen, row("std", 1, 1)]), []);
    }
}
