//! Locks, and the data they protect, in a file that several processes map.
//!
//! Any value whose all-zero bytes are valid and that holds no pointers can live there ([`Plain`]): the locks of this
//! crate in [`Shared`](crate::Shared) scope, atomics, integers, arrays of these. A fresh file is all zero: unlocked
//! locks.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use ulocks::{Adaptive, Shared, shared::{Guarded, SharedMemory}};
//!
//! type Tally = Guarded<Adaptive<Shared>, u64>;
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("tally");
//! // SAFETY: whoever uses this file does it as a `SharedMemory<Tally>`.
//! let tally = unsafe { SharedMemory::<Tally>::open_or_create(&path, 1)? };
//! tally.with(|total| *total += 1);
//! assert_eq!(tally.with(|total| *total), 1);
//! # Ok(())
//! # }
//! ```
//!
//! # What is checked, and what cannot be
//! Opening checks that the file is one of these, of this version and layout, of a type of this name and size, made
//! since the machine was started and in the same pid and time namespaces: anything else is an [`Error`]. The file
//! appears under its name complete or not at all, and its blocks are allocated, so that a full file system is an error
//! too and not a fault later.
//!
//! After that the file belongs to everybody who may write it, and a reference to memory that others write by other
//! means is undefined behaviour in Rust. No check can prevent that, so to open or make a file is `unsafe`: the caller
//! says that nobody does. If somebody does all the same:
//!
//! - A process that overwrites a lock, or punches a hole under it, lets two threads in, or keeps all out. No address
//!   is stored, and every value of a lock's words is one that the lock can meet: it neither panics nor spins for ever,
//!   calls that try or have a timeout end, and calls that wait sleep.
//! - A process that truncates the file makes the next access of the others a SIGBUS. [`SharedMemory::check`] says
//!   whether it has happened; between check and access it may still happen. Who shares with strangers shares
//!   [anonymous memory](SharedMemory::anonymous), or a memfd sealed with `F_SEAL_SHRINK`, instead of a file.

mod error;
mod guarded;
mod header;
mod memory;
mod plain;

pub use error::{Error, Result};
pub use guarded::Guarded;
pub use memory::SharedMemory;
pub use plain::Plain;
