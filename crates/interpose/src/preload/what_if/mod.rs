//! Prediction of the gain of shorter sections of a lock. The program runs as if they were shorter, by delaying all
//! else.
//!
//! After Coz (Curtsinger and Berger, "Coz: finding code that counts with causal profiling", SOSP 2015), for critical
//! sections instead of lines. Each thread has a *lag*, and its virtual time is the real time less its lag:
//!
//! | what happens | a thread's lag |
//! |---|---|
//! | it is `t` on in a section, when it leaves it, lets others go on, or waits | grows by the share of `t`: that much earlier it would have been here |
//! | it is at a lock, a wait or a release, and lags less than the thread that lags most | it pauses for the difference, and its lag grows by what the pause took |
//! | it goes on when another releases, signals or ends | that it goes on when the other let it, in virtual time, too |
//! | it ends a program | is what the program's time is corrected by |
//!
//! The third is what Coz calls crediting a blocked thread. Let `w` be the time that a thread waited, `l` its lag before
//! and `r` the lag of the thread that let it go on, at that moment. Virtually it came at `real - l`, and was let go at
//! `real - r`; the later of the two counts. So its lag is the lesser of `l + w` (it came when no thread was there any
//! more: no wait) and `r` (it waited, and the time of being woken is its own).
//!
//! A thread that found a lock free has not waited, but can have come virtually before it was released. If there was
//! room for a section before the last one was taken it was there then, and owes nothing; else it goes on at the release
//! ([`lag::Mine::take`]). Without the first, locks which are taken often and briefly would tie all threads to the one
//! that lags least; without the second, sections of one lock would go on at the same virtual time.
//!
//! Waits for a CPU are taken out ([`ends::waited_for_cpu`]): the pauses make more of them than a faster program would,
//! and fewer, and a thread that is kept off its CPU in a section would be for the whole of that time, whatever the
//! share. The capacity of the CPUs is a bound that the reader of the lags applies to the whole run.
//!
//! So the lags alone are a simulation along the order that was seen. The pauses keep that order right: a thread that
//! would have been later in a faster program is later. They are sleeps, and the excess of a sleep is in the lag as
//! well: a pause need not be exact. A thread that is to pause for less than [`lag::LEAST_NS`] does not, and owes it.
//!
//! A section is timed from having the lock to the call that releases it, without the waits and pauses in it. Code that
//! calls none of these functions cannot be delayed, and a wait that is none of them (for a file, a pipe, a child)
//! counts as work of the thread.

pub mod ends;
mod lag;

use self::lag::{Mine, mine};
use super::clock::now;
use super::external::{ETIMEDOUT, has_it};
use super::spot;
use crate::layout::{Kin, Kind, LockLag};
use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;

/// Returns a lock's place and its lag; its first use gives it a place.
fn known(mine: Mine, lock: *mut c_void, site: usize, kind: Kind) -> Option<(u32, &'static LockLag)> {
    let spot = spot::spot(mine.me, lock as usize, site, kind)?;
    Some((spot.lock_place(), &mine.region().lock_lags[spot.lock_place() as usize]))
}

/// Returns the same of a lock that was used before.
fn used(mine: Mine, lock: *mut c_void) -> Option<(u32, &'static LockLag)> {
    let place = spot::place_of(mine.me, lock as usize)?;
    Some((place, &mine.region().lock_lags[place as usize]))
}

/// Notes that a lock was acquired, after a wait since `began`, or without any, which is 0.
fn taken(mine: Mine, lock: *mut c_void, site: usize, kind: Kind, began: u64, for_cpu: u64) {
    if let Some((place, lock)) = known(mine, lock, site, kind) {
        if began == 0 && lock.waiting.load(Relaxed) != 0 {
            mine.overtakes(&lock.mark);
        }
        match kind {
            Kind::Sem | Kind::Read => mine.share(&lock.mark, began, for_cpu),
            _ => mine.take(&lock.mark, began, for_cpu),
        }
        mine.enter(place, lock);
    }
}

/// Acquires a lock for [`exclusive::take`](super::calls), which calls it.
#[inline(never)]
pub fn take(
    lock: *mut c_void,
    site: usize,
    kind: Kind,
    busy: c_int,
    tried: impl FnOnce() -> c_int,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(mine) = mine() else { return real() };
    mine.pay();
    let code = tried();
    if has_it(code) {
        taken(mine, lock, site, kind, 0, 0);
        return code;
    }
    if code != busy {
        return real();
    }
    let began = now();
    let waited_for = known(mine, lock, site, kind).map(|(_, lock)| lock);
    if let Some(lock) = waited_for {
        lock.waiting.fetch_add(1, Relaxed);
    }
    let code = real();
    if let Some(lock) = waited_for {
        lock.waiting.fetch_sub(1, Relaxed);
    }
    let for_cpu = mine.waited(began);
    if has_it(code) {
        taken(mine, lock, site, kind, began, for_cpu);
    } else {
        mine.lags(for_cpu);
    }
    code
}

