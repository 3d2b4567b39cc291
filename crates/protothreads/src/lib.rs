//! tmp
#![cfg_attr(not(feature = "std"), no_std)]
mod atomic;
#[cfg(not(loom))]
mod executor;
#[cfg(loom)]
#[doc(hidden)]
pub mod executor;
mod kernel;
mod me;
mod node;
mod report;
mod scheduler;
mod schedulers;
mod semaphore;
mod thread;
mod wait_list;
mod word;
pub use kernel::Kernel;
pub use me::{GiveWay, Me, OwnWait};
pub use node::{Link, MOST_THREADS, Node, Slot};
pub use report::Report;
pub use scheduler::Scheduler;
pub use schedulers::{Bitmap, Fifo, InOrder, Random, Reverse, RunNext};
pub use semaphore::{Semaphore, Wait};
pub use thread::{Here, Thread, ThreadKernel, run, run_with};
pub use word::{MOST_OWN_UNITS, Word};
