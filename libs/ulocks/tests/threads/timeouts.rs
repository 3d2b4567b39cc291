//! The length of a timed wait: never less than requested, and not much longer, with any holder of the lock.
//!
//! The first is exact. The second cannot be where the scheduler decides when a thread runs again; so the best of ten
//! waits counts, or the middle of five.

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
    lock_api::{Mutex, RawMutexTimed, RawRwLockTimed},
};

const ASKED: Duration = Duration::from_millis(16);
const TRIES: usize = 10;

/// How long a wait lasted that ended without what it waited for.
fn lasted(asked: Duration, wait: &impl Fn(Duration) -> bool) -> Option<Duration> {
    let start = Instant::now();
    let taken = wait(asked);
    let took = start.elapsed();
    assert!(taken || took >= asked, "asked for {asked:?}, gave up after {took:?}");
    (!taken).then_some(took)
}

/// Every wait in vain lasts as long as asked, and the best of ten less than 1.75 times that.
fn lasts_as_long_as_asked(name: &str, wait: impl Fn(Duration) -> bool) {
    let best = (0..TRIES).map(|_| lasted(ASKED, &wait).expect("nobody frees it")).min().unwrap();
    assert!(best < ASKED * 7 / 4, "{name}: asked for {ASKED:?}, never less than {best:?}");
}

/// While another thread holds the lock and does not free it.
fn held<R>(name: &str, lock: R)
where
    R: RawMutexTimed<Duration = Duration, Instant = Instant> + Sync,
{
    let _guard = lock.lock();
    let waits = || {
        lasts_as_long_as_asked(name, |asked| lock.try_lock_for(asked).is_some());
        lasts_as_long_as_asked(name, |asked| lock.try_lock_until(Instant::now() + asked).is_some());
    };
    thread::scope(|scope| scope.spawn(waits).join().unwrap());
}

#[test]
fn a_wait_for_a_held_lock_lasts_as_long_as_asked() {
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
    lasts_as_long_as_asked(&format!("{name}, reading"), |asked| lock.try_lock_shared_for(asked).is_some());
    lasts_as_long_as_asked(&format!("{name}, writing"), |asked| lock.try_lock_exclusive_for(asked).is_some());
}

#[test]
fn a_wait_for_what_is_no_mutex_lasts_as_long_as_asked() {
    held_by_a_writer("rwlock", RwLock::<Private, NoCount>::new());
    held_by_a_writer("adaptive-rw", AdaptiveRw::<Private>::new());
    held_by_a_writer("adaptive-rw, shared", AdaptiveRw::<Shared>::new());
    lasts_as_long_as_asked("a semaphore", |asked| FutexSem::<Shared>::new(0).acquire_for(asked));
    let (changed, lock) = (Condvar::<Private>::new(), Mutex::<Calock, ()>::new(()));
    lasts_as_long_as_asked("a condition", |asked| changed.wait_for(&mut lock.lock(), asked));
    let until = |asked| changed.wait_until(&mut lock.lock(), Instant::now() + asked);
    lasts_as_long_as_asked("a condition, until", until);
    let while_for = |asked| changed.wait_while_for(&mut lock.lock(), |_| true, asked);
    lasts_as_long_as_asked("a condition, while", while_for);
}

/// Wakes the threads that sleep on a word of this value, every 100 µs, as the release of a lock does that another thread
/// acquires first: until `stop` is set, or for two seconds.
fn tease<T>(value: &T, stop: &AtomicBool) {
    let start = Instant::now();
    let words = std::ptr::from_ref(value).cast::<u32>();
    while !stop.load(Relaxed) && start.elapsed() < Duration::from_secs(2) {
        for word in (0..size_of::<T>() / size_of::<u32>()).map(|at| words.wrapping_add(at)) {
            for operation in [libc::FUTEX_WAKE, libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG] {
                // SAFETY: waking reads and writes no memory; the address only names the sleepers.
                unsafe { libc::syscall(libc::SYS_futex, word, operation, i32::MAX) };
            }
        }
        thread::sleep(Duration::from_micros(100));
    }
}

/// A waiter is woken again and again, and always for nothing: the length of the wait must not depend on that.
fn contended<R>(name: &str, lock: R)
where
    R: RawMutexTimed<Duration = Duration, Instant = Instant> + Sync,
{
    let _guard = lock.lock();
    let wait = |asked| lock.try_lock_for(asked).is_some();
    let once = || {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| tease(&lock, &stop));
            let took = scope.spawn(|| lasted(ASKED, &wait).expect("nobody frees it")).join().unwrap();
            stop.store(true, Relaxed);
            took
        })
    };
    let mut took: Vec<Duration> = (0..5).map(|_| once()).collect();
    took.sort();
    assert!(took[2] < 4 * ASKED, "{name}: asked for {ASKED:?}, took {took:?}");
}

#[test]
fn a_wait_for_a_contended_lock_lasts_as_long_as_asked() {
    contended("calock", Calock::<Private>::new());
    contended("calock-spin, shared", CalockSpin::<Shared>::new());
    contended("pi", Pi::<Private>::new());
    contended("robust", Robust::<Private>::new());
    contended("robust, shared", Robust::<Shared>::new());
    contended("adaptive", Adaptive::<Private>::new());
    contended("biased", Biased::<NoCount>::new());
    contended("adaptive, shared", Adaptive::<Shared>::new());
}

/// A release may wake a waiter that has just given up, or got the lock spinning. When all have left, nothing is
/// left of that in the words: a stale mark makes each later pair dearer.
#[test]
fn a_wait_that_ends_leaves_no_mark() {
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
                    // SAFETY: locked in the line before.
                    unsafe { lock.unlock() };
                }
                done.store(round, Release);
            }
        });
        for (round, lock) in (1..).zip(&locks) {
            lock.lock();
            begun.store(round, Release);
            spin(100 + u64::from(round * 37 % 120));
            // SAFETY: locked above.
            unsafe { lock.unlock() };
            while done.load(Acquire) < round {
                thread::yield_now();
            }
        }
    });
    // Hints are left for the next ones: they are used up by time and by a few pairs. The lock's clock has few bits, so
    // now and then a turn looks as if it had just begun.
    let is_marked = |lock: &&Adaptive| !format!("{lock:?}").contains("word: 0,");
    let mut marked: Vec<_> = locks.iter().filter(is_marked).collect();
    for round in 0..20 {
        thread::sleep(Duration::from_millis(5 + round));
        for lock in marked.iter().flat_map(|lock| std::iter::repeat_n(lock, 40)) {
            lock.lock();
            // SAFETY: locked in the line before.
            unsafe { lock.unlock() };
        }
        marked.retain(is_marked);
    }
    assert!(marked.is_empty(), "{} of {EPISODES}, e.g. {:?}", marked.len(), marked[0]);
}

/// The marks in the word of waiters that gave up exclude no thread.
#[test]
fn a_readers_lock_that_two_gave_up_is_free() {
    let lock = AdaptiveRw::<Private>::new();
    lock.lock_exclusive();
    assert!(
        !lock.try_lock_shared_for(Duration::from_millis(2)) && !lock.try_lock_exclusive_for(Duration::from_millis(2))
    );
    // SAFETY: locked above.
    unsafe { lock.unlock_exclusive() };
    assert!(lock.try_lock_shared());
}
