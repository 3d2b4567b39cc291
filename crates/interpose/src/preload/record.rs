//! Counting of acquisitions, waits, failed tries and releases, and of the thread that ends a wait.

use super::clock::now;
use super::me::Me;
use super::spot::{Spot, found_place, spot};
use super::{local, order};
use crate::layout::{
    Event, FEW, HELD, Held, Hot, KEPT_TICKS, Kind, LONG_TICKS, RING, TIMES_ALL, Thread, pair_add as add,
};
use core::ffi::c_int;
use core::sync::atomic::Ordering::{Relaxed, Release};
use core::sync::atomic::compiler_fence;

/// The result of noting an acquisition.
pub enum Taken {
    /// An acquisition that was noted.
    Noted,
    /// An acquisition that was noted, except for the beginning of its hold: [`begin_timed`] is to be called.
    Timed,
    /// An acquisition that was not noted.
    Not,
}

/// Notes an acquisition in the fastest way of [`taken`], for a thread that held nothing: it is the same as the last
/// one, and no thread waits.
#[inline(always)]
pub fn taken_again(me: Me, address: usize, site: usize, kind: Kind) -> Taken {
    let (thread, last) = (me.thread, &me.thread.last);
    // First of all, as in `taken`.
    thread.state.store(Thread::ALONE | 1, Relaxed);
    if last.is(address) && last.is_from(site) {
        // SAFETY: the distance is that of a spot of this thread, whose places stay mapped.
        let place = unsafe { found_place(thread, last.found.load(Relaxed)) };
        // SAFETY: `last` has a lock, and its place is that of a spot.
        let hot = unsafe { last_hot(me) };
        // The word is not 0 for a destroyed lock either.
        if hot.waiters.load(Relaxed) == 0 {
            if !kind.has_owner() {
                says_who(me);
            }
            return if local::is_timed(place.count()) { Taken::Timed } else { Taken::Noted };
        }
    }
    thread.state.store(0, Relaxed);
    Taken::Not
}

/// Returns the words, read at each acquisition, of the lock that a thread acquired last.
///
/// # Safety
/// The thread has such a lock.
#[inline(always)]
unsafe fn last_hot(me: Me) -> &'static Hot {
    // SAFETY: by this function's contract, the number is the place of a lock.
    unsafe { me.region.hot.get_unchecked(me.thread.last.lock_place.load(Relaxed) as usize) }
}

/// Notes that a thread has the lock that it acquired last. A word that is not stored need not be waited for by the next
/// locked instruction, which is the release.
#[inline(always)]
fn says_who(me: Me) {
    let (last, locks) = (&me.thread.last, &me.region.locks);
    let holder = last.holder.load(Relaxed);
    if let Some(lock) = locks.get(last.lock_place.load(Relaxed) as usize)
        && lock.holder.load(Relaxed) != holder
    {
        lock.holder.store(holder, Relaxed);
    }
}

/// Notes an acquisition in the fast way of [`taken`], for a thread that held nothing: no thread waits. Returns `false`,
/// with nothing noted, if that way is not possible.
#[inline(always)]
pub fn taken_alone(me: Me, spot: Spot, address: usize, site: usize, kind: Kind) -> bool {
    let last = &me.thread.last;
    if spot.hot(me).waiters.load(Relaxed) != 0 || !me.thread.is_at(0) {
        return false;
    }
    // First of all, as in `taken`.
    me.thread.state.store(Thread::ALONE | 1, Relaxed);
    // The lock last of all: a signal's handler that posts in between finds none, or all of it.
    last.lock.store(0, Relaxed);
    compiler_fence(Release);
    last.site.store(site as u64, Relaxed);
    last.holder.store(spot.holder(me), Relaxed);
    last.found.store(spot.found(me), Relaxed);
    last.lock_place.store(spot.lock_place(), Relaxed);
    hold(me, 0, spot, address, [0, 0]);
    last.lock.store(address as u64, Release);
    if !kind.has_owner() {
        spot.lock(me).holder.store(spot.holder(me), Relaxed);
    }
    if local::is_timed(spot.count()) {
        begin_timed(me.thread);
    }
    true
}

/// Notes an acquisition in the fast way of [`taken`], for a thread that holds others: no thread waits, and the order in
/// which they are acquired is known. Returns `false`, with nothing noted, if that way is not possible.
#[inline(always)]
pub fn taken_within(me: Me, spot: Spot, address: usize, kind: Kind) -> bool {
    let depth = me.thread.depth() as usize;
    let is_common =
        (1..HELD).contains(&depth) && spot.hot(me).waiters.load(Relaxed) == 0 && order::is_known(me, spot, depth);
    if !is_common {
        return false;
    }
    me.thread.polled.store(0, Relaxed);
    if !kind.has_owner() {
        spot.lock(me).holder.store(spot.holder(me), Relaxed);
    }
    // The place first, as in `taken`.
    me.thread.set_depth_above_first(depth as u32 + 1);
    hold(me, depth, spot, address, [0, 0]);
    if local::is_timed(spot.count()) {
        begin_timed_within(&me.thread.held[depth]);
    }
    true
}

