//! Waits that end at the right time: by a timeout, by fairness, and in spite of signals.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};
use ulocks::{
    Adaptive, Biased, Calock, CalockSpin, Condvar, FutexSem, NoCount, Pi, Private, Robust, RwLock, Scope, Semaphore,
    Shared, SysvSem, Ticket, Usema, UsemaSpin,
    lock_api::{self, Mutex, RawMutex, RawMutexTimed},
};

/// Timeout of a wait that ends earlier, unless the test fails.
const HANGS: Duration = Duration::from_secs(240);

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

/// Waits until a thread of this process is blocked.
fn blocked(thread: &AtomicU32) {
    loop {
        let stat =
            std::fs::read_to_string(format!("/proc/self/task/{}/stat", thread.load(Relaxed))).unwrap_or_default();
        if stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S')) {
            return;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Blocks as a waiter of the semaphore does, and goes away once it was woken, as if it were killed then.
fn die_once_woken(words: &[AtomicU32; 2]) {
    const ASLEEP: u32 = 1 << 31;
    let [available, waiting] = words;
    waiting.fetch_add(1, Relaxed);
    available.store(ASLEEP, Relaxed);
    // SAFETY: the word is alive in this call, which changes no memory.
    unsafe { libc::syscall(libc::SYS_futex, available.as_ptr(), libc::FUTEX_WAIT, ASLEEP, std::ptr::null::<()>()) };
}

#[test]
fn unit_of_a_waiter_that_was_killed_goes_to_another() {
    let semaphore = FutexSem::<Shared>::new(0);
    assert_eq!(size_of_val(&semaphore), size_of::<[AtomicU32; 2]>());
    // SAFETY: the semaphore is two atomic words of 32 bits, which the fields of its `repr(C)` begin with.
    let words = unsafe { &*std::ptr::from_ref(&semaphore).cast::<[AtomicU32; 2]>() };
    let threads = [AtomicU32::new(0), AtomicU32::new(0)];
    // SAFETY: the call takes no pointers.
    let here = |place: usize| threads[place].store(unsafe { libc::gettid() }.cast_unsigned(), Relaxed);
    thread::scope(|scope| {
        scope.spawn(|| {
            here(0);
            die_once_woken(words);
        });
        blocked(&threads[0]);
        let began = Instant::now();
        let waiter = scope.spawn(|| {
            here(1);
            semaphore.acquire_for(HANGS)
        });
        blocked(&threads[1]);
        semaphore.release();
        assert!(waiter.join().unwrap() && began.elapsed() < HANGS / 2);
    });
}

/// Asserts that a notification returns the number of threads that it wakes.
fn counts_the_woken<S: Scope>() {
    const WAITERS: usize = 4;
    let (changed, lock) = (Condvar::<S>::new(), Mutex::<Adaptive, ()>::new(()));
    let threads = [const { AtomicU32::new(0) }; WAITERS];
    assert!(!changed.notify_one() && changed.notify_all() == 0, "no thread waits");
    thread::scope(|scope| {
        for thread in &threads {
            scope.spawn(|| {
                let mut guard = lock.lock();
                // From here, the thread first blocks in the wait.
                // SAFETY: the call takes no pointers.
                thread.store(unsafe { libc::gettid() }.cast_unsigned(), Relaxed);
                changed.wait_for(&mut guard, HANGS);
            });
        }
        threads.iter().for_each(blocked);
        assert!(changed.notify_one());
        assert_eq!(changed.notify_all(), WAITERS - 1);
        assert!(!changed.notify_one() && changed.notify_all() == 0, "all were woken");
    });
}

#[test]
fn notification_returns_the_number_of_woken_threads() {
    counts_the_woken::<Private>();
    counts_the_woken::<Shared>();
}

#[test]
fn waiter_that_is_not_blocked_yet_returns_uncounted() {
    let changed = Condvar::<Private>::new();
    assert!(changed.wait_with(None, |block| {
        assert!(!changed.notify_one());
        block();
    }));
    assert!(changed.wait_with(None, |block| {
        assert_eq!(changed.notify_all(), 0);
        block();
    }));
}

#[test]
fn condition_variable_is_printed_without_its_words() {
    assert_eq!(format!("{:?}", Condvar::<Private>::new()), "Condvar { .. }");
}
