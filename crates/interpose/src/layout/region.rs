//! The whole memory.

#[cfg(any(preload, clippy))]
use super::holder;
use super::lag::{KIN, ThreadLag};
use super::{
    Edge, Header, Histograms, Hot, Kin, Lock, LockLag, MORE_PLACES, PLACES, Pair, Place, Process, TIMES_ALL, Thread,
    Times, WhatIf,
};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed};

/// Processes that can be watched at once or one after another.
pub const PROCESSES: usize = 256;
/// Locks that have a place of their own.
pub const LOCKS: usize = 1 << 18;
/// Orders of two locks.
pub const EDGES: usize = 1 << 16;
/// Call sites of locks, by thread.
pub const PAIRS: usize = 1 << 16;
/// Threads that live at once.
pub const THREADS: usize = 12_288;

/// Places of a thread for locks at call sites.
const ALL_PLACES: usize = PLACES + MORE_PLACES;

/// The memory as it lies in the file. Only what is touched takes memory of the machine.
#[repr(C)]
pub struct Region {
    /// What is known of the whole.
    pub header: Header,
    /// By number.
    pub processes: [Process; PROCESSES],
    /// By a number made of the key.
    pub locks: [Lock; LOCKS],
    /// By the places of `locks`.
    pub hot: [Hot; LOCKS],
    /// By a number made of the key; those with the same lock held lie together.
    pub edge_keys: [AtomicU64; EDGES],
    /// By the places of `edge_keys`.
    pub edges: [Edge; EDGES],
    /// By number.
    pub pairs: [Pair; PAIRS],
    /// By the places of `pairs`: waits of those who found the lock taken, and got it.
    pub waits: [Times; PAIRS],
    /// By the places of `pairs`.
    pub histograms: [Histograms; PAIRS],
    /// By number.
    pub threads: [Thread; THREADS],
    /// By the places of `threads`.
    pub more_places: [[Place; MORE_PLACES]; THREADS],
    /// What follows is used at the level [`Header::WHAT_IF`] alone.
    pub what_if: WhatIf,
    /// By the places of `locks`.
    pub lock_lags: [LockLag; LOCKS],
    /// By the places of `threads`.
    pub thread_lags: [ThreadLag; THREADS],
    /// By a number made of the key.
    pub kin: [Kin; KIN],
}

impl Region {
    /// Processes that were seen.
    pub fn processes(&self) -> impl Iterator<Item = &Process> {
        let known = (self.header.processes.load(Relaxed) as usize).min(PROCESSES);
        self.processes[..known].iter().filter(|process| process.pid.load(Acquire) != 0)
    }

    /// Whether a process is the first one, or what that has become by `exec`.
    #[cfg(any(preload, clippy))]
    pub(crate) fn is_first(&self, process: u32) -> bool {
        let pid = |place: usize| self.processes[place % PROCESSES].pid.load(Relaxed);
        pid(process as usize) == pid(0)
    }

    /// Places of threads that were used.
    pub fn threads(&self) -> impl Iterator<Item = &Thread> {
        self.threads[..(self.header.threads.load(Relaxed) as usize).min(THREADS)].iter()
    }

    /// The place of a thread.
    #[cfg(any(preload, clippy))]
    pub(crate) fn place_of(&self, thread: &Thread) -> usize {
        (core::ptr::from_ref(thread).addr() - self.threads.as_ptr().addr()) / size_of::<Thread>()
    }

    /// Who holds a lock, with the place where it took it if only the thread was known and it is seen to hold it still.
    #[cfg(any(preload, clippy))]
    #[cold]
    pub(crate) fn place_of_holder(&self, word: u64, lock: u32) -> u64 {
        let Some((tid, holder::SOMEWHERE)) = holder::parts(word) else { return word };
        let thread = self.threads().find(|thread| thread.tid.load(Relaxed) == tid);
        let held = thread.into_iter().flat_map(|thread| thread.held.iter().take(thread.depth() as usize));
        let held = held.filter(|held| held.place.load(Relaxed) == lock).last();
        held.map_or(word, |held| holder::of(tid, held.pair.load(Relaxed)))
    }

    /// Pairs with their places.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, &Pair)> {
        let known = (self.header.pairs.load(Relaxed) as usize).min(PAIRS);
        let used = self.pairs[..known].iter().enumerate().filter(|(_, pair)| pair.site.load(Acquire) != 0);
        used.map(|(place, pair)| (place as u32, pair))
    }

    /// How often the pair at this place was used.
    pub fn acquisitions(&self, place: u32) -> u64 {
        let pair = &self.pairs[place as usize];
        // The place may count for another by now, if the lock was destroyed and is there again.
        let counted_at = pair.counted_at.load(Acquire).checked_sub(1).map(|number| self.place(number as usize));
        // The count first, and then whose it is: who takes the place over says so before it begins anew.
        let count = |counted: &Place| counted.acquisitions.load(Acquire) & !TIMES_ALL;
        let count = counted_at.map(|counted| (count(counted), counted.pair.load(Acquire)));
        count
            .filter(|(_, counted)| *counted == place)
            .map_or_else(|| pair.acquisitions.load(Relaxed), |(count, _)| count)
    }

    /// A place of a lock at a call site, by its number among those of all threads.
    fn place(&self, number: usize) -> &Place {
        let (thread, place) = (number / ALL_PLACES, number % ALL_PLACES);
        match place.checked_sub(PLACES) {
            Some(more) => &self.more_places[thread % THREADS][more],
            None => &self.threads[thread % THREADS].places[place],
        }
    }

    /// The number of the first place of a thread.
    #[cfg(any(preload, clippy))]
    pub(crate) fn first_place(&self, thread: &Thread) -> usize {
        self.place_of(thread) * ALL_PLACES
    }

    /// Orders of locks, with their keys.
    pub fn edges(&self) -> impl Iterator<Item = (u64, &Edge)> {
        let keys = self.edge_keys.iter().map(|key| key.load(Acquire));
        keys.zip(&self.edges).filter(|(key, _)| *key != 0)
    }
}
