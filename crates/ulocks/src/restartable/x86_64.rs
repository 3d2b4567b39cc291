//! The sequence for x86-64.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// Stores 0 to `word` if it holds `EXPECTED`; says whether it did. A release store, as every store is here.
///
/// The block writes the thread's own `rseq_cs` (8 bytes into the structure), and 0 to `word`. The kernel moves the
/// thread from within [2, 3) to 5, before which stands the signature that the C library registered. From there it goes
/// to the same place as when the word is another.
///
/// # Safety
/// `offset` is where, from the thread pointer, the kernel knows this thread to have its `struct rseq`.
#[inline(always)]
pub(super) unsafe fn store_zero_if<const EXPECTED: u32>(offset: usize, word: &AtomicU32) -> bool {
    // SAFETY: `offset` is the caller's, and `word` lives as long as the call. No register, no stack and no flag that
    // the compiler relies on is different after a restart: the one register that changes is given up.
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
            "jne {not_stored}",
            "mov dword ptr [{word}], 0",
            "3:",
            ".pushsection __rseq_failure, \"ax\", @progbits",
            ".byte 0x0f, 0xb9, 0x3d",
            ".long 0x53053053",
            "5:",
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

/// Stores `new` to `word` if it holds `expected`; says whether it did. Otherwise as above.
///
/// # Safety
/// As above.
#[inline(always)]
pub(super) unsafe fn store_if(offset: usize, word: &AtomicU64, expected: u64, new: u64) -> bool {
    // SAFETY: as above.
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
            "jne {not_stored}",
            "mov qword ptr [{word}], {new}",
            "3:",
            ".pushsection __rseq_failure, \"ax\", @progbits",
            ".byte 0x0f, 0xb9, 0x3d",
            ".long 0x53053053",
            "5:",
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

/// The thread pointer: another in each thread that runs.
#[inline(always)]
pub(super) fn thread_pointer() -> u64 {
    let pointer;
    // SAFETY: the first word of what `fs` points to is its own address, by the ABI. It doesn't change in a thread.
    unsafe {
        core::arch::asm!("mov {}, fs:[0]", out(reg) pointer, options(pure, nomem, nostack, preserves_flags));
    }
    pointer
}
