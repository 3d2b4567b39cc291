//! Watches the locks of unmodified programs.
//!
//! It is two things made of the same files. A crate that depends on this one has the bytes of a small shared library
//! ([`LIBRARY`]), the memory that it records into ([`Memory`]), and the layout of that memory ([`Region`]). The build
//! script compiles the same sources a second time, with `--cfg preload`, into that library: only there do the functions
//! of `preload` replace those of the C library, so that no program changes by depending on this crate.
//!
//! ```
//! use interpose::{Level, LIBRARY, Memory};
//!
//! let memory = Memory::new(Level::Sampled, None)?;
//! assert!(LIBRARY.starts_with(b"\x7fELF"));
//! assert_eq!(memory.region().threads().count(), 0);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! The library has no dependency but the C library, and nothing of Rust's standard library: it cannot allocate, format
//! or lock, because there is nothing in it that does.

#![cfg_attr(preload, no_std)]
#![warn(missing_docs)]

#[cfg(any(preload, clippy, test))]
#[cfg_attr(not(all(preload, target_arch = "x86_64")), allow(dead_code, reason = "its callers are programs on x86-64"))]
mod frames;
mod histogram;
mod layout;
#[cfg(any(preload, clippy, test))]
#[cfg_attr(not(preload), allow(dead_code, reason = "its callers are programs; here it is only looked at and tested"))]
mod maps;
#[cfg(not(preload))]
mod memory;
#[cfg(any(preload, clippy))]
#[cfg_attr(not(preload), allow(dead_code, reason = "its callers are programs; here it is only looked at"))]
mod preload;
mod shared;

pub use histogram::{BUCKETS, bounds, bucket};
pub use layout::{
    Buckets, Confirm, EDGES, Edge, Event, HELD, Header, Held, Histograms, Hot, KINSHIPS, Kin, Kind, Kinship,
    LABEL_BYTES, LABELS, LOCKS, LONG_TICKS, Label, Last, Lock, LockLag, MAPS, MORE_PLACES, Mark, ORDERS, Order, PAIRS,
    PLACES, PROCESSES, Pair, Place, Process, RING, Region, Request, Requests, SAMPLE_OF, SHARDS, SHARE_ONE, TARGETS,
    THREADS, Target, Thread, Times, WhatIf, holder,
};
#[cfg(not(preload))]
pub use memory::{LIBRARY, Level, Memory, PLACE};
