//! Finding the places of a lock and of a call site.

use super::me::Me;
use crate::layout::{KNOWN_EDGES, Kind, Lock, PAIRS, PLACES, PLACES_USED, Pair, Place};
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// Where a lock, as it is taken at one call site, is counted.
#[derive(Clone, Copy)]
pub struct Spot {
    pub pair: &'static Pair,
    pub lock: &'static Lock,
    pub pair_place: u32,
    pub lock_place: u32,
}

impl Spot {
    /// The word that says that this thread has it.
    #[inline(always)]
    pub fn holder(&self, me: Me) -> u64 {
        me.thread.holder_base.load(Relaxed) + self.pair_place as u64
    }
}

/// Looked into before a lock counts as one that finds no place.
const PROBES: usize = 64;
/// While there are fewer locks than this, one that was destroyed is not the one that comes after it at its address.
const MANY_LOCKS: u32 = 1 << 14;

#[inline(always)]
fn scatter(value: u64) -> usize {
    (value.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
}

/// The spot of this lock at this call site; `None` if there is no room, which is counted.
pub fn spot(me: Me, lock: usize, site: usize, kind: Kind) -> Option<Spot> {
    let key = key(me, lock);
    known(me, &me.thread.places[home(key, site)], key, site).or_else(|| look_up(me, lock, site, kind))
}

/// The same where it is at once: not at its first use, nor where another is in its way.
#[inline(always)]
pub fn known_spot(me: Me, lock: usize, site: usize) -> Option<Spot> {
    let key = key(me, lock);
    known(me, &me.thread.places[home(key, site)], key, site)
}

/// The lock's key: that of another process is another.
#[inline(always)]
fn key(me: Me, lock: usize) -> u64 {
    me.thread.key_base.load(Relaxed) | Lock::address_part(lock)
}

#[inline(always)]
fn home(key: u64, site: usize) -> usize {
    scatter(key ^ (site as u64).rotate_left(32)) % PLACES
}

#[inline(always)]
fn known(me: Me, place: &'static Place, key: u64, site: usize) -> Option<Spot> {
    if place.key.load(Relaxed) != key || place.site.load(Relaxed) != site as u64 {
        return None;
    }
    let (pair_place, lock_place) = (place.pair.load(Relaxed), place.place.load(Relaxed));
    // SAFETY: a place's numbers are those of a pair and a lock that were found, and are stored before its key.
    let (pair, found) = unsafe {
        (me.region.pairs.get_unchecked(pair_place as usize), me.region.locks.get_unchecked(lock_place as usize))
    };
    // One that was destroyed is not the one that is meant.
    (found.key.load(Relaxed) == key).then_some(Spot { pair, lock: found, pair_place, lock_place })
}

#[cold]
#[inline(never)]
fn look_up(me: Me, lock: usize, site: usize, kind: Kind) -> Option<Spot> {
    me.thread.busy.store(1, Relaxed);
    let spot = searched(me, lock, site, kind);
    me.thread.busy.store(0, Relaxed);
    spot
}

fn searched(me: Me, lock: usize, site: usize, kind: Kind) -> Option<Spot> {
    let key = key(me, lock);
    let home = home(key, site);
    for probe in 0..PROBES {
        let place = &me.thread.places[(home + probe) % PLACES];
        if let Some(spot) = known(me, place, key, site) {
            return Some(spot);
        }
        let there = place.key.load(Relaxed);
        let is_free = there == 0 && me.thread.places_used.load(Relaxed) < PLACES_USED;
        if is_free || (there == key && place.site.load(Relaxed) == site as u64) {
            let spot = add(me, lock, site, kind)?;
            if is_free {
                me.thread.places_used.store(me.thread.places_used.load(Relaxed) + 1, Relaxed);
            }
            place.pair.store(spot.pair_place, Relaxed);
            place.place.store(spot.lock_place, Relaxed);
            place.site.store(site as u64, Relaxed);
            place.key.store(key, Release);
            return Some(spot);
        }
        if there == 0 {
            break;
        }
    }
    me.region.header.lost_pairs.fetch_add(1, Relaxed);
    None
}

fn add(me: Me, lock: usize, site: usize, kind: Kind) -> Option<Spot> {
    let Some((lock_place, lock)) = lock_of(me, lock, site, kind) else {
        me.region.header.lost_locks.fetch_add(1, Relaxed);
        return None;
    };
    let pairs = &me.region.header.pairs;
    let mut pair_place = PAIRS as u32;
    if pairs.load(Relaxed) < PAIRS as u32 {
        pair_place = pairs.fetch_add(1, Relaxed);
    }
    let Some(pair) = me.region.pairs.get(pair_place as usize) else {
        me.region.header.lost_pairs.fetch_add(1, Relaxed);
        return None;
    };
    pair.lock.store(lock_place, Relaxed);
    pair.kind.store(kind as u32, Relaxed);
    pair.site.store(site as u64, Release);
    Some(Spot { pair, lock, pair_place, lock_place })
}

/// The place of a lock: its own, or a new one.
fn lock_of(me: Me, address: usize, site: usize, kind: Kind) -> Option<(u32, &'static Lock)> {
    let process = me.thread.process.load(Relaxed);
    let key = Lock::key_of(process, address);
    let home = scatter(key);
    for probe in 0..PROBES {
        let place = (home + probe) % me.region.locks.len();
        let lock = &me.region.locks[place];
        let there = lock.key.load(Acquire);
        if there == key {
            return Some((place as u32, lock));
        }
        if there == 0 {
            match lock.key.compare_exchange(0, key, AcqRel, Acquire) {
                Ok(_) => {
                    describe(lock, address, process, site, kind);
                    me.region.header.locks.fetch_add(1, Relaxed);
                    return Some((place as u32, lock));
                }
                Err(other) if other == key => return Some((place as u32, lock)),
                Err(_) => {}
            }
        }
    }
    None
}

fn describe(lock: &Lock, address: usize, process: u32, site: usize, kind: Kind) {
    /// Where glibc's mutex says what it is, on 64-bit machines.
    const MUTEX_KIND: usize = 16;
    if kind == Kind::Mutex {
        let word = (address + MUTEX_KIND) as *const u32;
        // SAFETY: the program gives a pointer to a mutex, whose word this is; nobody changes it after its beginning.
        lock.attributes.store(unsafe { word.read_volatile() }, Relaxed);
    }
    lock.process.store(process, Relaxed);
    lock.kind.store(kind as u32, Relaxed);
    lock.first_site.store(site as u64, Relaxed);
    lock.address.store(address as u64, Release);
}

/// The place of a lock that was used before.
pub fn place_of(me: Me, address: usize) -> Option<u32> {
    let key = key(me, address);
    let home = scatter(key);
    for probe in 0..PROBES {
        let place = (home + probe) % me.region.locks.len();
        match me.region.locks[place].key.load(Acquire) {
            there if there == key => return Some(place as u32),
            0 => return None,
            _ => {}
        }
    }
    None
}

/// A lock was destroyed.
pub fn forget(me: Me, address: usize) {
    if me.region.header.locks.load(Relaxed) > MANY_LOCKS {
        return;
    }
    if let Some(place) = place_of(me, address) {
        me.region.locks[place as usize].key.store(Lock::ENDED, Release);
    }
}

/// Where a thread remembers that it noted this order.
pub fn known_edge(me: Me, key: u64) -> &'static core::sync::atomic::AtomicU64 {
    &me.thread.known_edges[scatter(key) % KNOWN_EDGES]
}
