//! The memory of a lock belongs to the thread that acquires it last.

use crate::model::{Lock, model};
use loom::{cell::UnsafeCell, sync::Arc, thread};
use ulocks::{Adaptive, AdaptiveRw, Biased, FutexSem, NoCount, Private, RwLock, RwLockFair, Usema};

/// A lock whose memory the last owner frees.
trait Destroy: Lock {
    fn destroy(&mut self);
}

macro_rules! destroy {
    ($($lock:ty),*) => {$(impl Destroy for $lock {
        fn destroy(&mut self) {
            <$lock>::destroy(self);
        }
    })*};
}
destroy!(Adaptive, Biased, Usema, RwLock, RwLockFair, AdaptiveRw, FutexSem);

/// A reader-writer lock that is acquired by an upgrade, after its owner has read, and released from upgradable mode.
struct Upgraded(AdaptiveRw);

impl Upgraded {
    fn new() -> Self {
        Self(AdaptiveRw::new())
    }
}

impl Lock for Upgraded {
    fn lock(&self) {
        self.0.lock_shared();
        // SAFETY: this thread holds the lock for reading, and then upgradably.
        unsafe {
            self.0.unlock_shared();
            self.0.lock_upgradable();
            self.0.upgrade();
        }
    }

    fn try_lock(&self) -> bool {
        self.0.try_lock_exclusive()
    }

    fn unlock(&self) {
        // SAFETY: the models release only locks that they have acquired for writing.
        unsafe {
            self.0.downgrade_to_upgradable();
            self.0.unlock_upgradable();
        }
    }
}

impl Destroy for Upgraded {
    fn destroy(&mut self) {
        self.0.destroy();
    }
}

/// Asserts that the last owner can destroy the lock as soon as it has released it.
///
/// The other owners, which released it before, must not access it any more.
fn is_destroyed_by_its_last_owner<L: Destroy>(make: fn() -> L, owners: u32, preemptions: usize) {
    model(preemptions, move || {
        let shared = Arc::new(UnsafeCell::new(Owned { lock: make(), owners: UnsafeCell::new(owners) }));
        let leave = |shared: &UnsafeCell<Owned<L>>| {
            // SAFETY: no thread destroys the lock while this one is an owner.
            let is_last = unsafe { &*shared.with(|owned| owned) }.leave();
            if is_last {
                // SAFETY: the last owner has exclusive access to the lock.
                shared.with_mut(|owned| unsafe { (*owned).lock.destroy() });
            }
        };
        let threads: Vec<_> = (1..owners)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || leave(&shared))
            })
            .collect();
        leave(&shared);
        threads.into_iter().for_each(|other| other.join().unwrap());
    });
}

struct Owned<L> {
    lock: L,
    owners: UnsafeCell<u32>,
}

impl<L: Lock> Owned<L> {
    fn leave(&self) -> bool {
        self.lock.lock();
        // SAFETY: this thread holds the lock.
        let remaining = self.owners.with_mut(|owners| unsafe {
            *owners -= 1;
            *owners
        });
        self.lock.unlock();
        remaining == 0
    }
}

#[test]
fn adaptive_is_destroyed_by_its_last_owner() {
    is_destroyed_by_its_last_owner(Adaptive::<Private>::new, 2, 3);
    is_destroyed_by_its_last_owner(Adaptive::<Private>::new, 3, 3);
}

#[test]
fn biased_is_destroyed_by_its_last_owner() {
    is_destroyed_by_its_last_owner(Biased::<NoCount>::new, 2, 3);
    is_destroyed_by_its_last_owner(Biased::<NoCount>::new, 3, 1);
}

#[test]
fn handoff_locks_are_destroyed_by_their_last_owner() {
    is_destroyed_by_its_last_owner(Usema::<Private>::new, 2, 3);
    is_destroyed_by_its_last_owner(Usema::<Private>::new, 3, 1);
    is_destroyed_by_its_last_owner(|| FutexSem::<Private>::new(1), 2, 3);
    is_destroyed_by_its_last_owner(|| FutexSem::<Private>::new(1), 3, 2);
}

#[test]
fn readers_locks_are_destroyed_by_their_last_owner() {
    is_destroyed_by_its_last_owner(RwLock::<Private>::new, 2, 3);
    is_destroyed_by_its_last_owner(RwLock::<Private>::new, 3, 1);
    is_destroyed_by_its_last_owner(RwLockFair::<Private>::new, 2, 3);
    is_destroyed_by_its_last_owner(RwLockFair::<Private>::new, 3, 1);
    is_destroyed_by_its_last_owner(AdaptiveRw::<Private>::new, 2, 3);
    is_destroyed_by_its_last_owner(AdaptiveRw::<Private>::new, 3, 1);
    is_destroyed_by_its_last_owner(Upgraded::new, 2, 3);
    is_destroyed_by_its_last_owner(Upgraded::new, 3, 1);
}
