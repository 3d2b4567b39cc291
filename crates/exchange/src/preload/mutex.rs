//! A mutex of the C library with a substituted lock in it; and `pthread_mutex_*`, also by the names with two
//! underscores that old libraries call.
//!
//! | bytes | the C library's | here |
//! |---|---|---|
//! | 0..16 | `__lock`, `__count`, `__owner`, `__nusers` | the lock |
//! | 16..20 | `__kind` | the same |
//! | 20..24 | `__spins`, `__elision` | the process in which it was last used |
//! | 24..28 | `__list` | the recursion depth of the owner |
//! | 28..32 | | the number of threads that wait for conditions with it |
//! | 32..40 | | the owner, where the kind needs it |
//!
//! All of the C library's initialisers write 0 everywhere but in the kind, and that is a free substituted lock.

use super::choice::count;
use super::generation::settle;
use super::locks::{self, Exchanged, MOST, exchanged};
use super::thread::thread_number;
use super::{choice, next};
use crate::c::{self, CLOCK_MONOTONIC, CLOCK_REALTIME, EAGAIN, EBUSY, EDEADLK, EINVAL, EPERM, ETIMEDOUT, Timespec};
use crate::futex::Deadline;
use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::{Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};

#[repr(C)]
pub struct Mutex {
    lock: [AtomicU64; MOST / 8],
    kind: AtomicU32,
    generation: AtomicU32,
    depth: AtomicU32,
    waiters: AtomicU32,
    owner: AtomicU64,
}

/// The size is that of the C library's, on all machines.
const _: () = assert!(size_of::<Mutex>() == 40);

/// The kind of a mutex.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Normal,
    Recursive,
    ErrorChecking,
    /// Robust, of priority inheritance or protection, shared between processes, or destroyed: the C library's.
    CLibrary,
}

/// Bits that request or refuse lock elision, which is obsolete.
const ELISION: u32 = 0x300;
const RECURSIVE: u32 = 1;
const ERROR_CHECKING: u32 = 2;
const ADAPTIVE: u32 = 3;
/// Unused bits, where code decides: the mutex has a substituted lock, or is left to the C library, which reads only its
/// own bits.
const CHOSEN: u32 = 1 << 30;
const LEFT: u32 = 1 << 29;
/// The value that the C library writes when it destroys a mutex.
const DESTROYED: u32 = u32::MAX;

/// Returns the mutex that a program points to.
///
/// # Safety
/// It is one, and lives as long as the call.
pub unsafe fn at<'a>(mutex: *mut c_void) -> &'a Mutex {
    // SAFETY: the caller promises that it is one; it has the same size and alignment.
    unsafe { &*mutex.cast() }
}

impl Mutex {
    #[inline(always)]
    pub fn kind(&self) -> Kind {
        if choice::leaves(core::ptr::from_ref(self).addr()) {
            return self.kind_if_chosen();
        }
        kind_of(self.kind.load(Relaxed))
    }

    #[cold]
    fn kind_if_chosen(&self) -> Kind {
        match self.kind.load(Relaxed) {
            bits if bits & CHOSEN != 0 => kind_of(bits),
            _ => Kind::CLibrary,
        }
    }

    /// Returns its kind for the call that returns to `site`: where code decides about mutexes, the first call does.
    #[inline(always)]
    pub fn kind_at(&self, site: usize) -> Kind {
        if choice::leaves(core::ptr::from_ref(self).addr()) {
            if choice::names_code() {
                self.choose(site, LEFT);
            }
            return self.kind_if_chosen();
        }
        kind_of(self.kind.load(Relaxed))
    }

    /// Decides by the place where it is initialised.
    pub fn choose_at_init(&self, site: usize) {
        if choice::names_code() && choice::leaves(core::ptr::from_ref(self).addr()) {
            self.choose(site, 0);
        }
    }

