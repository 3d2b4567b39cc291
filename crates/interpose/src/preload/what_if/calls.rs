//! What the replaced functions do.

use super::lag::{Mine, mine};
use crate::layout::{Kind, LockLag};
use crate::preload::clock::now;
use crate::preload::external::{ETIMEDOUT, has_it};
use crate::preload::spot;
use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;

/// A lock's place and its lag; its first use gives it a place.
fn known(mine: Mine, lock: *mut c_void, site: usize, kind: Kind) -> Option<(u32, &'static LockLag)> {
    let spot = spot::spot(mine.me, lock as usize, site, kind)?;
    Some((spot.lock_place(), &mine.region().lock_lags[spot.lock_place() as usize]))
}

/// The same of one that was used before.
fn used(mine: Mine, lock: *mut c_void) -> Option<(u32, &'static LockLag)> {
    let place = spot::place_of(mine.me, lock as usize)?;
    Some((place, &mine.region().lock_lags[place as usize]))
}

/// A lock was taken, after a wait since `began`, or without any, which is 0.
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

/// Takes a lock: as [`exclusive::take`](crate::preload::calls), which it is called from.
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

/// Tries.
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

/// Releases. The pause comes before, so that whoever waits is let go when that would have been.
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
    // In the midst of a wait it stands still already.
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
        // An end of its time goes by the clock: nobody let it go on.
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

/// Waits for a semaphore. One that the same thread posts is a lock.
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

/// A semaphore is about to be posted.
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

/// Others are about to be let go on.
#[inline(never)]
pub fn lets_go(object: *mut c_void, site: usize, kind: Kind) {
    if let Some(mine) = mine()
        && let Some((_, lock)) = known(mine, object, site, kind)
    {
        mine.pay();
        mine.mark(&lock.mark);
    }
}

/// Comes to a barrier: who comes last lets the others go on.
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

/// A lock was destroyed.
#[inline(never)]
pub fn forget(lock: *mut c_void) {
    if let Some(mine) = mine() {
        spot::forget(mine.me, lock as usize);
    }
}
