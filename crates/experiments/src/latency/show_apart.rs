//! How far locking and unlocking one by one are from the pair in a loop, where that is considerable.

use super::ranking::FreePairs;
use super::record::{Operation, Row};
use terminal::nanoseconds;

/// Both have to be exceeded.
const FAR_SHARE: f64 = 0.15;
const FAR_NS: f64 = 0.7;

/// So many are named.
const MOST: usize = 3;

const TITLE: &str = "Timed separately, lock and unlock differ from a pair in a loop (see method):\n";

/// A line for the farthest of each lone thread's cells that has both far apart; nothing if there is none.
pub fn show(cells: &[Vec<&Row>]) -> String {
    let pairs = FreePairs::of(cells.iter().flatten().copied());
    let mut far: Vec<(f64, String)> = cells.iter().filter_map(|cell| line(cell, pairs)).collect();
    far.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let more = far.len().saturating_sub(MOST);
    let lines: String = far.into_iter().take(MOST).map(|(_, line)| line).collect();
    match (lines.is_empty(), more) {
        (true, _) => lines,
        (_, 0) => format!("{TITLE}{lines}"),
        _ => format!("{TITLE}{lines}  and {more} more\n"),
    }
}

/// How far they are apart, as a share, and what is said of it.
fn line(cell: &[&Row], pairs: FreePairs) -> Option<(f64, String)> {
    let of = |operation| cell.iter().find(|row| row.operation == operation && row.threads == 1 && row.competitors == 0);
    let (lock, unlock) = (of(Operation::Lock)?, of(Operation::Unlock)?);
    // Like with like: all with an exclusive core, or none.
    if [lock, unlock].iter().any(|row| row.neighbour.undisturbed_mean_ns_alone.is_some() != pairs.is_exclusive()) {
        return None;
    }
    let apart = lock.undisturbed_mean()?.value + unlock.undisturbed_mean()?.value;
    let pair = pairs.of_row(lock)?.value;
    let fenced =
        lock.fenced_pair().map_or_else(String::new, |fenced| format!("{} fenced, ", nanoseconds(fenced.value)));
    let (excess, share) = (apart - pair, (apart - pair) / pair);
    let is_far = excess.abs() > FAR_NS && share.abs() > FAR_SHARE;
    let [apart, together] = [apart, pair].map(nanoseconds);
    let line = format!("  {}: {apart} separately, {fenced}{together} as a pair ({:+.0} %)\n", lock.lock, 100.0 * share);
    is_far.then_some((share.abs(), line))
}

#[cfg(test)]
mod tests {
    use super::super::sample::row;
    use super::*;

    /// A cell of a lock and an unlock that take so long one by one; the pair takes 18 ns.
    fn cell(lock_ns: f64, unlock_ns: f64, threads: usize) -> Vec<Row> {
        let of = |operation, ns| Row {
            operation,
            undisturbed_mean_ns: Some(ns),
            accuracy_ns: Some(0.1),
            ..row("std", threads, 0)
        };
        vec![of(Operation::Lock, lock_ns), of(Operation::Unlock, unlock_ns)]
    }

    #[test]
    fn what_fences_alone_make_of_the_pair_stands_beside() {
        let [mut lock, unlock] = <[Row; 2]>::try_from(cell(12.0, 12.0, 1)).unwrap();
        lock.fenced_pair_ns = Some(23.5);
        let said = shown(&[lock, unlock]);
        assert!(said.ends_with("  std: 24.0 ns separately, 23.5 ns fenced, 18.0 ns as a pair (+33 %)\n"), "{said}");
    }

    fn shown(cell: &[Row]) -> String {
        show(&[cell.iter().collect()])
    }

    #[test]
    fn what_is_far_from_its_pair_is_said_to_either_side_and_the_rest_is_not() {
        let said = shown(&cell(12.0, 12.0, 1));
        assert!(
            said.starts_with(TITLE) && said.ends_with("  std: 24.0 ns separately, 18.0 ns as a pair (+33 %)\n"),
            "{said}"
        );
        assert!(shown(&cell(7.0, 7.0, 1)).contains("14.0 ns separately, 18.0 ns as a pair (-22 %)"));
        assert_eq!(shown(&cell(10.0, 10.0, 1)), "", "11 % above");
        assert_eq!(shown(&cell(12.0, 12.0, 2)), "", "they wait for each other");
    }

    #[test]
    fn the_farthest_are_named_and_the_others_counted() {
        let cells: Vec<Vec<Row>> = [12.0, 15.0, 13.0, 2.0, 14.0].map(|ns| cell(ns, ns, 1)).to_vec();
        let said = show(&cells.iter().map(|cell| cell.iter().collect()).collect::<Vec<_>>());
        let named: Vec<&str> = said.lines().skip(1).take(MOST).filter_map(|line| line.split(' ').nth(3)).collect();
        assert_eq!(named, ["4.00", "30.0", "28.0"], "{said}");
        assert!(said.ends_with("\n  and 2 more\n"), "{said}");
    }
}
