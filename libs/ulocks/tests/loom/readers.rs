//! Reader-writer locks.

use crate::model::{Lock, Protected, for_each_delay, model};
use loom::{cell::UnsafeCell, sync::Arc, thread};
use std::time::Duration;
use ulocks::{AdaptiveRw, Private, RwLock, RwLockFair, Shared, futex};

/// The operations of a reader-writer lock that a model uses.
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
                // SAFETY: the models release only locks that they have acquired.
                unsafe { <$lock>::unlock_shared(self) }
            }
            fn lock_exclusive(&self) {
                <$lock>::lock_exclusive(self);
            }
            fn unlock_exclusive(&self) {
                // SAFETY: the models call this method only while they hold the lock exclusively.
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

/// Implements an exclusive lock whose acquisition reads first and then writes.
macro_rules! readers_as_lock {
    ($($lock:ty),*) => {$(impl Lock for $lock {
        fn lock(&self) {
            <$lock>::lock_shared(self);
            // SAFETY: this thread acquired the lock for reading in the line before.
            unsafe { <$lock>::unlock_shared(self) };
            <$lock>::lock_exclusive(self);
        }
        fn try_lock(&self) -> bool {
            <$lock>::try_lock_exclusive(self)
        }
        fn unlock(&self) {
            // SAFETY: the models release only locks that they have acquired.
            unsafe { <$lock>::unlock_exclusive(self) }
        }
    })*};
}
readers_as_lock!(RwLock, RwLockFair, AdaptiveRw);

impl<L: Readers> Protected<L> {
    fn write(&self) {
        self.lock.lock_exclusive();
        // SAFETY: a writer has exclusive access; loom panics otherwise.
        self.number.with_mut(|number| unsafe { *number += 1 });
        self.lock.unlock_exclusive();
    }

    fn read_shared(&self) -> u32 {
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
        let mut threads: Vec<_> = (1..writers).map(|_| spawn(Protected::write)).collect();
        threads.extend((0..readers).map(|_| {
            spawn(|shared| {
                shared.read_shared();
            })
        }));
        shared.write();
        threads.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(shared.read_shared(), writers);
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

/// A thread that reads twice does not wait for a writer that arrives in between, and does not consume its wake-up.
#[test]
fn adaptive_rw_recursive_reader_does_not_wait_for_a_writer() {
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
fn adaptive_rw_waiter_that_gives_up_loses_no_wake_up() {
    a_reader_gives_up(AdaptiveRw::<Private>::new, |lock| lock.try_lock_shared_for(Duration::ZERO));
    for_each_delay(2, |delay| {
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
            thread::spawn(move || shared.read_shared())
        };
        delay();
        futex::expire();
        Readers::unlock_shared(&shared.lock);
        hasty.join().unwrap();
        reader.join().unwrap();
        shared.write();
    });
}

/// The reader acquires the lock next to the other one, although that writer's flag kept it out.
#[test]
fn adaptive_rw_writer_that_gives_up_lets_readers_in() {
    for_each_delay(2, |delay| {
        let shared = Arc::new(Protected { lock: AdaptiveRw::<Private>::new(), number: UnsafeCell::new(0) });
        shared.lock.lock_shared();
        let hasty = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || assert!(!shared.lock.try_lock_exclusive_for(Duration::ZERO)))
        };
        let reader = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.read_shared())
        };
        delay();
        futex::expire();
        hasty.join().unwrap();
        reader.join().unwrap();
        Readers::unlock_shared(&shared.lock);
    });
}

#[test]
fn adaptive_rw_writer_that_gives_up_forgets_no_other() {
    for_each_delay(2, |delay| {
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
        let writer = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.write())
        };
        delay();
        futex::expire();
        Readers::unlock_shared(&shared.lock);
        hasty.join().unwrap();
        writer.join().unwrap();
    });
}

#[test]
fn rwlock_reader_times_out() {
    a_reader_gives_up(RwLock::<Private>::new, |lock| lock.try_lock_shared_for(Duration::ZERO));
}

/// Asserts that a reader that gives up does not consume the wake-up of a writer.
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
