//! The length of a timed wait: never less than requested, and not much longer, for any holder of the lock.
//!
//! The first property is exact. The second one cannot be exact, because the scheduler decides when a thread runs
//! again. Hence the best of ten waits counts, or the median of five.

use std::{
    sync::atomic::{
        AtomicBool, AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
    },
    thread,
    time::{Duration, Instant},
};
use ulocks::{
    Adaptive, AdaptiveRw, Biased, Calock, CalockSpin, Condvar, FutexSem, NoCount, Pi, Private, Robust, RwLock, Shared,
    lock_api::{GuardSend, Mutex, RawMutexTimed, RawRwLockTimed, RawRwLockUpgradeTimed},
};

const REQUESTED: Duration = Duration::from_millis(16);
const TRIES: usize = 10;

/// Returns the duration of a wait that timed out.
fn lasted(requested: Duration, wait: &impl Fn(Duration) -> bool) -> Option<Duration> {
    let start = Instant::now();
    let taken = wait(requested);
    let took = start.elapsed();
    assert!(taken || took >= requested, "requested {requested:?}, gave up after {took:?}");
    (!taken).then_some(took)
}

/// Asserts that every wait that times out lasts as long as requested, and the best of ten less than 1.75 times that.
fn lasts_as_long_as_requested(name: &str, wait: impl Fn(Duration) -> bool) {
    let best = (0..TRIES).map(|_| lasted(REQUESTED, &wait).expect("no thread releases it")).min().unwrap();
    assert!(best < REQUESTED * 7 / 4, "{name}: requested {REQUESTED:?}, never less than {best:?}");
}

/// Checks waits while another thread holds the lock and does not release it.
fn held<R>(name: &str, lock: R)
where
    R: RawMutexTimed<Duration = Duration, Instant = Instant> + Sync,
{
    let _guard = lock.lock();
    let waits = || {
        lasts_as_long_as_requested(name, |requested| lock.try_lock_for(requested).is_some());
        lasts_as_long_as_requested(name, |requested| lock.try_lock_until(Instant::now() + requested).is_some());
    };
    thread::scope(|scope| scope.spawn(waits).join().unwrap());
}

/// Sets the word of an unlocked lock.
fn reserve<L>(lock: &L, word: u32) {
    assert_eq!((size_of::<L>(), align_of::<L>()), (4, 4));
    // SAFETY: the lock is one atomic word of 32 bits, which the first field of its `repr(C)` is.
    unsafe { &*std::ptr::from_ref(lock).cast::<AtomicU32>() }.store(word, Relaxed);
}

/// A reservation of an unlocked lock expires after some 30 µs or 200 µs, so an acquisition takes that long unless it
/// cancels the reservation. One attempt can be long for another reason.
#[test]
fn timed_acquisition_lets_a_reservation_expire() {
    const BIT_OF_ADAPTIVE: u32 = 1 << 2;
    const BIT_OF_ADAPTIVE_RW: u32 = 1 << 28;
    for _ in 0..20 {
        let (lock, read, written) = (Adaptive::<Private>::new(), AdaptiveRw::<Private>::new(), AdaptiveRw::new());
        let upgradable = AdaptiveRw::<Private>::new();
        reserve(&lock, BIT_OF_ADAPTIVE);
        reserve::<AdaptiveRw>(&read, BIT_OF_ADAPTIVE_RW);
        reserve::<AdaptiveRw>(&written, BIT_OF_ADAPTIVE_RW);
        reserve::<AdaptiveRw>(&upgradable, BIT_OF_ADAPTIVE_RW);
        let timed = |acquire: &dyn Fn(Duration) -> bool| {
            let began = Instant::now();
            assert!(acquire(Duration::from_secs(10)), "no thread holds the lock");
            began.elapsed()
        };
        assert!(timed(&|most| lock.try_lock_for(most)) > Duration::from_micros(20));
        assert!(timed(&|most| read.try_lock_shared_for(most)) > Duration::from_micros(100));
        assert!(timed(&|most| written.try_lock_exclusive_for(most)) > Duration::from_micros(100));
        assert!(timed(&|most| upgradable.try_lock_upgradable_for(most)) > Duration::from_micros(100));
    }
}

#[test]
fn wait_for_a_held_lock_lasts_as_long_as_requested() {
    held("calock", Calock::<Private>::new());
    held("calock-spin, shared", CalockSpin::<Shared>::new());
    held("pi", Pi::<Private>::new());
    held("pi, shared", Pi::<Shared>::new());
    held("robust", Robust::<Private>::new());
    held("robust, shared", Robust::<Shared>::new());
    held("adaptive", Adaptive::<Private>::new());
    held("biased", Biased::<NoCount>::new());
    held("adaptive, shared", Adaptive::<Shared>::new());
}

fn held_by_a_writer<R: RawRwLockTimed<Duration = Duration>>(name: &str, lock: R) {
    let _guard = lock.lock_exclusive();
    lasts_as_long_as_requested(&format!("{name}, reading"), |requested| lock.try_lock_shared_for(requested).is_some());
    lasts_as_long_as_requested(&format!("{name}, writing"), |requested| {
        lock.try_lock_exclusive_for(requested).is_some()
    });
}

/// Checks waits for upgradable mode and for an upgrade, while another reader holds the lock upgradably or at all.
fn held_by_another_reader<R: RawRwLockUpgradeTimed<Duration = Duration, UpgradableGuard = GuardSend>>(lock: R) {
    let (_read, guard) = (lock.lock_shared(), lock.lock_upgradable());
    lasts_as_long_as_requested("upgradable", |requested| lock.try_lock_upgradable_for(requested).is_some());
    lasts_as_long_as_requested("an upgrade", |requested| {
        // SAFETY: this thread holds the lock upgradably. A second reader is inside, so the upgrade cannot succeed.
        unsafe { lock.try_upgrade_for(GuardSend::new(), requested) }.is_ok()
    });
    // SAFETY: this thread has this guard of the upgradable acquisition.
    unsafe { lock.unlock_upgradable(guard) };
}

