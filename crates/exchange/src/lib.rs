//! Another lock in the mutexes of programs that know nothing of it.
//!
//! It is two things made of the same files. Whoever depends on this crate has the bytes of `libulocks_pthread.so`
//! ([`LIBRARY`]), the names of the locks that it can put there ([`LOCKS`]), and the memory in which it counts what it
//! leaves to the C library ([`Counts`]). The build script compiles the same sources a second time, with
//! `--cfg preload`, into that library: only there do the functions of `preload` replace those of the C library.
//!
//! ```
//! assert!(exchange::LIBRARY.starts_with(b"\x7fELF"));
//! assert!(exchange::LOCKS.iter().any(|lock| lock.name == "adaptive"));
//! ```
//!
//! The locks are those of `ulocks`, compiled from its own files. Those ask of their crate a door to the kernel
//! (`futex`), and what makes a lock a `lock_api` lock (`raw`); here both are this crate's. The door sets no `errno`,
//! since the C library's functions do not, and knows deadlines on two clocks. Of `lock_api` nothing is left but the
//! functions of a lock.

#![warn(missing_docs)]

#[cfg(preload)]
extern crate self as libc;
#[cfg(any(preload, clippy))]
extern crate self as lock_api;
#[cfg(all(any(preload, clippy), not(target_arch = "x86_64")))]
extern crate self as rustix;

#[cfg(any(preload, clippy))]
#[macro_use]
mod raw;

mod names;
/// Code that this crate shares with `interpose`: the modules of its directory `shared`, by their paths.
mod shared {
    include!(concat!(env!("OUT_DIR"), "/shared.rs"));
}

#[cfg(any(preload, clippy))]
#[cfg_attr(not(preload), allow(dead_code, reason = "its callers are programs; here it is only looked at"))]
mod c;
#[cfg(any(preload, clippy))]
#[cfg_attr(not(preload), allow(dead_code, reason = "its callers are programs; here it is only looked at"))]
mod futex;
#[cfg(not(preload))]
mod memory;
#[cfg(any(preload, clippy))]
#[cfg_attr(not(preload), allow(dead_code, reason = "its callers are programs; here it is only looked at"))]
mod preload;

#[cfg(any(preload, clippy))]
include!(concat!(env!("OUT_DIR"), "/locks.rs"));

#[cfg(all(clippy, not(preload), not(target_arch = "x86_64")))]
use c::time;
#[cfg(preload)]
pub use c::*;
#[cfg(not(preload))]
pub use memory::{Counts, LIBRARY, library};
pub use names::{CHOICE, COUNTS, LOCKS, Left, Named, ONLY, PASS};
#[cfg(any(preload, clippy))]
pub use raw::{GuardSend, RawMutex, RawMutexFair};
#[cfg(any(preload, clippy))]
use semaphore::Semaphore;
