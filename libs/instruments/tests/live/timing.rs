//! Timing of a caller's own function.

use instruments::clock::Clock;
use instruments::timing;
use std::hint::black_box;
use std::time::Duration;

fn clock() -> Clock {
    Clock::calibrate(Duration::from_millis(20)).clock
}

/// Runs a number of steps that depend on each other.
fn chain(steps: u64) -> u64 {
    (0..steps).fold(black_box(1_u64), |value, step| black_box(value.wrapping_mul(6_364_136_223_846_793_005) ^ step))
}

#[test]
fn ten_times_the_work_lasts_several_times_as_long() {
    let mut short = || {
        black_box(chain(200));
    };
    let mut long = || {
        black_box(chain(2_000));
    };
    let found = timing::of_each(clock(), Duration::from_millis(300), &mut [&mut short, &mut long]);
    for one in &found {
        let ends = one.ns.interval.expect("there are slices enough");
        assert!(ends.low <= one.ns.value && one.ns.value <= ends.high && one.slices == 25, "{one:?}");
    }
    let ratio = found[1].ns.value / found[0].ns.value;
    assert!((4.0..25.0).contains(&ratio), "{ratio} of {found:?}");
}

#[test]
fn empty_call_has_nearly_no_duration() {
    let found = timing::of(clock(), Duration::from_millis(100), || {});
    // The loop around the call is subtracted: the rest is far less than that loop.
    assert!(found.ns.value.abs() < 0.5 * found.empty_ns, "{found:?}");
}

#[test]
fn long_call_is_a_separate_batch() {
    let found = timing::of(clock(), Duration::from_millis(20), || std::thread::sleep(Duration::from_micros(200)));
    assert!(found.batch == 1 && found.ns.value >= 200e3, "{found:?}");
}
