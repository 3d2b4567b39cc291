//! `pthread_mutex_*`, and the names with two underscores that old libraries call.

use crate::c::{CLOCK_MONOTONIC, CLOCK_REALTIME, EINVAL, Timespec};
use crate::preload::choice::count;
use crate::preload::locks::exchanged;
use crate::preload::mutex::{Kind, Mutex, at};
use crate::preload::{locks, next};
use core::ffi::{c_int, c_void};

/// `replaced!(name: (arguments) |mutex| ours)`: ours where the lock that was asked for is `L`.
macro_rules! replaced {
    ($name:ident: ($($letter:ident: $argument:ty),*) |$object:ident| $ours:expr) => {
        #[cfg_attr(preload, unsafe(no_mangle))]
        pub extern "C" fn $name(mutex: *mut c_void $(, $letter: $argument)*) -> c_int {
            // SAFETY: the program gives a mutex, which lives as long as the call.
            let $object: &Mutex = unsafe { at(mutex) };
            // The choice is known before the kind is asked: it says which mutexes are meant.
            exchanged!(L => if $object.kind() != Kind::Theirs { return $ours }, ());
            // SAFETY: the arguments are passed on as the program gave them.
            unsafe { next::$name()(mutex $(, $letter)*) }
        }
    };
}

/// As `replaced`, where it takes the mutex: `taking!(name, what it goes on to with where it returns to as one argument
/// more, how that is passed: …)`. The first such call can decide whose the mutex is.
macro_rules! taking {
    ($name:ident, $from:ident, $x86_64:literal, $aarch64:literal:
     ($($letter:ident: $argument:ty),*) |$object:ident| $ours:expr) => {
        #[unsafe(naked)]
        #[cfg_attr(preload, unsafe(no_mangle))]
        pub extern "C" fn $name(_: *mut c_void $(, _: $argument)*) -> c_int {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!("endbr64", $x86_64, "jmp {from}", from = sym $from);
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!($aarch64, "b {from}", from = sym $from);
        }

        extern "C" fn $from(mutex: *mut c_void $(, $letter: $argument)*, site: usize) -> c_int {
            // SAFETY: the program gives a mutex, which lives as long as the call.
            let $object: &Mutex = unsafe { at(mutex) };
            // The choice is known before the kind is asked: it says which mutexes are meant.
            exchanged!(L => if $object.kind_at(site) != Kind::Theirs { return $ours }, ());
            // SAFETY: the arguments are passed on as the program gave them.
            unsafe { next::$name()(mutex $(, $letter)*) }
        }
    };
}

/// `also!(a second name, name)`.
macro_rules! also {
    ($other:ident, $name:ident) => {
        #[cfg_attr(preload, unsafe(no_mangle))]
        extern "C" fn $other(mutex: *mut c_void) -> c_int {
            $name(mutex)
        }
    };
}

taking!(pthread_mutex_lock, lock_from, "mov rsi, [rsp]", "mov x1, x30": () |mutex| mutex.lock::<L>());
taking!(pthread_mutex_trylock, trylock_from, "mov rsi, [rsp]", "mov x1, x30": () |mutex| mutex.try_lock::<L>());
replaced!(pthread_mutex_unlock: () |mutex| mutex.unlock::<L>());
replaced!(pthread_mutex_destroy: () |mutex| mutex.destroy::<L>());
taking!(pthread_mutex_timedlock, timedlock_from, "mov rdx, [rsp]", "mov x2, x30": (time: *const Timespec) |mutex| {
    // SAFETY: the program gives a time, if it has to wait.
    unsafe { mutex.lock_until::<L>(CLOCK_REALTIME, time) }
});
taking!(pthread_mutex_clocklock, clocklock_from, "mov rcx, [rsp]", "mov x3, x30": (clock: c_int, time: *const Timespec) |mutex| {
    match clock {
        // SAFETY: the program gives a time, if it has to wait.
        CLOCK_REALTIME | CLOCK_MONOTONIC => unsafe { mutex.lock_until::<L>(clock, time) },
        _ => EINVAL,
    }
});
also!(__pthread_mutex_lock, pthread_mutex_lock);
also!(__pthread_mutex_trylock, pthread_mutex_trylock);
also!(__pthread_mutex_unlock, pthread_mutex_unlock);
also!(__pthread_mutex_destroy, pthread_mutex_destroy);

/// The C library's own, which leaves a free lock of ours where the kind can be ours; what cannot is counted.
#[unsafe(naked)]
#[cfg_attr(preload, unsafe(no_mangle))]
extern "C" fn pthread_mutex_init(_: *mut c_void, _: *mut c_void) -> c_int {
    #[cfg(target_arch = "x86_64")]
    core::arch::naked_asm!("endbr64", "mov rdx, [rsp]", "jmp {from}", from = sym init_from);
    #[cfg(target_arch = "aarch64")]
    core::arch::naked_asm!("mov x2, x30", "b {from}", from = sym init_from);
}

extern "C" fn init_from(mutex: *mut c_void, attributes: *mut c_void, site: usize) -> c_int {
    // SAFETY: the arguments are passed on as the program gave them.
    let code = unsafe { next::pthread_mutex_init()(mutex, attributes) };
    if code == 0 && locks::any() {
        // SAFETY: the program gives a mutex.
        let mutex = unsafe { at(mutex) };
        count_theirs(mutex);
        mutex.choose_at_init(site);
    }
    code
}

#[cfg_attr(preload, unsafe(no_mangle))]
extern "C" fn __pthread_mutex_init(mutex: *mut c_void, attributes: *mut c_void) -> c_int {
    pthread_mutex_init(mutex, attributes)
}

fn count_theirs(mutex: &Mutex) {
    const ROBUST: u32 = 0x10;
    const PRIORITY: u32 = 0x20 | 0x40;
    const SHARED: u32 = 0x80;
    let is_left_for_its_kind = mutex.bits() & (ROBUST | PRIORITY | SHARED) != 0;
    if is_left_for_its_kind {
        count(|left| match mutex.bits() {
            bits if bits & ROBUST != 0 => &left.robust,
            bits if bits & PRIORITY != 0 => &left.priority,
            _ => &left.shared,
        });
    }
}
