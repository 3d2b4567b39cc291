//! Stackless threads: 8 to 12 bytes each, one to two nanoseconds per switch, under interchangeable schedulers.
//!
//! A protothread (Dunkels, 2005) is a state machine that waits without a stack. There are two ways to write one:
//!
//! - **By hand**: a [`Thread`] whose [`step`](Thread::step) runs until it must wait. It takes 4 bytes in addition to
//!   its own fields, and the compiler optimises across it: see [`run`].
//! - **As straight code**: an `async` block with its [`Handle`], which takes 8 bytes in addition to its own. Ordinary
//!   futures run in it as well, and wakers from other OS threads wake it: see [`Runtime::run`].
//!
//! ```
//! use protothreads::{Channel, Fifo, Handle, Link, Runtime, Scheduler};
//! use std::pin::pin;
//!
//! let numbers = Channel::<u32, 4>::new();
//! let links = [const { Link::new() }; 2];
//! let runtime = Runtime::new(&links, Fifo::new(), &numbers);
//!
//! async fn thread<S: Scheduler>(mut handle: Handle<'_, Link, S, Channel<u32, 4>>) {
//!     let numbers = handle.shared();
//!     if handle.index() == 0 {
//!         for number in 1..=10 {
//!             numbers.send(&mut handle, number).await;
//!         }
//!     } else {
//!         for number in 1..=10 {
//!             assert_eq!(numbers.receive(&mut handle).await, number);
//!         }
//!     }
//! }
//!
//! let report = runtime.run(pin!([thread(runtime.handle(0)), thread(runtime.handle(1))]));
//! assert_eq!(report.finished, 2);
//! ```
//!
//! # Waiting
//!
//! Every thread has its own semaphore ([`Handle::poll_wait`], `handle.wait().await`, [`Runtime::signal`]): the fastest
//! way to wait. Any number of threads can wait for a [`Semaphore`], a [`Mutex`], an [`Event`], a [`Channel`] or a
//! [`Timer`], each first come, first served. A grant is handed off to the waiter directly, and no other thread can
//! take it. A thread waits for one of these at a time.
//!
//! A wait of an async thread may be dropped. It must be polled whenever its thread is. That is so in an `async`
//! block, in a `join` or a `select`, but not in a set of futures that polls only those whose own wakers were called.
//!
//! # Schedulers
//!
//! | scheduler | polls | memory | starvation |
//! |---|---|---|---|
//! | [`Fifo`] | threads that can run, in the order in which they became ready | 12 bytes | never |
//! | [`RunNext`] | the thread that became ready last | 16 bytes | never, by a bound |
//! | [`Bitmap`] | threads that can run, round robin | one bit per thread | never |
//! | [`InOrder`], [`Reverse`], [`Random`] | all threads, one round after the other | 8 to 24 bytes | never |
//!
//! The polling schedulers are those of protothreads in C. There the order is decisive. For a token that travels
//! around a ring of 503 threads, reverse order costs about 500 spurious polls per hop, which a [`Report`] counts.
//! With a ready queue, the order does not matter.
//!
//! # Storage, heap, `std`
//!
//! The user provides all storage: slices of [`Slot`]s or [`Link`]s and pinned futures. Nothing allocates. Without the
//! feature `std` (enabled by default) there is no [`Runtime::run`], which parks the OS thread, but
//! [`run_with`](Runtime::run_with), whose `idle` may wait for an interrupt.
#![cfg_attr(not(any(feature = "std", loom)), no_std)]
#![warn(missing_docs)]

mod atomic;
mod channel;
mod event;
#[cfg(not(loom))]
mod executor;
#[cfg(loom)]
#[doc(hidden)]
pub mod executor;
mod handle;
mod mutex;
mod node;
mod runtime;
mod schedulers;
mod semaphore;
mod thread;
mod timer;
mod word;

pub use channel::Channel;
pub use event::{Event, EventWait};
pub use handle::{GiveWay, Handle, OwnWait};
pub use mutex::{Mutex, MutexGuard};
pub use node::{Link, MOST_THREADS, Node, Slot};
pub use runtime::{Report, Runtime};
pub use schedulers::{Bitmap, Fifo, InOrder, Random, Reverse, RunNext, Scheduler};
pub use semaphore::{Semaphore, Wait};
pub use thread::{Thread, ThreadHandle, ThreadRuntime, run, run_with};
pub use timer::{Sleep, Sleeper, Timer};
pub use word::{MOST_OWN_UNITS, Word};

/// Compiles the examples of the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
