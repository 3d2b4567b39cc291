//! Eight hours in the accounts: runs as children would bring them, without the waiting.

use super::cell::{Cell, Outcome};
use crate::night::{passes_alone, resident_kib};
use crate::throughput::conditions::Variations;
use crate::throughput::plan::{CellPlan, TIMED_EVERY};
use crossbeam_utils::CachePadded;
use instruments::clock::Clock;
use instruments::shared_memory::SharedArray;
use loops::throughput::ChildCounters;
use std::time::Duration;

const HOUR: u64 = 3_600;
const RUNS: u64 = 8 * HOUR;
const CHILDREN: usize = 4;

/// Returns a second of four children that are never as fast as before, and of waits that do not repeat.
fn outcome(run: u64, clock: Clock) -> Outcome {
    let mut children = SharedArray::from_fn(CHILDREN, |_| Ok(CachePadded::<ChildCounters>::default())).unwrap();
    for (place, child) in children.iter_mut().enumerate() {
        let serial = run * CHILDREN as u64 + place as u64;
        child.rounds = 1_000 + serial.wrapping_mul(2_654_435_761) % 100_000;
        child.all_rounds = child.rounds;
        child.wall_ticks = clock.ticks_in(Duration::from_secs(1));
        (0..20).for_each(|number| child.waits.add((serial * 20 + number).wrapping_mul(2_654_435_761) % 10_000_000));
        child.longest_streak = serial % 100;
    }
    Outcome { children, counted_ns: 1e9, counts: None, stop: None }
}

#[test]
#[ignore = "the test below runs it, alone in a process"]
fn eight_hours() {
    let clock = Clock::calibrate(Duration::from_millis(5)).clock;
    let lock = "std".to_owned();
    let mut cell = Cell::new(CellPlan {
        processes: false,
        lock,
        children: CHILDREN,
        locks: 1,
        nonhold_ns: 0.0,
        hold_ns: 0.0,
        share: 0,
        variations: Variations::default(),
    });
    let mut after = Vec::new();
    for run in 0..RUNS {
        let outcome = outcome(run, clock);
        cell.add(&outcome, clock);
        if run.is_multiple_of(TIMED_EVERY) {
            cell.add_waits(&outcome);
        }
        if (run + 1).is_multiple_of(HOUR) {
            after.push(resident_kib());
        }
    }
    assert_eq!(cell.throughputs.count(), RUNS);
    assert_eq!(cell.waits.count(), RUNS.div_ceil(TIMED_EVERY) * CHILDREN as u64 * 20);
    // Sixteen bytes a run would be half a MiB.
    assert!(after[7] < after[3] + 128, "{after:?}");
}

#[test]
fn eight_hours_take_no_more_memory_than_four() {
    passes_alone("throughput::measure::night::eight_hours");
}
