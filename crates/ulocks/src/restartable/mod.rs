//! A store that happens only if a word still holds what it held: without an atomic read-modify-write.
//!
//! # Restartable sequences
//! `compare; store` are two instructions, and another thread may change the word between them. A *restartable
//! sequence* (rseq) is a piece of code that a thread has announced to the kernel. If the thread is preempted, migrated
//! or takes a signal within it, the kernel does not let it go on, but sends it to the abort handler. If the last
//! instruction of the sequence is its only store, then either all of it happened, or none of it. That excludes other
//! threads of the same CPU. Threads on other CPUs are excluded by who wants to change the word under the sequence's
//! nose, with a fence: `membarrier(PRIVATE_EXPEDITED_RSEQ)` makes every thread of the process that is within such a
//! sequence restart it, before the call returns.
//!
//! So the pair is:
//!
//! | who stores, often | who marks, seldom |
//! |---|---|
//! | begin | mark the word, by compare-and-swap |
//! | compare the word with what it was | fence |
//! | store | look at the word again |
//!
//! [`Biased`] locks are taken by such a pair too. After the fence each sequence that had compared before the mark has
//! either stored, and then the second look sees it (unless somebody changed the word again), or was aborted and has
//! stored nothing. Each that compares later sees the mark. In contrast to an asymmetric Dekker pair (store, then load
//! another word), **nothing is done after the store**: the memory may be freed as soon as the store can be seen.
//!
//! # Where it works
//! glibc registers each of its threads with the kernel since 2.35; [`prepare`] asks it where. Elsewhere (musl, an
//! older glibc, a kernel before 5.10, valgrind, an emulator, seccomp) [`store_zero_if`] says `false` each time, and its
//! callers need a read-modify-write of their own.
//!
//! An aborted sequence says `false` too; it is not started again. So it is no endless loop when a debugger steps
//! through it, one abort for each step.
//!
//! # What it asks of the program
//! - Threads are made by the C library. A bare `clone` with memory in common and no registration is not restarted, and
//!   nor is a child of `vfork`, which uses its parent's registration: neither may free a private [`Adaptive`] lock, or
//!   use a [`Biased`] one.
//! - Code that is unloaded (`dlclose`) while a thread's last sequence was in it: the kernel may look once more at the
//!   sequence's descriptor. The C library of this crate is linked so that it stays loaded.
//!
//! [`Adaptive`]: crate::Adaptive
//! [`Biased`]: crate::Biased

#[cfg(all(target_arch = "aarch64", target_env = "gnu", not(loom)))]
#[path = "aarch64.rs"]
mod sequence;
#[cfg(all(target_arch = "x86_64", target_env = "gnu", not(loom)))]
#[path = "x86_64.rs"]
mod sequence;
#[cfg(not(any(
    loom,
    all(target_arch = "x86_64", target_env = "gnu"),
    all(target_arch = "aarch64", target_env = "gnu")
)))]
#[path = "without.rs"]
mod sequence;

#[cfg(all(test, target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64"), not(loom)))]
mod alone;

#[cfg(not(loom))]
mod registration;

#[cfg(loom)]
mod model;

#[cfg(loom)]
pub use model::{Fault, abort, break_by};
#[cfg(loom)]
pub(crate) use model::{
    mark_and_fence, mark_wide_and_fence, may_be_in_vain, me, prepare, store_if, store_zero_if, works,
};
#[cfg(not(loom))]
pub(crate) use registration::{
    mark_and_fence, mark_wide_and_fence, may_be_in_vain, me, prepare, store_if, store_zero_if, works,
};
