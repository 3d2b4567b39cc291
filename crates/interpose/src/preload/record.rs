//! What is counted when a lock is taken, waited for, and released.

use super::clock::now;
use super::local;
use super::me::Me;
use super::spot::{Spot, spot};
use crate::layout::{Event, HELD, Held, Kind, RING, pair_add as add};
use core::ffi::c_int;
use core::sync::atomic::Ordering::{Relaxed, Release};

/// The fast way of [`taken`]: nothing else is held, and nobody waits. `false`, and nothing is noted, if it is not to be
/// had.
#[inline(always)]
pub fn taken_alone(me: Me, spot: Spot, address: usize) -> bool {
    if me.thread.depth.load(Relaxed) != 0 || spot.lock.waiters.load(Relaxed) != 0 {
        return false;
    }
    let before = spot.pair.acquisitions.load(Relaxed);
    spot.pair.acquisitions.store(before + 1, Relaxed);
    me.thread.depth.store(1, Relaxed);
    // Whoever takes the same lock again finds most of it there, and what is not stored need not be waited for by the
    // next locked instruction, which is the release.
    let (holder, held) = (spot.holder(me), &me.thread.held[0]);
    if spot.lock.holder.load(Relaxed) != holder {
        spot.lock.holder.store(holder, Relaxed);
    }
    if held.lock.load(Relaxed) != address as u64 || held.pair.load(Relaxed) != spot.pair_place {
        hold(held, spot, address, [0, 0]);
    }
    if local::is_timed(before) {
        begin_timed(held);
    }
    true
}

#[inline(never)]
fn begin_timed(held: &Held) {
    held.since.store(now(), Relaxed);
}

/// A lock was taken: `at` is when, if that is known.
pub fn taken(me: Me, spot: Spot, address: usize, at: u64) {
    let before = spot.pair.acquisitions.load(Relaxed);
    spot.pair.acquisitions.store(before + 1, Relaxed);
    spot.lock.holder.store(spot.holder(me), Relaxed);
    let (is_timed, is_wanted) = (local::is_timed(before), spot.lock.waiters.load(Relaxed) != 0);
    let at = if at == 0 && (is_timed || is_wanted) { now() } else { at };
    let since = [if is_timed { at } else { 0 }, if is_wanted { at } else { 0 }];
    // The place first, then what stands there: a signal's handler that takes locks in between leaves both as they were.
    let depth = me.thread.depth.load(Relaxed);
    me.thread.depth.store(depth + 1, Relaxed);
    match me.thread.held.get(depth as usize) {
        Some(held) => hold(held, spot, address, since),
        None => lose_hold(me),
    }
}

#[inline(always)]
fn hold(held: &Held, spot: Spot, address: usize, [since, wanted]: [u64; 2]) {
    held.lock.store(address as u64, Relaxed);
    held.since.store(since, Relaxed);
    held.wanted.store(wanted, Relaxed);
    held.pair.store(spot.pair_place, Relaxed);
    held.place.store(spot.lock_place, Relaxed);
}

#[cold]
fn lose_hold(me: Me) {
    me.region.header.lost_holds.fetch_add(1, Relaxed);
}

/// The fast way of [`released`]: it is the only one that is held, nobody waits for it, and its hold is not timed.
/// `false`, and nothing is noted, if it is not to be had.
#[inline(always)]
pub fn released_alone(me: Me, address: usize) -> bool {
    let held = &me.thread.held[0];
    if me.thread.depth.load(Relaxed) != 1 || held.lock.load(Relaxed) != address as u64 {
        return false;
    }
    // SAFETY: the place in what is held is that of a spot.
    let lock = unsafe { me.region.locks.get_unchecked(held.place.load(Relaxed) as usize) };
    if lock.waiters.load(Relaxed) != 0 {
        return false;
    }
    if held.since.load(Relaxed) | held.wanted.load(Relaxed) != 0 {
        return false;
    }
    me.thread.depth.store(0, Relaxed);
    true
}

/// A lock is about to be released. `false` if this thread did not hold it.
pub fn released(me: Me, address: usize) -> bool {
    let depth = me.thread.depth.load(Relaxed) as usize;
    let Some(last) = depth.checked_sub(1) else { return false };
    match me.thread.held.get(last) {
        Some(held) if held.lock.load(Relaxed) == address as u64 => {
            end_hold(me, held);
            me.thread.depth.store(last as u32, Relaxed);
            true
        }
        _ => released_out_of_order(me, address, depth),
    }
}

