//! Moments of `CLOCK_MONOTONIC`, as C writes them.

use libc::timespec;
use std::time::Duration;

/// How long it is until then: nothing, if that is past; `None` if it is no time.
pub(crate) fn remaining(deadline: &timespec) -> Option<Duration> {
    if !(0..1_000_000_000).contains(&deadline.tv_nsec) {
        return None;
    }
    let mut now = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock is one that Linux has, and writes the time there.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    Some(since_start(deadline).saturating_sub(since_start(&now)))
}

fn since_start(time: &timespec) -> Duration {
    // Before the clock's start is past, as all else that is.
    u64::try_from(time.tv_sec).map_or(Duration::ZERO, |seconds| Duration::new(seconds, time.tv_nsec as u32))
}
