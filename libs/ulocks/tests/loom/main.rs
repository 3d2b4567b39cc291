//! Every lock under loom: all interleavings of two or three threads, with a bounded number of preemptions.
//!
//! ```sh
//! RUSTFLAGS="--cfg loom" cargo test --release -p ulocks --test loom
//! ```
//!
//! Loom reports two threads in one critical section (the data is a loom cell) and a lost wake-up (as a deadlock). It
//! does not model time: a thread calls `expire`, and all deadlines pass. It treats `SeqCst` accesses as `AcqRel`, so
//! the locks put a fence between two of them in the model. It does not explore load buffering. `Pi` and `Robust` are
//! not modelled: the kernel implements their contended paths, and they are tested with the kernel.
#![cfg(loom)]

#[macro_use]
mod model;

mod adaptive;
mod benaphore;
mod biased;
mod calock;
mod faults;
mod lifetime;
mod readers;
mod spinning;
mod upgrades;
mod usema;
mod waiting;
