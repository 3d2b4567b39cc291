//! Holders of a reader-writer lock that change the mode in which they hold it.

use std::{
    sync::atomic::{
        AtomicBool, AtomicU64,
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

/// A value in two halves that are equal unless a thread writes. They are atomic, since a broken lock lets threads race.
#[derive(Default)]
struct Halves(AtomicU64, AtomicU64);

impl Halves {
    /// Yields the CPU within some of the critical sections, so that another thread can meet this one there.
    fn write(&mut self, round: u64) {
        self.0.fetch_add(1, Relaxed);
        if round.is_multiple_of(32) {
            thread::yield_now();
        }
        self.1.fetch_add(1, Relaxed);
    }

    fn read(&self, round: u64) -> u64 {
        let first = self.0.load(Relaxed);
        if round.is_multiple_of(16) {
            thread::yield_now();
        }
        assert_eq!(first, self.1.load(Relaxed), "a thread wrote next to a reader");
        first
    }
}

/// Uses every mode and every change between two modes.
fn changes_modes<R: RawRwLockUpgradeDowngrade + Sync>(lock: R) {
    let halves = RwLock::from_raw(lock, Halves::default());
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let halves = &halves;
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    match (round + round / 64 + thread) % 4 {
                        0 => {
                            halves.read().read(round);
                        }
                        1 => {
                            let reading = halves.upgradable_read();
                            let before = reading.read(round);
                            let mut writing = Upgradable::upgrade(reading);
                            assert_eq!(writing.read(round), before, "another writer came between");
                            writing.write(round);
                            assert_eq!(Writing::downgrade(writing).read(round), before + 1);
                        }
                        2 => match Upgradable::try_upgrade(halves.upgradable_read()) {
                            Ok(mut writing) => writing.write(round),
                            Err(reading) => {
                                let before = reading.read(round);
                                assert_eq!(Upgradable::downgrade(reading).read(round), before);
                                halves.write().write(round);
                            }
                        },
                        _ => {
                            let mut writing = halves.write();
                            writing.write(round);
                            let reading = Writing::downgrade_to_upgradable(writing);
                            reading.read(round);
                            Upgradable::upgrade(reading).write(round);
                        }
                    }
                }
            });
        }
    });
    assert!(!halves.is_locked());
    assert_eq!(halves.read().read(1), THREADS * ROUNDS);
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

#[test]
fn blocked_upgrade_succeeds_when_the_reader_leaves() {
    let lock = RwLock::<AdaptiveRw, u32>::new(0);
    thread::scope(|scope| {
        let reading = lock.read();
        let upgrade = scope.spawn(|| {
            let upgradable = lock.upgradable_read();
            Upgradable::try_upgrade_for(upgradable, LONG).is_ok_and(|mut number| {
                *number += 1;
                true
            })
        });
        until_readers_wait(&lock);
        // The thread is likely to block; the result does not depend on it.
        thread::sleep(Duration::from_millis(20));
        drop(reading);
        assert!(upgrade.join().unwrap());
    });
    assert_eq!(lock.into_inner(), 1);
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

/// How many threads come between two writes depends on the scheduler, and a busy machine takes minutes.
mod measured {
    use super::*;

    /// The lock is never unlocked unless threads that want it upgradably wait for the writer: each holder becomes a reader,
    /// and leaves when the next one is inside, or does not come for long.
    fn check_writer_within_a_chain_of_upgradable_holders<S: Scope>(lock: AdaptiveRw<S>) {
        const ENOUGH: u32 = 20_000;
        const WRITES: u32 = 4;
        let (lock, stop, holders) = (RwLock::from_raw(lock, 0), AtomicBool::new(false), AtomicU64::new(0));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !stop.load(Relaxed) {
                        let reading = lock.upgradable_read();
                        let number = holders.fetch_add(1, Relaxed) + 1;
                        // The other threads are likely to block; the result does not depend on it.
                        thread::sleep(Duration::from_millis(1));
                        let _reading = Upgradable::downgrade(reading);
                        let mut yields = 0;
                        while holders.load(Relaxed) == number && yields < ENOUGH && !stop.load(Relaxed) {
                            thread::yield_now();
                            yields += 1;
                        }
                    }
                });
            }
            for _ in 0..WRITES {
                let goal = holders.load(Relaxed) + 5;
                while holders.load(Relaxed) < goal {
                    thread::yield_now();
                }
                let written = lock.try_write_for(LONG).map(|mut number| *number += 1);
                if written.is_none() {
                    break;
                }
            }
            stop.store(true, Relaxed);
        });
        assert_eq!(lock.into_inner(), WRITES);
    }

    #[test]
    #[ignore = "measured: needs a CPU that is not busy"]
    fn writer_acquires_within_a_chain_of_upgradable_holders() {
        check_writer_within_a_chain_of_upgradable_holders(AdaptiveRw::<Private>::new());
        check_writer_within_a_chain_of_upgradable_holders(AdaptiveRw::<Shared>::new());
    }
}
