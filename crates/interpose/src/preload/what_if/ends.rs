//! The beginnings and ends of threads, and the end of the program: the marks that others follow. And waits for a CPU:
//! time in which a thread could have run and did not, because others had the CPUs.

use crate::layout::{KIN, Kin, Lock, Region, Thread, ThreadLag, WhatIf};
use crate::preload::clock::now;
use crate::preload::external::{self, pthread_self};
use crate::preload::local::Local;
use crate::preload::thread_word;
use core::ffi::c_void;
use core::sync::atomic::Ordering::Relaxed;

/// Returns the place of a thread by this name, and its key.
pub fn place(region: &Region, process: u32, name: *mut c_void) -> (&Kin, u64) {
    let key = Lock::key_of(process, name as usize);
    (&region.kin[(key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % KIN], key)
}

/// Notes that the calling thread has a place now. If the thread that created it is not known, it owes nothing.
pub fn began(region: &Region, thread: &Thread) {
    // SAFETY: the call takes nothing.
    let (kin, key) = place(region, thread.process.load(Relaxed), unsafe { pthread_self() });
    let is_known = kin.key.load(Relaxed) == key && kin.mark.at.load(Relaxed) == 0;
    let lag = if is_known { kin.mark.lag.load(Relaxed) } else { region.what_if.most.load(Relaxed) };
    let own = &region.thread_lags[region.place_of(thread)];
    own.depth.store(0, Relaxed);
    // If the creation of a thread was seen, the kernel's account begins here too.
    own.cpu_waits_ns.store(0, Relaxed);
    own.looked_at.store(u64::from(is_known), Relaxed);
    own.lag.store(lag, Relaxed);
    own.handoffs.store(if is_known { kin.mark.handoffs.load(Relaxed) } else { 0 }, Relaxed);
}

/// Notes that the calling thread ends.
pub fn ended(region: &Region, thread: &Thread) {
    let lag = last_lag(region, thread);
    // SAFETY: the call takes nothing.
    let name = unsafe { pthread_self() };
    let (kin, key) = place(region, thread.process.load(Relaxed), name);
    kin.mark.lag.store(lag, Relaxed);
    kin.mark.handoffs.store(region.thread_lags[region.place_of(thread)].handoffs.load(Relaxed), Relaxed);
    kin.mark.at.store(now(), Relaxed);
    kin.key.store(key, Relaxed);
}

/// Returns its lag, with the last of its waits for a CPU.
fn last_lag(region: &Region, thread: &Thread) -> u64 {
    let own = &region.thread_lags[region.place_of(thread)];
    own.lag.store(own.lag.load(Relaxed) + waited_for_cpu(&region.what_if, own), Relaxed);
    own.lag.load(Relaxed)
}

/// Notes that the process ends; the first one's end is the program's, if a thread ends it whose lag is known.
pub fn process_ended(region: &Region, local: &Local) {
    // SAFETY: the word is null, or the address of a place in the memory, which stays mapped.
    let thread = unsafe { thread_word::get().as_ref() };
    if let Some(thread) = thread.filter(|_| region.is_first(local.process.load(Relaxed))) {
        let lag = last_lag(region, thread);
        region.what_if.exit_lag.store(lag, Relaxed);
        let handoffs = region.thread_lags[region.place_of(thread)].handoffs.load(Relaxed);
        region.what_if.exit_handoffs.store(handoffs, Relaxed);
        region.what_if.has_exited.store(1, Relaxed);
    }
}

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
    let length = external::open_file(c"/proc/thread-self/schedstat").map_or(-1, |file| file.read(&mut text));
    let text = text.get(..usize::try_from(length).ok()?)?;
    let word = text.split(|byte| *byte == b' ').nth(1)?;
    word.iter().try_fold(0_u64, |number, byte| Some(number * 10 + u64::from(byte.checked_sub(b'0')?)))
}
