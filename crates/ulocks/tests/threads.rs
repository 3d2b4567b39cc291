//! Every lock under real threads: exclusion, timeouts, starvation, signals, wrap-around.
#![cfg(not(loom))]

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};
use ulocks::{
    Adaptive, AdaptiveRw, Benaphore, Biased, Calock, CalockSpin, Condvar, Count, Counted, FutexSem, Inherited, Mcs,
    Micros, NoCount, Once, Pi, Private, Robust, RwLock, RwLockFair, Semaphore, Shared, SysvSem, Ticket, Usema,
    UsemaSpin,
    lock_api::{self, Mutex, RawMutex, RawMutexTimed},
};

const THREADS: u64 = 4;
const ROUNDS: u64 = 20_000;

/// A counter in two halves that only the lock keeps together.
fn excludes<R: RawMutex + Sync + Send>(lock: R)
where
    R::Guard: Sized,
{
    let halves = Mutex::from_raw(lock, (0u64, 0u64));
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let halves = &halves;
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let mut guard = halves.lock();
                    assert_eq!(guard.0, guard.1, "two threads were inside");
                    guard.0 += 1;
                    if (round + thread) % 512 == 0 {
                        thread::yield_now();
                    }
                    guard.1 += 1;
                }
            });
        }
    });
    assert_eq!(halves.into_inner(), (THREADS * ROUNDS, THREADS * ROUNDS));
}

#[test]
fn exclusive_locks_exclude() {
    excludes(Calock::<Private>::new());
    excludes(CalockSpin::<Shared, Counted, Micros<10>>::new());
    excludes(Usema::<Private>::new());
    excludes(UsemaSpin::<Shared>::new());
    excludes(Ticket::<NoCount>::new());
    excludes(Mcs::<NoCount>::new());
    excludes(Pi::<Private>::new());
    excludes(Pi::<Shared>::new());
    excludes(Robust::<Private>::new());
    excludes(Robust::<Shared>::new());
    excludes(Adaptive::<Private>::new());
    excludes(Adaptive::<Shared, Counted>::new());
    excludes(Biased::<Counted>::new());
}

/// The plain store must survive what the model cannot show: real membarriers, all the time. Short holds by few threads,
/// with pauses, make the lock go back and forth between plain and fenced.
#[test]
fn adaptive_between_plain_and_fenced() {
    let lock = Mutex::from_raw(Adaptive::<Private, Counted>::new(), 0u64);
    let stop = AtomicBool::new(false);
    let loops: u64 = thread::scope(|scope| {
        let workers: Vec<_> = (0..3u64)
            .map(|worker| {
                let (lock, stop) = (&lock, &stop);
                scope.spawn(move || {
                    let mut loops = 0;
                    while !stop.load(Relaxed) {
                        *lock.lock() += 1;
                        loops += 1;
                        if loops % (97 + worker) == 0 {
                            let _held = lock.lock();
                            thread::sleep(Duration::from_micros(50));
                        }
                    }
                    loops
                })
            })
            .collect();
        thread::sleep(Duration::from_secs(2));
        stop.store(true, Relaxed);
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    // SAFETY: only the counters are looked at.
    let counts = unsafe { lock.raw() }.counts().snapshot();
    assert!(counts.slept > 0, "the test must make threads sleep: {counts:?}");
    assert_eq!(lock.into_inner(), loops);
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
        assert!(lock.try_lock(), "free in the end");
    }
    excludes(FutexSem::<Private>::new(0));
    excludes(SysvSem::new(0).unwrap());
}

#[test]
fn counters_wrap_around() {
    excludes(Ticket::<NoCount>::starting_at(u32::MAX - 1000));
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
fn readers_share_and_writers_do_not() {
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

#[test]
fn timeouts_end_a_wait_and_leave_a_working_lock() {
    fn check<R: RawMutexTimed<Duration = Duration, Instant = Instant> + Sync + Send>(lock: R) {
        let number = Mutex::from_raw(lock, 0);
        let guard = number.lock();
        let timeout = Duration::from_millis(5);
        thread::scope(|scope| {
            scope.spawn(|| assert!(number.try_lock_for(timeout).is_none())).join().unwrap();
            scope.spawn(|| assert!(number.try_lock_until(Instant::now()).is_none())).join().unwrap();
            let patient = scope.spawn(|| *number.try_lock_for(Duration::MAX).expect("it becomes free") += 1);
            thread::sleep(timeout);
            drop(guard);
            patient.join().unwrap();
        });
        assert_eq!(*number.lock(), 1);
    }
    check(Calock::<Private>::new());
    check(CalockSpin::<Shared>::new());
    check(Pi::<Private>::new());
    check(Robust::<Private>::new());
    check(Adaptive::<Private>::new());
    check(Adaptive::<Shared>::new());
    check(Biased::<NoCount>::new());
    let readers = lock_api::RwLock::<RwLock, ()>::new(());
    let writer = readers.write();
    assert!(readers.try_read_for(Duration::from_millis(2)).is_none());
    drop(writer);
    assert!(readers.try_write_for(Duration::from_millis(2)).is_some());
}

/// One thread takes the lock again and again with nothing between; another asks a few times and must not wait for ever.
fn a_greedy_thread_lets_others_in<R: RawMutex + Sync + Send>(lock: R) {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Relaxed) {
                    let guard = lock.lock();
                    let start = Instant::now();
                    while start.elapsed() < Duration::from_micros(20) {}
                    // SAFETY: locked above.
                    unsafe { lock.unlock(guard) };
                }
            });
        }
        for _ in 0..20 {
            let guard = lock.lock();
            // SAFETY: locked in the line before.
            unsafe { lock.unlock(guard) };
        }
        stop.store(true, Relaxed);
    });
}

