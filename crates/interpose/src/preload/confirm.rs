//! A run that confirms a cycle: a thread that holds a lock, and is about to acquire the next one of the cycle, is held
//! until the other threads of the cycle have theirs, or its time is over.
//!
//! A thread says which lock it wants before it is held, and until it has it. So a cycle of locks that are held and
//! wanted is a deadlock that nothing but an end of a timed wait can undo, and its threads go on into it.

use super::clock::now_ns;
use super::external;
use super::local;
use super::me::{Me, me};
use super::spot::{Spot, spot};
use crate::layout::{HELD, Kind, Region, TARGETS, Target, Thread};
use core::ffi::c_void;
use core::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};

/// The period at which a held thread looks whether the others have come.
const LOOK_NS: u64 = 200_000;
/// The longest cycle that is searched.
const LONGEST: usize = 8;

/// Holds a thread that is about to acquire a lock, if it has come to a target.
pub fn before(lock: *mut c_void, site: usize, kind: Kind) {
    let Some(me) = me().filter(|me| me.thread.depth() > 0) else { return };
    let Some(spot) = spot(me, lock as usize, site, kind) else { return };
    if held(me.thread).any(|place| place == spot.lock_place()) {
        return;
    }
    me.thread.wants.store(spot.lock_place() + 1, SeqCst);
    if let Some(target) = target_of(me, site) {
        hold(me, spot, target);
    } else {
        closes_cycle(me, spot);
    }
}

/// Notes that the thread has acquired the lock, or does not want it any more.
pub fn after() {
    if let Some(me) = me() {
        me.thread.wants.store(0, Relaxed);
    }
}

/// Returns the locks that a thread holds.
fn held(thread: &Thread) -> impl Iterator<Item = u32> + '_ {
    thread.held[..(thread.depth() as usize).min(HELD)].iter().map(|held| held.place.load(Relaxed))
}

/// Returns the target that a thread has come to, unless it is to pass.
fn target_of(me: Me, site: usize) -> Option<&'static Target> {
    let confirm = &me.region.confirm;
    let process = local::local().process.load(Relaxed);
    let depth = (me.thread.depth() as usize).min(HELD);
    let has_held_site = |target: &Target| {
        let mut sites = me.thread.held[..depth].iter().filter_map(|held| {
            let pair = me.region.pairs.get(held.pair.load(Relaxed) as usize)?;
            Some(pair.site.load(Relaxed))
        });
        let held_site = target.held_site.load(Relaxed);
        sites.any(|site| site == held_site)
    };
    let mut targets = confirm.targets[..(confirm.count.load(Acquire) as usize).min(TARGETS)].iter();
    let target = targets.find(|target| {
        target.process.load(Relaxed) == process
            && target.taken_site.load(Relaxed) == site as u64
            && has_held_site(target)
    })?;
    (target.arrivals.fetch_add(1, Relaxed) >= target.skip.load(Relaxed)).then_some(target)
}

/// Holds the calling thread until a cycle is closed, its time is over, or that of all threads together.
fn hold(me: Me, spot: Spot, target: &Target) {
    let (began, pause) = (now_ns(), target.pause_ns.load(Relaxed));
    let budget = &me.region.confirm.budget_ns;
    loop {
        if closes_cycle(me, spot) || now_ns().saturating_sub(began) >= pause {
            return;
        }
        let left = budget.load(Relaxed);
        if left < LOOK_NS {
            return;
        }
        budget.store(left - LOOK_NS, Relaxed);
        external::sleep(LOOK_NS);
    }
}

/// Returns whether the lock that is wanted is held by a thread that wants one, and so on, of which the last is held by
/// the calling thread.
fn closes_cycle(me: Me, spot: Spot) -> bool {
    let is_closed = leads_back(me.region, me.thread, spot.lock_place(), LONGEST);
    if is_closed {
        me.region.confirm.has_met.store(1, Relaxed);
    }
    is_closed
}

fn leads_back(region: &'static Region, first: &Thread, lock: u32, left: usize) -> bool {
    let holders = region.threads().filter(|thread| thread.tid.load(Acquire) != 0);
    let mut holders = holders.filter(|thread| held(thread).any(|place| place == lock));
    holders.any(|holder| {
        let wanted = holder.wants.load(SeqCst).checked_sub(1);
        core::ptr::eq(holder, first)
            || left > 1 && wanted.is_some_and(|next| next != lock && leads_back(region, first, next, left - 1))
    })
}
