//! The panic handler and the unwinding function that the compiler requires: no panic is known, and nothing here
//! unwinds.

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: `abort` takes nothing and does not return.
    unsafe { super::external::abort() }
}

// The compiler's own library names it where it could unwind, which nothing here does. It is hidden: a program written
// in Rust has another. If it is called, it says to go on (`_URC_CONTINUE_UNWIND`).
#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".globl rust_eh_personality",
    ".hidden rust_eh_personality",
    "rust_eh_personality:",
    "mov eax, 8",
    "ret"
);
#[cfg(target_arch = "aarch64")]
core::arch::global_asm!(
    ".globl rust_eh_personality",
    ".hidden rust_eh_personality",
    "rust_eh_personality:",
    "mov w0, #8",
    "ret"
);
