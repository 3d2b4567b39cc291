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
//! | [`AdaptiveRw`] | 4 | bounded | yes | yes | readers and writers that must not starve each other |
//! | [`RwLock`] | 4 | readers first | yes | yes | readers that may come twice |
//! | [`RwLockFair`] | 16 | in turns | no | yes | writers that must get in |
//! | [`Ticket`], [`Mcs`] | 8 | strictly | no | `Ticket` | contrast: they only spin |
//! | [`Benaphore`] | + 4 | as its semaphore | no | as its semaphore | contrast: a counter before a [`Semaphore`] |
//! | [`SysvSem`] | | yes | no | yes | contrast: the kernel each time |
//!
//! The crate also has [`FutexSem`], [`Condvar`] and [`Once`]. The source file of each lock begins with the table of its states, the
//! argument for its memory orderings, its fairness, and the effect of a stopped or dead holder on the others.
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
//! # Memory
//! Every lock here, and [`FutexSem`], may be freed by the thread that acquires it last, while the previous owner is still
//! in its `unlock`: that one does not touch it any more. A [`Condvar`] and a [`Once`] must outlive every call on them.
//!
//! # Fork, vfork, clone
//! A forked child can go on using shared locks. Of the private ones it can use [`Adaptive`], [`AdaptiveRw`],
//! [`Calock`], [`RwLock`], [`Pi`] and [`Robust`] locks if no other thread of its parent held them, whichever threads
//! waited for them, and [`FutexSem`]. It can use a [`Once`] that was done, or that no other thread was doing; a call
//! on one that another thread was doing never returns. It can use the locks that hand off ([`Usema`], [`Ticket`], [`Mcs`],
//! [`Benaphore`], [`RwLockFair`]), [`Biased`] and [`Condvar`] only if no other thread waited or tried either: a thread
//! that did not come along has a place in their queue, or was about to revoke a bias. ([`Pi`] and [`Robust`] know their
//! holder by its number: a child must not release a lock that its parent acquired, nor any shared lock that was held.) A
//! process with [`Watched`] locks must not fork while other threads use them.
//!
//! A child of `vfork`, or of a bare `clone` with shared memory, must not use private locks: it runs with its parent's
//! registration for restartable sequences, or with none, so `membarrier` cannot restart it.
//!
//! # Signal handlers
//! `try_lock` and `unlock` of every lock but [`Mcs`], [`Pi`], [`Robust`], [`SysvSem`] and [`Checked`] are async-signal-safe,
//! and so are the notifications of [`Condvar`] and `release` of [`FutexSem`]: they make system calls and change words, and
//! neither allocate nor take another lock. A handler that waits for a lock of the thread that it interrupted never
//! returns. The registrations that are not async-signal-safe (`dlsym`, `pthread_atfork`, a first `membarrier`) are made by a
//! constructor when the object is loaded. A constructor that runs earlier and contends makes them itself; so does the
//! first contended call where a linker has dropped the constructors of a static library.
//!
//! # dlclose
//! A plugin that contains these locks (a `cdylib`, or a C object with `libulocks_c.a`) can be unloaded, once no thread
//! runs its code or waits for its locks. Nothing of it stays behind: the address that the kernel reads for restartable
//! sequences is cleared at the end of each unlock. `libulocks_c.so` is linked to stay loaded.
//!
//! # Spurious failure of `try_lock`
//! `try_lock` of [`Adaptive`], and of [`AdaptiveRw`] on either side, can fail although no thread holds the lock: it is
//! reserved for a thread that has waited long, or that thread changed the word at the same moment. So
//! `assert!(lock.try_lock().is_some())` is only right for a lock that no other thread is waiting for or acquiring. The
//! first try that fails on a reservation cancels it, so a loop that tries again ends. `try_lock` never succeeds on a
//! lock that is held. Of the other locks it fails only if the lock is held, or changed hands during the call.
//!
//! # membarrier and the TSC
//! Waiting threads of a private [`Adaptive`] or [`Biased`] call `membarrier`, which interrupts every CPU that runs a thread
//! of this process: some 0.4 µs alone, some 9 µs if another thread runs. A seccomp filter that makes it fail is noticed:
//! locks are released by atomic instructions then. One that kills the process for it is not survived. On x86-64 waiting
//! threads read the CPU's time stamp counter: a program that calls `prctl(PR_SET_TSC, PR_TSC_SIGSEGV)` after it was loaded
//! must not contend for [`Adaptive`] and [`AdaptiveRw`]. A ban that the program inherits is respected.
//!
//! On AArch64 private locks are released by atomic instructions, unless the feature `rseq-aarch64` asks for the restartable
//! sequence, which has never run on that hardware.
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
