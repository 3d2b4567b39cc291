//! Readers and writers come in past each other.

use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::Duration,
};
use ulocks::{AdaptiveRw, Private, RwLockFair, Shared, lock_api};

/// A forgotten guard stays a reader, and there are fewer numbers than a program may forget: a writer must
/// not get in when they have all been used up.
#[test]
fn readers_without_number_keep_writers_out() {
    let lock = lock_api::RwLock::<RwLockFair, ()>::new(());
    let readers = (0..1 << 24).take_while(|_| lock.try_read().map(std::mem::forget).is_some()).count();
    assert!(lock.try_write().is_none(), "a writer is in beside {readers} readers");
    assert!(lock.is_locked());
    thread::scope(|scope| {
        let reader = scope.spawn(|| drop(lock.read()));
        thread::sleep(Duration::from_millis(20));
        assert!(!reader.is_finished(), "one reader more than can be counted is in");
        // SAFETY: one of the guards that were forgotten above.
        (0..2).for_each(|_| unsafe { lock.raw().unlock_shared() });
    });
}

fn a_writer_gets_past_a_stream_of_readers_of<R: lock_api::RawRwLock + Sync + Send>(lock: R) {
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
fn a_writer_gets_past_a_stream_of_readers() {
    a_writer_gets_past_a_stream_of_readers_of(RwLockFair::<Private>::new());
    a_writer_gets_past_a_stream_of_readers_of(AdaptiveRw::<Private>::new());
    a_writer_gets_past_a_stream_of_readers_of(AdaptiveRw::<Shared>::new());
}

#[test]
fn a_reader_gets_past_a_stream_of_writers() {
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

/// A writer that sleeps keeps readers out, but not one that is in already.
#[test]
fn a_reader_that_says_so_takes_it_again_past_a_writer_that_waits() {
    let lock = AdaptiveRw::<Private>::new();
    lock.lock_shared();
    thread::scope(|scope| {
        scope.spawn(|| {
            lock.lock_exclusive();
            // SAFETY: locked in the line before.
            unsafe { lock.unlock_exclusive() };
        });
        // Until it sleeps.
        while lock.try_lock_shared() {
            // SAFETY: the call in the condition of the loop acquired it.
            unsafe { lock.unlock_shared() };
            thread::yield_now();
        }
        lock.lock_shared_recursive();
        assert!(lock.try_lock_shared_recursive() && !lock.is_locked_exclusive());
        // SAFETY: three acquisitions, one of each kind.
        (0..3).for_each(|_| unsafe { lock.unlock_shared() });
    });
    assert!(!lock.is_locked());
}

/// Longer than a sleeper of a shared lock waits before it looks for itself.
#[test]
fn readers_that_hold_long_do_not_keep_a_writer_out() {
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
        let written = lock.try_write_for(Duration::from_secs(20)).is_some();
        stop.store(true, Relaxed);
        assert!(written);
    });
}
