//! Times of `CLOCK_MONOTONIC` in the format of C.

use libc::timespec;
use std::time::Duration;

/// Returns the time left until the deadline: zero if it has passed, `None` if it is not a valid time.
pub(crate) fn remaining(deadline: &timespec) -> Option<Duration> {
    if !(0..1_000_000_000).contains(&deadline.tv_nsec) {
        return None;
    }
    let mut now = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: Linux has this clock, and the call writes the time to `now`, which outlives it.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    Some(since_start(deadline).saturating_sub(since_start(&now)))
}

fn since_start(time: &timespec) -> Duration {
    // A time before the start of the clock is in the past, as any other time that has passed.
    u64::try_from(time.tv_sec).map_or(Duration::ZERO, |seconds| Duration::new(seconds, time.tv_nsec as u32))
}
