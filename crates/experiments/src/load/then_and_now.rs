//! Rico Tudor, "Where Does the Time Go?", Be Newsletter, October 1998: the CPU meter.

use super::record::Row;
use super::then::TAKING_TURNS_SHARE;
use instruments::statistics::comparison::Estimate;
use record::{ThenAndNow, Unit};

pub fn figures(rows: &[(usize, &Row)]) -> Vec<ThenAndNow> {
    let Some(total) = rows.iter().find_map(|(_, row)| row.total()) else { return Vec::new() };
    let today = total.efficiency_share.map(|value| Estimate::new(value, total.efficiency_ci));
    vec![ThenAndNow::new(1998, "work done by two spinners on one CPU", Unit::Share, TAKING_TURNS_SHARE, today)]
}
