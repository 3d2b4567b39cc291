//! Threads that begin and end: a new one lags as who made it, who joins one follows its end.

use super::lag::{Mine, mine};
use crate::layout::{KIN, Kin, Lock, Region, Thread};
use crate::preload::clock::now;
use crate::preload::external::pthread_self;
use crate::preload::local::Local;
use crate::preload::me::Me;
use crate::preload::thread_word;
use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;

/// The place of a thread by this name, and its key.
fn place(region: &Region, process: u32, name: *mut c_void) -> (&Kin, u64) {
    let key = Lock::key_of(process, name as usize);
    (&region.kin[(key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % KIN], key)
}

fn place_of(mine: Mine, name: *mut c_void) -> (&'static Kin, u64) {
    place(mine.region(), mine.me.thread.process.load(Relaxed), name)
}

/// Creates a thread, whose name is then at `name`.
pub fn create(name: *mut c_void, real: impl FnOnce() -> c_int) -> c_int {
    let Some(mine) = mine() else { return real() };
    mine.pay();
    let (began, lag) = (now(), mine.lag());
    let code = real();
    if code == 0 {
        // SAFETY: the program gives room for a thread's name, and the C library has written it.
        let (kin, key) = place_of(mine, unsafe { name.cast::<*mut c_void>().read() });
        // It can have ended by now.
        if kin.key.load(Relaxed) != key || kin.mark.at.load(Relaxed) < began {
            kin.mark.at.store(0, Relaxed);
            kin.mark.lag.store(lag, Relaxed);
            kin.key.store(key, Relaxed);
        }
    }
    code
}

/// Waits for a thread's end.
pub fn join(name: *mut c_void, real: impl FnOnce() -> c_int) -> c_int {
    let Some(mine) = mine() else { return real() };
    mine.pay();
    let began = now();
    let code = real();
    if code != 0 {
        return code;
    }
    mine.waited(began);
    let (kin, key) = place_of(mine, name);
    if kin.key.load(Relaxed) == key {
        // One that never took a lock has lagged as much as when it began.
        if kin.mark.at.load(Relaxed) == 0 {
            kin.mark.at.store(now(), Relaxed);
        }
        mine.follow(&kin.mark, began);
        kin.key.store(0, Relaxed);
    }
    code
}

/// The calling thread has a place now. If nothing is known of who made it, it owes nothing.
pub fn began(me: Me) {
    let mine = Mine::of(me);
    // SAFETY: the call takes nothing.
    let (kin, key) = place_of(mine, unsafe { pthread_self() });
    let is_known = kin.key.load(Relaxed) == key && kin.mark.at.load(Relaxed) == 0;
    let lag = if is_known { kin.mark.lag.load(Relaxed) } else { mine.region().what_if.most.load(Relaxed) };
    mine.own.depth.store(0, Relaxed);
    mine.own.lag.store(lag, Relaxed);
}

/// The calling thread ends.
pub fn ended(region: &Region, thread: &Thread) {
    let lag = region.thread_lags[region.place_of(thread)].lag.load(Relaxed);
    // SAFETY: the call takes nothing.
    let name = unsafe { pthread_self() };
    let (kin, key) = place(region, thread.process.load(Relaxed), name);
    kin.mark.lag.store(lag, Relaxed);
    kin.mark.at.store(now(), Relaxed);
    kin.key.store(key, Relaxed);
}

/// The process ends as programs do; the first one's end is the program's.
pub fn process_ended(region: &Region, local: &Local) {
    if local.process.load(Relaxed) == 0 {
        // SAFETY: it is null or within the memory.
        let thread = unsafe { thread_word::get().as_ref() };
        let lag = thread.map_or(0, |thread| region.thread_lags[region.place_of(thread)].lag.load(Relaxed));
        region.what_if.exit_lag.store(lag, Relaxed);
        region.what_if.has_exited.store(1, Relaxed);
    }
}
