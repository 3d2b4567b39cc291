//! The locks by the traits of `lock_api` 0.4, with the feature of that name.
#![cfg(not(loom))]

use std::{
    thread,
    time::{Duration, Instant},
};
use ulocks::{
    Adaptive, AdaptiveRw, Biased, Calock, Checked, Condvar, Mcs, Pi, Private, Robust, RwLock, RwLockFair, Shared,
    Ticket, Usema,
    lock_api_04::{
        GuardNoSend, GuardSend, Mutex, MutexGuard, RawMutex, RawMutexFair, RawMutexTimed, RawRwLock, RawRwLockTimed,
        RwLock as ReaderWriter, RwLockUpgradableReadGuard as Upgradable, RwLockWriteGuard as Writing,
    },
};

const THREADS: u64 = 4;
const ROUNDS: u64 = 1000;
/// Timeout of a wait for a lock that stays held.
const HELD: Duration = Duration::from_millis(2);
/// Timeout of a wait that succeeds.
const LONG: Duration = Duration::from_secs(60);

/// Two implementations apply to a type that is `Send`, and the compiler rejects that as ambiguous.
trait NotSend<A> {
    const CHECKED: () = ();
}
impl<T> NotSend<()> for T {}
impl<T: Send> NotSend<u8> for T {}

const _: () = <MutexGuard<'static, Biased, ()> as NotSend<_>>::CHECKED;
const _: () = <MutexGuard<'static, Pi, ()> as NotSend<_>>::CHECKED;
const _: () = <MutexGuard<'static, Robust, ()> as NotSend<_>>::CHECKED;

/// The compiler rejects any other markers.
const _: () = {
    const fn mutex<R: RawMutex<GuardMarker = M>, M>() {}
    const fn reader_writer<R: RawRwLock<GuardMarker = M>, M>() {}
    mutex::<Adaptive, GuardSend>();
    mutex::<Calock, GuardSend>();
    mutex::<Mcs, GuardSend>();
    mutex::<Ticket, GuardSend>();
    mutex::<Usema, GuardSend>();
    mutex::<Checked<Adaptive>, GuardSend>();
    mutex::<Biased, GuardNoSend>();
    mutex::<Pi, GuardNoSend>();
    mutex::<Robust, GuardNoSend>();
    mutex::<Checked<Pi>, GuardNoSend>();
    reader_writer::<AdaptiveRw, GuardSend>();
    reader_writer::<RwLock, GuardSend>();
    reader_writer::<RwLockFair, GuardSend>();
};

/// Asserts that threads exclude each other, and that a lock is held until its guard is dropped.
fn excludes<R: RawMutex + Sync + Send>() {
    let halves = Mutex::<R, (u64, u64)>::new((0, 0));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    let mut guard = halves.lock();
                    assert_eq!(guard.0, guard.1, "two threads were inside");
                    guard.0 += 1;
                    guard.1 += 1;
                }
            });
        }
    });
    assert_eq!(halves.into_inner(), (THREADS * ROUNDS, THREADS * ROUNDS));
    let lock = Mutex::<R, ()>::new(());
    let guard = lock.try_lock().expect("no thread holds it");
    assert!(lock.is_locked());
    assert!(thread::scope(|scope| scope.spawn(|| lock.try_lock().is_none()).join().unwrap()));
    drop(guard);
    assert!(!lock.is_locked());
}

#[test]
fn mutexes_of_0_4_exclude() {
    excludes::<Adaptive>();
    excludes::<Adaptive<Shared>>();
    excludes::<Biased>();
    excludes::<Calock>();
    excludes::<Mcs>();
    excludes::<Pi>();
    excludes::<Robust>();
    excludes::<Ticket>();
    excludes::<Usema>();
    excludes::<Checked<Adaptive>>();
}

