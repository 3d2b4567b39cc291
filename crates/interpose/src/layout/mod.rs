//! The memory that is recorded into: a file of plain words, shared by all threads of all watched processes and by the
//! reader. Zeros are a fresh one. Nothing in it is a pointer, and no thread waits for another.
//!
//! | word | written by |
//! |---|---|
//! | counters, histograms, held locks, the ring's head of a thread | that thread alone |
//! | a ring's tail | the reader alone |
//! | the longest time of a pair | that thread; the reader resets it |
//! | a lock's and an order's key | the first thread that needs it, with compare-and-swap, once |
//! | the number of waiters of a lock | each waiter, before and after its wait |
//! | a lock's holder | each thread that has just acquired it |
//! | the counts of losses, and the next free numbers | any thread, with an addition |
//! | a label's key and name | the first thread that needs it, with compare-and-swap, once |
//! | the sums of a label | each thread that ends a request, with additions |
//! | a lag, and the sections that a thread is in | that thread alone |
//! | which locks are chosen, where threads are held, and whether single waits are kept | the reader alone |
//!
//! All accesses are relaxed but for those that publish: a key after what it names, a head after its event.

mod lag;
mod lock;
mod order;
mod thread;

use core::sync::atomic::Ordering::{Acquire, Relaxed};
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};
#[cfg(any(preload, clippy))]
pub use lag::SECTIONS;
pub use lag::{KIN, Kin, LockLag, Mark, SHARE_ONE, ThreadLag, WhatIf};
pub use lock::{Buckets, Histograms, Hot, Kind, LONG_TICKS, Lock, Pair, Place, SAMPLE_OF, TIMES_ALL, Times, holder};
#[cfg(any(preload, clippy))]
pub use lock::{FEW, KEPT_TICKS, add as pair_add};
pub use order::{Confirm, Edge, Kinship, Order, TARGETS, Target};
#[cfg(any(preload, clippy))]
pub use order::{GATES, ORDERS_OF_EDGE};
pub use thread::{
    Event, HELD, Held, LABEL_BYTES, LABELS, Label, Last, MORE_PLACES, PLACES, RING, Request, Requests, SHARDS, Thread,
};

/// Processes that can be watched at once or one after another.
pub const PROCESSES: usize = 256;
/// Locks that have a separate place.
pub const LOCKS: usize = 1 << 18;
/// Pairs of locks, of which one was acquired while the other was held.
pub const EDGES: usize = 1 << 16;
/// Such pairs in their contexts.
pub const ORDERS: usize = 1 << 17;
/// Creates, joins and first lock calls of threads.
pub const KINSHIPS: usize = 1 << 17;
/// Call sites of locks, by thread.
pub const PAIRS: usize = 1 << 16;
/// Threads that live at once.
pub const THREADS: usize = 12_288;

/// Places of a thread for locks at call sites.
const ALL_PLACES: usize = PLACES + MORE_PLACES;

/// The memory as it is laid out in the file. Only the pages that are touched take memory of the machine.
#[repr(C)]
pub struct Region {
    /// The data about the whole memory.
    pub header: Header,
    /// The processes, by number.
    pub processes: [Process; PROCESSES],
    /// The locks, by a number made of the key.
    pub locks: [Lock; LOCKS],
    /// The words of the locks that each acquisition reads, by the places of `locks`.
    pub hot: [Hot; LOCKS],
    /// The keys of the edges, by a number made of the key; those with the same lock held are next to each other.
    pub edge_keys: [AtomicU64; EDGES],
    /// The edges, by the places of `edge_keys`.
    pub edges: [Edge; EDGES],
    /// The keys of the orders, by a number made of the key.
    pub order_keys: [AtomicU64; ORDERS],
    /// The orders, by the places of `order_keys`.
    pub orders: [Order; ORDERS],
    /// The creates, joins and first lock calls, in succession.
    pub kinships: [Kinship; KINSHIPS],
    /// The pairs, by number.
    pub pairs: [Pair; PAIRS],
    /// The waits of threads that found the lock taken, and got it, by the places of `pairs`.
    pub waits: [Times; PAIRS],
    /// The histograms of the pairs, by the places of `pairs`.
    pub histograms: [Histograms; PAIRS],
    /// The threads, by number.
    pub threads: [Thread; THREADS],
    /// The further places of the threads, by the places of `threads`.
    pub more_places: [[Place; MORE_PLACES]; THREADS],
    /// The labels, by a number made of the key; the last is for the requests of further names.
    pub labels: [Label; LABELS + 1],
    /// The state of the prediction. It and the following are used at the level [`Header::WHAT_IF`] alone.
    pub what_if: WhatIf,
    /// The lag data of the locks, by the places of `locks`.
    pub lock_lags: [LockLag; LOCKS],
    /// The lag data of the threads, by the places of `threads`.
    pub thread_lags: [ThreadLag; THREADS],
    /// The threads that another will wait for, by a number made of the key.
    pub kin: [Kin; KIN],
    /// The run that confirms a cycle. It is used at the level [`Header::CONFIRM`] alone.
    pub confirm: Confirm,
}

