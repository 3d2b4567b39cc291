//! Jean-Baptiste Queru, "The Scheduler Is Your Friend", Be Newsletter 4-45, 1999: the interruptions, on a bare system.

use super::longest_gap::{beside_1999, long_gaps_in_1999s_readings};
use super::record::Row;
use record::{ThenAndNow, Unit};

pub fn figures(rows: &[(usize, &Row)]) -> Vec<ThenAndNow> {
    rows.iter().flat_map(|(_, row)| of(row)).collect()
}

/// The count is for 1999's number of readings; the longest gap is given where a turn has about as many.
fn of(row: &Row) -> Vec<ThenAndNow> {
    let Some(then) = row.then else { return Vec::new() };
    let scenario = match row.scenario.as_str() {
        "competitor and rescheduler" => "both",
        other => other,
    };
    let figure =
        |name: &str, unit, then, today| ThenAndNow::new(1999, &format!("{scenario}: {name}"), unit, then, Some(today));
    let count = long_gaps_in_1999s_readings(row)
        .map(|over| figure("gaps over 256 µs", Unit::Number, then.bare_over_256us as f64, over.into()));
    let longest = beside_1999(row).map(|longest| figure("longest gap", Unit::Ns, then.bare_longest_us * 1e3, longest));
    count.into_iter().chain(longest).collect()
}

#[cfg(test)]
mod tests {
    use super::super::sample::{contested, row};
    use super::*;

    fn names(row: &Row) -> Vec<String> {
        of(row).into_iter().map(|figure| figure.figure).collect()
    }

    #[test]
    fn longest_gap_is_given_for_as_many_readings_as_in_1999() {
        let mut row = row("quiet");
        assert_eq!(names(&row), ["quiet: gaps over 256 µs"]);
        row.turns[0].samples = 256_000_000;
        assert_eq!(names(&row), ["quiet: gaps over 256 µs", "quiet: longest gap"]);
    }

    #[test]
    fn turns_too_short_for_the_competitor_are_not_compared() {
        let short = Row { competitor_slice_every_s: Some(3.99), ..contested("competitor", 93.5) };
        assert!(names(&short).is_empty());
    }
}
