//! The way in: a function of the C library's name, which passes its call site on.
//!
//! It is two or three instructions: the address that the call returns to becomes one more argument, or its place on the
//! stack and the frame pointer become two, and the function jumps to the one that does the work, as if that had been
//! called itself. So nothing is on the stack that unwinding would have
//! to know.
//!
//! The target of the jump is a separate word: in a process that records nothing it is the function that the program
//! called.

use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::Relaxed;

/// The target of a function, and its target without this library.
#[repr(C)]
pub struct Way {
    pub to: AtomicPtr<()>,
    pub straight: &'static AtomicPtr<()>,
}

unsafe extern "C" {
    // The linker puts these before and behind all ways.
    static __start_contend_ways: Way;
    static __stop_contend_ways: Way;
}

/// Removes this library from all ways. The functions behind it must have been found.
pub fn straighten() {
    let (mut way, end) = (&raw const __start_contend_ways, &raw const __stop_contend_ways);
    while way < end {
        // SAFETY: the linker places the ways contiguously between the two symbols, and `way` is below the end.
        let one = unsafe { &*way };
        one.to.store(one.straight.load(Relaxed), Relaxed);
        // SAFETY: `way` is below the end, so the next address is that of a way, or just behind the last.
        way = unsafe { way.add(1) };
    }
}

/// Defines the entry of a replaced function: `entry!(name => target, arguments)`. The target has one more argument,
/// which says where it was called; with 0 it has the function's own. With `called`, it has two more, which make a
/// [`Call`](super::callers::Call): the place of the return address (on AArch64, the address), and the frame pointer.
macro_rules! entry {
    ($name:ident => $target:path, 0) => {
        entry!($name, $target, "", "");
    };
    ($name:ident => $target:path, 1) => {
        entry!($name, $target, "mov rsi, [rsp]", "mov x1, x30");
    };
    ($name:ident => $target:path, 2) => {
        entry!($name, $target, "mov rdx, [rsp]", "mov x2, x30");
    };
    ($name:ident => $target:path, 3) => {
        entry!($name, $target, "mov rcx, [rsp]", "mov x3, x30");
    };
    ($name:ident => $target:path, 4) => {
        entry!($name, $target, "mov r8, [rsp]", "mov x4, x30");
    };
    ($name:ident => $target:path, called 1) => {
        entry!($name, $target, "mov rsi, rsp\nmov rdx, rbp", "mov x1, x30\nmov x2, x29");
    };
    ($name:ident => $target:path, called 2) => {
        entry!($name, $target, "mov rdx, rsp\nmov rcx, rbp", "mov x2, x30\nmov x3, x29");
    };
    ($name:ident => $target:path, called 3) => {
        entry!($name, $target, "mov rcx, rsp\nmov r8, rbp", "mov x3, x30\nmov x4, x29");
    };
    ($name:ident, $target:path, $x86_64:literal, $aarch64:literal) => {
        const _: () = {
            #[cfg_attr(preload, unsafe(link_section = "contend_ways"))]
            #[cfg_attr(preload, used)]
            static WAY: $crate::preload::entry::Way = $crate::preload::entry::Way {
                to: core::sync::atomic::AtomicPtr::new($target as *mut ()),
                straight: &$crate::preload::next::found::$name,
            };

            #[unsafe(naked)]
            #[cfg_attr(preload, unsafe(no_mangle))]
            extern "C" fn $name() {
                #[cfg(target_arch = "x86_64")]
                core::arch::naked_asm!(
                    "endbr64",
                    $x86_64,
                    "jmp qword ptr [rip + {way}]",
                    // The alignment of its content aligns the function: so it is in one line that the CPU decodes.
                    ".balign 32",
                    way = sym WAY
                );
                #[cfg(target_arch = "aarch64")]
                core::arch::naked_asm!(
                    $aarch64,
                    "adrp x16, {way}",
                    "ldr x16, [x16, :lo12:{way}]",
                    "br x16",
                    way = sym WAY
                );
            }
        };
    };
}

pub(super) use entry;
