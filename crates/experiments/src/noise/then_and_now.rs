//! Jean-Baptiste Queru, "The Scheduler Is Your Friend", Be Newsletter 4-45, 1999: the interruptions, on a bare system.

use super::plan::SAMPLES_1999;
use super::record::Row;
use instruments::statistics::comparison::Estimate;
use record::{ThenAndNow, Unit};

pub fn figures(rows: &[(usize, &Row)]) -> Vec<ThenAndNow> {
    rows.iter().flat_map(|(_, row)| of(row)).collect()
}

/// The count is for 1999's number of readings; the longest is the median of the turns, however many readings these
/// have.
fn of(row: &Row) -> Vec<ThenAndNow> {
    let Some(then) = row.then else { return Vec::new() };
    let scenario = match row.scenario.as_str() {
        "competitor and rescheduler" => "both",
        other => other,
    };
    let over = row.over_256us as f64 * SAMPLES_1999 as f64 / row.samples as f64;
    let longest = Estimate::new(row.longest_p50_us * 1e3, row.longest_ci_us.map(|ends| ends.scaled(1e3)));
    let figure =
        |what: &str, unit, then, today| ThenAndNow::new(1999, &format!("{scenario}: {what}"), unit, then, Some(today));
    vec![
        figure("gaps over 256 µs", Unit::Number, then.bare_over_256us as f64, over.into()),
        figure("longest gap", Unit::Ns, then.bare_longest_us * 1e3, longest),
    ]
}
