//! The holder excludes all other threads, and readers exclude writers.

use std::{
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    thread,
    time::Duration,
};
use ulocks::{
    Adaptive, AdaptiveRw, Benaphore, Biased, Calock, CalockSpin, Condvar, Count, Counted, FutexSem, Mcs, Micros,
    NoCount, Pi, Private, Robust, RwLock, RwLockFair, Semaphore, Shared, SysvSem, Ticket, Usema, UsemaSpin,
    lock_api::{self, Mutex, RawMutex},
};

const THREADS: u64 = 4;
const ROUNDS: u64 = 20_000;
/// Rounds of locks whose waiters only spin, in order: with more threads than CPUs, each waits until those before it were
/// run.
const SPINNING_ROUNDS: u64 = 2_000;

/// Asserts exclusion by a counter in two halves that are equal only outside the critical section.
fn excludes_in<R: RawMutex + Sync + Send>(rounds: u64, lock: R)
where
    R::Guard: Sized,
{
    let halves = Mutex::from_raw(lock, (0u64, 0u64));
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let halves = &halves;
            scope.spawn(move || {
                for round in 0..rounds {
                    let mut guard = halves.lock();
                    assert_eq!(guard.0, guard.1, "two threads were inside");
                    guard.0 += 1;
                    if (round + thread) % (rounds / 40) == 0 {
                        thread::yield_now();
                    }
                    guard.1 += 1;
                }
            });
        }
    });
    assert_eq!(halves.into_inner(), (THREADS * rounds, THREADS * rounds));
}

fn excludes<R: RawMutex + Sync + Send>(lock: R)
where
    R::Guard: Sized,
{
    excludes_in(ROUNDS, lock);
}

#[test]
fn exclusive_locks_exclude() {
    excludes(Calock::<Private>::new());
    excludes(CalockSpin::<Shared, Counted, Micros<10>>::new());
    excludes(Usema::<Private>::new());
    excludes(UsemaSpin::<Shared>::new());
    excludes_in(SPINNING_ROUNDS, Ticket::<NoCount>::new());
    excludes_in(SPINNING_ROUNDS, Mcs::<NoCount>::new());
    excludes(Pi::<Private>::new());
    excludes(Pi::<Shared>::new());
    excludes(Robust::<Private>::new());
    excludes(Robust::<Shared>::new());
    excludes(Adaptive::<Private>::new());
    excludes(Adaptive::<Shared, Counted>::new());
    excludes(Biased::<Counted>::new());
}

#[test]
fn benaphores_exclude() {
    fn excludes<S: Semaphore + Sync>(semaphore: S) {
        let lock = Benaphore::counting(semaphore);
        let inside = AtomicU32::new(0);
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for _ in 0..ROUNDS / 4 {
                        lock.lock();
                        assert_eq!(inside.fetch_add(1, Relaxed), 0, "two threads were inside");
                        inside.fetch_sub(1, Relaxed);
                        lock.unlock();
                    }
                });
            }
        });
        assert!(lock.try_lock(), "unlocked at the end");
    }
    excludes(FutexSem::<Private>::new(0));
    excludes(SysvSem::new(0).unwrap());
}

#[test]
fn counters_wrap_around() {
    excludes_in(SPINNING_ROUNDS, Ticket::<NoCount>::starting_at(u32::MAX - 1000));
    excludes(Usema::<Private>::starting_at(u32::MAX - 1000));
    excludes(Usema::<Private>::starting_at(u32::MAX / 2 - 1000));
    readers_and_writers(RwLockFair::<Private>::starting_at(u32::MAX - 1000));
    readers_and_writers(RwLockFair::<Private>::starting_at((1 << 24) - 1000));
    let changed = Condvar::<Private>::starting_at(u32::MAX);
    let ready = Mutex::<Calock, bool>::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut ready = ready.lock();
            while !*ready {
                changed.wait(&mut ready);
            }
        });
        *ready.lock() = true;
        changed.notify_all();
    });
}

fn readers_and_writers<R: lock_api::RawRwLock + Sync + Send>(lock: R) {
    let halves = lock_api::RwLock::from_raw(lock, (0u64, 0u64));
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let halves = &halves;
            scope.spawn(move || {
                for round in 0..ROUNDS / 4 {
                    if (round + thread) % 4 == 0 {
                        let mut guard = halves.write();
                        guard.0 += 1;
                        guard.1 += 1;
                    } else {
                        let guard = halves.read();
                        assert_eq!(guard.0, guard.1, "a reader met a writer");
                    }
                }
            });
        }
    });
    assert_eq!(halves.into_inner().0, THREADS * ROUNDS / 16);
}

#[test]
fn readers_share_and_writers_exclude() {
    readers_and_writers(RwLock::<Private>::new());
    readers_and_writers(RwLock::<Shared, Counted>::new());
    readers_and_writers(RwLockFair::<Private>::new());
    readers_and_writers(RwLockFair::<Shared, Counted>::new());
    readers_and_writers(AdaptiveRw::<Private>::new());
    readers_and_writers(AdaptiveRw::<Shared, Counted>::new());
    let lock = RwLock::<Private>::new();
    lock.lock_shared();
    assert!(lock.try_lock_shared(), "readers share, also with themselves");
    assert!(!lock.try_lock_exclusive());
}

/// One thread holds more locks than there are nodes in the first table.
#[test]
fn one_thread_holds_many_mcs_locks() {
    let locks: Vec<Mcs> = (0..5000).map(|_| Mcs::new()).collect();
    let (sender, receiver) = std::sync::mpsc::channel();
    thread::spawn(move || {
        locks.iter().for_each(Mcs::lock);
        // SAFETY: this thread acquired all of them in the line before.
        locks.iter().for_each(|lock| unsafe { lock.unlock() });
        sender.send(locks.iter().all(|lock| !lock.is_locked())).unwrap();
    });
    assert_eq!(receiver.recv_timeout(Duration::from_secs(60)), Ok(true));
}

#[test]
fn statistics_count_and_have_no_size_when_off() {
    let lock = CalockSpin::<Private, Counted, Micros<0>>::new();
    lock.lock();
    assert!(!lock.try_lock_for(Duration::from_millis(1)));
    let counts = lock.counts().snapshot();
    assert_eq!((counts.write_contended, counts.slept), (1, 1));
    assert_eq!(size_of::<Adaptive>(), 4);
    assert_eq!(size_of::<Calock>(), 4);
    assert_eq!(NoCount.snapshot(), ulocks::Counts::default());
}

#[test]
fn biased_lock_works_for_one_thread_after_another() {
    let lock = Mutex::<Biased, u64>::new(0);
    for thread in 1..=10 {
        thread::scope(|scope| {
            scope.spawn(|| (0..100).for_each(|_| *lock.lock() += 1));
        });
        assert_eq!(lock.try_lock().map(|sum| *sum), Some(thread * 100));
    }
}
