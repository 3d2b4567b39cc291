//! Statements about the rows, their line of the ladder, the values that are compared with other records, and those of
//! 1998.

use super::record::{Row, clocks, grinds, periodic_losses, slices};
use instruments::statistics::comparison::Estimate;
use record::{Aspect, Better, Cell, Cost, Finding, Metric, Origin, ThenAndNow, Unit, VariationSource};
use terminal::nanoseconds;

/// Returns the cost of a clock read.
pub fn findings(rows: &[(usize, &Row)]) -> Vec<Finding> {
    rows.iter().filter_map(|(place, row)| read(*place, row)).collect()
}

fn read(place: usize, row: &Row) -> Option<Finding> {
    let Row::Clock(clock) = row else { return None };
    let cost = Unit::Ns.words(clock.read_cost_ns);
    let words = format!("Reading the clock takes {cost}; it advances {}", clock.step_words());
    let source = Origin::of("clock", place, format!("CPU {}", clock.cpu), "read_cost_ns");
    Some(Finding::new("clock_read", words, Unit::Ns, clock.read_cost_ns.into(), source))
}

/// The cost in 1998: "Where Does the Time Go?", a call of `system_time()`.
const READ_1998_NS: f64 = 280.0;

/// Returns the line of the ladder.
pub fn costs(rows: &[Row]) -> Vec<Cost> {
    let read = |ns| Cost::new("reading the clock", "a read, mean of 1,000 in a row", Estimate::from(ns));
    let cost = |ns| read(ns).compared_as(Aspect::Calls, VariationSource::Operation);
    clocks(rows)
        .first()
        .map(|clock| cost(clock.read_cost_ns).with_old_value(1998, Some(READ_1998_NS)))
        .into_iter()
        .collect()
}

/// Half of the shortest tick period.
const UNDISTURBED_US: f64 = 500.0;

/// Returns the cost of a clock read, the time lost to interruptions, and the speed of work of one length.
pub fn metrics(row: &Row) -> Vec<Metric> {
    match row {
        Row::Clock(clock) => {
            let alone = clock.read_cost_ns_alone.map(|ns| Estimate::new(ns, clock.read_cost_ns_alone_ci));
            let read = Metric::time(&Cell::of(["clock".to_owned()]), "a read", clock.read_cost_ns, None);
            vec![Metric { alone, ..read }]
        }
        Row::Losses(losses) => vec![Metric {
            unit: Unit::Share,
            variation: VariationSource::Others,
            ..Metric::time(&Cell::of([format!("CPU {}", losses.cpu)]), "lost", losses.lost_share, None)
        }],
        Row::Slice(slice) => {
            let cell = Cell::of([format!("work of {}", nanoseconds(slice.slice_us * 1e3))]);
            // Between ticks the median run has the CPU to itself.
            let variation =
                if slice.slice_us < UNDISTURBED_US { VariationSource::Work } else { VariationSource::Elapsed };
            vec![Metric {
                variation,
                alone: slice.median_mhz_alone.map(|mhz| Estimate::new(mhz, slice.median_mhz_alone_ci)),
                unit: Unit::Mhz,
                better: Better::More,
                ..Metric::time(&cell, "effective MHz", slice.median_mhz, slice.median_ci_mhz)
            }]
        }
        _ => Vec::new(),
    }
}

/// Compares with the clock and the grind of Rico Tudor, "Where Does the Time Go?", Be Newsletter, October 1998.
pub fn then_and_now(rows: &[(usize, &Row)]) -> Vec<ThenAndNow> {
    if rows.is_empty() {
        return Vec::new();
    }
    let rows: Vec<Row> = rows.iter().map(|(_, row)| (*row).clone()).collect();
    let tick = periodic_losses(&rows).into_iter().find(|found| found.is_kernel_tick);
    let tick_us = tick.map_or(1_000.0, |tick| tick.period_us);
    // The best window that is shorter than half a period of the tick.
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
