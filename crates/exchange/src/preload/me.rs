//! The calling thread's number: of all threads of the process, since it was forked or before, the only one that has it.
//!
//! It is not the kernel's: a forked child's one thread is its parent's that forked, and what that one held it holds. It
//! is no address either: the next thread lies where the last one lay.
//!
//! The word lies at a distance from the thread's own pointer that is known from the program's start: two loads find
//! it. What a language offers for this asks a function of the loader each time.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

core::arch::global_asm!(
    ".section .tbss.ulocks_thread,\"awT\",@nobits",
    ".p2align 3",
    ".globl ulocks_thread",
    ".hidden ulocks_thread",
    ".type ulocks_thread, @object",
    ".size ulocks_thread, 8",
    "ulocks_thread:",
    ".zero 8",
    ".previous",
);

static LAST: AtomicU64 = AtomicU64::new(0);

/// The number; not 0.
#[inline(always)]
pub fn me() -> u64 {
    match get() {
        0 => first(),
        number => number,
    }
}

#[cold]
fn first() -> u64 {
    let number = LAST.fetch_add(1, Relaxed) + 1;
    set(number);
    number
}

#[inline(always)]
fn get() -> u64 {
    let word: u64;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the loader puts the word's distance into the table entry that is read, and `fs` is the thread's pointer.
    unsafe {
        core::arch::asm!(
            "mov {word}, qword ptr [rip + ulocks_thread@GOTTPOFF]",
            "mov {word}, qword ptr fs:[{word}]",
            word = out(reg) word,
            options(nostack, readonly, preserves_flags)
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above, with `tpidr_el0`.
    unsafe {
        core::arch::asm!(
            "adrp {word}, :gottprel:ulocks_thread",
            "ldr {word}, [{word}, :gottprel_lo12:ulocks_thread]",
            "mrs {base}, tpidr_el0",
            "ldr {word}, [{base}, {word}]",
            word = out(reg) word,
            base = out(reg) _,
            options(nostack, readonly, preserves_flags)
        );
    }
    word
}

fn set(number: u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as above; the word is nobody else's.
    unsafe {
        core::arch::asm!(
            "mov {distance}, qword ptr [rip + ulocks_thread@GOTTPOFF]",
            "mov qword ptr fs:[{distance}], {number}",
            distance = out(reg) _,
            number = in(reg) number,
            options(nostack, preserves_flags)
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        core::arch::asm!(
            "adrp {distance}, :gottprel:ulocks_thread",
            "ldr {distance}, [{distance}, :gottprel_lo12:ulocks_thread]",
            "mrs {base}, tpidr_el0",
            "str {number}, [{base}, {distance}]",
            distance = out(reg) _,
            base = out(reg) _,
            number = in(reg) number,
            options(nostack, preserves_flags)
        );
    }
}
