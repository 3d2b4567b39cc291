//! Lock substitution in the mutexes of unmodified programs.
//!
//! The crate is two things made of the same files. A crate that depends on it gets the bytes of `libulocks_pthread.so`
//! ([`LIBRARY`]), and the names of the locks that it can substitute ([`LOCKS`]). It also gets the memory in which it
//! counts the objects that stay the C library's ([`Counts`]). The build script compiles the same sources a second time,
//! with `--cfg preload`, into that library: only there do the functions of `preload` replace those of the C library.
//!
//! ```
//! assert!(exchange::LIBRARY.starts_with(b"\x7fELF"));
//! assert!(exchange::LOCKS.iter().any(|lock| lock.name == "adaptive"));
//! ```
//!
//! The locks are those of `ulocks`, compiled from its own files, and five peers of `locks`, from theirs. The files of
//! `ulocks` require two modules from their crate: an interface to the kernel (`futex`), and the code that makes a lock a
//! `lock_api` lock (`raw`). Here both are this crate's. The interface does not set `errno`, since the C library's
//! functions do not, and supports deadlines on two clocks. Only the functions of a lock remain of `lock_api`.

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
mod peers;

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
pub use raw::{GuardSend, RawMutex};
#[cfg(any(preload, clippy))]
use semaphore::Semaphore;