/// Tries to acquire a lock.
#[inline(never)]
pub fn attempt(lock: *mut c_void, site: usize, kind: Kind, real: impl FnOnce() -> c_int) -> c_int {
    let Some(mine) = mine() else { return real() };
    mine.pay();
    let code = real();
    if has_it(code) {
        taken(mine, lock, site, kind, 0, 0);
    }
    code
}

/// Releases a lock. The pause comes before, so that a waiter is let go at the virtual time of the release.
#[inline(never)]
pub fn release(lock: *mut c_void, real: impl FnOnce() -> c_int) -> c_int {
    if let Some(mine) = mine()
        && let Some((place, lock)) = used(mine, lock)
    {
        mine.leave(place);
        mine.pay();
        mine.free(&lock.mark);
    }
    real()
}

/// Waits for a signal: releases the mutex, and has it again.
#[inline(never)]
pub fn sleep(cond: *mut c_void, mutex: *mut c_void, site: usize, real: impl FnOnce() -> c_int) -> c_int {
    let Some(mine) = mine() else { return real() };
    let (signal, mutex) = (known(mine, cond, site, Kind::Cond), known(mine, mutex, site, Kind::Mutex));
    let was_section = mutex.is_some_and(|(place, _)| mine.leave(place));
    let since = signal.and_then(|(place, _)| mine.goes_on_since(place));
    // Within a wait its virtual time does not advance.
    if since.is_none() {
        mine.pay();
    }
    if let Some((_, mutex)) = mutex {
        mine.free(&mutex.mark);
    }
    let now = now();
    let began = since.unwrap_or(now);
    let code = real();
    let for_cpu = mine.waited(now);
    match signal {
        Some((_, signal)) if code == 0 => mine.follow(&signal.mark, began, for_cpu),
        // The end of its time goes by the clock: no thread let it go on.
        Some((place, _)) if code == ETIMEDOUT => {
            mine.lags(for_cpu);
            mine.gave_up(place, began);
        }
        _ => mine.lags(for_cpu),
    }
    if let Some((place, mutex)) = mutex {
        mine.take(&mutex.mark, 0, 0);
        if was_section {
            mine.enter(place, mutex);
        }
    }
    code
}

/// Waits for a semaphore. A semaphore that the same thread posts is a lock.
#[inline(never)]
pub fn wait(
    semaphore: *mut c_void,
    site: usize,
    is_free: impl FnOnce() -> bool,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(mine) = mine() else { return real() };
    mine.pay();
    let began = if is_free() { 0 } else { now() };
    let code = real();
    let for_cpu = if began != 0 { mine.waited(began) } else { 0 };
    if code == 0 {
        taken(mine, semaphore, site, Kind::Sem, began, for_cpu);
    }
    code
}

/// Notes that a semaphore is about to be posted.
#[inline(never)]
pub fn post(semaphore: *mut c_void, site: usize) {
    if let Some(mine) = mine()
        && let Some((place, lock)) = known(mine, semaphore, site, Kind::Sem)
    {
        mine.leave(place);
        mine.pay();
        mine.mark(&lock.mark);
    }
}

/// Notes that others are about to be let go on.
#[inline(never)]
pub fn lets_go(object: *mut c_void, site: usize, kind: Kind) {
    if let Some(mine) = mine()
        && let Some((_, lock)) = known(mine, object, site, kind)
    {
        mine.pay();
        mine.mark(&lock.mark);
    }
}

/// Waits at a barrier: the last thread lets the others go on.
#[inline(never)]
pub fn meet(barrier: *mut c_void, site: usize, real: impl FnOnce() -> c_int) -> c_int {
    lets_go(barrier, site, Kind::Barrier);
    let began = now();
    let code = real();
    if let Some(mine) = mine()
        && let Some((_, lock)) = used(mine, barrier)
    {
        let for_cpu = mine.waited(began);
        mine.follow(&lock.mark, began, for_cpu);
    }
    code
}

/// Notes that a lock was destroyed.
#[inline(never)]
pub fn forget(lock: *mut c_void) {
    if let Some(mine) = mine() {
        spot::forget(mine.me, lock as usize, None);
    }
}

/// Returns the place of a thread by this name, and its key: a new thread has the lag of its creator, and a joining
/// thread follows the end of the joined one.
fn kin_of(mine: Mine, name: *mut c_void) -> (&'static Kin, u64) {
    ends::place(mine.region(), mine.me.thread.process.load(Relaxed), name)
}

/// Creates a thread, whose name is then at `name`.
pub fn create(name: *mut c_void, real: impl FnOnce() -> c_int) -> c_int {
    let Some(mine) = mine() else { return real() };
    mine.pay();
    let (began, lag) = (now(), mine.lag());
    let code = real();
    if code == 0 {
        // SAFETY: the program gives room for a thread's name, and the C library has written it.
        let (kin, key) = kin_of(mine, unsafe { name.cast::<*mut c_void>().read() });
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
    let (kin, key) = kin_of(mine, name);
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