    /// Notes the decision, if there is none yet; `otherwise` if the site is not selected.
    #[cold]
    fn choose(&self, site: usize, otherwise: u32) {
        let bits = self.kind.load(Relaxed);
        if bits & (CHOSEN | LEFT) == 0 && kind_of(bits) != Kind::CLibrary {
            let mark = if choice::is_meant(site) { CHOSEN } else { otherwise };
            if self.kind.compare_exchange(bits, bits | mark, Relaxed, Relaxed).is_ok() && mark == CHOSEN {
                count(|left| &left.chosen);
            }
        }
    }

    /// Returns the kind's bits, as the C library has them.
    pub fn bits(&self) -> u32 {
        self.kind.load(Relaxed)
    }

    /// Returns the lock in it.
    #[inline(always)]
    fn lock_of<L: Exchanged>(&self) -> &L {
        const { assert!(size_of::<L>() <= MOST && align_of::<L>() <= 8) };
        // SAFETY: the bytes are the lock's: 0 at first, and since then changed by its own functions only.
        let lock = unsafe { &*(&raw const self.lock).cast::<L>() };
        if L::HANDS_OVER {
            settle(&self.generation, || self.forget_waiters(lock));
        }
        lock
    }

    /// Resets the waiters, which are not in this process; the owner may be.
    #[cold]
    fn forget_waiters<L: Exchanged>(&self, lock: &L) {
        if lock.is_locked() {
            self.lock.iter().for_each(|word| word.store(0, Relaxed));
            lock.lock();
        }
    }

    #[inline(always)]
    fn is_owned(&self) -> bool {
        self.owner.load(Relaxed) == thread_number()
    }

    /// Returns whether its kind has an owner, which is not this thread.
    pub fn is_owned_by_another(&self) -> bool {
        self.kind() != Kind::Normal && !self.is_owned()
    }

    fn take_again(&self) -> c_int {
        let Some(depth) = self.depth.load(Relaxed).checked_add(1) else { return EAGAIN };
        self.depth.store(depth, Relaxed);
        0
    }

    fn set_owner(&self, kind: Kind) {
        if kind != Kind::Normal {
            self.owner.store(thread_number(), Relaxed);
            self.depth.store(1, Relaxed);
        }
    }

    #[inline(always)]
    pub fn lock<L: Exchanged>(&self, kind: Kind) -> c_int {
        if kind == Kind::Normal {
            self.lock_of::<L>().lock();
            return 0;
        }
        self.lock_owned::<L>(kind)
    }

    #[inline(never)]
    fn lock_owned<L: Exchanged>(&self, kind: Kind) -> c_int {
        if self.is_owned() {
            return if kind == Kind::Recursive { self.take_again() } else { EDEADLK };
        }
        self.lock_of::<L>().lock();
        self.set_owner(kind);
        0
    }

    pub fn try_lock<L: Exchanged>(&self, kind: Kind) -> c_int {
        if kind == Kind::Recursive && self.is_owned() {
            return self.take_again();
        }
        if !try_for::<L>(self.lock_of()) {
            return EBUSY;
        }
        self.set_owner(kind);
        0
    }

    /// Acquires the lock before a deadline, which is only read if the thread has to wait.
    ///
    /// # Safety
    /// The pointer is to a time if the thread has to wait.
    pub unsafe fn lock_until<L: Exchanged>(&self, kind: Kind, clock: c_int, time: *const Timespec) -> c_int {
        if kind != Kind::Normal && self.is_owned() {
            return if kind == Kind::Recursive { self.take_again() } else { EDEADLK };
        }
        let lock = self.lock_of::<L>();
        if !try_for(lock) {
            // SAFETY: the caller promises a time for a thread that has to wait. An invalid one is reported only then.
            let Some(deadline) = Deadline::from_program(clock, unsafe { *time }) else { return EINVAL };
            if deadline.passed() || !lock.lock_until(deadline) {
                return ETIMEDOUT;
            }
        }
        self.set_owner(kind);
        0
    }

