//! Locks, and the data that they protect, in a file that several processes map.
//!
//! A file can contain any value whose all-zero bytes are valid and that has no pointers ([`Plain`]): the locks of
//! this crate in [`Shared`](crate::Shared) scope, atomics, integers, and arrays of these. A new file is all zero:
//! unlocked locks.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use ulocks::{Adaptive, Shared, shared::{Guarded, SharedMemory}};
//!
//! type Tally = Guarded<Adaptive<Shared>, u64>;
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("tally");
//! // SAFETY: every process that uses this file does so as a `SharedMemory<Tally>`.
//! let tally = unsafe { SharedMemory::<Tally>::open_or_create(&path, 1)? };
//! tally.with(|total| *total += 1);
//! assert_eq!(tally.with(|total| *total), 1);
//! # Ok(())
//! # }
//! ```
//!
//! # Checks
//!
//! Opening checks that the file has the format of this crate, this version and layout, and a type of this name and
//! size. It also checks that the file was created since the last boot and in the same pid and time namespaces. Any
//! difference is an [`Error`]. The file appears under its name only when it is complete. Its blocks are allocated, so
//! that a full file system is an error at creation and not a fault later.
//!
//! # Limits of the checks
//!
//! After that, every process with write permission can change the file, and a reference to memory that other
//! processes write by other means is undefined behaviour in Rust. No check can prevent that, so opening or creating a
//! file is `unsafe`: the caller guarantees that no process does it. If a process does it nevertheless:
//!
//! - A process that overwrites a lock, or punches a hole under it, admits two threads, or keeps all threads out. A
//!   lock stores no address, and each value of its words is one that it can handle. It neither panics nor spins
//!   forever, attempts and calls with a timeout end, and calls that wait block.
//! - A process that truncates the file makes the next access of the others a SIGBUS. [`SharedMemory::check`] detects
//!   that; it may still happen between the check and the access. To share with untrusted processes, use [anonymous
//!   memory](SharedMemory::anonymous), or a memfd sealed with `F_SEAL_SHRINK`, instead of a file.

mod error;
mod guarded;
mod header;
mod memory;
mod plain;

pub use error::{Error, Result};
pub use guarded::Guarded;
pub use memory::SharedMemory;
pub use plain::Plain;
