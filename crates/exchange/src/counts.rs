//! What stays the C library's, counted in memory that whoever started the program can read.

use core::sync::atomic::AtomicU64;

/// The variable that names the memory's file to the library. Without it nothing is counted.
pub const COUNTS: &str = "ULOCKS_PTHREAD_COUNTS";

/// How many objects were initialised that stay the C library's, by why they do.
#[derive(Debug)]
#[repr(C)]
pub struct Left {
    /// Processes that loaded the library.
    pub processes: AtomicU64,
    /// Mutexes that tell the next owner that the last one died.
    pub robust: AtomicU64,
    /// Mutexes with priority inheritance or a ceiling.
    pub priority: AtomicU64,
    /// Mutexes and condition variables that processes may share.
    pub shared: AtomicU64,
    /// Locks for readers and writers that processes may share.
    pub rwlocks: AtomicU64,
    /// Spin locks that processes may share.
    pub spins: AtomicU64,
    /// Mutexes that were exchanged since the code that is meant initialised them, or took them first.
    pub chosen: AtomicU64,
}
