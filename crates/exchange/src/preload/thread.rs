//! The number of the calling thread: unique among all threads of the process, before and after a fork.
//!
//! It is not the kernel's: the only thread of a forked child is the parent's thread that forked, and holds the locks
//! that this one held. It is not an address either: the next thread may be at the address of an earlier one.
//!
//! Also the number of reader-writer locks that it holds for reading, and its next number as the user of a lock that
//! passes numbers.
//!
//! The words are at a fixed distance from the thread pointer, known from the program's start: two loads find one. A
//! language's own thread-local storage calls a function of the loader each time.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

core::arch::global_asm!(
    ".section .tbss.ulocks_thread,\"awT\",@nobits",
    ".p2align 3",
    ".globl ulocks_thread",
    ".hidden ulocks_thread",
    ".type ulocks_thread, @object",
    ".size ulocks_thread, 24",
    "ulocks_thread:",
    ".zero 24",
    ".previous",
);

/// The index of each word.
const NUMBER: usize = 0;
const READS: usize = 8;
const NEXT: usize = 16;

static LAST: AtomicU64 = AtomicU64::new(0);

/// Returns the number; not 0.
#[inline(always)]
pub fn thread_number() -> u64 {
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

/// Returns how many reader-writer locks this thread holds for reading, as far as it released them itself.
#[inline(always)]
pub fn reads() -> u64 {
    get::<READS>()
}

/// Counts one more.
#[inline(always)]
pub fn reads_one_more() {
    set::<READS>(reads() + 1);
}

/// Counts one less.
#[inline(always)]
pub fn reads_one_less() {
    set::<READS>(reads().saturating_sub(1));
}

/// Returns the number that `set_next_number` noted; 0 if none was.
#[inline(always)]
pub fn next_number() -> u64 {
    get::<NEXT>()
}

/// Notes the next number of this thread.
#[inline(always)]
pub fn set_next_number(number: u64) {
    set::<NEXT>(number);
}

#[inline(always)]
fn get<const AT: usize>() -> u64 {
    let word: u64;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the loader writes the word's distance into the table entry that is read, and `fs` is the thread pointer.
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
    // SAFETY: the loader writes the word's distance into the table entry that is read, and `tpidr_el0` is the thread
    // pointer.
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
    // SAFETY: the loader writes the word's distance into the table entry that is read, `fs` is the thread pointer, and
    // only this thread accesses the word.
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
    // SAFETY: the loader writes the word's distance into the table entry that is read, `tpidr_el0` is the thread
    // pointer, and only this thread accesses the word.
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
