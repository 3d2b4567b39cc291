//! `pthread_cond_*` and `pthread_barrier_*`, at which threads wait for each other. A wait for a condition releases the
//! mutex and reacquires it; both are noted. The C library reacquires it itself, so the time of that is a part of the
//! wait for the signal, and is not distinguished from it.

use super::exclusive::{destroy, destroys};
use crate::layout::Kind::{self, Barrier, Broadcast, Cond, Mutex, Signal};
use crate::layout::{Lock, Pair, pair_add};
use crate::preload::entry::entry;
use crate::preload::external::Timespec;
use crate::preload::me::{Me, me};
use crate::preload::spot::{Spot, spot};
use crate::preload::{local, next, order, record, what_if};
use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;

entry!(pthread_cond_wait => wait, 2);
entry!(pthread_cond_timedwait => timedwait, 3);
entry!(pthread_cond_clockwait => clockwait, 4);
entry!(pthread_cond_signal => signal, 1);
entry!(pthread_cond_broadcast => broadcast, 1);
destroys!(pthread_cond_destroy, Cond);
entry!(pthread_barrier_wait => meet, 1);
destroys!(pthread_barrier_destroy, Barrier);

/// Waits for a signal. A thread that is cancelled during the wait does not come back from here: its mutex then counts
/// as not held.
pub fn sleep(cond: *mut c_void, mutex: *mut c_void, site: usize, real: impl FnOnce() -> c_int) -> c_int {
    let Some(me) = me() else {
        return if local::is_what_if() { what_if::sleep(cond, mutex, site, real) } else { real() };
    };
    let again = spot(me, mutex as usize, site, Mutex);
    let Some(signal) = spot(me, cond as usize, site, Cond) else { return real() };
    let guard = again.map_or(0, |again| again.lock_place() + 1);
    if signal.lock(me).guard.load(Relaxed) != guard {
        signal.lock(me).guard.store(guard, Relaxed);
    }
    signal.pair(me).guard().store(guard.into(), Relaxed);
    if again.is_some_and(|again| was_woken_for_nothing(me, again, cond as usize)) {
        pair_add(signal.pair(me).vain_wakes(), 1);
    }
    let was_held = record::released(me, mutex as usize);
    // The mutex is reacquired while other locks are held.
    again.into_iter().for_each(|again| order::note(me, again, Mutex, false));
    me.thread.through.store(0, Relaxed);
    let waited = record::waited(me, signal, signal.last_holder(me), real, |code| code == 0);
    if waited.code == 0 {
        me.thread.through_since.store(waited.at, Relaxed);
        me.thread.through.store(signal.pair_place() + 1, Relaxed);
    }
    me.thread.woken_from.store(if waited.code == 0 { cond as u64 } else { 0 }, Relaxed);
    if waited.code == 0 {
        signal.count();
    }
    if let Some(again) = again.filter(|_| was_held) {
        record::taken(me, again, mutex as usize, Mutex, waited.at);
    }
    waited.code
}

/// Returns whether the thread waits again where it was woken, with the mutex that it got back then and has not released
/// since: the event that it waited for had not come.
fn was_woken_for_nothing(me: Me, again: Spot, cond: usize) -> bool {
    let depth = (me.thread.depth() as usize).min(me.thread.held.len());
    let last = depth.checked_sub(1).map(|last| &me.thread.held[last]);
    let is_same_hold = last.is_some_and(|held| held.pair.load(Relaxed) == again.pair_place());
    is_same_hold && me.thread.woken_from.load(Relaxed) == cond as u64
}

/// Counts a signal by a thread that was woken from this condition, or from another one of the same mutex, and has signalled
/// none of them since.
fn passes_on(me: Me, spot: Spot, guard: Option<&Lock>) {
    let through = me.thread.through.load(Relaxed).checked_sub(1).and_then(|pair| me.region.pairs.get(pair as usize));
    let Some(from) = through.map(|pair| pair.lock.load(Relaxed)) else { return };
    let since = me.thread.through_since.load(Relaxed);
    let (last, count) = if from == spot.lock_place() {
        (&spot.lock(me).released, spot.pair(me).passed())
    } else {
        let guard_of = |pair: &Pair| pair.guard().load(Relaxed);
        let is_same = through.map(guard_of) == Some(spot.lock(me).guard.load(Relaxed).into());
        let histograms = me.region.histograms.get(spot.pair_place() as usize);
        let Some((guard, histograms)) = guard.zip(histograms).filter(|_| is_same) else { return };
        (&guard.signalled, histograms.handed())
    };
    me.thread.through.store(0, Relaxed);
    if last.load(Relaxed) <= since {
        pair_add(count, 1);
    }
}

/// Wakes one waiter or all, depending on `kind`.
pub fn wake(cond: *mut c_void, site: usize, kind: Kind, real: impl FnOnce() -> c_int) -> c_int {
    if let Some(me) = me()
        && let Some(spot) = spot(me, cond as usize, site, kind)
    {
        pair_add(spot.pair(me).signals(), 1);
        // The program can write anything into the memory, a number of no lock as well.
        let guard = spot.lock(me).guard.load(Relaxed).checked_sub(1);
        let guard = guard.and_then(|place| me.region.locks.get(place as usize));
        passes_on(me, spot, guard);
        record::lets_go(me, spot);
        if let Some(guard) = guard {
            guard.signalled.store(spot.lock(me).released.load(Relaxed), Relaxed);
        }
    } else if local::is_what_if() {
        what_if::lets_go(cond, site, Cond);
    }
    real()
}

extern "C" fn wait(cond: *mut c_void, mutex: *mut c_void, site: usize) -> c_int {
    // SAFETY: the arguments are passed on as the program gave them.
    sleep(cond, mutex, site, move || unsafe { next::pthread_cond_wait()(cond, mutex) })
}

extern "C" fn timedwait(cond: *mut c_void, mutex: *mut c_void, time: *const Timespec, site: usize) -> c_int {
    // SAFETY: the arguments are passed on as the program gave them.
    sleep(cond, mutex, site, move || unsafe { next::pthread_cond_timedwait()(cond, mutex, time) })
}

extern "C" fn clockwait(
    cond: *mut c_void,
    mutex: *mut c_void,
    clock: c_int,
    time: *const Timespec,
    site: usize,
) -> c_int {
    // SAFETY: the arguments are passed on as the program gave them.
    sleep(cond, mutex, site, move || unsafe { next::pthread_cond_clockwait()(cond, mutex, clock, time) })
}

extern "C" fn signal(cond: *mut c_void, site: usize) -> c_int {
    // SAFETY: the argument is passed on as the program gave it.
    wake(cond, site, Signal, move || unsafe { next::pthread_cond_signal()(cond) })
}

extern "C" fn broadcast(cond: *mut c_void, site: usize) -> c_int {
    // SAFETY: the argument is passed on as the program gave it.
    wake(cond, site, Broadcast, move || unsafe { next::pthread_cond_broadcast()(cond) })
}

/// The value of `PTHREAD_BARRIER_SERIAL_THREAD`.
const CHOSEN: c_int = -1;

extern "C" fn meet(barrier: *mut c_void, site: usize) -> c_int {
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
