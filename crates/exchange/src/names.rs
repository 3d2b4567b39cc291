//! The agreement between the library and the process that starts the program.
//!
//! It consists of the environment variables, the names of the locks that fit into a mutex, and the memory for the
//! counts of objects that stay the C library's.

use core::sync::atomic::AtomicU64;

/// The variable that names the lock to the library; without it, the first of [`LOCKS`].
pub const CHOICE: &str = "ULOCKS_PTHREAD";

/// The variable that selects the locks to substitute, by addresses in the program's file: `1040-1068,c2000-2028`, in
/// hexadecimal; those with a `c` are of code that initialises mutexes, or is the first to acquire them.
///
/// Without it, all are substituted.
pub const ONLY: &str = "ULOCKS_PTHREAD_ONLY";

/// The value that loads only the library: every call is passed on.
pub const PASS: &str = "pass";

/// A lock that can be selected.
#[derive(Debug, PartialEq, Eq)]
pub struct Named {
    /// Its name.
    pub name: &'static str,
    /// The description of the lock.
    pub about: &'static str,
    /// Whether a waiter finally blocks, and so releases its CPU to other threads.
    pub sleeps: bool,
}

/// All selectable locks.
///
/// Each fits into 16 bytes, is free when they are 0, and has deadlines or can be tried. An unlock does not access it
/// once another thread can have acquired it: POSIX lets that one destroy the mutex.
///
/// `pi` and `robust` are not here: the C library has equivalents itself, and a program that needs one requests it, and
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
    Named { name: "twa", about: "ticket lock; distant waiters spin on an array", sleeps: false },
    Named { name: "hapax", about: "FIFO spin lock that passes values, not pointers", sleeps: false },
    Named { name: "reciprocating", about: "spin queue in one word; bounded bypass", sleeps: false },
    Named { name: "cna", about: "mcs that prefers waiters of its NUMA node", sleeps: false },
    Named { name: "malthusian", about: "mcs that keeps surplus waiters passive; waiters sleep", sleeps: true },
];

/// The variable that names the memory's file to the library.
///
/// Without it nothing is counted.
pub const COUNTS: &str = "ULOCKS_PTHREAD_COUNTS";

/// The numbers of initialised objects that stay the C library's, by reason.
#[derive(Debug)]
#[repr(C)]
pub struct Left {
    /// The number of processes that loaded the library.
    pub processes: AtomicU64,
    /// The number of mutexes that report the death of their owner to the next one.
    pub robust: AtomicU64,
    /// The number of mutexes with priority inheritance or a ceiling.
    pub priority: AtomicU64,
    /// The number of mutexes and condition variables that processes may share.
    pub shared: AtomicU64,
    /// The number of reader-writer locks that processes may share.
    pub rwlocks: AtomicU64,
    /// The number of spin locks that processes may share.
    pub spins: AtomicU64,
    /// The number of mutexes that were substituted because the selected code initialised them, or acquired them first.
    pub chosen: AtomicU64,
}
