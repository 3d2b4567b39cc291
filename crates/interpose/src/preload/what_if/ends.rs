//! The beginnings and ends of threads, and the end of the program: the marks that others follow.

use super::cpu_wait::waited_for_cpu;
use crate::layout::{KIN, Kin, Lock, Region, Thread};
use crate::preload::clock::now;
use crate::preload::external::pthread_self;
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
