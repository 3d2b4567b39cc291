//! The way in: a function of the C library's name, which passes its call site on.
//!
//! It is two instructions: the address that the call returns to becomes one argument more, and the way goes on to what
//! does the work, as if it had been called itself. So nothing is on the stack that unwinding would have to know.
//!
//! Where it goes on to is a word of its own: in a process that records nothing it is the function that was meant.

use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::Relaxed;

/// Where a function goes on to, and where it would without this library.
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

/// Leaves this library out of all ways. What is behind it must have been found.
pub fn straighten() {
    let (mut way, end) = (&raw const __start_contend_ways, &raw const __stop_contend_ways);
    while way < end {
        // SAFETY: between the two there are ways, one after another.
        let one = unsafe { &*way };
        one.to.store(one.straight.load(Relaxed), Relaxed);
        // SAFETY: as above, or just behind the last.
        way = unsafe { way.add(1) };
    }
}

/// `entry!(name => target, arguments)`: the target has one argument more than those, which says where it was called;
/// with 0 it has the function's own.
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
                    // What is aligned in it aligns the function: so it lies in one line of what the CPU decodes.
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
