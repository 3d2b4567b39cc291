//! User-space locks in plain memory words: for one process or for shared memory, from Rust and from C.
//!
//! In 2002 Hubertus Franke wrote locks that enter the kernel only under contention, and a benchmark that compared
//! them. That work led to the futex. This crate implements those locks on today's futexes, and a lock for general
//! use, [`Adaptive`]:
//!
//! ```
//! use ulocks::{Adaptive, lock_api::Mutex};
//!
//! static HITS: Mutex<Adaptive, u64> = Mutex::new(0);
//!
//! *HITS.lock() += 1;
//! ```
//!
//! The crate requires Linux.
//!
//! # Choice of a lock
//!
//! | lock | bytes | fairness | timeouts | between processes | use |
//! |---|---|---|---|---|---|
//! | [`Adaptive`] | 4 | blocked waiters in turn, within a bounded time | yes | yes | general use; the default choice |
//! | [`Biased`] | 16 | blocked waiters in turn once shared | yes | no | data that one thread uses nearly alone |
//! | [`Calock`], [`CalockSpin`] | 4 | none | yes | yes | convoy avoidance, with the smallest state |
//! | [`Usema`], [`UsemaSpin`] | 8 | strict first come, first served | no | yes | order of arrival |
//! | [`Pi`] | 4 | by priority | yes | yes | real-time threads |
//! | [`Robust`] | 8 | none | yes | yes | owners that may die |
//! | [`AdaptiveRw`] | 4 | writers in turn with the readers that wait | yes | yes | readers and writers that must not starve each other; upgrades and downgrades |
//! | [`RwLock`] | 4 | readers first | yes | yes | readers that may acquire the lock recursively |
//! | [`RwLockFair`] | 16 | readers and writers alternate | no | yes | writers that must not starve |
//! | [`Ticket`], [`Mcs`] | 8 | strict first come, first served | no | `Ticket` | comparison: they only spin |
//! | [`Benaphore`] | 4, and its semaphore | that of its semaphore | no | as its semaphore | comparison: a counter in front of a [`Semaphore`] |
//! | [`SysvSem`] | 8 | first come, first served | no | yes | comparison: a kernel call for each operation |
//!
//! The crate also has [`FutexSem`], [`Condvar`] and [`Once`]. The source file of each lock begins with its state
//! table, its memory-ordering argument, its fairness, and the effect of a stopped or dead holder on the other
//! threads.
//!
//! # Type parameters
//!
//! - [`Private`] or [`Shared`]: whether the threads of one process or of several processes use the lock. The state of
//!   a lock is plain memory words without pointers, so each process may map it at another address, and all-zero bytes
//!   are an unlocked lock. [`shared`] puts locks and data into a file.
//! - [`NoCount`] or [`Counted`]: whether the lock counts its contended operations.
//! - A [`Patience`]: the spin limit, which is how long a thread spins before it blocks, for the locks that let you
//!   choose it.
//! - [`Watched`] or [`Unwatched`], for [`Checked`], which checks any of the exclusive locks: it reports each deadlock
//!   as the thread that closes the cycle starts to wait, and each lock order that can deadlock before it does.
//!
//! All locks except [`Benaphore`] and [`SysvSem`] are `lock_api` raw locks, and [`lock_api`] is re-exported:
//! `ulocks::lock_api::Mutex<ulocks::Usema, T>`. This is version 0.5.
//!
//! The feature `lock_api_04` implements the traits of version 0.4 for the same locks, and re-exports that version as
//! `ulocks::lock_api_04`. A [`Condvar`] waits with a guard of 0.4 by
//! `condvar.wait_with(None, |wait| MutexGuard::unlocked(&mut guard, wait))`.
//!
//! # Memory
//!
//! The thread that acquires a lock last may free the memory of that lock while the previous owner is still in
//! `unlock`: the previous owner does not access the memory after the release. This holds for every lock of the crate
//! and for [`FutexSem`]. A [`Condvar`] and a [`Once`] must outlive every call on them.
//!
//! # Fork, vfork, clone
//!
//! A forked child can continue to use shared locks. Its use of private locks depends on the other threads of the
//! parent at the time of the fork:
//!
//! | private lock | the child can use it if |
//! |---|---|
//! | [`Adaptive`], [`AdaptiveRw`], [`Calock`], [`RwLock`], [`Pi`], [`Robust`] | no other thread held it; other threads may have waited for it |
//! | [`FutexSem`] | always |
//! | [`Once`] | it was done, or no other thread was doing it; a call on one that another thread was doing never returns |
//! | [`Usema`], [`Ticket`], [`Mcs`], [`Benaphore`], [`RwLockFair`], which hand off | no other thread held it, waited for it or tried it: the missing thread keeps a position in the queue |
//! | [`Biased`] | no other thread held it, waited for it or tried it: the missing thread may have been about to revoke the bias |
//! | [`Condvar`] | no other thread waited |
//!
//! [`Pi`] and [`Robust`] identify their holder by its thread number. A child must not release such a lock that its
//! parent acquired, nor any shared lock that was held. A process with [`Watched`] locks must not fork while other
//! threads use them.
//!
//! A child of `vfork`, or of a bare `clone` with shared memory, must not use private locks: it runs with its parent's
//! registration for restartable sequences, or with none, so `membarrier` cannot restart its sequences. A child of
//! `_Fork`, or of a bare `clone` without shared memory, must use no lock of this crate. No handler runs for such a
//! fork, so [`Pi`] and [`Robust`] would write the parent's thread number.
//!
//! # Signal handlers
//!
//! `try_lock` and `unlock` of every lock except [`Mcs`], [`Pi`], [`Robust`], [`SysvSem`] and [`Checked`] are
//! async-signal-safe. The notifications of [`Condvar`] and `release` of [`FutexSem`] are too. These functions make
//! system calls and change words; they neither allocate nor acquire another lock. A handler that waits for a lock of
//! the thread that it interrupted never returns.
//!
//! The registrations that are not async-signal-safe (`dlsym`, `pthread_atfork`, a first `membarrier`) are made by a
//! constructor when the object is loaded. A constructor that runs earlier and contends for a lock makes them itself.
//! If the linker has dropped the constructors of a static library, the first contended call makes them.
//!
//! # dlclose
//!
//! A plugin that contains these locks (a `cdylib`, or a C object with `libulocks_c.a`) can be unloaded once no thread
//! runs its code or waits for its locks. No pointer into the plugin remains: each unlock clears at its end the
//! address that the kernel reads for restartable sequences. `libulocks_c.so` is linked to stay loaded.
//!
//! # Spurious failure of `try_lock`
//!
//! `try_lock` of [`Adaptive`], and of [`AdaptiveRw`] in any mode, can fail although no thread holds the lock: the
//! lock is reserved for a thread that has waited long, or that thread changed the word at the same moment.
//! `assert!(lock.try_lock().is_some())` is therefore correct only if no other thread waits for the lock or acquires
//! it. The first attempt that fails because of a reservation cancels it, so a retry loop terminates. `try_lock` never
//! succeeds on a held lock. `try_lock` of the other locks fails only if the lock is held, or changed hands during the
//! call.
//!
//! # membarrier and the TSC
//!
//! Threads that wait for a private [`Adaptive`] or [`Biased`] lock call `membarrier`, which interrupts every CPU that
//! runs a thread of this process. The call takes about 0.4 µs if no other thread runs and about 9 µs otherwise. If a
//! seccomp filter makes `membarrier` fail, the locks detect that and are released by atomic instructions from then
//! on. A filter that kills the process for the call is not supported.
//!
//! On x86-64, waiting threads read the time stamp counter (TSC) of the CPU. A program that calls
//! `prctl(PR_SET_TSC, PR_TSC_SIGSEGV)` after it was loaded must not contend for [`Adaptive`] and [`AdaptiveRw`]. A
//! ban that the program inherits is detected, and the counter is not read.
//!
//! On AArch64, private locks are released by atomic instructions, unless the feature `rseq-aarch64` selects the
//! restartable sequence, which has never run on that hardware.
//!
//! # ThreadSanitizer and Miri
//!
//! ThreadSanitizer does not see the store of a restartable sequence, and reports a race for the data that a private
//! [`Adaptive`] or [`Biased`] lock protects. Use the feature `no-rseq` with it: the locks are then released by atomic
//! instructions. Miri runs the locks without a feature.
//!
//! # Without std
//!
//! With `default-features = false` the crate is `no_std` and does not allocate. It still requires Linux and a C
//! library: blocking is a system call, and the C library knows the address of each thread's rseq registration.
//!
//! | items | available without the feature `std` |
//! |---|---|
//! | [`Adaptive`], [`AdaptiveRw`], [`Biased`], [`Calock`], [`CalockSpin`], [`Usema`], [`UsemaSpin`] | yes |
//! | [`RwLock`], [`RwLockFair`], [`Ticket`] | yes |
//! | [`FutexSem`], [`Benaphore`], [`Condvar`], [`Once`]; counters and [`Patience`] | yes |
//! | timeouts by a duration (`try_lock_for`, `wait_for`) | yes |
//! | timeouts by an `Instant` (`try_lock_until`, `wait_until`), `lock_api`'s traits for both | no: `Instant` is a type of std |
//! | [`Mcs`] | no: its queue may allocate |
//! | [`Pi`], [`Robust`] | no: they identify threads by thread-local storage and `/proc` |
//! | [`SysvSem`], [`shared`], [`Checked`] | no: they need system errors, files, backtraces |

