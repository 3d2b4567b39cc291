//! Readers and writers do not starve each other.

use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::Duration,
};
use ulocks::{AdaptiveRw, Private, RwLockFair, Shared, lock_api};

/// A forgotten guard stays a reader, and a program may forget more guards than can be counted: when the count is at
/// its maximum, a writer must not acquire the lock.
#[test]
fn forgotten_readers_at_the_maximum_keep_writers_out() {
    let lock = lock_api::RwLock::<RwLockFair, ()>::new(());
    let readers = (0..1 << 24).take_while(|_| lock.try_read().map(std::mem::forget).is_some()).count();
    assert!(lock.try_write().is_none(), "a writer acquired the lock next to {readers} readers");
    assert!(lock.is_locked());
    thread::scope(|scope| {
        let reader = scope.spawn(|| drop(lock.read()));
        thread::sleep(Duration::from_millis(20));
        assert!(!reader.is_finished(), "one reader more than the maximum acquired the lock");
        // SAFETY: each call releases one of the acquisitions whose guards were forgotten.
        (0..2).for_each(|_| unsafe { lock.raw().unlock_shared() });
    });
}

fn check_writer_within_a_stream_of_readers<R: lock_api::RawRwLock + Sync + Send>(lock: R) {
    let lock = lock_api::RwLock::from_raw(lock, 0);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !stop.load(Relaxed) {
                    let _reading = lock.read();
                    thread::yield_now();
                }
            });
        }
        for _ in 0..50 {
            *lock.write() += 1;
        }
        stop.store(true, Relaxed);
    });
    assert_eq!(lock.into_inner(), 50);
}

#[test]
fn writer_acquires_within_a_stream_of_readers() {
    check_writer_within_a_stream_of_readers(RwLockFair::<Private>::new());
    check_writer_within_a_stream_of_readers(AdaptiveRw::<Private>::new());
    check_writer_within_a_stream_of_readers(AdaptiveRw::<Shared>::new());
}

#[test]
fn reader_acquires_within_a_stream_of_writers() {
    let lock = lock_api::RwLock::<AdaptiveRw, u64>::new(0);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !stop.load(Relaxed) {
                    *lock.write() += 1;
                }
            });
        }
        (0..50).for_each(|_| drop(lock.read()));
        stop.store(true, Relaxed);
    });
}

/// A blocked writer keeps readers out, except one that holds the lock already.
#[test]
fn recursive_reader_overtakes_a_waiting_writer() {
    let lock = AdaptiveRw::<Private>::new();
    lock.lock_shared();
    thread::scope(|scope| {
        scope.spawn(|| {
            lock.lock_exclusive();
            // SAFETY: this thread acquired the lock in the line before.
            unsafe { lock.unlock_exclusive() };
        });
        // Repeat until the writer is blocked.
        while lock.try_lock_shared() {
            // SAFETY: the call in the condition of the loop acquired it.
            unsafe { lock.unlock_shared() };
            thread::yield_now();
        }
        lock.lock_shared_recursive();
        assert!(lock.try_lock_shared_recursive() && !lock.is_locked_exclusive());
        // SAFETY: this thread has three shared acquisitions, one of each kind.
        (0..3).for_each(|_| unsafe { lock.unlock_shared() });
    });
    assert!(!lock.is_locked());
}

/// The readers hold the lock for longer than a blocked waiter of a shared lock waits before it re-checks the word.
#[test]
fn long_overlapping_readers_do_not_starve_a_writer() {
    let (lock, stop) = (lock_api::RwLock::<AdaptiveRw<Shared>, ()>::new(()), AtomicBool::new(false));
    thread::scope(|scope| {
        for number in 0..4 {
            let (lock, stop) = (&lock, &stop);
            scope.spawn(move || {
                thread::sleep(Duration::from_millis(40) * number);
                while !stop.load(Relaxed) {
                    let _reading = lock.read();
                    thread::sleep(Duration::from_millis(150));
                }
            });
        }
        thread::sleep(Duration::from_millis(200));
        let written = lock.try_write_for(Duration::from_secs(120)).is_some();
        stop.store(true, Relaxed);
        assert!(written);
    });
}
