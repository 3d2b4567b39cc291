//! User-space locks in plain words: in one process or in shared memory, from Rust and from C.
//!
//! In 2002 Hubertus Franke wrote locks that enter the kernel only when contended, and a benchmark that compared them:
//! the road to the futex. These are those locks, on today's futexes, and one to take when you don't want to choose:
//!
//! ```
//! use ulocks::{Adaptive, lock_api::Mutex};
//!
//! static HITS: Mutex<Adaptive, u64> = Mutex::new(0);
//!
//! *HITS.lock() += 1;
//! ```
//!
//! # Which one
//! | lock | bytes | fair | timeouts | between processes | for |
//! |---|---|---|---|---|---|
//! | [`Adaptive`] | 4 | bounded | yes | yes | when you don't want to choose |
//! | [`Biased`] | 16 | once shared | yes | no | what one thread uses nearly alone |
//! | [`Calock`], [`CalockSpin`] | 4 | no | yes | yes | convoys; the smallest |
//! | [`Usema`], [`UsemaSpin`] | 8 | strictly | no | yes | first come, first served |
//! | [`Pi`] | 4 | by priority | yes | yes | real-time threads |
//! | [`Robust`] | 8 | no | yes | yes | owners that may die |
//! | [`AdaptiveRw`] | 4 | bounded | yes | yes | readers and writers, when you don't want to choose |
//! | [`RwLock`] | 4 | readers first | yes | yes | readers that may come twice |
//! | [`RwLockFair`] | 16 | in turns | no | yes | writers that must get in |
//! | [`Ticket`], [`Mcs`] | 8 | strictly | no | `Ticket` | contrast: they only spin |
//! | [`Benaphore`] | + 4 | as its semaphore | no | as its semaphore | contrast: a counter before a [`Semaphore`] |
//! | [`SysvSem`] | | yes | no | yes | contrast: the kernel each time |
//!
//! Beside them [`FutexSem`], [`Condvar`] and [`Once`]. The file of each lock begins with the table of its states, why
//! its memory orderings suffice, whom it prefers, and what a stopped or dead holder does to the others.
//!
//! # Type parameters
//! - [`Private`] or [`Shared`]: threads of one process, or several processes. A lock's state is plain words without
//!   pointers, so each process may map it at another address, and all-zero bytes are the free lock. [`shared`] puts
//!   locks and data into a file.
//! - [`NoCount`] or [`Counted`]: whether the lock counts what happens to it.
//! - A [`Patience`]: how long a lock spins before it sleeps, where that is for you to choose.
//! - [`Watched`] or [`Unwatched`], of [`Checked`], which puts any of the exclusive locks under watch: deadlocks are
//!   told as they close, orders that can deadlock before they do.
//!
//! All but [`Benaphore`] and [`SysvSem`] are `lock_api` raw locks, and [`lock_api`] is re-exported:
//! `ulocks::lock_api::Mutex<ulocks::Usema, T>`.
//!
//! # Memory and forks
//! Every lock here, and [`FutexSem`], may be freed by whoever takes it last, while the one before is still in its
//! `unlock`: that one does not touch it any more. A [`Condvar`] must outlive every call on it.
//!
//! A forked child can go on using shared locks. Of the private ones it can use [`Adaptive`], [`AdaptiveRw`],
//! [`Calock`], [`RwLock`], [`Pi`] and [`Robust`] locks if no other thread of its parent held them, whoever waited for
//! them, and [`FutexSem`]. The locks that hand over ([`Usema`], [`Ticket`], [`Mcs`], [`Benaphore`], [`RwLockFair`]),
//! [`Biased`] and [`Condvar`] only if nobody waited or tried either: a thread that did not come along has a place in
//! their queue, or was about to revoke a bias. ([`Pi`] and [`Robust`] know their holder by its number: a child must not
//! free what its parent took, nor any shared lock that was held.) A process with [`Watched`] locks must not fork
//! while other threads use them.
//!
//! # Without std
//! With `default-features = false` the crate is `no_std` and does not allocate. It is for Linux still, and for a C
//! library: sleeping is a system call, and where a thread's registration is the C library knows.
//!
//! | what | without the feature `std` |
//! |---|---|
//! | [`Adaptive`], [`AdaptiveRw`], [`Biased`], [`Calock`], [`CalockSpin`], [`Usema`], [`UsemaSpin`] | yes |
//! | [`RwLock`], [`RwLockFair`], [`Ticket`] | yes |
//! | [`FutexSem`], [`Benaphore`], [`Condvar`], [`Once`]; counters and patience | yes |
//! | timeouts by a duration (`try_lock_for`, `wait_for`) | yes |
//! | timeouts by an `Instant` (`try_lock_until`, `wait_until`), `lock_api`'s traits for both | no: it is std's |
//! | [`Mcs`] | no: its queue may need memory |
//! | [`Pi`], [`Robust`] | no: they know each thread, by memory of its own and `/proc` |
//! | [`SysvSem`], [`shared`], [`Checked`] | no: errors of the system, files, backtraces |
//!
//! The crate is for Linux.

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
#[cfg(not(loom))]
mod futex;
#[cfg(loom)]
#[doc(hidden)]
pub mod futex;
mod futex_sem;
#[cfg(feature = "std")]
mod mcs;
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
#[cfg(feature = "std")]
pub use mcs::Mcs;
pub use once::Once;
pub use patience::{Micros, Patience};
#[cfg(all(feature = "std", not(loom)))]
pub use pi::Pi;
#[cfg(all(feature = "std", not(loom)))]
pub use robust::{Inherited, Robust};
pub use rwlock::RwLock;
pub use rwlock_fair::RwLockFair;
pub use semaphore::Semaphore;
#[cfg(feature = "std")]
pub use sysv::SysvSem;
pub use ticket::Ticket;
pub use usema::{Usema, UsemaSpin};

/// The README's example is tested with the others.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
