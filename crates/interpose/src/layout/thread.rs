//! One thread.

use super::event::Event;
use core::sync::atomic::{AtomicU32, AtomicU64};

/// Locks that a thread can be seen to hold at once.
pub const HELD: usize = 48;
/// Waits and holds that are kept until they are read.
pub const RING: usize = 4096;
/// Places for locks at call sites.
pub const PLACES: usize = 2048;
/// How many of them are used: a table that is fuller is slow to look into.
#[cfg(any(preload, clippy))]
pub const PLACES_USED: u32 = 1792;
/// Orders of locks that a thread remembers to have noted.
pub const KNOWN_EDGES: usize = 128;

/// A lock that is held.
#[repr(C)]
pub struct Held {
    /// Its address.
    pub lock: AtomicU64,
    /// Ticks since when, if that is timed; else 0.
    pub since: AtomicU64,
    /// Ticks when it was taken, if somebody waited for it by then; else 0.
    pub wanted: AtomicU64,
    /// The place of its pair.
    pub pair: AtomicU32,
    /// Its own place.
    pub place: AtomicU32,
}

/// Where the pair of a lock and a call site is.
#[repr(C)]
pub struct Place {
    /// The lock's key; 0 where nothing is.
    pub key: AtomicU64,
    /// The call site.
    pub site: AtomicU64,
    /// The pair's place.
    pub pair: AtomicU32,
    /// The lock's place.
    pub place: AtomicU32,
}

/// A thread, or several one after another.
#[repr(C, align(64))]
pub struct Thread {
    /// The kernel's number of it; 0 while nobody is here.
    pub tid: AtomicU32,
    /// Its process's place.
    pub process: AtomicU32,
    /// Whether it is noting something.
    pub busy: AtomicU32,
    /// How many locks it holds; those above [`HELD`] are not noted.
    pub depth: AtomicU32,
    /// The place of the pair that it waits for, plus 1; 0 if it does not wait.
    pub waiting: AtomicU32,
    /// The process's part of the keys of its locks, as [`Lock::key_of`](super::Lock::key_of) makes them.
    pub key_base: AtomicU64,
    /// What says that it has a lock, but for the place of the pair: [`holder`](super::holder).
    pub holder_base: AtomicU64,
    /// The place after it in the chain of ended threads, plus 1.
    pub next: AtomicU32,
    /// Ticks since when it waits.
    pub waiting_since: AtomicU64,
    /// Ticks when it was first seen.
    pub started: AtomicU64,
    /// Ticks that those before it at this place lived.
    pub lived: AtomicU64,
    /// Waits and holds that were noted, and those that were read.
    pub head: AtomicU64,
    /// Written by the reader.
    pub tail: AtomicU64,
    /// Those that found the ring full.
    pub lost: AtomicU64,
    /// How many of the places are used.
    pub places_used: AtomicU32,
    /// The locks that it holds, the first taken first.
    pub held: [Held; HELD],
    /// The orders of locks that it noted.
    pub known_edges: [AtomicU64; KNOWN_EDGES],
    /// By a number made of the lock and the call site.
    pub places: [Place; PLACES],
    /// Waits, and holds that others waited for.
    pub ring: [Event; RING],
}
