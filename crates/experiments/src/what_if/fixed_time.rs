//! Programs whose run time their own clock fixes: a server that ends after a second, a benchmark with `--seconds 10`.
//!
//! Their wall time cannot become shorter, but the lags of their threads look as if it did. So the program runs twice as
//! it is, and is stopped for a part of that time. The time of a program that has work to do, or sleeps again and again,
//! is longer by the stop; the time of one that waits until its clock says so is the same.

use harness::{Interruption, UsageError};
use launch::{Failed, Pause, Plan, Took};
use std::time::Duration;

/// When the program is stopped, and for how long, as parts of its time: two times, since its time may differ by chance.
const STOPS: [(f64, f64); 2] = [(0.25, 0.5), (0.5, 0.4)];
/// The part of the stop by which the time may be longer, or shorter.
const SAME: f64 = 0.25;

/// Whether the program takes as long though it is stopped. Where a stopped run does not end well, that is not known.
///
/// # Errors
/// The program cannot be started; a signal asks to end.
pub fn is_fixed(plan: &Plan, plain_s: f64, interruption: &Interruption) -> anyhow::Result<bool> {
    for (after, length) in STOPS {
        let [after, stopped] = [after, length].map(|share| Duration::from_secs_f64(share * plain_s));
        let is_same = match plan.run_stopped(Pause { after, length: stopped }, interruption)? {
            Ok(Took { wall_s, .. }) => is_as_long(plain_s, wall_s, stopped.as_secs_f64()),
            Err(Failed { .. }) => false,
        };
        if !is_same {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_as_long(plain_s: f64, wall_s: f64, stopped_s: f64) -> bool {
    (wall_s - plain_s).abs() < SAME * stopped_s
}

/// The error if nothing can be predicted of such a program: a rate can, its wall time and other times in it cannot.
pub fn refused(plan: &Plan, plain_s: f64) -> Option<UsageError> {
    let plain = terminal::nanoseconds(plain_s * 1e9);
    let why = format!(
        "the program takes {plain} even when it is stopped for half of that time, so its own clock sets its run time"
    );
    let rate =
        "measure a rate with --metric 'NAME=REGEX' --higher-is-better, or give the program a fixed amount of work";
    if plan.metrics.is_empty() {
        return Some(UsageError(format!("--what-if: {why}; shorter critical sections cannot change that; {rate}")));
    }
    let time = plan.metrics.iter().find(|metric| !metric.higher_is_better)?;
    let name = &time.pattern.name;
    Some(UsageError(format!("--metric {name}: {why}; a time within it cannot be predicted; {rate}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_makes_the_run_longer_unless_its_clock_fixes_it() {
        // Server and benchmark; work; sleeps of which one goes on while the program is stopped; a first run that was
        // slow.
        for (plain_s, wall_s, is_fixed) in
            [(1.058, 1.061, true), (1.0, 1.5, false), (1.0, 1.42, false), (1.3, 1.65, false), (1.0, 0.7, false)]
        {
            assert_eq!(is_as_long(plain_s, wall_s, plain_s / 2.0), is_fixed, "{plain_s} {wall_s}");
        }
    }
}
