//! The calling thread's number: of all threads of the process, since it was forked or before, the only one that has it.
//!
//! It is not the kernel's: a forked child's one thread is its parent's that forked, and what that one held it holds. It
//! is no address either: the next thread lies where the last one lay.
//!
//! Beside it: how many locks for readers it holds.
//!
//! The words lie at a distance from the thread's own pointer that is known from the program's start: two loads
//! find one. What a language offers for this asks a function of the loader each time.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

core::arch::global_asm!(
    ".section .tbss.ulocks_thread,\"awT\",@nobits",
    ".p2align 3",
    ".globl ulocks_thread",
    ".hidden ulocks_thread",
    ".type ulocks_thread, @object",
    ".size ulocks_thread, 16",
    "ulocks_thread:",
    ".zero 16",
    ".previous",
);

/// Where each word lies.
const NUMBER: usize = 0;
const READS: usize = 8;

static LAST: AtomicU64 = AtomicU64::new(0);

/// The number; not 0.
#[inline(always)]
pub fn me() -> u64 {
    match get::<NUMBER>() {
        0 => first(),
        number => number,
    }
}

#[cold]
fn first() -> u64 {
    let number = LAST.fetch_add(1, Relaxed) + 1;
    set::<NUMBER>(number);
    number
}

/// How many locks for readers this thread holds for reading, as far as it freed them itself.
#[inline(always)]
pub fn reads() -> u64 {
    get::<READS>()
}

/// It holds one more.
#[inline(always)]
pub fn reads_one_more() {
    set::<READS>(reads() + 1);
}

/// It holds one less.
#[inline(always)]
pub fn reads_one_less() {
    set::<READS>(reads().saturating_sub(1));
}

#[inline(always)]
fn get<const AT: usize>() -> u64 {
    let word: u64;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the loader puts the word's distance into the table entry that is read, and `fs` is the thread's pointer.
    unsafe {
        core::arch::asm!(
            "mov {word}, qword ptr [rip + ulocks_thread@GOTTPOFF]",
            "mov {word}, qword ptr fs:[{word} + {at}]",
            word = out(reg) word,
            at = const AT,
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
            "add {base}, {base}, {word}",
            "ldr {word}, [{base}, {at}]",
            word = out(reg) word,
            base = out(reg) _,
            at = const AT,
            options(nostack, readonly, preserves_flags)
        );
    }
    word
}

#[inline(always)]
fn set<const AT: usize>(number: u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as above; the word is nobody else's.
    unsafe {
        core::arch::asm!(
            "mov {distance}, qword ptr [rip + ulocks_thread@GOTTPOFF]",
            "mov qword ptr fs:[{distance} + {at}], {number}",
            distance = out(reg) _,
            number = in(reg) number,
            at = const AT,
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
            "add {base}, {base}, {distance}",
            "str {number}, [{base}, {at}]",
            distance = out(reg) _,
            base = out(reg) _,
            number = in(reg) number,
            at = const AT,
            options(nostack, preserves_flags)
        );
    }
}