#[inline(never)]
fn begin_timed_within(held: &Held) {
    held.since.store(now(), Relaxed);
}

/// Begins a hold that is timed.
#[inline(never)]
pub fn begin_timed(thread: &Thread) {
    thread.state.store(1, Relaxed);
    thread.held[0].since.store(now(), Relaxed);
}

/// Notes an acquisition: `at` is its time, if that is known.
pub fn taken(me: Me, spot: Spot, address: usize, kind: Kind, at: u64) {
    let before = spot.count();
    if !kind.has_owner() {
        spot.lock(me).holder.store(spot.holder(me), Relaxed);
    }
    let (is_timed, is_wanted) = (local::is_timed(before), spot.hot(me).is_wanted());
    let at = if at == 0 && (is_timed || is_wanted) { now() } else { at };
    let since = [if is_timed { at } else { 0 }, if is_wanted { at } else { 0 }];
    me.thread.polled.store(0, Relaxed);
    // The place first, then its content: a signal's handler that acquires locks in between leaves both unchanged.
    let depth = me.thread.depth();
    if depth == 0 {
        me.thread.set_depth(1);
        me.thread.last.lock.store(0, Relaxed);
    } else {
        // The first is as it was, and can be released as fast.
        me.thread.set_depth_above_first(depth + 1);
    }
    if (depth as usize) < HELD {
        hold(me, depth as usize, spot, address, since);
    } else {
        lose_hold(me);
    }
}

#[inline(always)]
fn hold(me: Me, depth: usize, spot: Spot, address: usize, [since, wanted]: [u64; 2]) {
    let held = &me.thread.held[depth];
    held.context.store(Held::context_after(me.thread.context_before(depth), spot.pair_place()), Relaxed);
    held.lock.store(address as u64, Relaxed);
    held.since.store(since, Relaxed);
    held.wanted.store(wanted, Relaxed);
    held.pair.store(spot.pair_place(), Relaxed);
    held.place.store(spot.lock_place(), Relaxed);
    held.found.store(spot.found(me), Relaxed);
}

#[cold]
fn lose_hold(me: Me) {
    me.region.header.lost_holds.fetch_add(1, Relaxed);
}

/// Notes a release in the fast way of [`released`]: the lock is the only one that is held, no thread waits for it, and
/// its hold is not timed. Returns `false`, with nothing noted, if that way is not possible.
#[inline(always)]
pub fn released_alone(me: Me, address: usize) -> bool {
    let last = &me.thread.last;
    if !me.thread.is_at(Thread::ALONE | 1) || !last.is(address) {
        return false;
    }
    // SAFETY: the state says that `last` has a lock, and its place is that of a spot.
    let hot = unsafe { last_hot(me) };
    if hot.waiters.load(Relaxed) != 0 {
        return false;
    }
    me.thread.state.store(0, Relaxed);
    true
}

/// Notes that a lock is about to be released. Returns `false` if this thread did not hold it.
pub fn released(me: Me, address: usize) -> bool {
    let depth = me.thread.depth() as usize;
    let Some(last) = depth.checked_sub(1) else { return false };
    match me.thread.held.get(last) {
        Some(held) if held.lock.load(Relaxed) == address as u64 => {
            end_hold(me, held);
            if last == 0 {
                me.thread.set_depth(0);
            } else {
                me.thread.set_depth_above_first(last as u32);
            }
            true
        }
        _ => released_out_of_order(me, address, depth),
    }
}

fn end_hold(me: Me, held: &Held) {
    let (since, lock_place) = (held.since.load(Relaxed), held.place.load(Relaxed) as usize);
    let Some(hot) = me.region.hot.get(lock_place) else { return };
    if since != 0 || hot.is_wanted() {
        end_noted_hold(me, held, since, lock_place);
    }
}

