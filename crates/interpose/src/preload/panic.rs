//! There is no way to panic that anybody knows of, and nothing that unwinds here; both are the compiler's wish.

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: it takes nothing and does not return.
    unsafe { super::external::abort() }
}

// The compiler's own library names it where it could unwind, which nothing here does. It is hidden: a program of Rust
// has one of its own. Should it be called, it says to go on (`_URC_CONTINUE_UNWIND`).
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
