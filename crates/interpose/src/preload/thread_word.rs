//! A word of each thread: the address of its place in the memory.
//!
//! The library is there when the program starts, so the word is at a distance from the thread's own pointer that is
//! known from then on: two loads find it. A language's own thread-local storage calls a function of the loader each
//! time, which may allocate.

use crate::layout::Thread;

core::arch::global_asm!(
    ".section .tbss.contend_thread,\"awT\",@nobits",
    ".p2align 3",
    ".globl contend_thread",
    ".hidden contend_thread",
    ".type contend_thread, @object",
    ".size contend_thread, 8",
    "contend_thread:",
    ".zero 8",
    ".previous",
);

/// Returns the calling thread's place; null if it has none.
#[inline(always)]
pub fn get() -> *const Thread {
    let word: *const Thread;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the loader puts the word's distance into the table entry that is read, and `fs` is the thread's pointer.
    unsafe {
        core::arch::asm!(
            "mov {word}, qword ptr [rip + contend_thread@GOTTPOFF]",
            "mov {word}, qword ptr fs:[{word}]",
            word = out(reg) word,
            options(nostack, readonly, preserves_flags)
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the loader puts the word's distance into the table entry that is read, and `tpidr_el0` is the thread's
    // pointer.
    unsafe {
        core::arch::asm!(
            "adrp {word}, :gottprel:contend_thread",
            "ldr {word}, [{word}, :gottprel_lo12:contend_thread]",
            "mrs {base}, tpidr_el0",
            "ldr {word}, [{base}, {word}]",
            word = out(reg) word,
            base = out(reg) _,
            options(nostack, readonly, preserves_flags)
        );
    }
    word
}

/// Sets the calling thread's place.
pub fn set(thread: *const Thread) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the loader puts the word's distance into the table entry that is read, `fs` is the thread's pointer, and
    // the word is this thread's alone.
    unsafe {
        core::arch::asm!(
            "mov {distance}, qword ptr [rip + contend_thread@GOTTPOFF]",
            "mov qword ptr fs:[{distance}], {thread}",
            distance = out(reg) _,
            thread = in(reg) thread,
            options(nostack, preserves_flags)
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the loader puts the word's distance into the table entry that is read, `tpidr_el0` is the thread's
    // pointer, and the word is this thread's alone.
    unsafe {
        core::arch::asm!(
            "adrp {distance}, :gottprel:contend_thread",
            "ldr {distance}, [{distance}, :gottprel_lo12:contend_thread]",
            "mrs {base}, tpidr_el0",
            "str {thread}, [{base}, {distance}]",
            distance = out(reg) _,
            base = out(reg) _,
            thread = in(reg) thread,
            options(nostack, preserves_flags)
        );
    }
}
