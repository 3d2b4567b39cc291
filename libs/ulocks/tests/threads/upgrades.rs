//! Holders of a reader-writer lock that change the mode in which they hold it.

use std::{
    sync::atomic::{
        AtomicBool,
        Ordering::{Relaxed, SeqCst},
    },
    thread,
    time::Duration,
};
use ulocks::{
    AdaptiveRw, Private, Scope, Shared,
    lock_api::{
        RawRwLock, RawRwLockUpgradeDowngrade, RwLock, RwLockUpgradableReadGuard as Upgradable,
        RwLockWriteGuard as Writing,
    },
};

/// Longest wait of a thread that must acquire the lock: a lost wake-up fails a test instead of blocking it.
const LONG: Duration = Duration::from_secs(60);
/// Timeout of an acquisition that cannot succeed.
const SHORT: Duration = Duration::from_millis(5);

const THREADS: u64 = 4;
const ROUNDS: u64 = 4_000;

/// Uses every mode and every change between two modes, with a value in two halves that are equal unless a thread
/// writes.
fn changes_modes<R: RawRwLockUpgradeDowngrade + Sync>(lock: R) {
    let halves = RwLock::from_raw(lock, (0u64, 0u64));
    let write = |halves: &mut (u64, u64), round: u64| {
        halves.0 += 1;
        if round % 64 == 0 {
            thread::yield_now();
        }
        halves.1 += 1;
    };
    let is_equal = |halves: &(u64, u64)| assert_eq!(halves.0, halves.1, "a thread wrote next to a reader");
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let halves = &halves;
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    match (round + thread) % 4 {
                        0 => is_equal(&halves.read()),
                        1 => {
                            let reading = halves.upgradable_read();
                            let before = *reading;
                            let mut writing = Upgradable::upgrade(reading);
                            assert_eq!(*writing, before, "another writer came between");
                            write(&mut writing, round);
                            is_equal(&Writing::downgrade(writing));
                        }
                        2 => {
                            let reading = halves.upgradable_read();
                            is_equal(&reading);
                            match Upgradable::try_upgrade(reading) {
                                Ok(mut writing) => {
                                    write(&mut writing, round);
                                    write(&mut writing, round);
                                }
                                Err(reading) => {
                                    is_equal(&reading);
                                    is_equal(&Upgradable::downgrade(reading));
                                    write(&mut halves.write(), round);
                                    write(&mut halves.write(), round);
                                }
                            }
                        }
                        _ => {
                            let mut writing = halves.write();
                            write(&mut writing, round);
                            let reading = Writing::downgrade_to_upgradable(writing);
                            is_equal(&reading);
                            let mut writing = Upgradable::upgrade(reading);
                            write(&mut writing, round);
                        }
                    }
                }
            });
        }
    });
    assert!(!halves.is_locked());
    assert_eq!(halves.into_inner(), (THREADS * ROUNDS * 5 / 4, THREADS * ROUNDS * 5 / 4));
}

#[test]
fn changes_of_mode_exclude_writers() {
    changes_modes(AdaptiveRw::<Private>::new());
    changes_modes(AdaptiveRw::<Shared>::new());
}

/// Two threads are never in upgradable mode at once, while others read.
#[test]
fn upgradable_holders_exclude_each_other() {
    let (lock, is_inside, stop) = (RwLock::<AdaptiveRw, ()>::new(()), AtomicBool::new(false), AtomicBool::new(false));
    let holding = lock.upgradable_read();
    assert!(lock.try_upgradable_read().is_none() && lock.try_upgradable_read_for(SHORT).is_none());
    assert!(lock.try_write().is_none() && lock.try_read().is_some() && lock.is_locked());
    drop(holding);
    assert!(!lock.is_locked());
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Relaxed) {
                drop(lock.read());
            }
        });
        let holders: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    for round in 0..ROUNDS {
                        let holding = lock.try_upgradable_read_for(LONG).expect("each holder leaves");
                        assert!(!is_inside.swap(true, SeqCst), "two threads hold the lock upgradably");
                        if round % 16 == 0 {
                            thread::yield_now();
                        }
                        is_inside.store(false, SeqCst);
                        drop(holding);
                    }
                })
            })
            .collect();
        let results: Vec<_> = holders.into_iter().map(|holder| holder.join()).collect();
        stop.store(true, Relaxed);
        results.into_iter().for_each(|result| result.unwrap());
    });
}

/// Waits until a writer or an upgrade keeps readers out.
fn until_readers_wait<R: RawRwLock>(lock: &RwLock<R, u32>) {
    while lock.try_read().is_some() {
        thread::yield_now();
    }
}