impl Region {
    /// Returns the processes that were seen.
    pub fn processes(&self) -> impl Iterator<Item = &Process> {
        let known = (self.header.processes.load(Relaxed) as usize).min(PROCESSES);
        self.processes[..known].iter().filter(|process| process.pid.load(Acquire) != 0)
    }

    /// Returns whether a process is the first one, or the one that it has become by `exec`.
    #[cfg(any(preload, clippy))]
    pub(crate) fn is_first(&self, process: u32) -> bool {
        let pid = |place: usize| self.processes[place % PROCESSES].pid.load(Relaxed);
        pid(process as usize) == pid(0)
    }

    /// Returns the places of threads that were used.
    pub fn threads(&self) -> impl Iterator<Item = &Thread> {
        self.threads[..(self.header.threads.load(Relaxed) as usize).min(THREADS)].iter()
    }

    /// Returns the place of a thread.
    #[cfg(any(preload, clippy))]
    pub(crate) fn place_of(&self, thread: &Thread) -> usize {
        (core::ptr::from_ref(thread).addr() - self.threads.as_ptr().addr()) / size_of::<Thread>()
    }

    /// Ends the request of a thread, if it works for one.
    #[cfg(any(preload, clippy))]
    pub(crate) fn end_request(&self, thread: &Thread, at: u64) {
        let request = &thread.request;
        let Some(place) = request.label.load(Relaxed).checked_sub(1) else { return };
        request.label.store(0, Relaxed);
        let ticks = at.saturating_sub(request.began.load(Relaxed));
        if let Some(label) = self.labels.get(place as usize) {
            let sums = &label.sums[self.place_of(thread) % SHARDS];
            sums.note(ticks, request.lock_ticks.load(Relaxed), request.signal_ticks.load(Relaxed));
        }
    }

    /// Returns the holder of a lock, with the place where it acquired the lock if only the thread was known and it is
    /// seen to hold it still.
    #[cfg(any(preload, clippy))]
    #[cold]
    pub(crate) fn place_of_holder(&self, word: u64, lock: u32) -> u64 {
        let Some((tid, holder::SOMEWHERE)) = holder::parts(word) else { return word };
        let thread = self.threads().find(|thread| thread.tid.load(Relaxed) == tid);
        let held = thread.into_iter().flat_map(|thread| thread.held.iter().take(thread.depth() as usize));
        let held = held.filter(|held| held.place.load(Relaxed) == lock).last();
        held.map_or(word, |held| holder::of(tid, held.pair.load(Relaxed)))
    }

    /// Returns the pairs with their places.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, &Pair)> {
        let known = (self.header.pairs.load(Relaxed) as usize).min(PAIRS);
        let used = self.pairs[..known].iter().enumerate().filter(|(_, pair)| pair.site.load(Acquire) != 0);
        used.map(|(place, pair)| (place as u32, pair))
    }

    /// Returns the number of uses of the pair at this place.
    pub fn acquisitions(&self, place: u32) -> u64 {
        let pair = &self.pairs[place as usize];
        // The place may count for another by now, if the lock was destroyed and is there again.
        let counted_at = pair.counted_at.load(Acquire).checked_sub(1).map(|number| self.place(number as usize));
        // The count first, and then its owner: a thread that takes the place over writes that before it begins to count
        // again.
        let count = |counted: &Place| counted.acquisitions.load(Acquire) & !TIMES_ALL;
        let count = counted_at.map(|counted| (count(counted), counted.pair.load(Acquire)));
        count
            .filter(|(_, counted)| *counted == place)
            .map_or_else(|| pair.acquisitions.load(Relaxed), |(count, _)| count)
    }

    /// Returns a place of a lock at a call site, by its number among those of all threads.
    fn place(&self, number: usize) -> &Place {
        let (thread, place) = (number / ALL_PLACES, number % ALL_PLACES);
        match place.checked_sub(PLACES) {
            Some(more) => &self.more_places[thread % THREADS][more],
            None => &self.threads[thread % THREADS].places[place],
        }
    }

    /// Returns the number of the first place of a thread.
    #[cfg(any(preload, clippy))]
    pub(crate) fn first_place(&self, thread: &Thread) -> usize {
        self.place_of(thread) * ALL_PLACES
    }

    /// Returns the orders of locks, with their keys.
    pub fn edges(&self) -> impl Iterator<Item = (u64, &Edge)> {
        let keys = self.edge_keys.iter().map(|key| key.load(Acquire));
        keys.zip(&self.edges).filter(|(key, _)| *key != 0)
    }
}

