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
//! let tally = SharedMemory::<Tally>::open_or_create(&path, 1)?;
//! tally.with(|total| *total += 1);
//! assert_eq!(tally.with(|total| *total), 1);
//! # Ok(())
//! # }
//! ```
//!
//! # What is checked, and what cannot be
//! Opening checks that the file is one of these, of this version and layout, of the right size, made since the machine
//! was started and in the same pid and time namespaces: anything else is an [`Error`]. The file appears under its name complete
//! or not at all, and its blocks are allocated, so that a full file system is an error too and not a fault later.
//!
//! After that the file belongs to everybody who may write it. Two things no check can prevent:
//!
//! - A process that overwrites a lock, or punches a hole under it, lets two threads in. No address is stored, so it
//!   cannot crash the others through the locks.
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
