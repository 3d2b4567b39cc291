//! What is counted when a lock is waited for, or was asked for in vain; and who ends a wait.

use super::clock::now;
use super::me::Me;
use super::spot::{Spot, spot};
use crate::layout::{Event, Kind, RING, pair_add as add};
use core::ffi::c_int;
use core::sync::atomic::Ordering::{Relaxed, Release};

/// How a wait ended.
pub struct Waited {
    pub code: c_int,
    /// When.
    pub at: u64,
}

/// Waits as the program asked to, and notes it.
///
/// `holder` says who had it when it was tried: [`Lock::holder`]'s, or for a mutex `holder::somewhere`.
#[inline(never)]
pub fn waited(
    me: Me,
    spot: Spot,
    holder: u64,
    real: impl FnOnce() -> c_int,
    has_it: impl FnOnce(c_int) -> bool,
) -> Waited {
    let (thread, lock) = (me.thread, spot.lock(me));
    spot.hot(me).waiters.fetch_add(1, Relaxed);
    let began = now();
    thread.waiting_since.store(began, Relaxed);
    thread.waiting.store(spot.pair_place() + 1, Release);
    let code = real();
    let at = now();
    thread.waiting.store(0, Release);
    let (releaser, released) = (lock.holder.load(Relaxed), lock.released.load(Relaxed));
    spot.hot(me).waiters.fetch_sub(1, Relaxed);
    let has_it = has_it(code);
    if has_it {
        let histograms = &me.region.histograms[spot.pair_place() as usize];
        me.region.waits[spot.pair_place() as usize].note(at.saturating_sub(began), &histograms.waits);
    } else {
        add(&spot.pair(me).timeouts, 1);
    }
    // Who did not get it was not told by a release who had it.
    let holder = if has_it { holder } else { me.region.place_of_holder(holder, spot.lock_place()) };
    let vain = if has_it { 0 } else { Event::IN_VAIN };
    keep(me, (spot.pair_place() + 1) | vain, [began, at, holder, releaser, released]);
    Waited { code, at }
}

/// Puts an event into the ring, if it has room.
pub fn keep(me: Me, pair: u32, [began, ended, holder, releaser, released]: [u64; 5]) {
    let thread = me.thread;
    let head = thread.head.load(Relaxed);
    if head.wrapping_sub(thread.tail.load(Relaxed)) >= RING as u64 {
        add(&thread.lost, 1);
        return;
    }
    // A signal's handler that posts meanwhile is not to write here too.
    thread.busy(|| {
        let event = &thread.ring[head as usize % RING];
        event.began.store(began, Relaxed);
        event.ended.store(ended, Relaxed);
        event.holder.store(holder, Relaxed);
        event.releaser.store(releaser, Relaxed);
        event.released.store(released, Relaxed);
        event.thread.store(thread.tid.load(Relaxed), Relaxed);
        event.pair.store(pair, Relaxed);
        thread.head.store(head + 1, Release);
    });
}

/// A try that did not get it.
#[cold]
pub fn tried_in_vain(me: Me, address: usize, site: usize, kind: Kind) {
    if let Some(spot) = spot(me, address, site, kind) {
        add(&spot.pair(me).timeouts, 1);
    }
}

/// Says that this thread is the one who lets others go on: it signals, posts, or comes to a barrier.
pub fn lets_go(me: Me, spot: Spot) {
    let lock = spot.lock(me);
    lock.holder.store(spot.holder(me), Relaxed);
    if spot.hot(me).is_wanted() {
        lock.released.store(now(), Relaxed);
    }
}
