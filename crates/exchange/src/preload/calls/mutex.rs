//! `pthread_mutex_*`, and the names with two underscores that old libraries call.

use crate::c::{self, CLOCK_MONOTONIC, CLOCK_REALTIME, EINVAL, Timespec};
use crate::preload::choice::count;
use crate::preload::locks::{Exchanged, exchanged};
use crate::preload::mutex::{Kind, Mutex, at};
use crate::preload::{locks, next};
use core::ffi::{c_int, c_void};
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::Release;

/// `replaced!(name: (arguments) |mutex, kind| ours)`: ours where the lock that was asked for is `L`, and the mutex,
/// which is of this kind, can be ours.
///
/// A call goes on to where `WAY` leads: at first to what asks for the choice, from then on to the function with the
/// chosen lock, or straight to the C library's. So what is chosen costs one jump.
macro_rules! replaced {
    ($name:ident: ($($letter:ident: $argument:ty),*) |$object:ident, $kind:ident| $ours:expr) => {
        replaced!($name, "", "", kind: ($($letter: $argument),*) |$object, $kind| $ours, ());
    };
    ($name:ident, $x86_64:literal, $aarch64:literal, $asked:ident:
     ($($letter:ident: $argument:ty),*) |$object:ident, $kind:ident| $ours:expr, ($($site:ident)?)) => {
        mod $name {
            use super::*;

            pub static WAY: AtomicPtr<()> = AtomicPtr::new(first as *mut ());

            extern "C" fn first(mutex: *mut c_void $(, $letter: $argument)* $(, $site: usize)?) -> c_int {
                c::keeping_errno(lead);
                exchanged!(L => with::<L>(mutex $(, $letter)* $(, $site)?), passed_on(mutex $(, $letter)*))
            }

            pub extern "C" fn with<L: Exchanged>(
                mutex: *mut c_void $(, $letter: $argument)* $(, $site: usize)?
            ) -> c_int {
                // SAFETY: the program gives a mutex, which lives as long as the call.
                let $object: &Mutex = unsafe { at(mutex) };
                // The choice is known before the kind is asked: it says which mutexes are meant.
                match $object.$asked($($site)?) {
                    Kind::Theirs => passed_on(mutex $(, $letter)*),
                    $kind => $ours,
                }
            }

            fn passed_on(mutex: *mut c_void $(, $letter: $argument)*) -> c_int {
                // SAFETY: the arguments are passed on as the program gave them.
                unsafe { next::$name()(mutex $(, $letter)*) }
            }
        }

        #[unsafe(naked)]
        #[cfg_attr(preload, unsafe(no_mangle))]
        pub extern "C" fn $name(_: *mut c_void $(, _: $argument)*) -> c_int {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!("endbr64", $x86_64, "jmp qword ptr [rip + {way}]", way = sym $name::WAY);
            // The list of those that are meant is read after the way that it leads to.
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!(
                $aarch64,
                "adrp x16, {way}",
                "add x16, x16, :lo12:{way}",
                "ldar x16, [x16]",
                "br x16",
                way = sym $name::WAY
            );
        }
    };
}

/// As `replaced`, where it takes the mutex: `taking!(name, how it passes on where it returns to as one argument more:
/// …)`. The first such call can decide whose the mutex is.
macro_rules! taking {
    ($name:ident, $x86_64:literal, $aarch64:literal:
     ($($letter:ident: $argument:ty),*) |$object:ident, $kind:ident| $ours:expr) => {
        replaced!($name, $x86_64, $aarch64, kind_at: ($($letter: $argument),*) |$object, $kind| $ours, (site));
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

taking!(pthread_mutex_lock, "mov rsi, [rsp]", "mov x1, x30": () |mutex, kind| mutex.lock::<L>(kind));
taking!(pthread_mutex_trylock, "mov rsi, [rsp]", "mov x1, x30": () |mutex, kind| mutex.try_lock::<L>(kind));
replaced!(pthread_mutex_unlock: () |mutex, kind| mutex.unlock::<L>(kind));
replaced!(pthread_mutex_destroy: () |mutex, _kind| mutex.destroy::<L>());
taking!(pthread_mutex_timedlock, "mov rdx, [rsp]", "mov x2, x30": (time: *const Timespec) |mutex, kind| {
    // SAFETY: the program gives a time, if it has to wait.
    unsafe { mutex.lock_until::<L>(kind, CLOCK_REALTIME, time) }
});
taking!(pthread_mutex_clocklock, "mov rcx, [rsp]", "mov x3, x30":
(clock: c_int, time: *const Timespec) |mutex, kind| match clock {
    // SAFETY: the program gives a time, if it has to wait.
    CLOCK_REALTIME | CLOCK_MONOTONIC => unsafe { mutex.lock_until::<L>(kind, clock, time) },
    _ => EINVAL,
});
also!(__pthread_mutex_lock, pthread_mutex_lock);
also!(__pthread_mutex_trylock, pthread_mutex_trylock);
also!(__pthread_mutex_unlock, pthread_mutex_unlock);
also!(__pthread_mutex_destroy, pthread_mutex_destroy);

/// Makes the choice, if nobody has, and has all calls go where it leads.
pub fn lead() {
    macro_rules! to {
        ($($name:ident: $way:expr;)*) => { $($name::WAY.store($way as *mut (), Release);)* };
    }
    fn chosen<L: Exchanged>() {
        to! {
            pthread_mutex_lock: pthread_mutex_lock::with::<L>;
            pthread_mutex_trylock: pthread_mutex_trylock::with::<L>;
            pthread_mutex_timedlock: pthread_mutex_timedlock::with::<L>;
            pthread_mutex_clocklock: pthread_mutex_clocklock::with::<L>;
            pthread_mutex_unlock: pthread_mutex_unlock::with::<L>;
            pthread_mutex_destroy: pthread_mutex_destroy::with::<L>;
        }
    }
    fn none() {
        next::find_all();
        to! {
            pthread_mutex_lock: next::pthread_mutex_lock();
            pthread_mutex_trylock: next::pthread_mutex_trylock();
            pthread_mutex_timedlock: next::pthread_mutex_timedlock();
            pthread_mutex_clocklock: next::pthread_mutex_clocklock();
            pthread_mutex_unlock: next::pthread_mutex_unlock();
            pthread_mutex_destroy: next::pthread_mutex_destroy();
        }
    }
    exchanged!(L => chosen::<L>(), none());
}

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
