//! Threads that create others and join them: a new thread has the lag of its creator, and a joining thread follows the
//! end of the joined one.

use super::ends::place;
use super::lag::{Mine, mine};
use crate::layout::Kin;
use crate::preload::clock::now;
use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;

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
            kin.mark.handoffs.store(mine.own.handoffs.load(Relaxed), Relaxed);
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
    let for_cpu = mine.waited(began);
    let (kin, key) = place_of(mine, name);
    if kin.key.load(Relaxed) == key {
        // A thread that never acquired a lock has the lag that it began with.
        if kin.mark.at.load(Relaxed) == 0 {
            kin.mark.at.store(now(), Relaxed);
        }
        mine.follow(&kin.mark, began, for_cpu);
        kin.key.store(0, Relaxed);
    }
    code
}
