//! Waits that end at the right time: by a timeout, by fairness, and in spite of signals.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};
use ulocks::{
    Adaptive, Biased, Calock, CalockSpin, FutexSem, NoCount, Pi, Private, Robust, RwLock, Semaphore, Shared, SysvSem,
    Ticket, Usema, UsemaSpin,
    lock_api::{self, Mutex, RawMutex, RawMutexTimed},
};

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

/// Asserts that a thread that tries a few times does not wait forever while others reacquire the lock at once.
fn admits_a_thread_among_greedy_ones<R: RawMutex + Sync + Send>(lock: R) {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Relaxed) {
                    let guard = lock.lock();
                    let start = Instant::now();
                    while start.elapsed() < Duration::from_micros(20) {}
                    // SAFETY: this thread acquired the lock with this guard.
                    unsafe { lock.unlock(guard) };
                }
            });
        }
        for _ in 0..20 {
            let guard = lock.lock();
            // SAFETY: this thread acquired the lock with this guard.
            unsafe { lock.unlock(guard) };
        }
        stop.store(true, Relaxed);
    });
}

#[test]
fn fair_locks_starve_no_thread() {
    admits_a_thread_among_greedy_ones(Adaptive::<Private>::new());
    admits_a_thread_among_greedy_ones(Adaptive::<Shared>::new());
    admits_a_thread_among_greedy_ones(Biased::<NoCount>::new());
    admits_a_thread_among_greedy_ones(Usema::<Private>::new());
    admits_a_thread_among_greedy_ones(UsemaSpin::<Private>::new());
    admits_a_thread_among_greedy_ones(Ticket::<NoCount>::new());
    admits_a_thread_among_greedy_ones(Pi::<Private>::new());
}

/// Asserts that a signal does not admit a waiter.
fn stays_out<R: RawMutex + Sync + Send + 'static>(lock: R) {
    let lock = Arc::new(lock);
    let guard = lock.lock();
    let (waiting, inside) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let waiter = {
        let (lock, waiting, inside) = (Arc::clone(&lock), Arc::clone(&waiting), Arc::clone(&inside));
        thread::spawn(move || {
            waiting.store(true, Relaxed);
            let guard = lock.lock();
            inside.store(true, Relaxed);
            // SAFETY: this thread acquired the lock with this guard.
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
    // SAFETY: this thread acquired the lock with this guard.
    unsafe { lock.unlock(guard) };
    waiter.join().unwrap();
}

/// Signals interrupt a blocked thread; they must not end its wait.
#[test]
fn signals_do_not_end_a_wait() {
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: the handler does nothing; the mask and flags are zero, so system calls are not restarted.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as *const () as usize;
        assert_eq!(libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()), 0);
    }
    stays_out(Calock::<Private>::new());
    stays_out(Usema::<Private>::new());
    stays_out(Pi::<Private>::new());
    stays_out(Robust::<Private>::new());
    stays_out(Adaptive::<Private>::new());
    let (semaphore, sysv) = (FutexSem::<Private>::new(1), SysvSem::new(1).unwrap());
    semaphore.acquire();
    sysv.lock();
    assert!(!semaphore.try_acquire() && !sysv.try_lock());
}
