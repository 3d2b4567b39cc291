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
//! glibc registers each of its threads with the kernel since 2.35; [`prepare`] looks up the offset. Elsewhere (musl, an
//! older glibc, a kernel before 5.10, valgrind, an emulator, seccomp) [`store_zero_if`] says `false` each time, and its
//! callers need a separate read-modify-write. The same holds on AArch64 without the feature `rseq-aarch64`: that
//! sequence has never run on hardware.
//!
//! [`prepare`] calls `dlsym` and registers with `membarrier`, which takes milliseconds while other threads run. So a
//! constructor calls it when the object is loaded. Only in a static library whose constructors the linker dropped, and
//! for locks of constructors that run earlier, the first contended call does.
//!
//! An aborted sequence says `false` too; it is not started again. So it is no endless loop when a debugger steps
//! through it, one abort for each step.
//!
//! # Requirements on the program
//! Threads are created by the C library. A bare `clone` with shared memory and no registration is not restarted.
//! Neither is a child of `vfork`, which uses the registration of its parent. Neither may release a private [`Adaptive`]
//! lock or use a [`Biased`] one.
//!
//! `dlclose` of the object that contains a sequence is safe: each sequence clears the thread's `rseq_cs` at its end, so
//! the kernel never follows a pointer into an unmapped object. The cost of that store is hidden by the atomic of the
//! acquisition: 0.006 ns of a pair of 2.17 ns on an AMD EPYC (Zen 4). The alternative was to pin the object with
//! `RTLD_NODELETE`. It needs the dynamic loader, stops programs from reloading a plugin, and misses copies of the
//! sequence that the compiler inlined into other objects.
//!
//! [`Adaptive`]: crate::Adaptive
//! [`Biased`]: crate::Biased

#[cfg(all(target_arch = "aarch64", target_env = "gnu", feature = "rseq-aarch64", not(loom)))]
#[path = "aarch64.rs"]
mod sequence;
#[cfg(all(target_arch = "x86_64", target_env = "gnu", not(loom)))]
#[path = "x86_64.rs"]
mod sequence;
#[cfg(not(any(
    loom,
    all(target_arch = "x86_64", target_env = "gnu"),
    all(target_arch = "aarch64", target_env = "gnu", feature = "rseq-aarch64")
)))]
#[path = "without.rs"]
mod sequence;

#[cfg(all(
    test,
    target_env = "gnu",
    any(target_arch = "x86_64", all(target_arch = "aarch64", feature = "rseq-aarch64")),
    not(loom)
))]
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
