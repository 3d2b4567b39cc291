//! The longest gaps among the costs.

use super::longest_gap::{self, LongestGap};
use super::record::Row;
use record::{Cost, distinct};
use terminal::nanoseconds;

pub fn costs(rows: &[Row]) -> Vec<Cost> {
    let is_one_of_several = distinct(rows, |row| row.cpu).len() > 1;
    longest_gap::comparable(rows).iter().filter_map(|gap| cost(gap, is_one_of_several)).collect()
}

/// The longest gap of a turn, with the turn's length; `None` for a remedy, which is not a cost.
fn cost(gap: &LongestGap<'_>, is_one_of_several: bool) -> Option<Cost> {
    let row = gap.row;
    let words = match (row.scenario.as_str(), gap.is_competitors) {
        ("quiet", _) => "quiet",
        ("competitor", true) => "by competitor",
        ("competitor", false) => "competitor",
        ("competitor and rescheduler", _) => "rescheduler too",
        ("rescheduler", _) => "rescheduler",
        _ => return None,
    };
    let cpu = if is_one_of_several { format!(", CPU {}", row.cpu) } else { String::new() };
    let span = nanoseconds(gap.span_s * 1e9);
    let taken = if gap.is_competitors { "the competitor's longest part of a gap" } else { "the longest gap" };
    let figure = format!("{}, CPU {}: {taken} in {span}, median of the repetitions", row.scenario, row.cpu);
    let then = row.then.filter(|_| !gap.is_competitors && longest_gap::beside_1999(row).is_some());
    let cost = Cost::new(format!("longest gap in {span}, {words}{cpu}"), figure, gap.estimate);
    Some(cost.beside(1999, then.map(|then| then.bare_longest_us * 1e3)))
}

#[cfg(test)]
mod tests {
    use super::super::sample::{contested, row};
    use super::*;

    #[test]
    fn scenarios_are_costs_and_remedies_are_not() {
        let found = costs(&[row("quiet"), contested("competitor and rescheduler", 161.0), row("nice -20")]);
        let words: Vec<&str> = found.iter().map(|cost| cost.what.as_str()).collect();
        assert_eq!(words, ["longest gap in 750 ms, quiet", "longest gap in 750 ms, rescheduler too"]);
        assert_eq!((found[0].ns, found[0].ns_ci.unwrap().low, found[1].ns), (3e6, 2e6, 161e3));
        assert!(found[1].figure.contains("CPU 1: the competitor's longest part of a gap in 750 ms"), "{found:?}");
    }

    #[test]
    fn longest_gap_of_1999_stands_beside_as_many_readings() {
        let mut like_1999 = row("quiet");
        assert_eq!(costs(&[like_1999.clone()])[0].then, []);
        like_1999.turns[0].samples = 300_000_000;
        assert_eq!(costs(&[like_1999])[0].then[0].ns, 3.06e6);
    }

    #[test]
    fn of_several_cpus_each_is_named() {
        let found = costs(&[row("quiet"), Row { cpu: 2, ..row("quiet") }]);
        assert!(found[1].what.ends_with("quiet, CPU 2"), "{found:?}");
    }
}