/// Notes the rest for a hold that is timed, or is of a lock that a thread waits for.
#[inline(never)]
fn end_noted_hold(me: Me, held: &Held, since: u64, lock_place: usize) {
    let at = now();
    let is_wanted = me.region.hot[lock_place].is_wanted();
    if is_wanted {
        let lock = &me.region.locks[lock_place];
        lock.holder.store(me.thread.holder_base.load(Relaxed) + u64::from(held.pair.load(Relaxed)), Relaxed);
        lock.released.store(at, Relaxed);
    }
    // The events of the waiters report the holder during their waits. Where preempted holders are counted, a long hold is
    // kept although no thread waited.
    let keeps_long = me.region.header.keeps_long_holds.load(Relaxed) != 0 && !local::is_sampled();
    let is_long = keeps_long && since != 0 && at.saturating_sub(since) >= KEPT_TICKS;
    if is_wanted || is_long {
        let pair = (held.pair.load(Relaxed) + 1) | Event::HOLD;
        let since = if keeps_long { since } else { 0 };
        keep(me, pair, [held.wanted.load(Relaxed).max(since), at, 0, 0, 0]);
    }
    let place = held.pair.load(Relaxed) as usize;
    if since != 0
        && let (Some(pair), Some(histograms)) = (me.region.pairs.get(place), me.region.histograms.get(place))
    {
        let took = at.saturating_sub(since);
        pair.holds.note(took, &histograms.holds);
        // SAFETY: `hold` stored the distance of a spot of this thread, whose places are mapped for as long as the
        // process lives.
        let counted_at = unsafe { found_place(me.thread, held.found.load(Relaxed)) };
        // It may be another pair's by now.
        if counted_at.pair.load(Relaxed) as usize == place {
            let is_timed_as_every = counted_at.acquisitions.load(Relaxed) & TIMES_ALL != 0;
            counted_at.times_all(if is_timed_as_every {
                let [count, ticks] = &histograms.every;
                let (count, ticks) = (add(count, 1), add(ticks, took));
                // The hold that began this may have been a chance: a page that was touched for the first time, say.
                count < FEW || ticks >= count.saturating_mul(LONG_TICKS)
            } else {
                took >= LONG_TICKS
            });
        }
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
            me.thread.set_depth(depth as u32 - 1);
        }
        return depth > HELD;
    };
    end_hold(me, &me.thread.held[place]);
    me.thread.last.lock.store(0, Relaxed);
    me.thread.polled.store(0, Relaxed);
    for later in place + 1..noted {
        let (to, from) = (&me.thread.held[later - 1], &me.thread.held[later]);
        to.lock.store(from.lock.load(Relaxed), Relaxed);
        to.since.store(from.since.load(Relaxed), Relaxed);
        to.wanted.store(from.wanted.load(Relaxed), Relaxed);
        to.pair.store(from.pair.load(Relaxed), Relaxed);
        to.place.store(from.place.load(Relaxed), Relaxed);
        to.found.store(from.found.load(Relaxed), Relaxed);
    }
    me.thread.set_depth(depth as u32 - 1);
    me.thread.renew_contexts(place);
    true
}

/// The end of a wait.
pub struct Waited {
    pub code: c_int,
    /// The time of the end.
    pub at: u64,
}

/// Waits in the way that the program called, and notes it.
///
/// `holder` is the holder when the lock was tried: [`Lock::holder`]'s, or for a mutex `holder::somewhere`.
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
    thread.request.waited(spot.pair(me).kind.load(Relaxed), at.saturating_sub(began));
    let has_it = has_it(code);
    let histograms = &me.region.histograms[spot.pair_place() as usize];
    if has_it {
        me.region.waits[spot.pair_place() as usize].note(at.saturating_sub(began), &histograms.waits);
    } else {
        add(&spot.pair(me).timeouts, 1);
        add(&histograms.vain_ticks, at.saturating_sub(began));
    }
    // A thread that did not get the lock saw no release that named its holder.
    let holder = if has_it { holder } else { me.region.place_of_holder(holder, spot.lock_place()) };
    let vain = if has_it { 0 } else { Event::IN_VAIN };
    keep(me, (spot.pair_place() + 1) | vain, [began, at, holder, releaser, released]);
    Waited { code, at }
}

/// Puts an event into the ring, if it has room.
pub fn keep(me: Me, pair: u32, [began, ended, holder, releaser, released]: [u64; 5]) {
    if me.region.header.skips_events.load(Relaxed) != 0 {
        return;
    }
    let thread = me.thread;
    let head = thread.head.load(Relaxed);
    if head.wrapping_sub(thread.tail.load(Relaxed)) >= RING as u64 {
        add(&thread.lost, 1);
        return;
    }
    // A signal's handler that posts in between must not write here too.
    thread.busy(|| {
        let event = &thread.ring[head as usize % RING];
        event.began.store(began, Relaxed);
        event.ended.store(ended, Relaxed);
        event.holder.store(holder, Relaxed);
        event.releaser.store(releaser, Relaxed);
        event.released.store(released, Relaxed);
        event.thread.store(thread.tid.load(Relaxed), Relaxed);
        event.pair.store(pair, Relaxed);
        event.label.store(thread.request.label.load(Relaxed), Relaxed);
        thread.head.store(head + 1, Release);
    });
}

/// Notes a try that failed. A thread that tries the same lock again and again, and acquires none in between, waits for
/// it: the reader sees that by the number of tries.
#[cold]
pub fn tried_in_vain(me: Me, address: usize, site: usize, kind: Kind) {
    if let Some(spot) = spot(me, address, site, kind) {
        add(&spot.pair(me).timeouts, 1);
        let (thread, polled) = (me.thread, spot.pair_place() + 1);
        let is_again = thread.polled.load(Relaxed) == polled && thread.last.lock.load(Relaxed) == 0;
        thread.tries.store(if is_again { thread.tries.load(Relaxed).saturating_add(1) } else { 1 }, Relaxed);
        thread.polled.store(polled, Relaxed);
        // So the next acquisition on the fastest way sets it.
        thread.last.lock.store(0, Relaxed);
    }
}

/// Notes that this thread is the one that lets others go on: it signals, posts, or comes to a barrier.
pub fn lets_go(me: Me, spot: Spot) {
    let lock = spot.lock(me);
    lock.holder.store(spot.holder(me), Relaxed);
    if spot.hot(me).is_wanted() {
        lock.released.store(now(), Relaxed);
    }
}
