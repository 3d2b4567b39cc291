//! Lookup of the places of a lock and of a call site, and of the pair of the two.
//!
//! The memory has room for a limited number of locks. Later locks are *folded*: those that a call site acquires share
//! one place, whose address is that of the call site. Their counts and times are exact, and their holders are not known.

use super::callers;
use super::local;
use super::me::Me;
use super::shared_lock;
use crate::layout::{Hot, Kind, Lock, MORE_PLACES, PAIRS, PLACES, Pair, Place, TIMES_ALL, Thread};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// The location where the acquisitions of a lock at one call site are counted. One word: so it is passed in a register.
#[derive(Clone, Copy)]
pub struct Spot {
    place: &'static Place,
}

impl Spot {
    #[inline(always)]
    pub fn pair_place(&self) -> u32 {
        self.place.pair.load(Relaxed)
    }

    #[inline(always)]
    pub fn lock_place(&self) -> u32 {
        self.place.place.load(Relaxed)
    }

    pub fn pair(&self, me: Me) -> &'static Pair {
        // SAFETY: the number is that of a pair that was found, and was stored before the place's key.
        unsafe { me.region.pairs.get_unchecked(self.pair_place() as usize) }
    }

    #[inline(always)]
    pub fn hot(&self, me: Me) -> &'static Hot {
        // SAFETY: the number is that of a lock that was found, and was stored before the place's key.
        unsafe { me.region.hot.get_unchecked(self.lock_place() as usize) }
    }

    /// Returns the word that says that this thread has the lock.
    #[inline(always)]
    pub fn holder(&self, me: Me) -> u64 {
        me.thread.holder_base.load(Relaxed) + self.pair_place() as u64
    }

    /// Returns the word that says which thread has the lock, or had it last.
    pub fn last_holder(&self, me: Me) -> u64 {
        self.lock(me).holder.load(Relaxed)
    }

    /// Returns the words of the lock that are not read at each acquisition.
    #[inline(always)]
    pub fn lock(&self, me: Me) -> &'static Lock {
        // SAFETY: the number is that of a lock that was found, and was stored before the place's key.
        unsafe { me.region.locks.get_unchecked(self.lock_place() as usize) }
    }

    /// Counts an acquisition here; returns the number before.
    #[inline(always)]
    pub fn count(&self) -> u64 {
        self.place.count()
    }

    /// Returns the distance of its place behind the thread's memory.
    #[inline(always)]
    pub fn found(&self, me: Me) -> u32 {
        let distance = core::ptr::from_ref(self.place).addr() - core::ptr::from_ref(me.thread).addr();
        (distance / size_of::<Place>()) as u32
    }
}

/// The offset of the kind in glibc's mutex on 64-bit machines.
const MUTEX_KIND: usize = 16;
/// The offset of the thread that has the mutex.
pub const MUTEX_OWNER: usize = 8;
/// The number of places searched before a lock counts as one that finds no place.
const PROBES: usize = 64;
/// The number of places of the first table that are searched.
const TRIES: usize = 4;
/// The distance of locks that have their places in a row for one call site: so that many locks that are in a row touch
/// few pages.
const ROW: u64 = 1024;
/// The number of bytes for each separate place there: no lock is smaller by much.
const APART: u64 = 32;
/// The number of places next to its neighbours that are searched before.
const NEAR: usize = 8;
/// The distance of locks that have their places next to each other.
const NEIGHBOURHOOD: u64 = 2048;
/// The number of locks below which a destroyed lock is distinguished from a later one at its address.
const MANY_LOCKS: u32 = 1 << 14;
/// The number of pairs that only folded locks get: one for each thread and call site.
const FOLDED_PAIRS: usize = 1 << 13;

