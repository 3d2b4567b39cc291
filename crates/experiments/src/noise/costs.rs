//! The longest gaps among the costs.

use super::record::Row;
use instruments::statistics::comparison::Estimate;
use record::{Cost, distinct};
use terminal::nanoseconds;

/// The scenarios by their names in records, and in few words. A remedy is no cost.
const SCENARIOS: [(&str, &str); 4] = [
    ("quiet", "quiet"),
    ("competitor", "competitor"),
    ("competitor and rescheduler", "rescheduler too"),
    ("rescheduler", "rescheduler"),
];

pub fn costs(rows: &[Row]) -> Vec<Cost> {
    let several = distinct(rows, |row| row.cpu).len() > 1;
    rows.iter().filter_map(|row| cost(row, several)).collect()
}

/// The longest gap of a turn: the median of the turns.
fn cost(row: &Row, is_one_of_several: bool) -> Option<Cost> {
    let (_, words) = SCENARIOS.iter().find(|(scenario, _)| *scenario == row.scenario)?;
    let cpu = if is_one_of_several { format!(", CPU {}", row.cpu) } else { String::new() };
    let span = row.turns.first().map_or(0.0, |turn| turn.span_s);
    let figure = format!("{}, CPU {}: the longest gap in {}", row.scenario, row.cpu, nanoseconds(span * 1e9));
    let estimate = Estimate::new(row.longest_p50_us * 1e3, row.longest_ci_us.map(|ends| ends.scaled(1e3)));
    let then = row.then.map(|then| then.bare_longest_us * 1e3);
    Some(Cost::new(format!("the longest gap, {words}{cpu}"), figure, estimate).beside(1999, then))
}

#[cfg(test)]
mod tests {
    use super::super::sample::row;
    use super::*;

    #[test]
    fn scenarios_are_costs_and_remedies_are_none() {
        let found = costs(&[row("quiet"), row("competitor and rescheduler"), row("nice -20")]);
        let words: Vec<&str> = found.iter().map(|cost| cost.what.as_str()).collect();
        assert_eq!(words, ["the longest gap, quiet", "the longest gap, rescheduler too"]);
        assert_eq!((found[0].ns, found[0].ns_ci.unwrap().low, found[0].then[0].ns), (3e6, 2e6, 3.06e6));
        assert_eq!(found[0].figure, "quiet, CPU 1: the longest gap in 750 ms");
    }

    #[test]
    fn of_several_cpus_each_is_named() {
        let found = costs(&[row("quiet"), Row { cpu: 2, ..row("quiet") }]);
        assert!(found[1].what.ends_with("quiet, CPU 2"), "{found:?}");
    }
}
