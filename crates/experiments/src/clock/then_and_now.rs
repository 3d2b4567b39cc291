//! Rico Tudor, "Where Does the Time Go?", Be Newsletter, October 1998: the clock and the grind.

use super::super::record::{Figure, Unit};
use super::ThenAndNow;
use crate::experiments::clock::{self, Row};

pub fn figures(rows: &[Row]) -> Vec<ThenAndNow> {
    if rows.is_empty() {
        return Vec::new();
    }
    let today = clock::figures(rows);
    let figure =
        |name: &str, unit, then, today: Option<f64>| ThenAndNow::new(1998, name, unit, then, today.map(Figure::from));
    vec![
        figure("a clock read", Unit::Ns, 280.0, today.read_cost_ns),
        figure("speed before the first tick", Unit::Mhz, 199.5, today.undisturbed_mhz),
        figure("a load from the L1 cache", Unit::Cycles, 3.0, today.load_cycles),
        figure("period of the tick", Unit::Ns, 1e6, today.tick_ns),
        figure("lost to the tick", Unit::Share, 1.5 / 199.5, today.tick_lost_share),
    ]
}
