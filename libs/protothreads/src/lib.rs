//! Stackless threads: 8 to 12 bytes each, a nanosecond or two a switch, under interchangeable schedulers.
//!
//! A protothread (Dunkels, 2005) is a state machine that waits without a stack. Here one is written in either of two
//! ways:
//!
//! - **by hand**: a [`Thread`] whose [`step`](Thread::step) runs until it has to wait. It takes 4 bytes in addition to
//!   its own fields, and the compiler sees through it: see [`run`].
//! - **as straight code**: an `async` block with its [`Handle`], which takes 8 bytes in addition to its own. Ordinary futures
//!   run in it as well, and wakers from other OS threads wake it: see [`Runtime::run`].
//!
//! ```
//! use protothreads::{Channel, Fifo, Handle, Link, Runtime, Scheduler};
//! use std::pin::pin;
//!
//! let numbers = Channel::<u32, 4>::new();
//! let links = [const { Link::new() }; 2];
//! let runtime = Runtime::new(&links, Fifo::new(), &numbers);
//!
//! async fn thread<S: Scheduler>(mut me: Handle<'_, Link, S, Channel<u32, 4>>) {
//!     let numbers = me.shared();
//!     if me.index() == 0 {
//!         for number in 1..=10 {
//!             numbers.send(&mut me, number).await;
//!         }
//!     } else {
//!         for number in 1..=10 {
//!             assert_eq!(numbers.receive(&mut me).await, number);
//!         }
//!     }
//! }
//!
//! let report = runtime.run(pin!([thread(runtime.handle(0)), thread(runtime.handle(1))]));
//! assert_eq!(report.finished, 2);
//! ```
//!
//! # Waiting
//! Every thread has its own semaphore ([`Handle::poll_wait`], `me.wait().await`, [`Runtime::signal`]): the fastest
//! way to wait. Any number of threads can wait for a [`Semaphore`], a [`Mutex`], an [`Event`], a [`Channel`] or a
//! [`Timer`], each first come, first served; what is granted goes to the waiter directly, and no other thread can take it. A
//! thread waits for one of these at a time.
//!
//! A wait of an async thread may be dropped. It must be polled whenever its thread is: that is so in an `async` block,
//! in a `join` or a `select`, but not in a set of futures that polls only those whose own wakers were called.
//!
//! # Schedulers
//! | scheduler | polls | memory | starves |
//! |---|---|---|---|
//! | [`Fifo`] | those that can run, in that order | 12 bytes | never |
//! | [`RunNext`] | the one that became ready last | 16 bytes | never, for a bound |
//! | [`Bitmap`] | those that can run, round and round | a bit a thread | never |
//! | [`InOrder`], [`Reverse`], [`Random`] | all, a round after the other | 8 to 24 bytes | never |
//!
//! The polling ones are what protothreads had in C. There the order decides: for a token that travels around a ring of
//! 503 threads, reverse order costs some 500 wasted polls a hop, which a [`Report`] counts; with a ready queue, order
//! no longer matters.
//!
//! # Storage, heap, `std`
//! All storage is the user's: slices of [`Slot`]s or [`Link`]s and pinned futures. Nothing here allocates. Without the
//! feature `std` (on by default) there is no [`Runtime::run`], which parks the OS thread, but
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
mod wait_list;
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

/// The README's examples are tested with the others.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