fn end_hold(me: Me, held: &Held) {
    let since = held.since.load(Relaxed);
    held.since.store(0, Relaxed);
    let Some(lock) = me.region.locks.get(held.place.load(Relaxed) as usize) else { return };
    if since == 0 && lock.waiters.load(Relaxed) == 0 {
        return held.wanted.store(0, Relaxed);
    }
    let at = now();
    if lock.waiters.load(Relaxed) != 0 {
        lock.released.store(at, Relaxed);
        // To say who had it while they waited.
        let pair = (held.pair.load(Relaxed) + 1) | Event::HOLD;
        keep(me, pair, [held.wanted.load(Relaxed), at, 0, 0, 0]);
    }
    held.wanted.store(0, Relaxed);
    if since != 0
        && let Some(pair) = me.region.pairs.get(held.pair.load(Relaxed) as usize)
    {
        pair.held(at.saturating_sub(since));
    }
}

#[cold]
#[inline(never)]
fn released_out_of_order(me: Me, address: usize, depth: usize) -> bool {
    let noted = depth.min(HELD);
    let place = me.thread.held[..noted].iter().rposition(|held| held.lock.load(Relaxed) == address as u64);
    let Some(place) = place else {
        // One of those that found no room.
        if depth > HELD {
            me.thread.depth.store(depth as u32 - 1, Relaxed);
        }
        return depth > HELD;
    };
    end_hold(me, &me.thread.held[place]);
    for later in place + 1..noted {
        let (to, from) = (&me.thread.held[later - 1], &me.thread.held[later]);
        to.lock.store(from.lock.load(Relaxed), Relaxed);
        to.since.store(from.since.load(Relaxed), Relaxed);
        to.wanted.store(from.wanted.load(Relaxed), Relaxed);
        to.pair.store(from.pair.load(Relaxed), Relaxed);
        to.place.store(from.place.load(Relaxed), Relaxed);
    }
    me.thread.depth.store(depth as u32 - 1, Relaxed);
    true
}

/// How a wait ended.
pub struct Waited {
    pub code: c_int,
    /// When.
    pub at: u64,
}

/// Waits as the program asked to, and notes it.
#[inline(never)]
pub fn waited(me: Me, spot: Spot, real: impl FnOnce() -> c_int, has_it: impl FnOnce(c_int) -> bool) -> Waited {
    let (thread, lock) = (me.thread, spot.lock);
    lock.waiters.fetch_add(1, Relaxed);
    let holder = lock.holder.load(Relaxed);
    let began = now();
    thread.waiting_since.store(began, Relaxed);
    thread.waiting.store(spot.pair_place + 1, Release);
    let code = real();
    let at = now();
    thread.waiting.store(0, Release);
    let releaser = lock.holder.load(Relaxed);
    let released = lock.released.load(Relaxed);
    lock.waiters.fetch_sub(1, Relaxed);
    let has_it = has_it(code);
    if has_it {
        spot.pair.waited(at.saturating_sub(began));
    } else {
        add(&spot.pair.timeouts, 1);
    }
    let vain = if has_it { 0 } else { Event::IN_VAIN };
    keep(me, (spot.pair_place + 1) | vain, [began, at, holder, releaser, released]);
    Waited { code, at }
}

/// Puts an event into the ring, if it has room.
fn keep(me: Me, pair: u32, [began, ended, holder, releaser, released]: [u64; 5]) {
    let thread = me.thread;
    let head = thread.head.load(Relaxed);
    if head.wrapping_sub(thread.tail.load(Relaxed)) >= RING as u64 {
        add(&thread.lost, 1);
        return;
    }
    // A signal's handler that posts meanwhile is not to write here too.
    thread.busy.store(1, Relaxed);
    let event = &thread.ring[head as usize % RING];
    event.began.store(began, Relaxed);
    event.ended.store(ended, Relaxed);
    event.holder.store(holder, Relaxed);
    event.releaser.store(releaser, Relaxed);
    event.released.store(released, Relaxed);
    event.thread.store(thread.tid.load(Relaxed), Relaxed);
    event.pair.store(pair, Relaxed);
    thread.head.store(head + 1, Release);
    thread.busy.store(0, Relaxed);
}

/// A try that did not get it.
#[cold]
pub fn tried_in_vain(me: Me, address: usize, site: usize, kind: Kind) {
    if let Some(spot) = spot(me, address, site, kind) {
        add(&spot.pair.timeouts, 1);
    }
}

/// Says that this thread is the one who lets others go on: it signals, posts, or comes to a barrier.
pub fn lets_go(me: Me, spot: Spot) {
    spot.lock.holder.store(spot.holder(me), Relaxed);
    if spot.lock.waiters.load(Relaxed) != 0 {
        spot.lock.released.store(now(), Relaxed);
    }
}
