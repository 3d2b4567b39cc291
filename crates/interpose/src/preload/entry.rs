//! The way in: a function of the C library's name, which passes its call site on.
//!
//! It is two instructions: the address that the call returns to becomes one argument more, and the way goes on to what
//! does the work, as if it had been called itself. So nothing is on the stack that unwinding would have to know.

/// `entry!(name => target, arguments)`: the target has one argument more than those, which says where it was called.
macro_rules! entry {
    ($name:ident => $target:path, 1) => { entry!($name, $target, "rsi", "x1"); };
    ($name:ident => $target:path, 2) => { entry!($name, $target, "rdx", "x2"); };
    ($name:ident => $target:path, 3) => { entry!($name, $target, "rcx", "x3"); };
    ($name:ident => $target:path, 4) => { entry!($name, $target, "r8", "x4"); };
    ($name:ident, $target:path, $x86_64:literal, $aarch64:literal) => {
        #[unsafe(naked)]
        #[cfg_attr(preload, unsafe(no_mangle))]
        extern "C" fn $name() {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!(
                "endbr64",
                concat!("mov ", $x86_64, ", [rsp]"),
                "jmp {target}",
                target = sym $target
            );
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!(concat!("mov ", $aarch64, ", x30"), "b {target}", target = sym $target);
        }
    };
}

pub(super) use entry;