#![cfg_attr(not(any(feature = "std", loom)), no_std)]
#![warn(missing_docs)]

#[macro_use]
mod raw;

mod adaptive;
mod adaptive_rw;
mod atomic;
mod benaphore;
mod biased;
mod calock;
#[cfg(all(feature = "std", not(loom)))]
mod checked;
mod condvar;
mod count;
mod cpu;
#[cfg(all(test, not(loom)))]
mod explore;
#[cfg(not(loom))]
mod futex;
#[cfg(loom)]
#[doc(hidden)]
pub mod futex;
mod futex_sem;
#[cfg(feature = "std")]
mod mcs;
mod naps;
mod once;
mod patience;
#[cfg(all(feature = "std", not(loom)))]
mod pi;
#[cfg(not(loom))]
mod restartable;
#[cfg(loom)]
#[doc(hidden)]
pub mod restartable;
#[cfg(all(feature = "std", not(loom)))]
mod robust;
mod rwlock;
mod rwlock_fair;
mod semaphore;
#[cfg(all(feature = "std", not(loom)))]
pub mod shared;
#[cfg(feature = "std")]
mod sysv;
#[cfg(all(feature = "std", not(loom)))]
mod thread_id;
mod ticket;
mod usema;

pub use adaptive::Adaptive;
pub use adaptive_rw::AdaptiveRw;
pub use benaphore::Benaphore;
pub use biased::Biased;
pub use calock::{Calock, CalockSpin};
#[cfg(all(feature = "std", not(loom)))]
pub use checked::{Checked, Unwatched, Watch, Watched, tell_orders_to};
pub use condvar::Condvar;
pub use count::{Count, Counted, Counts, NoCount};
pub use futex::{Private, Scope, Shared};
pub use futex_sem::FutexSem;
pub use lock_api;
#[cfg(feature = "lock_api_04")]
pub use lock_api_04;
#[cfg(feature = "std")]
pub use mcs::Mcs;
pub use once::Once;
pub use patience::{Micros, Patience};
#[cfg(all(feature = "std", not(loom)))]
pub use pi::Pi;
#[cfg(not(loom))]
#[doc(hidden)]
pub use restartable::{RESTARTABLE_OFFSET, RestartableOffset};
#[cfg(all(feature = "std", not(loom)))]
pub use robust::{Inherited, Robust};
pub use rwlock::RwLock;
pub use rwlock_fair::RwLockFair;
pub use semaphore::Semaphore;
#[cfg(feature = "std")]
pub use sysv::SysvSem;
pub use ticket::Ticket;
pub use usema::{Usema, UsemaSpin};

/// Compiles the example of the README as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
