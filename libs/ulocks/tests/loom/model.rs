//! The parts of all models: a lock, a number that it protects, and threads that use both.

use loom::{
    cell::UnsafeCell,
    sync::Arc,
    thread::{self, JoinHandle},
};
use std::time::Duration;
use ulocks::futex;

/// The operations of a lock that a model uses.
pub trait Lock: Send + Sync + 'static {
    fn lock(&self);
    fn try_lock(&self) -> bool;
    fn unlock(&self);
    fn try_lock_for(&self, _: Duration) -> bool {
        unreachable!("this lock has no timeouts")
    }
}

macro_rules! lock {
    ($lock:ty) => {
        impl Lock for $lock {
            fn lock(&self) {
                <$lock>::lock(self);
            }
            fn try_lock(&self) -> bool {
                <$lock>::try_lock(self)
            }
            fn unlock(&self) {
                // SAFETY: the models release only locks that they have acquired.
                unsafe { <$lock>::unlock(self) }
            }
        }
    };
    ($lock:ty, timed) => {
        impl Lock for $lock {
            fn lock(&self) {
                <$lock>::lock(self);
            }
            fn try_lock(&self) -> bool {
                <$lock>::try_lock(self)
            }
            fn unlock(&self) {
                // SAFETY: the models release only locks that they have acquired.
                unsafe { <$lock>::unlock(self) }
            }
            fn try_lock_for(&self, timeout: Duration) -> bool {
                <$lock>::try_lock_for(self, timeout)
            }
        }
    };
}

/// A lock and a number that it protects.
pub struct Protected<L> {
    pub lock: L,
    pub number: UnsafeCell<u32>,
}

// SAFETY: the number is only accessed while the lock is held; loom checks that.
unsafe impl<L: Sync> Sync for Protected<L> {}

impl<L: Lock> Protected<L> {
    pub fn add(&self) {
        self.lock.lock();
        self.bump();
        self.lock.unlock();
    }

    pub fn bump(&self) {
        // SAFETY: the caller holds the lock; loom panics if another thread accesses the number.
        self.number.with_mut(|number| unsafe { *number += 1 });
    }

    pub fn read(&self) -> u32 {
        self.lock.lock();
        // SAFETY: this thread holds the lock.
        let number = self.number.with(|number| unsafe { *number });
        self.lock.unlock();
        number
    }
}

/// Checks a model with this number of preemptions, or fewer if `LOOM_MAX_PREEMPTIONS` is smaller: all of them take
/// minutes.
pub fn model(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let most = std::env::var("LOOM_MAX_PREEMPTIONS").ok().and_then(|most| most.parse().ok());
    let preemptions = most.map_or(preemptions, |most: usize| most.min(preemptions));
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(model);
}

pub fn protected<L: Lock>(make: fn() -> L) -> Arc<Protected<L>> {
    Arc::new(Protected { lock: make(), number: UnsafeCell::new(0) })
}

pub fn spawn<L: Lock>(shared: &Arc<Protected<L>>, work: impl FnOnce(&Protected<L>) + 'static) -> JoinHandle<()> {
    let shared = Arc::clone(shared);
    thread::spawn(move || work(&shared))
}

/// Runs `rounds` iterations in each of `threads` threads: no two are in the critical section at once, and none waits
/// forever.
pub fn excludes<L: Lock>(make: fn() -> L, threads: u32, rounds: u32, preemptions: usize) {
    model(preemptions, move || {
        let shared = protected(make);
        let handles: Vec<_> =
            (1..threads).map(|_| spawn(&shared, move |shared| (0..rounds).for_each(|_| shared.add()))).collect();
        (0..rounds).for_each(|_| shared.add());
        handles.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(shared.read(), threads * rounds);
    });
}

/// Asserts that `try_lock` never admits two threads, and leaves no state behind that would stop a waiter.
pub fn tries<L: Lock>(make: fn() -> L) {
    model(3, move || {
        let shared = protected(make);
        let other = spawn(&shared, |shared| {
            if shared.lock.try_lock() {
                shared.bump();
                shared.lock.unlock();
            }
        });
        shared.add();
        other.join().unwrap();
        assert!((1..=2).contains(&shared.read()));
        assert!(shared.lock.try_lock());
    });
}

/// Lets one waiter's deadline pass at any moment while another waits without one: the second acquires the lock.
pub fn times_out<L: Lock>(make: fn() -> L, preemptions: usize) {
    model(preemptions, move || {
        let shared = protected(make);
        shared.lock.lock();
        let hasty = spawn(&shared, |shared| {
            if shared.lock.try_lock_for(Duration::ZERO) {
                shared.bump();
                shared.lock.unlock();
            }
        });
        let patient = spawn(&shared, Protected::add);
        futex::expire();
        shared.bump();
        shared.lock.unlock();
        hasty.join().unwrap();
        patient.join().unwrap();
        assert!((2..=3).contains(&shared.read()));
    });
}

/// Asserts that a deadline ends the wait when no other thread is left.
pub fn gives_up<L: Lock>(make: fn() -> L) {
    model(3, move || {
        let shared = protected(make);
        shared.lock.lock();
        let other = spawn(&shared, |shared| assert!(!shared.lock.try_lock_for(Duration::ZERO)));
        futex::expire();
        other.join().unwrap();
        shared.lock.unlock();
        assert!(shared.lock.try_lock());
    });
}

/// Checks a model for each number of times that its first thread yields before it changes the lock.
///
/// A waiter yields before it blocks. Loom then runs another thread for one step, and does not examine all orders of that
/// step and those of the waiter: with a holder that never yields, it finds no order in which the waiter blocks.
pub fn for_each_delay(preemptions: usize, checked: impl Fn(&dyn Fn()) + Copy + Send + Sync + 'static) {
    for yields in 0..3 {
        model(preemptions, move || checked(&|| (0..yields).for_each(|_| thread::yield_now())));
    }
}
