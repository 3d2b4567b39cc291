//! In which order locks are taken.

use super::me::Me;
use super::spot::{Spot, found_place, scatter};
use crate::layout::{EDGES, Edge, HELD, Held, Kind, Place};
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

/// Places that the orders of one lock have together, which lie in two lines of the cache.
const TOGETHER: usize = 16;
/// Looked into after these before an order counts as one that finds no place.
const PROBES: usize = 32;

/// Notes that a lock is about to be waited for while others are held. To try is no such thing: who only tries does not
/// wait.
pub fn note(me: Me, spot: Spot, kind: Kind) {
    let depth = me.thread.depth() as usize;
    if depth > 0 && kind.excludes() {
        note_all(me, spot, kind, depth.min(HELD));
    }
}

fn note_all(me: Me, spot: Spot, kind: Kind, depth: usize) {
    for held in me.thread.held[..depth].iter().filter(|held| !is_known_within(me, spot, held)) {
        let key = Edge::key_of(held.place.load(Relaxed), spot.lock_place());
        // There can be more orders than are remembered. To look for one first takes no line of the cache from the other
        // CPUs, and this is done with locks in hand.
        match noted(me, key) {
            Some(edge) => note_thread(me, edge),
            None => me.thread.busy(|| insert(me, key, held.pair.load(Relaxed), spot, kind)),
        }
        place_of(me, held).learn(spot.lock_place());
    }
}

/// Whether there is nothing to note: this thread did so before, with each of the so many locks that it holds.
#[inline(always)]
pub fn is_known(me: Me, spot: Spot, depth: usize) -> bool {
    me.thread.held[..depth.min(HELD)].iter().all(|held| is_known_within(me, spot, held))
}

#[inline(always)]
fn is_known_within(me: Me, spot: Spot, held: &Held) -> bool {
    held.place.load(Relaxed) == spot.lock_place() || place_of(me, held).knows(spot.lock_place())
}

#[inline(always)]
fn place_of(me: Me, held: &Held) -> &'static Place {
    // SAFETY: it is what the spot told by which the lock was noted to be held.
    unsafe { found_place(me.thread, held.found.load(Relaxed)) }
}

fn noted(me: Me, key: u64) -> Option<&'static Edge> {
    let there = places_of(key).map(|place| (place, me.region.edge_keys[place].load(Acquire)));
    let mut there = there.take_while(|(_, there)| *there != 0);
    there.find(|(_, there)| *there == key).map(|(place, _)| &me.region.edges[place])
}

/// Whether the opposite order was seen, of one thread alone, and that thread has ended.
fn opposite_has_ended(me: Me, key: u64) -> bool {
    let opposite = noted(me, key.rotate_left(32));
    opposite.is_some_and(|edge| {
        let thread = edge.thread.load(Relaxed);
        edge.others.load(Relaxed) == 0 && me.region.threads().all(|place| place.tid.load(Relaxed) != thread)
    })
}

/// Notes that not one thread alone takes the locks in this order.
fn note_thread(me: Me, edge: &Edge) {
    if edge.thread.load(Relaxed) != me.thread.tid.load(Relaxed) {
        edge.others.store(1, Relaxed);
    }
}

/// First among those of the lock that is held, of which a program uses several in one hold; where these are too many,
/// anywhere.
fn places_of(key: u64) -> impl Iterator<Item = usize> {
    let (together, alone) = (scatter(key >> 32) / TOGETHER * TOGETHER, scatter(key));
    (together..together + TOGETHER).chain(alone..alone + PROBES).map(|place| place % EDGES)
}

#[cold]
fn insert(me: Me, key: u64, held: u32, spot: Spot, kind: Kind) {
    let Some(pair) = me.region.pairs.get(held as usize) else { return };
    let Some(held_kind) = Kind::of(pair.kind.load(Relaxed)).filter(|kind| kind.excludes()) else { return };
    for place in places_of(key) {
        let edge = &me.region.edges[place];
        match me.region.edge_keys[place].compare_exchange(0, key, AcqRel, Acquire) {
            Ok(_) => {
                edge.held_site.store(pair.site.load(Relaxed), Relaxed);
                edge.taken_site.store(spot.pair(me).site.load(Relaxed), Relaxed);
                edge.thread.store(me.thread.tid.load(Relaxed), Relaxed);
                edge.apart.store(opposite_has_ended(me, key) as u32, Relaxed);
                edge.readers.store((kind == Kind::Read && held_kind == Kind::Read) as u32, Relaxed);
                return;
            }
            Err(there) if there == key => return note_thread(me, edge),
            Err(_) => {}
        }
    }
    me.region.header.lost_edges.fetch_add(1, Relaxed);
}
