//! What the library and who starts the program agree on: the variables of the environment, the names of the locks that
//! can stand in a mutex, and the memory in which is counted what stays the C library's.

use core::sync::atomic::AtomicU64;

/// The variable that names the lock to the library; without it, the first of [`LOCKS`].
pub const CHOICE: &str = "ULOCKS_PTHREAD";

/// The variable that says which locks are to be ours, by addresses in the program's file: `1040-1068,c2000-2028`, in
/// hexadecimal; those with a `c` are of code that initialises mutexes, or takes them first. Without it, all.
pub const ONLY: &str = "ULOCKS_PTHREAD_ONLY";

/// Asks for the library alone: every call is passed on.
pub const PASS: &str = "pass";

/// A lock that can be asked for.
#[derive(Debug, PartialEq, Eq)]
pub struct Named {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Whether a thread that waits for it sleeps in the end, and so leaves its CPU to others.
    pub sleeps: bool,
}

/// All of them. Each fits into 16 bytes, is free when they are 0, has deadlines or can be tried, and is not touched by
/// an unlock once another thread can have taken it: POSIX lets that one destroy the mutex.
///
/// `pi` and `robust` are not here: the C library has their like itself, and a program that wants one asks for it, and
/// keeps it.
pub const LOCKS: &[Named] = &[
    Named { name: "adaptive", about: "spins while that pays, then sleeps; starvation-free", sleeps: true },
    Named { name: "calock", about: "convoy avoidance: unlock always releases; waiters compete", sleeps: true },
    Named { name: "calock-spin", about: "calock, spinning for 3 µs first", sleeps: true },
    Named { name: "usema", about: "FIFO; sleeps immediately", sleeps: true },
    Named { name: "usema-spin", about: "usema, spinning for 3 µs first", sleeps: true },
    Named { name: "benaphore", about: "atomic counter in front of a semaphore", sleeps: true },
    Named { name: "ticket", about: "FIFO spin lock", sleeps: false },
    Named { name: "mcs", about: "FIFO spin lock; each waiter spins on its own word", sleeps: false },
];

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
