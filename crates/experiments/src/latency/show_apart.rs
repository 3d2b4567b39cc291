//! How far locking and unlocking one by one are from the pair in a loop, where that is considerable.

use super::record::{Operation, Row};
use terminal::nanoseconds;

/// Both have to be exceeded.
const FAR_SHARE: f64 = 0.15;
const FAR_NS: f64 = 0.7;

const TITLE: &str = "\
Locking and unlocking far from the pair: between timestamps nothing overlaps.
In a loop the next pair begins meanwhile, but an atomic waits for a store.
";

/// A line for each lone thread's cell that has both far apart; nothing if there is none.
pub fn show(cells: &[Vec<&Row>]) -> String {
    let lines: String = cells.iter().filter_map(|cell| line(cell)).collect();
    if lines.is_empty() { lines } else { format!("{TITLE}{lines}") }
}

fn line(cell: &[&Row]) -> Option<String> {
    let of = |operation| cell.iter().find(|row| row.operation == operation && row.threads == 1 && row.competitors == 0);
    let (lock, unlock) = (of(Operation::Lock)?, of(Operation::Unlock)?);
    let apart = lock.undisturbed_mean()?.value + unlock.undisturbed_mean()?.value;
    let pair = lock.bare_pair()?.value;
    let excess = apart - pair;
    let is_far = excess.abs() > FAR_NS && excess.abs() > FAR_SHARE * pair;
    let [apart, together] = [apart, pair].map(nanoseconds);
    let line = format!("  {}: {apart} apart, {together} as a pair ({:+.0} %)\n", lock.lock, 100.0 * excess / pair);
    is_far.then_some(line)
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

    fn shown(cell: &[Row]) -> String {
        show(&[cell.iter().collect()])
    }

    #[test]
    fn what_is_far_from_its_pair_is_said_to_either_side_and_the_rest_is_not() {
        let said = shown(&cell(12.0, 12.0, 1));
        assert!(
            said.starts_with(TITLE) && said.ends_with("  std: 24.0 ns apart, 18.0 ns as a pair (+33 %)\n"),
            "{said}"
        );
        assert!(shown(&cell(7.0, 7.0, 1)).contains("14.0 ns apart, 18.0 ns as a pair (-22 %)"));
        assert_eq!(shown(&cell(10.0, 10.0, 1)), "", "11 % above");
        assert_eq!(shown(&cell(12.0, 12.0, 2)), "", "they wait for each other");
    }
}