impl Region {
    /// Returns the orders that are written, in their contexts.
    pub fn orders(&self) -> impl Iterator<Item = &Order> {
        let keys = self.order_keys.iter().map(|key| key.load(Acquire));
        let there = keys.zip(&self.orders).filter(|(key, _)| *key != 0);
        there.map(|(_, order)| order).filter(|order| order.flags.load(Acquire) & Order::WRITTEN != 0)
    }

    /// Returns the creates, joins and first lock calls, in their order.
    pub fn kinships(&self) -> impl Iterator<Item = &Kinship> {
        self.kinships[..(self.header.kinships.load(Relaxed) as usize).min(KINSHIPS)].iter()
    }
}

/// The first words of the memory.
#[repr(C, align(64))]
pub struct Header {
    /// [`Self::MAGIC`], once the memory is ready.
    pub magic: AtomicU64,
    /// The level of recording: 1 contended waits and one hold in [`SAMPLE_OF`](SAMPLE_OF), 2 every hold; 0 nothing;
    /// [`Self::WHAT_IF`] the lags of threads; [`Self::CONFIRM`] the same as 2.
    pub level: AtomicU32,
    /// The source of ticks: 1 the CPU's counter, 2 `CLOCK_MONOTONIC_RAW` in ns.
    pub clock: AtomicU32,
    /// Places of processes that were given out.
    pub processes: AtomicU32,
    /// Places of threads that were given out.
    pub threads: AtomicU32,
    /// Threads that came, including those that got the former place of another.
    pub comers: AtomicU32,
    /// Places of pairs that were given out.
    pub pairs: AtomicU32,
    /// Places of locks that were given out.
    pub locks: AtomicU32,
    /// Ended threads whose places can be reused: a count that distinguishes one such chain from another, and above it
    /// the first place, plus 1.
    pub ended: AtomicU64,
    /// Processes that found no place.
    pub lost_processes: AtomicU64,
    /// Threads that found no place.
    pub lost_threads: AtomicU64,
    /// The number of times that a thread came to a lock that found no place.
    pub lost_locks: AtomicU64,
    /// The number of times that a thread came to a lock at a call site that found no place with it.
    pub lost_pairs: AtomicU64,
    /// Locks that were taken by a thread that held too many to note one more.
    pub lost_holds: AtomicU64,
    /// Orders of two locks that found no place.
    pub lost_edges: AtomicU64,
    /// Places of [`Region::kinships`] that were given out, some beyond the last.
    pub kinships: AtomicU32,
    /// Calls within a signal's handler that came while its thread was noting something.
    pub lost_reentered: AtomicU64,
    /// The measured cost of noting [`Self::ROUNDS`] lock/unlock pairs, in ticks; 0 until it is known.
    pub pairs_cost: AtomicU32,
    /// The measured cost of noting as many waits.
    pub waits_cost: AtomicU32,
    /// 1 while waits and holds are counted and timed, but not kept one by one. Written by the reader.
    pub skips_events: AtomicU32,
    /// 1 if long holds are kept although no thread waited. Written before the program starts.
    pub keeps_long_holds: AtomicU32,
    /// Programs that were started without the library, since they cannot load it.
    pub left_out: AtomicU32,
    /// The name of the first, and zeros behind it.
    pub left_out_name: [AtomicU8; Self::NAME],
}

impl Header {
    /// The number of this layout: it changes with every change of the layout.
    pub const MAGIC: u64 = 0x636f_6e74_656e_640e;
    /// Bytes of a program's name that are kept.
    pub const NAME: usize = 64;
    /// Calls that the costs are of.
    pub const ROUNDS: u32 = 256;
    /// The level at which sections are virtually shorter, and nothing else is recorded.
    pub const WHAT_IF: u32 = 4;
    /// The level at which every call is seen on the slow way, and threads are held between two locks.
    pub const CONFIRM: u32 = 5;
}

/// Bytes of a process's memory map that are kept.
pub const MAPS: usize = 128 << 10;

/// A watched process, from the start of its program on (an `exec` makes another of it), and its memory map.
#[repr(C, align(64))]
pub struct Process {
    /// The kernel's number of it; 0 while the place is free.
    pub pid: AtomicU32,
    /// The number of bytes of the map that are written.
    pub maps_length: AtomicU32,
    /// Ticks when it was first seen.
    pub started: AtomicU64,
    /// At the level [`Header::CONFIRM`], 1 once the reader has written the targets for it.
    pub is_aimed_at: AtomicU32,
    /// `/proc/self/maps` at its last reading.
    pub maps: [AtomicU8; MAPS],
}