#[test]
fn nobody_starves() {
    a_greedy_thread_lets_others_in(Adaptive::<Private>::new());
    a_greedy_thread_lets_others_in(Adaptive::<Shared>::new());
    a_greedy_thread_lets_others_in(Biased::<NoCount>::new());
    a_greedy_thread_lets_others_in(Usema::<Private>::new());
    a_greedy_thread_lets_others_in(UsemaSpin::<Private>::new());
    a_greedy_thread_lets_others_in(Ticket::<NoCount>::new());
    a_greedy_thread_lets_others_in(Pi::<Private>::new());
}

/// A guard that is forgotten is a reader for ever, and there are fewer numbers than somebody may forget: a writer must
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

/// One thread holds more of them than there are nodes in the first table.
#[test]
fn many_mcs_locks_are_held_at_once() {
    let locks: Vec<Mcs> = (0..5000).map(|_| Mcs::new()).collect();
    let (sender, receiver) = std::sync::mpsc::channel();
    thread::spawn(move || {
        locks.iter().for_each(Mcs::lock);
        // SAFETY: locked in the line before.
        locks.iter().for_each(|lock| unsafe { lock.unlock() });
        sender.send(locks.iter().all(|lock| !lock.is_locked())).unwrap();
    });
    assert_eq!(receiver.recv_timeout(Duration::from_secs(60)), Ok(true));
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
            // SAFETY: as above.
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

/// Signals interrupt a sleep; they must not end a wait.
#[test]
fn signals_do_not_end_a_wait() {
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: the handler does nothing; the mask and flags are zero, so system calls are not restarted.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as *const () as usize;
        assert_eq!(libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()), 0);
    }
    fn check<R: RawMutex + Sync + Send + 'static>(lock: R) {
        let lock = Arc::new(lock);
        let guard = lock.lock();
        let (waiting, inside) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let waiter = {
            let (lock, waiting, inside) = (Arc::clone(&lock), Arc::clone(&waiting), Arc::clone(&inside));
            thread::spawn(move || {
                waiting.store(true, Relaxed);
                let guard = lock.lock();
                inside.store(true, Relaxed);
                // SAFETY: locked above.
                unsafe { lock.unlock(guard) };
            })
        };
        while !waiting.load(Relaxed) {
            thread::yield_now();
        }
        for _ in 0..50 {
            use std::os::unix::thread::JoinHandleExt;
            // SAFETY: the thread has not been joined, so its handle is valid.
            unsafe { libc::pthread_kill(waiter.as_pthread_t(), libc::SIGUSR1) };
            thread::sleep(Duration::from_micros(200));
            assert!(!inside.load(Relaxed), "a signal let it in");
        }
        // SAFETY: locked above.
        unsafe { lock.unlock(guard) };
        waiter.join().unwrap();
    }
    check(Calock::<Private>::new());
    check(Usema::<Private>::new());
    check(Pi::<Private>::new());
    check(Robust::<Private>::new());
    check(Adaptive::<Private>::new());
    let (semaphore, sysv) = (FutexSem::<Private>::new(1), SysvSem::new(1).unwrap());
    semaphore.acquire();
    sysv.lock();
    assert!(!semaphore.try_acquire() && !sysv.try_lock());
}

#[test]
fn a_thread_that_ends_with_a_robust_lock_is_reported_once() {
    let lock = Robust::<Private>::new();
    for _ in 0..20 {
        thread::scope(|scope| {
            scope.spawn(|| {
                let _ = lock.lock();
            });
        });
        let told: Vec<Inherited> = thread::scope(|scope| {
            let heirs: Vec<_> = (0..3)
                .map(|_| {
                    scope.spawn(|| {
                        let inherited = lock.lock();
                        lock.mark_consistent();
                        // SAFETY: locked above.
                        unsafe { lock.unlock() };
                        inherited
                    })
                })
                .collect();
            heirs.into_iter().map(|heir| heir.join().unwrap()).collect()
        });
        assert_eq!(told.iter().filter(|&&i| i == Inherited::OwnerDied).count(), 1, "{told:?}");
    }
}

#[test]
fn a_panic_leaves_a_once_undone() {
    let once = Once::<Private>::new();
    let panics = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| once.call_once(|| panic!("on purpose"))));
    assert!(panics.is_err() && !once.is_done());
    once.call_once(|| ());
    assert!(once.is_done());
}

#[test]
fn counting_counts_and_costs_nothing_when_off() {
    let lock = CalockSpin::<Private, Counted, Micros<0>>::new();
    lock.lock();
    assert!(!lock.try_lock_for(Duration::from_millis(1)));
    let counts = lock.counts().snapshot();
    assert_eq!((counts.write_contended, counts.slept), (1, 1));
    assert_eq!(size_of::<Adaptive>(), 4);
    assert_eq!(size_of::<Calock>(), 4);
    assert_eq!(NoCount.snapshot(), ulocks::Counts::default());
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
