//! A conditional store without an atomic read-modify-write: it takes effect only if the word is still unchanged.
//!
//! # Restartable sequences
//!
//! `compare; store` are two instructions, and another thread may change the word between them. A *restartable
//! sequence* (rseq) is a piece of code that a thread has announced to the kernel. If the thread is preempted,
//! migrated or receives a signal within it, the kernel does not resume it there, but at the abort handler. If the
//! last instruction of the sequence is its only store, either the whole sequence takes effect or nothing. That
//! excludes other threads on the same CPU.
//!
//! A thread that wants to change the word during a sequence on another CPU issues a fence.
//! `membarrier(PRIVATE_EXPEDITED_RSEQ)` makes every thread of the process that is within such a sequence restart it,
//! before the call returns.
//!
//! The two sides of the protocol are:
//!
//! | thread that stores, often | thread that sets a flag, rarely |
//! |---|---|
//! | begin the sequence | set the flag in the word by compare-and-swap |
//! | compare the word with its expected value | fence |
//! | store | read the word again |
//!
//! [`Biased`] locks are acquired by such a pair too. After the fence, each sequence that had compared before the flag
//! was set has either stored or was aborted and has stored nothing. In the first case the second read sees the store
//! (unless another thread changed the word again). Each sequence that compares later sees the flag. In contrast to an
//! asymmetric Dekker pair (store, then load another word), **no memory is accessed after the store**: it may be freed
//! as soon as the store is visible.
//!
//! # Platforms
//!
//! glibc registers each of its threads with the kernel since 2.35; [`prepare`] looks up the offset. On other systems
//! (musl, an older glibc, a kernel before 5.10, valgrind, an emulator, seccomp), [`store_if`] always returns
//! `false`, and its callers need a separate read-modify-write. The same is true on AArch64 without the feature
//! `rseq-aarch64`: that sequence has never run on hardware; and in Miri and with the feature `no-rseq`: ThreadSanitizer
//! does not see the store of a sequence, and would report a race for the data that the lock protects.
//!
//! [`prepare`] calls `dlsym` and registers with `membarrier`, which takes milliseconds while other threads run. A
//! constructor therefore calls it when the object is loaded. Only for a static library whose constructors the linker
//! dropped, and for locks of constructors that run earlier, the first contended call does.
//!
//! An aborted sequence also returns `false`; it is not started again. Hence there is no endless loop when a debugger
//! steps through it, with one abort for each step.
//!
//! # Requirements on the program
//!
//! The C library must have created the threads. A bare `clone` with shared memory and without a registration is not
//! restarted. A child of `vfork`, which uses the registration of its parent, is not restarted either. Neither may
//! release a private [`Adaptive`] lock or use a [`Biased`] one.
//!
//! `dlclose` of the object that contains a sequence is safe: each sequence clears the thread's `rseq_cs` at its end,
//! so the kernel never follows a pointer into an unmapped object. The atomic operation of the acquisition hides the
//! cost of that store: 0.006 ns of a pair of 2.17 ns on an AMD EPYC (Zen 4). The alternative was to pin the object
//! with `RTLD_NODELETE`. That requires the dynamic loader, prevents programs from reloading a plugin, and misses
//! copies of the sequence that the compiler inlined into other objects.
//!
//! [`Adaptive`]: crate::Adaptive
//! [`Biased`]: crate::Biased

#[cfg(not(any(loom, miri, feature = "no-rseq")))]
#[cfg_attr(all(target_arch = "x86_64", target_env = "gnu"), path = "x86_64.rs")]
#[cfg_attr(all(target_arch = "aarch64", target_env = "gnu", feature = "rseq-aarch64"), path = "aarch64.rs")]
#[cfg_attr(
    not(any(
        all(target_arch = "x86_64", target_env = "gnu"),
        all(target_arch = "aarch64", target_env = "gnu", feature = "rseq-aarch64")
    )),
    path = "without.rs"
)]
mod sequence;
#[cfg(all(any(miri, feature = "no-rseq"), not(loom)))]
#[path = "without.rs"]
mod sequence;

#[cfg(all(
    test,
    target_env = "gnu",
    any(target_arch = "x86_64", all(target_arch = "aarch64", feature = "rseq-aarch64")),
    not(any(loom, miri, feature = "no-rseq"))
))]
mod alone;

#[cfg(not(loom))]
mod registration;

#[cfg(loom)]
mod model;

#[cfg(loom)]
pub use model::{Fault, abort, break_by};
#[cfg(loom)]
pub(crate) use model::{current_thread, free_if, mark_and_fence, mark_wide_and_fence, may_be_in_vain, store_if, works};
#[cfg(not(loom))]
#[doc(hidden)]
pub use registration::{RESTARTABLE_OFFSET, RestartableOffset};
#[cfg(not(loom))]
pub(crate) use registration::{
    current_cpu, current_thread, free_if, mark_and_fence, mark_wide_and_fence, may_be_in_vain, store_if, works,
};
