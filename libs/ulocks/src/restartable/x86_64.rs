//! The sequence for x86-64.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// Whether this module has sequences.
pub(super) const EXISTS: bool = true;

/// Stores 0 to `word` if it equals `EXPECTED`; returns whether it did. Every store is a release store on x86-64.
///
/// The block writes the address of its descriptor to the thread's own `rseq_cs` (8 bytes into the structure), 0 to
/// `word`, and finally 0 to `rseq_cs`. The object that contains the descriptor can be unmapped by `dlclose`
/// afterwards. If the thread is within labels [2, 3), the kernel clears `rseq_cs` itself and moves the thread to
/// label 5. The bytes before label 5 are the signature that the C library registered.
///
/// # Safety
///
/// `offset` is the distance from the thread pointer to the `struct rseq` that is registered with the kernel for this
/// thread.
#[inline(always)]
pub(super) unsafe fn store_zero_if<const EXPECTED: u32>(offset: usize, word: &AtomicU32) -> bool {
    // SAFETY: by the contract of this function, `offset` leads to this thread's own `struct rseq`, whose `rseq_cs`
    // only this thread and the kernel write. The reference keeps `word` alive. The block changes flags and one
    // register, which is declared as clobbered, and no stack, so an abort leaves nothing behind that the compiler
    // relies on.
    unsafe {
        core::arch::asm!(
            ".pushsection __rseq_cs, \"aw\", @progbits",
            ".balign 32",
            "4:",
            ".long 0, 0",
            ".quad 2f, 3f - 2f, 5f",
            ".popsection",
            "lea {scratch}, [rip + 4b]",
            "mov qword ptr fs:[{offset} + 8], {scratch}",
            "2:",
            "cmp dword ptr [{word}], {expected}",
            "jne 6f",
            "mov dword ptr [{word}], 0",
            "3:",
            "mov qword ptr fs:[{offset} + 8], 0",
            ".pushsection __rseq_failure, \"ax\", @progbits",
            ".byte 0x0f, 0xb9, 0x3d",
            ".long 0x53053053",
            "5:",
            "jmp {not_stored}",
            "6:",
            "mov qword ptr fs:[{offset} + 8], 0",
            "jmp {not_stored}",
            ".popsection",
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

/// Stores `new` to `word` if it equals `expected`; returns whether it did. It works as [`store_zero_if`].
///
/// # Safety
///
/// `offset` is the distance from the thread pointer to the `struct rseq` that is registered with the kernel for this
/// thread.
#[inline(always)]
pub(super) unsafe fn store_if(offset: usize, word: &AtomicU64, expected: u64, new: u64) -> bool {
    // SAFETY: by the contract of this function, `offset` leads to this thread's own `struct rseq`, whose `rseq_cs`
    // only this thread and the kernel write. The reference keeps `word` alive. The block changes flags and one
    // register, which is declared as clobbered, and no stack, so an abort leaves nothing behind that the compiler
    // relies on.
    unsafe {
        core::arch::asm!(
            ".pushsection __rseq_cs, \"aw\", @progbits",
            ".balign 32",
            "4:",
            ".long 0, 0",
            ".quad 2f, 3f - 2f, 5f",
            ".popsection",
            "lea {scratch}, [rip + 4b]",
            "mov qword ptr fs:[{offset} + 8], {scratch}",
            "2:",
            "cmp qword ptr [{word}], {expected}",
            "jne 6f",
            "mov qword ptr [{word}], {new}",
            "3:",
            "mov qword ptr fs:[{offset} + 8], 0",
            ".pushsection __rseq_failure, \"ax\", @progbits",
            ".byte 0x0f, 0xb9, 0x3d",
            ".long 0x53053053",
            "5:",
            "jmp {not_stored}",
            "6:",
            "mov qword ptr fs:[{offset} + 8], 0",
            "jmp {not_stored}",
            ".popsection",
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
    // SAFETY: the first word of the memory at `fs` is its own address, by the ABI, and does not change within a
    // thread.
    unsafe {
        core::arch::asm!("mov {}, fs:[0]", out(reg) pointer, options(pure, nomem, nostack, preserves_flags));
    }
    pointer
}
