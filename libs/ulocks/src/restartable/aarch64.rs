//! The sequence for AArch64, which the feature `rseq-aarch64` enables. It has been compiled and disassembled, but
//! never run on hardware.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// Whether this module has sequences.
pub(super) const EXISTS: bool = true;

/// Stores 0 to `word`, with release ordering, if it equals `EXPECTED`; returns whether it did.
///
/// The kernel clears `rseq_cs` itself before it moves the thread to label 5. On the other two exits, the block does.
///
/// # Safety
///
/// `offset` is the distance from the thread pointer to the `struct rseq` that is registered with the kernel for this
/// thread.
#[inline(always)]
pub(super) unsafe fn store_zero_if<const EXPECTED: u32>(offset: usize, word: &AtomicU32) -> bool {
    // The signature before label 5 is the `brk` that the C library registers on little-endian machines.
    // SAFETY: the caller's `offset` leads to this thread's own `struct rseq`, whose `rseq_cs` only this thread and
    // the kernel write. The reference keeps `word` alive. The block changes flags and two registers, which are
    // declared as outputs, and no stack.
    unsafe {
        core::arch::asm!(
            ".pushsection __rseq_cs, \"aw\", %progbits",
            ".balign 32",
            "4:",
            ".long 0, 0",
            ".quad 2f, 3f - 2f, 5f",
            ".popsection",
            "mrs {area}, tpidr_el0",
            "add {area}, {area}, {offset}",
            "adrp {scratch}, 4b",
            "add {scratch}, {scratch}, :lo12:4b",
            "str {scratch}, [{area}, #8]",
            "2:",
            "ldr {scratch:w}, [{word}]",
            "cmp {scratch:w}, #{expected}",
            "b.ne 6f",
            "stlr wzr, [{word}]",
            "3:",
            "str xzr, [{area}, #8]",
            ".pushsection __rseq_failure, \"ax\", %progbits",
            ".inst 0xd428bc00",
            "5:",
            "b {not_stored}",
            "6:",
            "str xzr, [{area}, #8]",
            "b {not_stored}",
            ".popsection",
            area = out(reg) _,
            scratch = out(reg) _,
            offset = in(reg) offset,
            word = in(reg) word.as_ptr(),
            expected = const EXPECTED,
            not_stored = label { return false },
            options(nostack),
        );
    }
    true
}

/// Stores `new` to `word`, with release ordering, if it equals `expected`; returns whether it did.
///
/// # Safety
///
/// `offset` is the distance from the thread pointer to the `struct rseq` that is registered with the kernel for this
/// thread.
#[inline(always)]
pub(super) unsafe fn store_if(offset: usize, word: &AtomicU64, expected: u64, new: u64) -> bool {
    // The signature before label 5 is the `brk` that the C library registers on little-endian machines.
    // SAFETY: the caller's `offset` leads to this thread's own `struct rseq`, whose `rseq_cs` only this thread and
    // the kernel write. The reference keeps `word` alive. The block changes flags and two registers, which are
    // declared as outputs, and no stack.
    unsafe {
        core::arch::asm!(
            ".pushsection __rseq_cs, \"aw\", %progbits",
            ".balign 32",
            "4:",
            ".long 0, 0",
            ".quad 2f, 3f - 2f, 5f",
            ".popsection",
            "mrs {area}, tpidr_el0",
            "add {area}, {area}, {offset}",
            "adrp {scratch}, 4b",
            "add {scratch}, {scratch}, :lo12:4b",
            "str {scratch}, [{area}, #8]",
            "2:",
            "ldr {scratch}, [{word}]",
            "cmp {scratch}, {expected}",
            "b.ne 6f",
            "stlr {new}, [{word}]",
            "3:",
            "str xzr, [{area}, #8]",
            ".pushsection __rseq_failure, \"ax\", %progbits",
            ".inst 0xd428bc00",
            "5:",
            "b {not_stored}",
            "6:",
            "str xzr, [{area}, #8]",
            "b {not_stored}",
            ".popsection",
            area = out(reg) _,
            scratch = out(reg) _,
            offset = in(reg) offset,
            word = in(reg) word.as_ptr(),
            expected = in(reg) expected,
            new = in(reg) new,
            not_stored = label { return false },
            options(nostack),
        );
    }
    true
}

/// Returns the thread pointer, which is unique among running threads.
#[inline(always)]
pub(super) fn thread_pointer() -> u64 {
    let pointer;
    // SAFETY: the instruction only reads a register, whose value does not change within a thread.
    unsafe {
        core::arch::asm!("mrs {}, tpidr_el0", out(reg) pointer, options(pure, nomem, nostack, preserves_flags));
    }
    pointer
}