#[inline(always)]
pub fn scatter(value: u64) -> usize {
    (value.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
}

/// Returns the place at this distance behind a thread's memory.
///
/// # Safety
/// The distance is that of a spot of this thread.
#[inline(always)]
pub unsafe fn found_place(thread: &'static Thread, distance: u32) -> &'static Place {
    // SAFETY: at this distance there is a place of the same memory, by which the spot was found.
    unsafe { &*core::ptr::from_ref(thread).cast::<Place>().add(distance as usize) }
}

/// Returns the spot of this lock at this call site; `None` if there is no room, which is counted.
pub fn spot(me: Me, lock: usize, site: usize, kind: Kind) -> Option<Spot> {
    let known = home_spot(me, lock, site).or_else(|| known_elsewhere(me, lock, site));
    known.filter(|spot| is_there(me, *spot)).or_else(|| look_up(me, lock, site, kind))
}

/// Returns the spot that exists already, if its place was free when it was made. The lock may be gone.
#[inline(always)]
pub fn home_spot(me: Me, lock: usize, site: usize) -> Option<Spot> {
    let key = key(me, lock);
    known(&me.thread.places[home(key, site) % PLACES], key, site)
}

/// Returns the spot that exists already elsewhere: nothing is noted for that, so that it is no more than loads.
#[inline(never)]
fn known_elsewhere(me: Me, lock: usize, site: usize) -> Option<Spot> {
    let key = key(me, lock);
    find(me, key, site, false).and_then(|(place, _)| known(place, key, site))
}

/// Returns whether the lock exists: a destroyed one is not the one that is meant.
fn is_there(me: Me, spot: Spot) -> bool {
    spot.hot(me).waiters.load(Relaxed) & Hot::GONE == 0
}

/// Returns the lock's key: that of another process is another.
#[inline(always)]
fn key(me: Me, lock: usize) -> u64 {
    me.thread.key_base.load(Relaxed) | Lock::address_part(lock)
}

#[inline(always)]
fn row(key: u64, site: usize) -> usize {
    scatter((key / ROW) ^ (site as u64).rotate_left(32))
}

/// Returns the number of a place if nothing is in the way.
#[inline(always)]
fn home(key: u64, site: usize) -> usize {
    row(key, site) + (key % ROW / APART) as usize
}

#[inline(always)]
fn known(place: &'static Place, key: u64, site: usize) -> Option<Spot> {
    (place.key.load(Relaxed) == key && place.site.load(Relaxed) == site as u64).then_some(Spot { place })
}

#[cold]
#[inline(never)]
fn look_up(me: Me, lock: usize, site: usize, kind: Kind) -> Option<Spot> {
    me.thread.busy(|| searched(me, lock, site, kind))
}

fn searched(me: Me, lock: usize, site: usize, kind: Kind) -> Option<Spot> {
    let found = found(me, [lock, lock], site, kind, PAIRS - FOLDED_PAIRS);
    let is_folded = found.is_err() && matches!(local::local().level.load(Relaxed), 1 | 2);
    let found = if is_folded { self::found(me, [site, lock], site, kind, PAIRS) } else { found };
    found.inspect_err(|lost| _ = lost.fetch_add(1, Relaxed)).ok()
}

/// Returns the spot of a lock: the first address determines its place, and the second is its own. Pairs above `most`
/// are not for it. Without room, it is the count of such losses.
fn found(me: Me, [named, lock]: [usize; 2], site: usize, kind: Kind, most: usize) -> Result<Spot, &'static AtomicU64> {
    let key = key(me, named);
    let (place, number) = find(me, key, site, named == site).ok_or(&me.region.header.lost_pairs)?;
    match known(place, key, site).filter(|spot| is_there(me, *spot)) {
        Some(spot) => Ok(spot),
        None => add(me, [named, lock], kind, (place, number), site, most),
    }
}

/// Returns the place of the lock at this call site, or the free one that it would get, and its number among all; `None`
/// if there is neither.
///
/// In the first table only a few places are searched, so that a full one costs no more; locks that find no room there
/// go on to the second. No place becomes free again, so an existing place is found where it was put.
fn find(me: Me, key: u64, site: usize, is_folded: bool) -> Option<(&'static Place, usize)> {
    let (home, row, first) = (home(key, site), row(key, site), me.region.first_place(me.thread));
    let more = &me.region.more_places[first / (PLACES + MORE_PLACES)];
    // If another row is in the way, the following places are occupied as well: so the next one is searched far from
    // there.
    let at = |turn: usize| home + turn * (row >> 13 | 1);
    let tries = (0..TRIES).map(|turn| at(turn) % PLACES).map(|number| (&me.thread.places[number], number));
    let beyond = (0..PROBES).map(|turn| at(turn) % MORE_PLACES).map(|number| (&more[number], PLACES + number));
    let is_its_own = |place: &Place| place.key.load(Relaxed) == key && place.site.load(Relaxed) == site as u64;
    let found = tries.chain(beyond).find(|(place, _)| place.key.load(Relaxed) == 0 || is_its_own(place));
    // A table fuller than this would be slow to search.
    let has_room = || is_folded || (me.thread.more_places_used.load(Relaxed) as usize) < MORE_PLACES / 4 * 3;
    found
        .filter(|(place, number)| *number < PLACES || is_its_own(place) || has_room())
        .map(|(place, number)| (place, first + number))
}

/// Makes a pair for the lock at this call site, and the place one for it.
fn add(
    me: Me,
    [named, lock]: [usize; 2],
    kind: Kind,
    (place, number): (&'static Place, usize),
    site: usize,
    most: usize,
) -> Result<Spot, &'static AtomicU64> {
    // A lock without a pair needs no place.
    let pair_place = take_pair(me, most).ok_or(&me.region.header.lost_pairs)?;
    let lock_place = lock_of(me, [named, lock], site, kind).ok_or(&me.region.header.lost_locks)?;
    let pair = &me.region.pairs[pair_place as usize];
    if place.key.load(Relaxed) == 0 {
        let is_beyond = number % (PLACES + MORE_PLACES) >= PLACES;
        let used = &me.thread.more_places_used;
        used.store(used.load(Relaxed) + u32::from(is_beyond), Relaxed);
    } else {
        // Until now it counted for a lock that was destroyed.
        place.forget_within();
        me.region.pairs[place.pair.load(Relaxed) as usize % PAIRS]
            .acquisitions
            .store(place.acquisitions.load(Relaxed) & !TIMES_ALL, Relaxed);
    }
    place.pair.store(pair_place, Release);
    place.acquisitions.store(0, Release);
    place.place.store(lock_place, Relaxed);
    place.site.store(site as u64, Relaxed);
    place.key.store(key(me, named), Release);
    pair.lock.store(lock_place, Relaxed);
    pair.process.store(me.thread.process.load(Relaxed), Relaxed);
    pair.kind.store(kind as u32, Relaxed);
    pair.counted_at.store(number as u32 + 1, Release);
    pair.site.store(site as u64, Release);
    Ok(Spot { place })
}

/// Returns the candidates for the place of a lock: next to its neighbours' first, so that many locks that are in a row
/// touch few pages of the memory; and anywhere, if these are too many. (Only a few places next to them: a search that
/// fails there would cost a line of the cache a place.)
fn places_of(me: Me, key: u64) -> impl Iterator<Item = usize> {
    let length = me.region.locks.len();
    let near = scatter(key / NEIGHBOURHOOD) * PROBES + (key % NEIGHBOURHOOD) as usize * PROBES / NEIGHBOURHOOD as usize;
    let far = scatter(key);
    (near..near + NEAR).chain(far..far + PROBES).map(move |place| place % length)
}

/// Returns the place of a lock: its own, or a new one.
fn lock_of(me: Me, [named, address]: [usize; 2], site: usize, kind: Kind) -> Option<u32> {
    let process = me.thread.process.load(Relaxed);
    let shared = if named == address { shared_lock::key(address, kind) } else { None };
    let key = shared.unwrap_or_else(|| Lock::key_of(process, named));
    for place in places_of(me, key) {
        let lock = &me.region.locks[place];
        let there = lock.key.load(Acquire);
        if there == key {
            name_by(lock, process, site);
            return Some(place as u32);
        }
        if there == 0 {
            match lock.key.compare_exchange(0, key, AcqRel, Acquire) {
                Ok(_) => {
                    describe(lock, [named, address], process, site, kind);
                    me.region.header.locks.fetch_add(1, Relaxed);
                    return Some(place as u32);
                }
                Err(other) if other == key => {
                    name_by(lock, process, site);
                    return Some(place as u32);
                }
                Err(_) => {}
            }
        }
    }
    None
}

/// Keeps the call site with the lowest address as that of a lock: which thread comes first differs from run to run. The
/// first acquisitions come before it is known which functions only acquire, and such a function is not a call site.
fn name_by(lock: &Lock, process: u32, site: usize) {
    // The other processes that share a lock have other addresses.
    if lock.process.load(Relaxed) != process {
        return;
    }
    let is_better = |known: u64| {
        let known = known as usize;
        // A thread that adds the lock has not written its site yet.
        let is_lower = || site < known && !callers::is_in_wrapper(site);
        (known != site && (known == 0 || is_lower() || callers::is_in_wrapper(known))).then_some(site as u64)
    };
    let _ = lock.first_site.fetch_update(Relaxed, Relaxed, is_better);
}

fn describe(lock: &Lock, [named, address]: [usize; 2], process: u32, site: usize, kind: Kind) {
    if kind == Kind::Mutex {
        let word = (address + MUTEX_KIND) as *const u32;
        // SAFETY: the program gives a pointer to a mutex, whose word this is; no thread changes it after its
        // initialisation.
        lock.attributes.store(unsafe { word.read_volatile() }, Relaxed);
    }
    lock.process.store(process, Relaxed);
    let kind = if kind.is_of_condition() { Kind::Cond } else { kind };
    lock.kind.store(kind as u32, Relaxed);
    name_by(lock, process, site);
    lock.address.store(named as u64, Release);
}

/// Returns the place of a lock of this process that was used before.
pub fn place_of(me: Me, address: usize) -> Option<u32> {
    place_with(me, key(me, address))
}

fn place_with(me: Me, key: u64) -> Option<u32> {
    for place in places_of(me, key) {
        match me.region.locks[place].key.load(Acquire) {
            there if there == key => return Some(place as u32),
            0 => return None,
            _ => {}
        }
    }
    None
}

/// Notes that a lock was destroyed. `shared` is its key if processes share it.
pub fn forget(me: Me, address: usize, shared: Option<u64>) {
    if me.region.header.locks.load(Relaxed) > MANY_LOCKS {
        return;
    }
    if let Some(place) = place_with(me, shared.unwrap_or_else(|| key(me, address))) {
        me.region.hot[place as usize].waiters.fetch_or(Hot::GONE, Relaxed);
        me.region.locks[place as usize].key.store(Lock::ENDED, Release);
    }
}

/// The largest number that is reserved at a time: that of a page.
const MOST: u32 = 64;

/// Returns the place of an unused pair; `None` if there is none. A thread reserves several at a time: so it comes less
/// and less often to the counter that all share, and its own are in a row.
fn take_pair(me: Me, most: usize) -> Option<u32> {
    let ([next, end], used) = (&me.thread.pairs, &me.thread.pairs_used);
    if next.load(Relaxed) == end.load(Relaxed) {
        // As many as it used so far: so half of all are taken in vain at most.
        let is_last = me.region.header.pairs.load(Relaxed) as usize >= PAIRS - FOLDED_PAIRS;
        let taken = reserve(me, if is_last { 1 } else { used.load(Relaxed).clamp(1, MOST) }, most as u32)?;
        next.store(taken.start, Relaxed);
        end.store(taken.end, Relaxed);
    }
    let place = next.load(Relaxed);
    next.store(place + 1, Relaxed);
    used.store(used.load(Relaxed) + 1, Relaxed);
    Some(place)
}

fn reserve(me: Me, count: u32, all: u32) -> Option<core::ops::Range<u32>> {
    let pairs = &me.region.header.pairs;
    if pairs.load(Relaxed) >= all {
        return None;
    }
    let first = pairs.fetch_add(count, Relaxed);
    (first < all).then(|| first..all.min(first + count))
}