/// Readers and a thread that wants the lock upgradably are blocked, and acquire the lock while the former writer still
/// reads.
#[test]
fn downgraded_writer_lets_blocked_threads_in() {
    let lock = RwLock::<AdaptiveRw, u32>::new(0);
    for _ in 0..3 {
        let mut writing = lock.write();
        *writing += 1;
        thread::scope(|scope| {
            let mut threads: Vec<_> =
                (0..2).map(|_| scope.spawn(|| lock.try_read_for(LONG).map(|number| *number))).collect();
            threads.push(scope.spawn(|| lock.try_upgradable_read_for(LONG).map(|number| *number)));
            // The threads are likely to block; the result does not depend on it.
            thread::sleep(Duration::from_millis(20));
            let reading = Writing::downgrade(writing);
            threads.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), Some(*reading)));
        });
    }
}

/// The next thread acquires the lock upgradably although the previous one remains a reader.
#[test]
fn downgraded_upgradable_holder_lets_the_next_in() {
    let lock = RwLock::<AdaptiveRw, u32>::new(0);
    thread::scope(|scope| {
        let reading = lock.upgradable_read();
        let next = scope.spawn(|| lock.try_upgradable_read_for(LONG).is_some());
        thread::sleep(Duration::from_millis(20));
        let reading = Upgradable::downgrade(reading);
        assert!(next.join().unwrap());
        drop(reading);
    });
}

/// An upgrade keeps a reader out, gives up, and lets the reader in while the lock is still held upgradably.
#[test]
fn upgrade_that_times_out_lets_readers_in() {
    let lock = RwLock::<AdaptiveRw, u32>::new(0);
    let (reading, mut upgradable) = (lock.read(), lock.upgradable_read());
    let upgradable = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            until_readers_wait(&lock);
            lock.try_read_for(LONG).is_some()
        });
        while !reader.is_finished() {
            upgradable = Upgradable::try_upgrade_for(upgradable, SHORT).expect_err("another reader holds the lock");
        }
        assert!(reader.join().unwrap());
        upgradable
    });
    assert!(lock.try_read().is_some() && lock.try_upgradable_read().is_none());
    drop(reading);
    *Upgradable::try_upgrade(upgradable).expect("this is the only holder") += 1;
    assert_eq!(lock.try_write_for(LONG).map(|number| *number), Some(1));
}

/// An upgrade that gives up does not cost a blocked writer its precedence over readers.
#[test]
fn upgrade_that_times_out_leaves_the_writer_its_turn() {
    let lock = RwLock::<AdaptiveRw, u32>::new(0);
    thread::scope(|scope| {
        let (reading, upgradable) = (lock.read(), lock.upgradable_read());
        let writer = scope.spawn(|| lock.try_write_for(LONG).map(|mut number| *number += 1));
        until_readers_wait(&lock);
        let upgradable = Upgradable::try_upgrade_for(upgradable, SHORT).expect_err("another reader holds the lock");
        assert!(lock.try_read().is_none(), "a reader overtook the writer");
        let reader = scope.spawn(|| lock.try_read_for(LONG).map(|number| *number));
        drop((reading, upgradable));
        assert!(writer.join().unwrap().is_some());
        assert!(reader.join().unwrap().is_some());
    });
    assert_eq!(lock.into_inner(), 1);
}

fn check_writer_within_a_chain_of_upgradable_holders<S: Scope>(lock: AdaptiveRw<S>) {
    let (lock, stop) = (RwLock::from_raw(lock, 0), AtomicBool::new(false));
    thread::scope(|scope| {
        for thread in 0..3 {
            let (lock, stop) = (&lock, &stop);
            scope.spawn(move || {
                for round in 0.. {
                    if stop.load(Relaxed) {
                        break;
                    }
                    let reading = lock.upgradable_read();
                    thread::yield_now();
                    if (round + thread) % 2 == 0 {
                        drop(Upgradable::downgrade(reading));
                    }
                }
            });
        }
        for _ in 0..50 {
            let written = lock.try_write_for(LONG).map(|mut number| *number += 1);
            if written.is_none() {
                break;
            }
        }
        stop.store(true, Relaxed);
    });
    assert_eq!(lock.into_inner(), 50);
}

#[test]
fn writer_acquires_within_a_chain_of_upgradable_holders() {
    check_writer_within_a_chain_of_upgradable_holders(AdaptiveRw::<Private>::new());
    check_writer_within_a_chain_of_upgradable_holders(AdaptiveRw::<Shared>::new());
}

#[test]
fn upgrade_succeeds_within_a_stream_of_readers() {
    let (lock, stop) = (RwLock::<AdaptiveRw, u64>::new(0), AtomicBool::new(false));
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
            let upgradable = lock.try_upgradable_read_for(LONG);
            if upgradable.and_then(|it| Upgradable::try_upgrade_for(it, LONG).ok()).map(|mut it| *it += 1).is_none() {
                break;
            }
        }
        stop.store(true, Relaxed);
    });
    assert_eq!(lock.into_inner(), 50);
}
