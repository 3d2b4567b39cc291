//! The memory that is recorded into: a file of plain words, shared by all threads of all watched processes and by who
//! reads it. Zeros are a fresh one. Nothing in it is a pointer, and nobody waits for anybody.
//!
//! | word | written by |
//! |---|---|
//! | counters, histograms, held locks, the ring's head of a thread | that thread alone |
//! | a ring's tail | the reader alone |
//! | a lock's and an order's key | whoever comes first, with compare-and-swap, once |
//! | how many wait for a lock | who comes to wait and has waited |
//! | a lock's holder | each that has just taken it |
//! | what was lost, and who is next | anybody, with an addition |
//! | a lag, and what a thread is in | that thread alone |
//! | which locks are chosen | the reader alone |
//!
//! All accesses are relaxed but for those that publish: a key after what it names, a head after its event.

mod edge;
mod event;
mod header;
mod hot;
mod kind;
mod lag;
mod lock;
mod pair;
mod place;
mod process;
mod region;
mod thread;

pub use edge::Edge;
pub use event::Event;
pub use header::Header;
pub use hot::Hot;
pub use kind::Kind;
#[cfg(any(preload, clippy))]
pub use lag::{KIN, SECTIONS, ThreadLag};
pub use lag::{Kin, LockLag, Mark, SHARE_ONE, WhatIf};
pub use lock::{Lock, holder};
#[cfg(any(preload, clippy))]
pub use pair::add as pair_add;
pub use pair::{Buckets, Histograms, Pair, SAMPLE_OF, Times};
#[cfg(any(preload, clippy))]
pub use pair::{FEW, LONG_TICKS};
pub use place::{Place, TIMES_ALL};
pub use process::{MAPS, Process};
pub use region::{EDGES, LOCKS, PAIRS, PROCESSES, Region, THREADS};
pub use thread::{HELD, Held, Last, MORE_PLACES, PLACES, RING, Thread};
