//! Rico Tudor, "Where Does the Time Go?", Be Newsletter, October 1998: the clock and the grind.

use super::record::{Row, clocks, grinds, periodic_losses, slices};
use instruments::statistics::comparison::Estimate;
use record::{ThenAndNow, Unit};

pub fn figures(rows: &[(usize, &Row)]) -> Vec<ThenAndNow> {
    if rows.is_empty() {
        return Vec::new();
    }
    let rows: Vec<Row> = rows.iter().map(|(_, row)| (*row).clone()).collect();
    let tick = periodic_losses(&rows).into_iter().find(|found| found.is_kernel_tick);
    let tick_us = tick.map_or(1_000.0, |tick| tick.period_us);
    // The best slice that is shorter than half a period of the tick.
    let short = slices(&rows).into_iter().filter(|slice| slice.slice_us >= 100.0 && slice.slice_us < tick_us / 2.0);
    let undisturbed_mhz = short.map(|slice| slice.best_mhz).max_by(f64::total_cmp);
    let read_ns = clocks(&rows).first().map(|clock| clock.read_cost_ns);
    let load_cycles = grinds(&rows).first().and_then(|grind| grind.load_cycles);
    let lost_share = tick.map(|tick| tick.median_gap_us / tick.period_us * tick.presence_share);
    let figure =
        |name: &str, unit, then, today: Option<f64>| ThenAndNow::new(1998, name, unit, then, today.map(Estimate::from));
    vec![
        figure("a clock read", Unit::Ns, 280.0, read_ns),
        figure("speed before the first tick", Unit::Mhz, 199.5, undisturbed_mhz),
        figure("a load from the L1 cache", Unit::Cycles, 3.0, load_cycles),
        figure("period of the tick", Unit::Ns, 1e6, tick.map(|tick| tick.period_us * 1e3)),
        figure("lost to the tick", Unit::Share, 1.5 / 199.5, lost_share),
    ]
}
