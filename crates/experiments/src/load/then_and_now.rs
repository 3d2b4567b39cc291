//! Rico Tudor, "Where Does the Time Go?", Be Newsletter, October 1998: the CPU meter.

use super::super::record::{Figure, Unit};
use super::ThenAndNow;
use crate::experiments::load::{Row, TAKING_TURNS_SHARE};

pub fn figures(rows: &[(usize, &Row)]) -> Vec<ThenAndNow> {
    let Some(total) = rows.iter().find_map(|(_, row)| row.total()) else { return Vec::new() };
    let today = total.efficiency_share.map(|value| Figure { value, interval: total.efficiency_ci });
    vec![ThenAndNow::new(1998, "work that two grinders get done", Unit::Share, TAKING_TURNS_SHARE, today)]
}