/// Asserts that writers exclude readers and each other, and that readers share.
fn readers_share<R: RawRwLock + Sync + Send>() {
    let halves = ReaderWriter::<R, (u64, u64)>::new((0, 0));
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let halves = &halves;
            scope.spawn(move || {
                for round in 0..ROUNDS {
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
    assert_eq!(halves.into_inner(), (THREADS * ROUNDS / 4, THREADS * ROUNDS / 4));
    let lock = ReaderWriter::<R, ()>::new(());
    let readers = (lock.read(), lock.try_read().expect("readers share"));
    assert!(lock.is_locked() && !lock.is_locked_exclusive() && lock.try_write().is_none());
    drop(readers);
    let writer = lock.try_write().expect("no thread holds it");
    assert!(lock.is_locked_exclusive() && lock.try_read().is_none());
    drop(writer);
    assert!(!lock.is_locked());
}

#[test]
fn reader_writer_locks_of_0_4_share_and_exclude() {
    readers_share::<AdaptiveRw>();
    readers_share::<AdaptiveRw<Shared>>();
    readers_share::<RwLock>();
    readers_share::<RwLockFair>();
}

/// Asserts that a timed wait fails while the lock is held, and succeeds once it is released.
fn times_out<R: RawMutexTimed<Duration = Duration, Instant = Instant> + Sync + Send>() {
    let lock = Mutex::<R, ()>::new(());
    let guard = lock.lock();
    let timed = || lock.try_lock_for(HELD).is_none() && lock.try_lock_until(Instant::now() + HELD).is_none();
    thread::scope(|scope| {
        assert!(scope.spawn(timed).join().unwrap());
        let waiter = scope.spawn(|| lock.try_lock_for(LONG).is_some());
        drop(guard);
        assert!(waiter.join().unwrap());
    });
    assert!(lock.try_lock_until(Instant::now() + LONG).is_some());
}

#[test]
fn timed_mutexes_of_0_4_time_out() {
    times_out::<Adaptive>();
    times_out::<Biased>();
    times_out::<Calock>();
    times_out::<Pi>();
    times_out::<Robust>();
    times_out::<Checked<Adaptive>>();
}

fn readers_time_out<R: RawRwLockTimed<Duration = Duration, Instant = Instant>>() {
    let lock = ReaderWriter::<R, ()>::new(());
    let writer = lock.write();
    assert!(lock.try_read_for(HELD).is_none() && lock.try_read_until(Instant::now() + HELD).is_none());
    drop(writer);
    let reader = lock.try_read_for(LONG).expect("no thread writes");
    assert!(lock.try_read_until(Instant::now() + LONG).is_some(), "readers share");
    assert!(lock.try_write_for(HELD).is_none() && lock.try_write_until(Instant::now() + HELD).is_none());
    drop(reader);
    assert!(lock.try_write_for(LONG).is_some());
    assert!(lock.try_write_until(Instant::now() + LONG).is_some());
}

#[test]
fn timed_reader_writer_locks_of_0_4_time_out() {
    readers_time_out::<AdaptiveRw>();
    readers_time_out::<RwLock>();
}

#[test]
fn upgradable_readers_of_0_4_change_modes() {
    let lock = ReaderWriter::<AdaptiveRw, u32>::new(0);
    let first = lock.upgradable_read();
    assert!(lock.try_upgradable_read().is_none() && lock.try_upgradable_read_for(HELD).is_none());
    let reader = lock.try_read();
    assert!(reader.is_some(), "an upgradable reader excludes no reader");
    let first = Upgradable::try_upgrade(first).expect_err("another reader is there");
    let first = Upgradable::try_upgrade_for(first, HELD).expect_err("it is there all the time");
    drop(reader);
    let mut writer = Upgradable::upgrade(first);
    *writer += 1;
    assert!(lock.try_read().is_none());
    let first = Writing::downgrade_to_upgradable(writer);
    assert!(lock.try_upgradable_read().is_none());
    let reader = Upgradable::downgrade(first);
    assert!(lock.try_upgradable_read_until(Instant::now() + LONG).is_some());
    drop(reader);
    let reader = Writing::downgrade(lock.write());
    assert_eq!((*reader, lock.try_write().is_none(), *lock.read()), (1, true, 1));
}

fn releases_fairly<R: RawMutexFair>() {
    let lock = Mutex::<R, ()>::new(());
    let mut guard = lock.lock();
    MutexGuard::bump(&mut guard);
    assert!(lock.is_locked());
    MutexGuard::unlock_fair(guard);
    assert!(!lock.is_locked());
}

#[test]
fn fair_unlock_of_0_4_releases_the_lock() {
    releases_fairly::<Adaptive>();
    releases_fairly::<Mcs>();
    releases_fairly::<Ticket>();
    releases_fairly::<Usema>();
    releases_fairly::<Checked<Usema>>();
}

#[test]
fn condition_variable_waits_with_a_guard_of_0_4() {
    let (ready, changed) = (Mutex::<Adaptive, bool>::new(false), Condvar::<Private>::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut guard = ready.lock();
            while !*guard {
                changed.wait_with(None, |wait| MutexGuard::unlocked(&mut guard, wait));
            }
        });
        *ready.lock() = true;
        changed.notify_one();
    });
}