#[test]
fn wait_without_a_mutex_lasts_as_long_as_requested() {
    held_by_another_reader(AdaptiveRw::<Private>::new());
    held_by_another_reader(AdaptiveRw::<Shared>::new());
    held_by_a_writer("rwlock", RwLock::<Private, NoCount>::new());
    held_by_a_writer("adaptive-rw", AdaptiveRw::<Private>::new());
    held_by_a_writer("adaptive-rw, shared", AdaptiveRw::<Shared>::new());
    lasts_as_long_as_requested("a semaphore", |requested| FutexSem::<Shared>::new(0).acquire_for(requested));
    let (changed, lock) = (Condvar::<Private>::new(), Mutex::<Calock, ()>::new(()));
    lasts_as_long_as_requested("a condition", |requested| changed.wait_for(&mut lock.lock(), requested));
    let until = |requested| changed.wait_until(&mut lock.lock(), Instant::now() + requested);
    lasts_as_long_as_requested("a condition, until", until);
    let while_for = |requested| changed.wait_while_for(&mut lock.lock(), |_| true, requested);
    lasts_as_long_as_requested("a condition, while", while_for);
}

/// Wakes the threads blocked on a word of this value every 100 µs, until `stop` is set, or for two seconds.
///
/// The release of a lock that another thread acquires first has the same effect.
fn wake_spuriously<T>(value: &T, stop: &AtomicBool) {
    let start = Instant::now();
    let words = std::ptr::from_ref(value).cast::<u32>();
    while !stop.load(Relaxed) && start.elapsed() < Duration::from_secs(2) {
        for word in (0..size_of::<T>() / size_of::<u32>()).map(|at| words.wrapping_add(at)) {
            for operation in [libc::FUTEX_WAKE, libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG] {
                // SAFETY: waking reads and writes no memory; the address only identifies the waiters.
                unsafe { libc::syscall(libc::SYS_futex, word, operation, i32::MAX) };
            }
        }
        thread::sleep(Duration::from_micros(100));
    }
}

/// Checks waits of a thread that is woken repeatedly for nothing: the length of the wait must not depend on that.
fn contended<R>(name: &str, lock: R)
where
    R: RawMutexTimed<Duration = Duration, Instant = Instant> + Sync,
{
    let _guard = lock.lock();
    let wait = |requested| lock.try_lock_for(requested).is_some();
    let once = || {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| wake_spuriously(&lock, &stop));
            let took = scope.spawn(|| lasted(REQUESTED, &wait).expect("no thread releases it")).join().unwrap();
            stop.store(true, Relaxed);
            took
        })
    };
    let mut took: Vec<Duration> = (0..5).map(|_| once()).collect();
    took.sort();
    assert!(took[2] < 4 * REQUESTED, "{name}: requested {REQUESTED:?}, took {took:?}");
}

#[test]
fn wait_with_spurious_wake_ups_lasts_as_long_as_requested() {
    contended("calock", Calock::<Private>::new());
    contended("calock-spin, shared", CalockSpin::<Shared>::new());
    contended("pi", Pi::<Private>::new());
    contended("robust", Robust::<Private>::new());
    contended("robust, shared", Robust::<Shared>::new());
    contended("adaptive", Adaptive::<Private>::new());
    contended("biased", Biased::<NoCount>::new());
    contended("adaptive, shared", Adaptive::<Shared>::new());
}

/// A release may wake a waiter that has just given up, or has acquired the lock by spinning.
///
/// When all threads have left, their marks must leave the words: a stale mark makes each later pair more expensive.
#[test]
fn ended_wait_leaves_no_mark_in_the_word() {
    const EPISODES: u32 = 3000;
    let locks: Vec<Adaptive> = (0..EPISODES).map(|_| Adaptive::new()).collect();
    let spin = |micros: u64| {
        let start = Instant::now();
        while start.elapsed() < Duration::from_micros(micros) {}
    };
    let (begun, done) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            for (round, lock) in (1..).zip(&locks) {
                while begun.load(Acquire) < round {
                    std::hint::spin_loop();
                }
                if lock.try_lock_for(Duration::from_micros(60)) {
                    // SAFETY: this thread acquired the lock in the line before.
                    unsafe { lock.unlock() };
                }
                done.store(round, Release);
            }
        });
        for (round, lock) in (1..).zip(&locks) {
            lock.lock();
            begun.store(round, Release);
            spin(100 + u64::from(round * 37 % 120));
            // SAFETY: this thread acquired the lock at the beginning of the iteration.
            unsafe { lock.unlock() };
            while done.load(Acquire) < round {
                thread::yield_now();
            }
        }
    });
    // The last threads leave hints for the next ones, which time and a few pairs remove. The lock's clock has few
    // bits, so a slice occasionally seems to have just begun.
    let is_marked = |lock: &&Adaptive| !format!("{lock:?}").contains("word: 0,");
    let mut marked: Vec<_> = locks.iter().filter(is_marked).collect();
    for round in 0..20 {
        thread::sleep(Duration::from_millis(5 + round));
        for lock in marked.iter().flat_map(|lock| std::iter::repeat_n(lock, 40)) {
            lock.lock();
            // SAFETY: this thread acquired the lock in the line before.
            unsafe { lock.unlock() };
        }
        marked.retain(is_marked);
    }
    assert!(marked.is_empty(), "{} of {EPISODES}, e.g. {:?}", marked.len(), marked[0]);
}
