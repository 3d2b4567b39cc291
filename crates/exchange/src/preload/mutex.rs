//! A mutex of the C library's, with a lock of ours in it; and `pthread_mutex_*`, also by the names with two
//! underscores that old libraries call.
//!
//! | bytes | the C library's | ours |
//! |---|---|---|
//! | 0..16 | `__lock`, `__count`, `__owner`, `__nusers` | the lock |
//! | 16..20 | `__kind` | the same |
//! | 20..24 | `__spins`, `__elision` | in which process it was last used |
//! | 24..28 | `__list` | how often the owner has it |
//! | 28..32 | | how many threads wait for conditions that go with it |
//! | 32..40 | | who has it, where the kind asks that |
//!
//! All of the C library's initialisers leave 0 everywhere but in the kind, and that is a free lock of ours.

use super::choice::count;
use super::generation::settle;
use super::locks::{self, Exchanged, MOST, exchanged};
use super::me::me;
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

/// As large as the C library's, on all machines.
const _: () = assert!(size_of::<Mutex>() == 40);

/// What its kind says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Normal,
    Recursive,
    ErrorChecking,
    /// Robust, of priority inheritance or protection, shared between processes, or destroyed: the C library's.
    Theirs,
}

/// Bits that ask for, or against, an elision of locks, which is nobody's any more.
const ELISION: u32 = 0x300;
const RECURSIVE: u32 = 1;
const ERROR_CHECKING: u32 = 2;
const ADAPTIVE: u32 = 3;
/// Bits that are nobody's, where code decides: the mutex has a lock of ours, or is left to the C library. That one
/// looks at its own bits only.
const CHOSEN: u32 = 1 << 30;
const LEFT: u32 = 1 << 29;
/// What the C library puts there when it destroys one.
const DESTROYED: u32 = u32::MAX;

/// The mutex that a program points to.
///
/// # Safety
/// It is one, and lives as long as the call.
pub unsafe fn at<'a>(mutex: *mut c_void) -> &'a Mutex {
    // SAFETY: the caller says that it is one; it is as large and as aligned.
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
            _ => Kind::Theirs,
        }
    }

    /// Its kind, as the call that returns there finds it: where code decides of mutexes, the first call does.
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

    /// Decides by where it is initialised.
    pub fn choose_at_init(&self, site: usize) {
        if choice::names_code() && choice::leaves(core::ptr::from_ref(self).addr()) {
            self.choose(site, 0);
        }
    }

    /// Notes whose it is, if that is not decided; `otherwise` if it is not meant.
    #[cold]
    fn choose(&self, site: usize, otherwise: u32) {
        let bits = self.kind.load(Relaxed);
        if bits & (CHOSEN | LEFT) == 0 && kind_of(bits) != Kind::Theirs {
            let mark = if choice::is_meant(site) { CHOSEN } else { otherwise };
            if self.kind.compare_exchange(bits, bits | mark, Relaxed, Relaxed).is_ok() && mark == CHOSEN {
                count(|left| &left.chosen);
            }
        }
    }

    /// The kind's bits, as the C library has them.
    pub fn bits(&self) -> u32 {
        self.kind.load(Relaxed)
    }

    /// The lock in it.
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

    /// Whoever waited for it is not in this process; whoever had it may be.
    #[cold]
    fn forget_waiters<L: Exchanged>(&self, lock: &L) {
        if lock.is_locked() {
            self.lock.iter().for_each(|word| word.store(0, Relaxed));
            lock.lock();
        }
    }

    #[inline(always)]
    fn is_mine(&self) -> bool {
        self.owner.load(Relaxed) == me()
    }

    /// Whether its kind knows its owner, and that is not this thread.
    pub fn is_anothers(&self) -> bool {
        self.kind() != Kind::Normal && !self.is_mine()
    }

    fn take_again(&self) -> c_int {
        let Some(depth) = self.depth.load(Relaxed).checked_add(1) else { return EAGAIN };
        self.depth.store(depth, Relaxed);
        0
    }

    fn own(&self, kind: Kind) {
        if kind != Kind::Normal {
            self.owner.store(me(), Relaxed);
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
        if self.is_mine() {
            return if kind == Kind::Recursive { self.take_again() } else { EDEADLK };
        }
        self.lock_of::<L>().lock();
        self.own(kind);
        0
    }

    pub fn try_lock<L: Exchanged>(&self, kind: Kind) -> c_int {
        if kind == Kind::Recursive && self.is_mine() {
            return self.take_again();
        }
        if !try_for::<L>(self.lock_of()) {
            return EBUSY;
        }
        self.own(kind);
        0
    }

    /// The time is only read by who has to wait.
    ///
    /// # Safety
    /// It is a time then.
    pub unsafe fn lock_until<L: Exchanged>(&self, kind: Kind, clock: c_int, time: *const Timespec) -> c_int {
        if kind != Kind::Normal && self.is_mine() {
            return if kind == Kind::Recursive { self.take_again() } else { EDEADLK };
        }
        let lock = self.lock_of::<L>();
        if !try_for(lock) {
            // SAFETY: the caller's. Only who has to wait is told of a time that is none.
            let Some(deadline) = Deadline::given(clock, unsafe { *time }) else { return EINVAL };
            if deadline.passed() || !lock.lock_until(deadline) {
                return ETIMEDOUT;
            }
        }
        self.own(kind);
        0
    }

    #[inline(always)]
    pub fn unlock<L: Exchanged>(&self, kind: Kind) -> c_int {
        if kind != Kind::Normal {
            return self.unlock_owned::<L>();
        }
        let lock = self.lock_of::<L>();
        // The C library lets a free one be freed.
        if lock.is_locked() {
            // SAFETY: somebody has it, and it is for the program to say who that is.
            unsafe { lock.unlock() };
        }
        0
    }

    #[inline(never)]
    fn unlock_owned<L: Exchanged>(&self) -> c_int {
        if !self.is_mine() {
            return EPERM;
        }
        let depth = self.depth.load(Relaxed) - 1;
        self.depth.store(depth, Relaxed);
        if depth == 0 {
            self.owner.store(0, Relaxed);
            // SAFETY: this thread has it.
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

    /// One more waits for a condition, and will come back. The caller has the lock.
    pub fn will_come_back(&self) {
        self.waiters.store(self.waiters.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// It has come back, or does not go. The caller has the lock.
    pub fn is_back(&self) {
        self.waiters.store(self.waiters.load(Relaxed).wrapping_sub(1), Relaxed);
    }
}

/// What the bits say, whoever decided that it is ours.
#[inline(always)]
fn kind_of(bits: u32) -> Kind {
    match bits & !(ELISION | CHOSEN) {
        0 | ADAPTIVE => Kind::Normal,
        RECURSIVE => Kind::Recursive,
        ERROR_CHECKING => Kind::ErrorChecking,
        _ => Kind::Theirs,
    }
}

/// Takes a free lock. Some leave a free one to whom it is promised, or to who comes at the same moment; a mutex that is
/// free is had by who tries it.
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
