//! Locks whose memory the last holder frees while the previous one may still be in its `unlock`.
//!
//! `ULOCKS_OBJECTS` sets the number of objects (1,000,000 for a thorough run). An access after the unlock is an
//! access to an unmapped page: the process dies.

use std::{
    cell::Cell,
    ptr,
    sync::atomic::{
        AtomicPtr, AtomicU64,
        Ordering::{Acquire, Release},
    },
    thread,
};
use ulocks::{
    Adaptive, AdaptiveRw, Benaphore, Biased, Calock, CalockSpin, FutexSem, Mcs, NoCount, Pi, Private, Robust, RwLock,
    RwLockFair, Semaphore, Shared, Ticket, Usema, UsemaSpin,
    lock_api::{GuardNoSend, RawMutex, RawRwLock},
};

const OWNERS: u64 = 3;
const PAGE: usize = 4096;

/// A lock on its own page, whose zero bytes are the unlocked state.
#[repr(C)]
struct Owned<R> {
    lock: R,
    owners: Cell<u64>,
}

/// A lock that is not a mutex, used as one.
struct As<L>(L);

macro_rules! as_mutex {
    ($lock:ty, $init:expr, |$it:ident| $take:expr, $free:expr) => {
        // SAFETY: one thread at a time acquires the lock; the module documentation of its file contains the argument.
        unsafe impl RawMutex for As<$lock> {
            #[allow(clippy::declare_interior_mutable_const)] // a template for a new lock, never shared
            const INIT: Self = As($init);
            type Guard = GuardNoSend;

            fn lock(&self) -> GuardNoSend {
                let $it = &self.0;
                $take;
                GuardNoSend::new()
            }

            fn try_lock(&self) -> Option<GuardNoSend> {
                unreachable!("not called by this test")
            }

            fn is_locked(&self) -> bool {
                unreachable!("not called by this test")
            }

            unsafe fn unlock(&self, _: GuardNoSend) {
                let $it = &self.0;
                // SAFETY: the caller has the guard, so it holds the lock.
                #[allow(unused_unsafe)]
                unsafe {
                    $free
                };
            }
        }
    };
}

/// Reads, and then writes: a thread that leaves as a reader or as a writer may be the one before the last owner.
macro_rules! readers_as_mutex {
    ($($lock:ty),*) => {$(as_mutex!(
        $lock,
        <$lock>::INIT,
        |lock| {
            lock.lock_shared();
            // SAFETY: this thread acquired the lock for reading in the line before.
            unsafe { lock.unlock_shared() };
            lock.lock_exclusive()
        },
        lock.unlock_exclusive()
    );)*};
}

as_mutex!(FutexSem<Private>, FutexSem::new(1), |semaphore| semaphore.acquire(), semaphore.release());
as_mutex!(Benaphore<FutexSem>, Benaphore::new(FutexSem::new(0)), |lock| lock.lock(), lock.unlock());
readers_as_mutex!(RwLock<Private>, RwLockFair<Private>, AdaptiveRw<Private>, AdaptiveRw<Shared>);

fn page<R: RawMutex>() -> *mut Owned<R> {
    // SAFETY: this is a new mapping, which no other code uses.
    let page = unsafe {
        libc::mmap(
            ptr::null_mut(),
            PAGE,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    assert_ne!(page, libc::MAP_FAILED);
    let owned = page.cast::<Owned<R>>();
    // SAFETY: only this function uses the page, which is large enough and aligned.
    unsafe { owned.write(Owned { lock: R::INIT, owners: Cell::new(OWNERS) }) };
    owned
}

/// Removes one owner; the last one unmaps the page.
///
/// # Safety
///
/// The caller is one of the owners, and is not an owner any more after the call.
unsafe fn leave<R: RawMutex>(owned: *mut Owned<R>, hold: u64) {
    // SAFETY: the page exists while an owner is left, and the count is changed only while the lock is held.
    let remaining = unsafe {
        let guard = (*owned).lock.lock();
        (0..hold).for_each(|_| std::hint::spin_loop());
        let remaining = (*owned).owners.get() - 1;
        (*owned).owners.set(remaining);
        (*owned).lock.unlock(guard);
        remaining
    };
    if remaining == 0 {
        // SAFETY: all owners have left, so no thread has a right to the page.
        unsafe { libc::munmap(owned.cast(), PAGE) };
    }
}

fn is_freed_by_its_last_owner<R: RawMutex + Sync>(objects: u64) {
    let (slot, round) = (AtomicPtr::<Owned<R>>::new(ptr::null_mut()), AtomicU64::new(0));
    let done = [const { AtomicU64::new(0) }; OWNERS as usize];
    thread::scope(|scope| {
        for (owner, done) in (1..).zip(&done) {
            let (slot, round) = (&slot, &round);
            scope.spawn(move || {
                for object in 1..=objects {
                    while round.load(Acquire) < object {
                        thread::yield_now();
                    }
                    // SAFETY: each of the three threads leaves each object once.
                    unsafe { leave(slot.load(Acquire), (object * owner * 7) % 97) };
                    done.store(object, Release);
                }
            });
        }
        for object in 1..=objects {
            slot.store(page(), Release);
            round.store(object, Release);
            while done.iter().any(|done| done.load(Acquire) < object) {
                thread::yield_now();
            }
        }
    });
}

fn objects() -> u64 {
    std::env::var("ULOCKS_OBJECTS").map_or(1000, |objects| objects.parse().unwrap())
}

#[test]
fn locks_are_freed_by_their_last_owner() {
    let objects = objects();
    is_freed_by_its_last_owner::<Adaptive<Private>>(objects * 5);
    is_freed_by_its_last_owner::<Adaptive<Shared>>(objects);
    is_freed_by_its_last_owner::<Biased>(objects * 5);
    is_freed_by_its_last_owner::<Calock<Private>>(objects);
    is_freed_by_its_last_owner::<CalockSpin<Private>>(objects);
    is_freed_by_its_last_owner::<Pi<Private>>(objects);
    is_freed_by_its_last_owner::<Robust<Private>>(objects);
    is_freed_by_its_last_owner::<Mcs<NoCount>>(objects / 10);
    is_freed_by_its_last_owner::<Ticket<NoCount>>(objects / 10);
}

#[test]
fn handoff_locks_are_freed_by_their_last_owner() {
    let objects = objects();
    is_freed_by_its_last_owner::<Usema<Private>>(objects);
    is_freed_by_its_last_owner::<UsemaSpin<Private>>(objects);
    is_freed_by_its_last_owner::<As<FutexSem>>(objects);
    is_freed_by_its_last_owner::<As<Benaphore<FutexSem>>>(objects);
}

#[test]
fn readers_locks_are_freed_by_their_last_owner() {
    let objects = objects();
    is_freed_by_its_last_owner::<As<RwLock>>(objects);
    is_freed_by_its_last_owner::<As<RwLockFair>>(objects);
    is_freed_by_its_last_owner::<As<AdaptiveRw>>(objects);
    is_freed_by_its_last_owner::<As<AdaptiveRw<Shared>>>(objects);
}
