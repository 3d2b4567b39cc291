//! A mutex of the C library's, with a lock of ours in it.
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
use super::locks::{Exchanged, MOST};
use super::me::me;
use super::only;
use crate::c::{EAGAIN, EBUSY, EDEADLK, EINVAL, EPERM, ETIMEDOUT, Timespec};
use crate::futex::Deadline;
use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};

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
        if only::leaves(core::ptr::from_ref(self).addr()) {
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
        if only::leaves(core::ptr::from_ref(self).addr()) {
            if only::names_code() {
                self.choose(site, LEFT);
            }
            return self.kind_if_chosen();
        }
        kind_of(self.kind.load(Relaxed))
    }

    /// Decides by where it is initialised.
    pub fn choose_at_init(&self, site: usize) {
        if only::names_code() && only::leaves(core::ptr::from_ref(self).addr()) {
            self.choose(site, 0);
        }
    }

    /// Notes whose it is, if that is not decided; `otherwise` if it is not meant.
    #[cold]
    fn choose(&self, site: usize, otherwise: u32) {
        let bits = self.kind.load(Relaxed);
        if bits & (CHOSEN | LEFT) == 0 && kind_of(bits) != Kind::Theirs {
            let mark = if only::is_meant(site) { CHOSEN } else { otherwise };
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
