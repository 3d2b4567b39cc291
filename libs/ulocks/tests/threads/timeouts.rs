//! Waits that time out: never before their timeout, and without an effect on the waits of others.

use std::{
    thread,
    time::{Duration, Instant},
};
use ulocks::{
    Adaptive, AdaptiveRw, Biased, Calock, CalockSpin, Condvar, FutexSem, NoCount, Pi, Private, Robust, RwLock, Scope,
    Shared,
    lock_api::{GuardSend, Mutex, RawMutexTimed, RawRwLockTimed, RawRwLockUpgradeTimed},
};

const REQUESTED: Duration = Duration::from_millis(5);

/// Asserts that a wait that gives up has lasted at least as long as requested.
fn gives_up_in_time(wait: impl Fn(Duration) -> bool) {
    let start = Instant::now();
    assert!(wait(REQUESTED) || start.elapsed() >= REQUESTED);
}

/// Checks waits while another thread holds the lock and does not release it.
fn held<R: RawMutexTimed<Duration = Duration, Instant = Instant> + Sync>(lock: R) {
    let _guard = lock.lock();
    let waits = || {
        gives_up_in_time(|requested| lock.try_lock_for(requested).is_some());
        gives_up_in_time(|requested| lock.try_lock_until(Instant::now() + requested).is_some());
    };
    thread::scope(|scope| scope.spawn(waits).join().unwrap());
}

fn held_by_a_writer<R: RawRwLockTimed<Duration = Duration>>(lock: R) {
    let _guard = lock.lock_exclusive();
    gives_up_in_time(|requested| lock.try_lock_shared_for(requested).is_some());
    gives_up_in_time(|requested| lock.try_lock_exclusive_for(requested).is_some());
}

fn held_by_another_reader<R: RawRwLockUpgradeTimed<Duration = Duration, UpgradableGuard = GuardSend>>(lock: R) {
    let (_read, guard) = (lock.lock_shared(), lock.lock_upgradable());
    gives_up_in_time(|requested| lock.try_lock_upgradable_for(requested).is_some());
    // SAFETY: this thread holds the lock upgradably. A second reader is inside, so the upgrade cannot succeed.
    gives_up_in_time(|requested| unsafe { lock.try_upgrade_for(GuardSend::new(), requested) }.is_ok());
    // SAFETY: this thread has this guard of the upgradable acquisition.
    unsafe { lock.unlock_upgradable(guard) };
}

/// The length of a wait has an upper bound only on a machine that is not busy: `tests/measured/timeouts.rs` measures it.
#[test]
fn no_wait_gives_up_before_its_timeout() {
    held(Calock::<Private>::new());
    held(CalockSpin::<Shared>::new());
    held(Pi::<Private>::new());
    held(Pi::<Shared>::new());
    held(Robust::<Private>::new());
    held(Robust::<Shared>::new());
    held(Adaptive::<Private>::new());
    held(Biased::<NoCount>::new());
    held(Adaptive::<Shared>::new());
    held_by_another_reader(AdaptiveRw::<Private>::new());
    held_by_another_reader(AdaptiveRw::<Shared>::new());
    held_by_a_writer(RwLock::<Private, NoCount>::new());
    held_by_a_writer(AdaptiveRw::<Private>::new());
    held_by_a_writer(AdaptiveRw::<Shared>::new());
    gives_up_in_time(|requested| FutexSem::<Shared>::new(0).acquire_for(requested));
    let (changed, lock) = (Condvar::<Private>::new(), Mutex::<Calock, ()>::new(()));
    gives_up_in_time(|requested| changed.wait_for(&mut lock.lock(), requested));
    gives_up_in_time(|requested| changed.wait_until(&mut lock.lock(), Instant::now() + requested));
    gives_up_in_time(|requested| changed.wait_while_for(&mut lock.lock(), |_| true, requested));
}

/// Marks in the word of waiters that gave up exclude no thread.
#[test]
fn rw_lock_after_two_timeouts_is_unlocked() {
    let lock = AdaptiveRw::<Private>::new();
    lock.lock_exclusive();
    assert!(
        !lock.try_lock_shared_for(Duration::from_millis(2)) && !lock.try_lock_exclusive_for(Duration::from_millis(2))
    );
    // SAFETY: this thread acquired the lock at the beginning of the test.
    unsafe { lock.unlock_exclusive() };
    assert!(lock.try_lock_shared());
}

/// Readers that arrive wait behind a writer only while that writer waits.
#[test]
fn readers_enter_after_a_writer_next_to_a_reader_timed_out() {
    fn check<S: Scope>() {
        let lock = &AdaptiveRw::<S>::new();
        lock.lock_shared();
        assert!(!lock.try_lock_exclusive_for(Duration::from_millis(2)));
        assert!(lock.try_lock_shared());
        thread::scope(|scope| {
            let hasty = scope.spawn(|| lock.try_lock_exclusive_for(Duration::from_millis(20)));
            let reader = scope.spawn(|| lock.try_lock_shared_for(Duration::from_secs(60)));
            assert!(!hasty.join().unwrap() && reader.join().unwrap());
        });
        // SAFETY: the lock was acquired three times for reading.
        (0..3).for_each(|_| unsafe { lock.unlock_shared() });
        assert!(lock.try_lock_exclusive());
    }
    check::<Private>();
    check::<Shared>();
}

#[test]
fn writer_acquires_after_another_one_timed_out() {
    let lock = &AdaptiveRw::<Private>::new();
    lock.lock_shared();
    thread::scope(|scope| {
        let patient = scope.spawn(|| lock.try_lock_exclusive_for(Duration::from_secs(60)));
        let hasty = scope.spawn(|| lock.try_lock_exclusive_for(Duration::from_millis(20)));
        assert!(!hasty.join().unwrap());
        // SAFETY: this thread acquired the lock at the beginning of the test.
        unsafe { lock.unlock_shared() };
        assert!(patient.join().unwrap());
    });
}
