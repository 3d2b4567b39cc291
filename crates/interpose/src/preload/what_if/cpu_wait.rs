//! Waits for a CPU: time in which a thread could have run and did not, because others had the CPUs.

use crate::layout::{ThreadLag, WhatIf};
use crate::preload::clock::now;
use crate::preload::external;
use core::sync::atomic::Ordering::Relaxed;

/// The shortest time between two readings: each takes some us.
const SELDOM_NS: u64 = 200_000;
/// The shortest wait that counts: a wake-up takes less, which it would take in a faster program as well.
const LEAST_WAIT_NS: u64 = 100_000;

/// Returns the ticks that the calling thread, whose lag this is, has waited for a CPU since the last call.
pub fn waited_for_cpu(what_if: &WhatIf, own: &ThreadLag) -> u64 {
    let now = now();
    let since = own.looked_at.load(Relaxed);
    if since != 0 && what_if.ns(now.saturating_sub(since)) < SELDOM_NS {
        return 0;
    }
    own.looked_at.store(now, Relaxed);
    let Some(all) = cpu_waits_ns() else { return 0 };
    let waited = all.saturating_sub(own.cpu_waits_ns.swap(all, Relaxed));
    if since == 0 || waited < LEAST_WAIT_NS { 0 } else { what_if.ticks(waited) }
}

/// Returns the time that the calling thread has waited for a CPU according to the kernel.
fn cpu_waits_ns() -> Option<u64> {
    let mut text = [0_u8; 64];
    let length = external::read_file(c"/proc/thread-self/schedstat", &mut text);
    let text = text.get(..usize::try_from(length).ok()?)?;
    let word = text.split(|byte| *byte == b' ').nth(1)?;
    word.iter().try_fold(0_u64, |number, byte| Some(number * 10 + u64::from(byte.checked_sub(b'0')?)))
}
