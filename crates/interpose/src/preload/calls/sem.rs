//! `sem_*`. A semaphore that the same thread waits for and posts is held in between, like a lock; one that another
//! thread posts is a signal.

use super::exclusive::destroys;
use super::exclusive::{destroy, took_another};
use crate::layout::Kind::Sem;
use crate::layout::Thread;
use crate::preload::entry::entry;
use crate::preload::external::{Timespec, sem_getvalue};
use crate::preload::me::{Me, known_thread, me, thread_at_nothing};
use crate::preload::record::Taken;
use crate::preload::spot::{Spot, spot};
use crate::preload::{local, next, record, what_if};
use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;

entry!(sem_wait => wait, 1);
entry!(sem_trywait => trywait, 1);
entry!(sem_timedwait => timedwait, 2);
entry!(sem_clockwait => clockwait, 3);
entry!(sem_post => post, 1);
destroys!(sem_destroy, Sem);

/// Waits in the way that the program called, without a try first, since a wait is a cancellation point even if the
/// thread need not block. Whether it has to block is read from the value; if that changes in between, the wait is not
/// timed.
fn take(semaphore: *mut c_void, site: usize, real: impl FnOnce() -> c_int) -> c_int {
    match thread_at_nothing() {
        Some(thread) if value(semaphore) > 0 => take_alone(thread, semaphore, site, real()),
        _ => take_otherwise(semaphore, site, real),
    }
}

/// Notes a wait that did not block, of a thread that held nothing: the common case of a semaphore used as a lock.
#[inline(always)]
fn take_alone(thread: &'static Thread, semaphore: *mut c_void, site: usize, code: c_int) -> c_int {
    let me = Me::of(thread);
    if code == 0 {
        match record::taken_again(me, semaphore as usize, site, Sem) {
            Taken::Noted => {}
            Taken::Timed => record::begin_timed(thread),
            Taken::Not => return took_another(semaphore, site, Sem),
        }
    }
    code
}

#[inline(never)]
fn take_otherwise(semaphore: *mut c_void, site: usize, real: impl FnOnce() -> c_int) -> c_int {
    let Some(me) = me() else {
        let is_free = || value(semaphore) > 0;
        return if local::is_what_if() { what_if::wait(semaphore, site, is_free, real) } else { real() };
    };
    let Some(spot) = spot(me, semaphore as usize, site, Sem) else { return real() };
    if value(semaphore) > 0 {
        let code = real();
        if code == 0 {
            has_it(me, spot, semaphore as usize, 0);
        }
        return code;
    }
    let waited = record::waited(me, spot, spot.last_holder(me), real, |code| code == 0);
    if waited.code == 0 {
        has_it(me, spot, semaphore as usize, waited.at);
    }
    waited.code
}

fn value(semaphore: *mut c_void) -> c_int {
    let mut value = 0;
    // SAFETY: the program gives a semaphore, and the pointer is to a whole number.
    unsafe { sem_getvalue(semaphore, &raw mut value) };
    value
}

/// Notes that the semaphore is held, once at most: otherwise threads that only ever wait would seem to hold more and
/// more.
fn has_it(me: Me, spot: Spot, semaphore: usize, at: u64) {
    let depth = (me.thread.depth() as usize).min(me.thread.held.len());
    let again = me.thread.held[..depth].iter().find(|held| held.lock.load(Relaxed) == semaphore as u64);
    let Some(again) = again else { return record::taken(me, spot, semaphore, Sem, at) };
    again.since.store(0, Relaxed);
    again.pair.store(spot.pair_place(), Relaxed);
    again.found.store(spot.found(me), Relaxed);
    // The last acquisition does not describe this hold any more.
    me.thread.last.lock.store(0, Relaxed);
    spot.count();
}

extern "C" fn wait(semaphore: *mut c_void, site: usize) -> c_int {
    // SAFETY: the argument is passed on as the program gave it.
    take(semaphore, site, move || unsafe { next::sem_wait()(semaphore) })
}

extern "C" fn timedwait(semaphore: *mut c_void, time: *const Timespec, site: usize) -> c_int {
    // SAFETY: the arguments are passed on as the program gave them.
    take(semaphore, site, move || unsafe { next::sem_timedwait()(semaphore, time) })
}

extern "C" fn clockwait(semaphore: *mut c_void, clock: c_int, time: *const Timespec, site: usize) -> c_int {
    // SAFETY: the arguments are passed on as the program gave them.
    take(semaphore, site, move || unsafe { next::sem_clockwait()(semaphore, clock, time) })
}

extern "C" fn trywait(semaphore: *mut c_void, site: usize) -> c_int {
    // SAFETY: the argument is passed on as the program gave it.
    let real = move || unsafe { next::sem_trywait()(semaphore) };
    let Some(thread) = thread_at_nothing() else { return try_otherwise(semaphore, site, real) };
    let code = take_alone(thread, semaphore, site, real());
    if code != 0 {
        record::tried_in_vain(Me::of(thread), semaphore as usize, site, Sem);
    }
    code
}

#[inline(never)]
fn try_otherwise(semaphore: *mut c_void, site: usize, real: impl FnOnce() -> c_int) -> c_int {
    let Some(me) = me() else {
        return if local::is_what_if() { what_if::attempt(semaphore, site, Sem, real) } else { real() };
    };
    let code = real();
    match spot(me, semaphore as usize, site, Sem) {
        Some(spot) if code == 0 => has_it(me, spot, semaphore as usize, 0),
        Some(_) => record::tried_in_vain(me, semaphore as usize, site, Sem),
        None => {}
    }
    code
}

extern "C" fn post(semaphore: *mut c_void, site: usize) -> c_int {
    match known_thread().map(Me::of) {
        Some(me) if record::released_alone(me, semaphore as usize) => {}
        _ => post_otherwise(semaphore, site),
    }
    // SAFETY: the argument is passed on as the program gave it.
    unsafe { next::sem_post()(semaphore) }
}

#[inline(never)]
fn post_otherwise(semaphore: *mut c_void, site: usize) {
    if let Some(me) = me()
        && !record::released(me, semaphore as usize)
        && let Some(spot) = spot(me, semaphore as usize, site, Sem)
    {
        record::lets_go(me, spot);
    } else if local::is_what_if() {
        what_if::post(semaphore, site);
    }
}
