//! C11's `mtx_*` and `cnd_*`: the same objects under other names, with separate result codes.

use super::cond::{sleep, wake};
use super::exclusive::{at_site, attempt, destroy, release, take, take_free, take_free_within};
use super::exclusive::{attempts, destroys, releases, takes_mutex, takes_until};
use crate::layout::Kind::{Broadcast, Cond, Mutex, Signal};
use crate::preload::callers::Call;
use crate::preload::entry::entry;
use crate::preload::external::Timespec;
use crate::preload::next;
use core::ffi::{c_int, c_void};

/// The value of `thrd_busy`.
const BUSY: c_int = 1;

takes_mutex!(mtx_lock, mtx_trylock, Mutex, BUSY);
takes_until!(mtx_timedlock, mtx_trylock, Mutex, BUSY);
attempts!(mtx_trylock, Mutex, BUSY);
releases!(mtx_unlock);
destroys!(mtx_destroy, Mutex);
destroys!(cnd_destroy, Cond);

entry!(cnd_wait => wait, 2);
entry!(cnd_timedwait => timedwait, 3);
entry!(cnd_signal => signal, 1);
entry!(cnd_broadcast => broadcast, 1);

extern "C" fn wait(cond: *mut c_void, mutex: *mut c_void, site: usize) -> c_int {
    // SAFETY: the arguments are passed on as the program gave them.
    sleep(cond, mutex, site, move || unsafe { next::cnd_wait()(cond, mutex) })
}

extern "C" fn timedwait(cond: *mut c_void, mutex: *mut c_void, time: *const Timespec, site: usize) -> c_int {
    // SAFETY: the arguments are passed on as the program gave them.
    sleep(cond, mutex, site, move || unsafe { next::cnd_timedwait()(cond, mutex, time) })
}

extern "C" fn signal(cond: *mut c_void, site: usize) -> c_int {
    // SAFETY: the arguments are passed on as the program gave them.
    wake(cond, site, Signal, move || unsafe { next::cnd_signal()(cond) })
}

extern "C" fn broadcast(cond: *mut c_void, site: usize) -> c_int {
    // SAFETY: the arguments are passed on as the program gave them.
    wake(cond, site, Broadcast, move || unsafe { next::cnd_broadcast()(cond) })
}
