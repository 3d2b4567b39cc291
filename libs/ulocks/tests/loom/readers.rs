//! Locks that readers share.

use crate::model::{Lock, Protected, model};
use loom::{cell::UnsafeCell, sync::Arc, thread};
use std::time::Duration;
use ulocks::{AdaptiveRw, Private, RwLock, RwLockFair, Shared, futex};

/// What a model needs of a readers' lock.
pub trait Readers: Send + Sync + 'static {
    fn lock_shared(&self);
    fn unlock_shared(&self);
    fn lock_exclusive(&self);
    fn unlock_exclusive(&self);
    fn try_lock_exclusive(&self) -> bool;
}

macro_rules! readers {
    ($lock:ty) => {
        impl Readers for $lock {
            fn lock_shared(&self) {
                <$lock>::lock_shared(self);
            }
            fn unlock_shared(&self) {
                // SAFETY: the models unlock only what they have locked.
                unsafe { <$lock>::unlock_shared(self) }
            }
            fn lock_exclusive(&self) {
                <$lock>::lock_exclusive(self);
            }
            fn unlock_exclusive(&self) {
                // SAFETY: the caller holds the lock exclusively, as this method demands.
                unsafe { <$lock>::unlock_exclusive(self) }
            }
            fn try_lock_exclusive(&self) -> bool {
                <$lock>::try_lock_exclusive(self)
            }
        }
    };
}
readers!(RwLock);
readers!(RwLockFair);
readers!(AdaptiveRw);
readers!(AdaptiveRw<Shared>);

/// As a lock that excludes: it reads first, and then writes.
macro_rules! readers_as_lock {
    ($($lock:ty),*) => {$(impl Lock for $lock {
        fn lock(&self) {
            <$lock>::lock_shared(self);
            // SAFETY: locked in the line before.
            unsafe { <$lock>::unlock_shared(self) };
            <$lock>::lock_exclusive(self);
        }
        fn try_lock(&self) -> bool {
            <$lock>::try_lock_exclusive(self)
        }
        fn unlock(&self) {
            // SAFETY: the models unlock only what they have locked.
            unsafe { <$lock>::unlock_exclusive(self) }
        }
    })*};
}
readers_as_lock!(RwLock, RwLockFair, AdaptiveRw);

impl<L: Readers> Protected<L> {
    fn write(&self) {
        self.lock.lock_exclusive();
        // SAFETY: a writer is alone; loom panics otherwise.
        self.number.with_mut(|number| unsafe { *number += 1 });
        self.lock.unlock_exclusive();
    }

    fn look(&self) -> u32 {
        self.lock.lock_shared();
        // SAFETY: there is no writer; loom panics otherwise.
        let number = self.number.with(|number| unsafe { *number });
        self.lock.unlock_shared();
        number
    }
}

fn readers_and_writers<L: Readers>(make: fn() -> L, writers: u32, readers: u32, preemptions: usize) {
    model(preemptions, move || {
        let shared = Arc::new(Protected { lock: make(), number: UnsafeCell::new(0) });
        let spawn = |work: fn(&Protected<L>)| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || work(&shared))
        };
        let mut others: Vec<_> = (1..writers).map(|_| spawn(Protected::write)).collect();
        others.extend((0..readers).map(|_| {
            spawn(|shared| {
                shared.look();
            })
        }));
        shared.write();
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(shared.look(), writers);
        assert!(shared.lock.try_lock_exclusive());
    });
}

#[test]
fn rwlock() {
    readers_and_writers(RwLock::<Private>::new, 2, 1, 2);
    readers_and_writers(RwLock::<Private>::new, 1, 2, 2);
}

#[test]
fn rwlock_fair() {
    readers_and_writers(RwLockFair::<Private>::new, 2, 1, 3);
    readers_and_writers(RwLockFair::<Private>::new, 1, 2, 3);
    readers_and_writers(|| RwLockFair::<Private>::starting_at(u32::MAX), 2, 1, 2);
}

#[test]
fn adaptive_rw() {
    readers_and_writers(AdaptiveRw::<Private>::new, 2, 1, 3);
    readers_and_writers(AdaptiveRw::<Private>::new, 1, 2, 3);
    readers_and_writers(AdaptiveRw::<Shared>::new, 2, 1, 2);
    readers_and_writers(AdaptiveRw::<Private>::new, 2, 2, 1);
}

/// One that reads twice does not wait for a writer that came between, and takes no turn with it.
#[test]
fn adaptive_rw_is_read_twice_beside_a_writer() {
    model(3, || {
        let shared = Arc::new(Protected { lock: AdaptiveRw::<Private>::new(), number: UnsafeCell::new(0) });
        let writer = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.write())
        };
        shared.lock.lock_shared_recursive();
        shared.lock.lock_shared_recursive();
        // SAFETY: there is no writer; loom panics otherwise.
        let number = shared.number.with(|number| unsafe { *number });
        Readers::unlock_shared(&shared.lock);
        Readers::unlock_shared(&shared.lock);
        writer.join().unwrap();
        assert!(number <= 1);
        shared.write();
    });
}

#[test]
fn adaptive_rw_loses_no_turn_to_one_that_gives_up() {
    a_reader_gives_up(AdaptiveRw::<Private>::new, |lock| lock.try_lock_shared_for(Duration::ZERO));
    model(2, || {
        let shared = Arc::new(Protected { lock: AdaptiveRw::<Private>::new(), number: UnsafeCell::new(0) });
        shared.lock.lock_shared();
        let hasty = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                if shared.lock.try_lock_exclusive_for(Duration::ZERO) {
                    Readers::unlock_exclusive(&shared.lock);
                }
            })
        };
        let reader = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.look())
        };
        futex::expire();
        Readers::unlock_shared(&shared.lock);
        hasty.join().unwrap();
        reader.join().unwrap();
        shared.write();
    });
}

#[test]
fn rwlock_reader_times_out() {
    a_reader_gives_up(RwLock::<Private>::new, |lock| lock.try_lock_shared_for(Duration::ZERO));
}

/// A reader that gives up must not take a writer's turn with it.
fn a_reader_gives_up<L: Readers>(make: fn() -> L, tries: fn(&L) -> bool) {
    model(2, move || {
        let shared = Arc::new(Protected { lock: make(), number: UnsafeCell::new(0) });
        shared.lock.lock_exclusive();
        let reader = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                if tries(&shared.lock) {
                    Readers::unlock_shared(&shared.lock);
                }
            })
        };
        let writer = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.write())
        };
        futex::expire();
        Readers::unlock_exclusive(&shared.lock);
        reader.join().unwrap();
        writer.join().unwrap();
    });
}