    #[inline(always)]
    pub fn unlock<L: Exchanged>(&self, kind: Kind) -> c_int {
        if kind != Kind::Normal {
            return self.unlock_owned::<L>();
        }
        let lock = self.lock_of::<L>();
        // The C library allows releasing a free one.
        if lock.is_locked() {
            // SAFETY: the lock is held, and the program is responsible for which thread releases it.
            unsafe { lock.unlock() };
        }
        0
    }

    #[inline(never)]
    fn unlock_owned<L: Exchanged>(&self) -> c_int {
        if !self.is_owned() {
            return EPERM;
        }
        let depth = self.depth.load(Relaxed) - 1;
        self.depth.store(depth, Relaxed);
        if depth == 0 {
            self.owner.store(0, Relaxed);
            // SAFETY: this thread holds the lock.
            unsafe { self.lock_of::<L>().unlock() };
        }
        0
    }

    pub fn destroy<L: Exchanged>(&self) -> c_int {
        if self.lock_of::<L>().is_locked() || self.waiters.load(Relaxed) != 0 {
            return EBUSY;
        }
        self.kind.store(DESTROYED, Relaxed);
        0
    }

    /// Counts one more waiter for a condition, which will return.
    ///
    /// The caller has the lock.
    pub fn will_come_back(&self) {
        self.waiters.store(self.waiters.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// Counts a waiter that has returned, or does not wait.
    ///
    /// The caller has the lock.
    pub fn is_back(&self) {
        self.waiters.store(self.waiters.load(Relaxed).wrapping_sub(1), Relaxed);
    }
}

/// Returns the kind in the bits, whether it is substituted or not.
#[inline(always)]
fn kind_of(bits: u32) -> Kind {
    match bits & !(ELISION | CHOSEN) {
        0 | ADAPTIVE => Kind::Normal,
        RECURSIVE => Kind::Recursive,
        ERROR_CHECKING => Kind::ErrorChecking,
        _ => Kind::CLibrary,
    }
}

/// Acquires a free lock.
///
/// Some refuse a free lock that is promised to a waiter, or on a collision; a mutex that is free must be acquired by a
/// try.
#[inline(always)]
fn try_for<L: Exchanged>(lock: &L) -> bool {
    loop {
        if lock.try_lock() {
            return true;
        }
        if lock.is_locked() {
            return false;
        }
    }
}

/// Defines a replaced function: `replaced!(name: (arguments) |mutex, kind| body)`, where `L` is the chosen lock, and
/// the mutex of this kind can be substituted.
///
/// A call continues at the target of `WAY`: at first the code that reads the choice, from then on the function with the
/// chosen lock, or the C library's. So the choice costs one jump.
macro_rules! replaced {
    ($name:ident: ($($letter:ident: $argument:ty),*) |$object:ident, $kind:ident| $body:expr) => {
        replaced!($name, "", "", kind: ($($letter: $argument),*) |$object, $kind| $body, ());
    };
    ($name:ident, $x86_64:literal, $aarch64:literal, $asked:ident:
     ($($letter:ident: $argument:ty),*) |$object:ident, $kind:ident| $body:expr, ($($site:ident)?)) => {
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
                // The choice is read before the kind: it defines which mutexes are selected.
                match $object.$asked($($site)?) {
                    Kind::CLibrary => passed_on(mutex $(, $letter)*),
                    $kind => $body,
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
            // The list of selected code is read after the target that depends on it.
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

/// Defines a replaced function that acquires the mutex, as `replaced`: `taking!(name, how it passes on its return
/// address as one argument more: …)`.
///
/// The first such call can decide about the mutex.
macro_rules! taking {
    ($name:ident, $x86_64:literal, $aarch64:literal:
     ($($letter:ident: $argument:ty),*) |$object:ident, $kind:ident| $body:expr) => {
        replaced!($name, $x86_64, $aarch64, kind_at: ($($letter: $argument),*) |$object, $kind| $body, (site));
    };
}

/// Defines a second name: `also!(a second name, name)`.
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

/// Reads the choice, if no thread has, and sets the target of all calls.
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

/// Calls the C library's own function, which leaves a free substituted lock where the kind allows it; the others are
/// counted.
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
