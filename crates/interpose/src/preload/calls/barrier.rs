//! `pthread_barrier_*`: all threads wait for the last.

use super::exclusive::destroy;
use super::exclusive::destroys;
use crate::layout::Kind::Barrier;
use crate::preload::entry::entry;
use crate::preload::me::me;
use crate::preload::spot::spot;
use crate::preload::{local, next, record, what_if};
use core::ffi::{c_int, c_void};

entry!(pthread_barrier_wait => wait, 1);
destroys!(pthread_barrier_destroy);

/// The value of `PTHREAD_BARRIER_SERIAL_THREAD`.
const CHOSEN: c_int = -1;

extern "C" fn wait(barrier: *mut c_void, site: usize) -> c_int {
    // SAFETY: the argument is passed on as the program gave it.
    let real = move || unsafe { next::pthread_barrier_wait()(barrier) };
    let Some(me) = me() else {
        return if local::is_what_if() { what_if::meet(barrier, site, real) } else { real() };
    };
    let Some(spot) = spot(me, barrier as usize, site, Barrier) else { return real() };
    // The last of them is the one that the others waited for.
    record::lets_go(me, spot);
    let waited = record::waited(me, spot, spot.last_holder(me), real, |code| code == 0 || code == CHOSEN);
    spot.count();
    waited.code
}
