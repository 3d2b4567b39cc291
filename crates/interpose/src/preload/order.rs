//! The orders in which locks are acquired.
//!
//! An acquisition is known by a tag: a hash of the locks that are held, of the call sites that acquired them, of this
//! call site, and of the thread's `epoch`. A thread that has noted the orders of a tag does not look at them again.

use super::me::Me;
use super::spot::{Spot, found_place, scatter};
use crate::layout::{EDGES, Edge, GATES, HELD, Held, Kind, ORDERS, ORDERS_OF_EDGE, Order, Place};
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64};

/// Slots that the edges of one lock have together, which fill two lines of the cache.
const TOGETHER: usize = 16;
/// Slots that are looked at after these before an edge has no room; and for an order.
const PROBES: usize = 32;

/// Notes that a thread is about to wait for a lock while it holds others. A try does not wait, so it is not noted.
pub fn note(me: Me, spot: Spot, kind: Kind, is_timed: bool) {
    let depth = me.thread.depth() as usize;
    if depth > 0 && kind.excludes() && !is_known(me, spot, depth) {
        me.thread.busy(|| note_all(me, spot, kind, is_timed, depth.min(HELD)));
    }
}

/// Returns whether there is nothing to note: this thread did so before, with the same locks held.
#[inline(always)]
pub fn is_known(me: Me, spot: Spot, depth: usize) -> bool {
    let last = &me.thread.held[depth.min(HELD) - 1];
    place_of(me, last).knows(tag(last, spot))
}

#[inline(always)]
fn tag(last: &Held, spot: Spot) -> u32 {
    Held::context_after(last.context.load(Relaxed), spot.pair_place()) | 1
}

#[inline(always)]
fn place_of(me: Me, held: &Held) -> &'static Place {
    // SAFETY: `hold` stored the distance of a spot of this thread, whose places are mapped for as long as the process
    // lives.
    unsafe { found_place(me.thread, held.found.load(Relaxed)) }
}

#[cold]
#[inline(never)]
fn note_all(me: Me, spot: Spot, kind: Kind, is_timed: bool, depth: usize) {
    let held = &me.thread.held[..depth];
    // To acquire a lock that it holds makes no order.
    if held.iter().all(|one| one.place.load(Relaxed) != spot.lock_place()) {
        (0..depth).for_each(|first| note_one(me, spot, kind, is_timed, held, first));
    }
    let last = &held[depth - 1];
    place_of(me, last).learn(tag(last, spot));
}

/// Notes the order of the lock at `first` and the one that is acquired.
fn note_one(me: Me, spot: Spot, kind: Kind, is_timed: bool, held: &[Held], first: usize) {
    let (one, site) = (&held[first], spot.pair(me).site.load(Relaxed));
    let Some((held_site, held_kind)) = acquired(me, one) else { return };
    let key = Edge::key_of(one.place.load(Relaxed), spot.lock_place());
    let Some(edge) = edge_of(me, key, [held_site, site]) else {
        me.region.header.lost_edges.fetch_add(1, Relaxed);
        return;
    };
    let flags = [
        (held_kind == Kind::Read, Order::HELD_SHARED),
        (kind == Kind::Read, Order::TAKEN_SHARED),
        (is_timed, Order::TIMED),
    ];
    let flags = flags.iter().filter(|(is_set, _)| *is_set).fold(0, |all, (_, flag)| all | flag);
    let mut gates = [0; GATES];
    let others = held.iter().enumerate().filter(|(place, _)| *place != first);
    let others = others.filter_map(|(_, other)| Some((other, acquired(me, other)?.1)));
    for (gate, (other, kind)) in gates.iter_mut().zip(others) {
        *gate = (other.place.load(Relaxed) + 1) << 1 | u32::from(kind == Kind::Read);
    }
    insert(me, edge, key, [held_site, site], flags, gates);
}

/// Returns the call site that acquired a held lock, and its kind, if that excludes.
fn acquired(me: Me, held: &Held) -> Option<(u64, Kind)> {
    let pair = me.region.pairs.get(held.pair.load(Relaxed) as usize)?;
    let kind = Kind::of(pair.kind.load(Relaxed)).filter(|kind| kind.excludes())?;
    Some((pair.site.load(Relaxed), kind))
}

/// Returns the slots of an edge: first those of the lock that is held, of which a program uses several in one hold;
/// where these are too many, any.
fn places_of(key: u64) -> impl Iterator<Item = usize> {
    let (together, alone) = (scatter(key >> 32) / TOGETHER * TOGETHER, scatter(key));
    (together..together + TOGETHER).chain(alone..alone + PROBES).map(|place| place % EDGES)
}

/// Returns the edge of a key, which gets a slot if it has none; `None` without room.
fn edge_of(me: Me, key: u64, [held_site, taken_site]: [u64; 2]) -> Option<&'static Edge> {
    let claim = |place: usize| claimed(&me.region.edge_keys[place], key).map(|is_new| (place, is_new));
    let (place, is_new) = places_of(key).find_map(claim)?;
    let edge = &me.region.edges[place];
    if is_new {
        edge.held_site.store(held_site, Relaxed);
        edge.taken_site.store(taken_site, Relaxed);
        edge.thread.store(me.thread.tid.load(Relaxed), Relaxed);
    }
    Some(edge)
}

/// Claims a slot by its key: returns whether it was free, or `None` if another key has it. The read before the exchange
/// takes no line of the cache from the other CPUs, and this is done with locks held.
fn claimed(slot: &AtomicU64, key: u64) -> Option<bool> {
    match slot.load(Acquire) {
        0 => match slot.compare_exchange(0, key, AcqRel, Acquire) {
            Ok(_) => Some(true),
            Err(there) => (there == key).then_some(false),
        },
        there => (there == key).then_some(false),
    }
}

/// Adds an order in its context, unless it is there.
fn insert(me: Me, edge: &Edge, key: u64, [held_site, taken_site]: [u64; 2], flags: u32, gates: [u32; GATES]) {
    if edge.orders.load(Relaxed) >= ORDERS_OF_EDGE {
        return mark(&edge.is_partial);
    }
    let (thread, position) = (me.thread, me.region.header.kinships.load(Relaxed));
    let numbers = [thread.comer.load(Relaxed), thread.epoch.load(Relaxed), flags];
    let hash = |hash: u64, word: u64| (hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let words = numbers.into_iter().chain(gates).map(u64::from);
    let order_key = words.chain([held_site, taken_site]).fold(key, hash).max(1);
    let start = scatter(order_key);
    let mut slots = (start..start + PROBES).map(|slot| slot % ORDERS);
    let found = slots.find_map(|slot| Some((slot, claimed(&me.region.order_keys[slot], order_key)?)));
    let Some((slot, is_new)) = found else { return mark(&edge.is_partial) };
    if !is_new {
        return;
    }
    edge.orders.fetch_add(1, Relaxed);
    let order = &me.region.orders[slot];
    order.edge.store(key, Relaxed);
    order.held_site.store(held_site, Relaxed);
    order.taken_site.store(taken_site, Relaxed);
    order.thread.store(thread.tid.load(Relaxed), Relaxed);
    order.comer.store(thread.comer.load(Relaxed), Relaxed);
    order.position.store(position, Relaxed);
    order.gates.iter().zip(gates).for_each(|(word, gate)| word.store(gate, Relaxed));
    order.flags.store(flags | Order::WRITTEN, Release);
}

/// Sets a word that many threads may set, without taking its line of the cache from them again and again.
fn mark(word: &AtomicU32) {
    if word.load(Relaxed) == 0 {
        word.store(1, Relaxed);
    }
}
