//! Detection of preemptions from within a thread, without a system call.
//!
//! The kernel maintains a small structure for each thread in the thread's own memory: `struct rseq`, for restartable
//! sequences. One of its words points to the description of a critical section. When the kernel preempts the thread,
//! or delivers a signal to it, outside of that section, it clears the word. A section that is never entered therefore
//! makes the word a flag: set it, run, and check whether it is still set.
//!
//! ```
//! use instruments::evidence::preemption::PreemptionFlag;
//!
//! if let Some(flag) = PreemptionFlag::of_current_thread() {
//!     flag.set();
//!     // … a gap is found …
//!     if flag.was_cleared() {
//!         println!("preempted, or interrupted by a signal");
//!         flag.set();
//!     }
//! }
//! ```

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering, compiler_fence};

/// The calling thread's flag. It cannot leave its thread.
#[derive(Debug)]
pub struct PreemptionFlag {
    /// Word in the thread's own block. A pointer is neither `Send` nor `Sync`, so the thread is alive while this is.
    word: NonNull<AtomicU64>,
}

/// `struct rseq_cs` of the kernel's interface.
#[repr(C, align(32))]
struct Section {
    version: u32,
    flags: u32,
    start: *const u8,
    length: u64,
    abort: *const u32,
}

// SAFETY: the section is never written, and its pointers are only compared by the kernel.
unsafe impl Sync for Section {}

/// Signature before the address to which the kernel would jump; every C library registers its threads with it.
#[cfg(target_arch = "x86_64")]
const SIGNATURE: Option<u32> = Some(0x5305_3053);
#[cfg(target_arch = "aarch64")]
const SIGNATURE: Option<u32> = Some(0xd428_bc00);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const SIGNATURE: Option<u32> = None;

/// Signature and the address behind it. The kernel reads the signature, and would jump to the address only from
/// inside the section: never.
static LANDING: [u32; 2] = match SIGNATURE {
    Some(signature) => [signature, 0],
    None => [0; 2],
};

/// One byte of data, to which no instruction pointer ever points.
static NEVER: u8 = 0;

/// Section that no code enters. It is a static, so that the word may point to it until the thread ends.
static SECTION: Section =
    Section { version: 0, flags: 0, start: &raw const NEVER, length: 1, abort: &raw const LANDING[1] };

/// Offset of `rseq_cs` in `struct rseq`.
const WORD_AT: isize = 8;

impl PreemptionFlag {
    /// Returns the calling thread's flag.
    ///
    /// The result is `None` if the C library registers no such structure (before glibc 2.35, musl, or disabled by
    /// `GLIBC_TUNABLES=glibc.pthread.rseq=0`), on a kernel without it, and on processors that this crate does not
    /// support.
    pub fn of_current_thread() -> Option<Self> {
        SIGNATURE?;
        let thread = thread_pointer()?;
        let word = thread.wrapping_offset(registered_at()? + WORD_AT).cast::<AtomicU64>();
        let flag = Self { word: NonNull::new(word)? };
        // Any other value is a section of other code: this thread uses restartable sequences itself.
        [0, section()].contains(&flag.word().load(Ordering::Relaxed)).then_some(flag)
    }

    #[inline(always)]
    fn word(&self) -> &AtomicU64 {
        // SAFETY: the C library guarantees that a registered `struct rseq` is at this offset from the thread pointer,
        // in the thread's own block, which lives as long as the thread; `self` cannot leave the thread. The word is
        // aligned as a u64 there. Only this thread and the kernel on its behalf access it.
        unsafe { self.word.as_ref() }
    }

    /// Sets the flag.
    #[inline(always)]
    pub fn set(&self) {
        self.word().store(section(), Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
    }

    /// Returns whether the kernel cleared the flag since it was set.
    #[inline(always)]
    pub fn was_cleared(&self) -> bool {
        compiler_fence(Ordering::SeqCst);
        self.word().load(Ordering::Relaxed) != section()
    }
}

impl Drop for PreemptionFlag {
    fn drop(&mut self) {
        self.word().store(0, Ordering::Relaxed);
    }
}

#[inline(always)]
fn section() -> u64 {
    (&raw const SECTION).addr() as u64
}

/// Returns the offset of `struct rseq` from the thread pointer.
fn registered_at() -> Option<isize> {
    // SAFETY: the names are NUL-terminated; RTLD_DEFAULT is a handle that is always valid.
    let symbol = |name: &std::ffi::CStr| unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    let (offset, size) = (symbol(c"__rseq_offset").cast::<isize>(), symbol(c"__rseq_size").cast::<u32>());
    if offset.is_null() || size.is_null() {
        return None;
    }
    // SAFETY: glibc documents these two as `const ptrdiff_t` and `const unsigned int`, set before main begins.
    let (offset, size) = unsafe { (*offset, *size) };
    // The size is 0 if the kernel refused.
    (size > 0).then_some(offset)
}

#[cfg(target_arch = "x86_64")]
fn thread_pointer() -> Option<*mut u8> {
    let pointer: *mut u8;
    // SAFETY: the x86-64 ABI keeps the thread pointer's own value in the first word behind fs; it is only read.
    unsafe { core::arch::asm!("mov {}, fs:[0]", out(reg) pointer, options(nostack, readonly, preserves_flags)) };
    Some(pointer)
}

#[cfg(target_arch = "aarch64")]
fn thread_pointer() -> Option<*mut u8> {
    let pointer: *mut u8;
    // SAFETY: tpidr_el0 contains the thread pointer; reading it accesses no memory.
    unsafe { core::arch::asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nomem, nostack, preserves_flags)) };
    Some(pointer)
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn thread_pointer() -> Option<*mut u8> {
    None
}
