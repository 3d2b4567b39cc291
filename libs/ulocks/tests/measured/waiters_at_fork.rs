//! Locks across a fork: the child has the holder, and none of the threads that waited.
//!
//! The test runs itself in a separate process, so that no other test's threads are forked. `ULOCKS_FORKS` sets the
//! number of forks (10,000 for a thorough run).

use std::{
    env,
    process::Command,
    sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};
use ulocks::{
    Adaptive, AdaptiveRw, Calock, CalockSpin, FutexSem, Private, RwLock, Semaphore,
    lock_api::{GuardNoSend, RawMutex, RawRwLock},
};

const ROLE: &str = "ULOCKS_TEST_FORK";
const THREADS: u32 = 3;
const ROUNDS: u32 = 60;

/// A lock that is not a mutex, used as one.
struct As<L>(L);

/// A reader-writer lock that its holders acquire upgradably and upgrade only when they release it.
struct Upgradable(AdaptiveRw);

impl Upgradable {
    fn acquire(&self) {
        self.0.lock_upgradable();
    }

    fn try_acquire(&self) -> bool {
        self.0.try_lock_upgradable()
    }

    unsafe fn release(&self) {
        // SAFETY: the caller holds the lock upgradably, and each call leaves it in the mode of the next.
        unsafe {
            self.0.upgrade();
            self.0.downgrade_to_upgradable();
            self.0.unlock_upgradable();
        }
    }
}

macro_rules! as_mutex {
    ($lock:ty, $init:expr, $take:ident, $try:ident, $free:ident) => {
        // SAFETY: one thread at a time acquires the lock; the module documentation of its file contains the argument.
        unsafe impl RawMutex for As<$lock> {
            #[allow(clippy::declare_interior_mutable_const)] // a template for a new lock, never shared
            const INIT: Self = As($init);
            type Guard = GuardNoSend;

            fn lock(&self) -> GuardNoSend {
                self.0.$take();
                GuardNoSend::new()
            }

            fn try_lock(&self) -> Option<GuardNoSend> {
                self.0.$try().then(GuardNoSend::new)
            }

            unsafe fn unlock(&self, _: GuardNoSend) {
                // SAFETY: the caller has the guard, so it holds the lock.
                #[allow(unused_unsafe)]
                unsafe {
                    self.0.$free()
                };
            }

            fn is_locked(&self) -> bool {
                unreachable!("not called by this test")
            }
        }
    };
}
as_mutex!(RwLock<Private>, RwLock::INIT, lock_exclusive, try_lock_exclusive, unlock_exclusive);
as_mutex!(AdaptiveRw<Private>, AdaptiveRw::INIT, lock_exclusive, try_lock_exclusive, unlock_exclusive);
as_mutex!(Upgradable, Upgradable(AdaptiveRw::INIT), acquire, try_acquire, release);
as_mutex!(FutexSem<Private>, FutexSem::new(1), acquire, try_acquire, release);

fn busy(micros: u64) {
    let start = Instant::now();
    while start.elapsed() < Duration::from_micros(micros) {}
}

struct Child<'a, R> {
    lock: &'a R,
    acquisitions: &'a AtomicU32,
}

extern "C" fn acquire_repeatedly<R: RawMutex>(child: *mut libc::c_void) -> *mut libc::c_void {
    // SAFETY: `check_in_child` passes a `Child` that outlives its threads.
    let child = unsafe { &*child.cast::<Child<'_, R>>() };
    for round in 0..ROUNDS {
        let guard = child.lock.lock();
        child.acquisitions.fetch_add(1, Relaxed);
        busy(if round % 10 == 0 { 150 } else { 3 });
        // SAFETY: this thread acquired the lock with this guard.
        unsafe { child.lock.unlock(guard) };
    }
    std::ptr::null_mut()
}

/// Uses the lock with new threads of the child, and ends the process: with 0 if all of them acquired it as often as
/// planned.
fn check_in_child<R: RawMutex>(lock: &R) -> ! {
    let acquisitions = AtomicU32::new(0);
    let child = Child { lock, acquisitions: &acquisitions };
    for _ in 0..THREADS {
        let mut thread = std::mem::MaybeUninit::<libc::pthread_t>::uninit();
        let child = (&raw const child).cast_mut().cast();
        // SAFETY: the function takes the structure that it is given, which lives until `_exit`.
        let result =
            unsafe { libc::pthread_create(thread.as_mut_ptr(), std::ptr::null(), acquire_repeatedly::<R>, child) };
        assert_eq!(result, 0);
    }
    let start = Instant::now();
    while acquisitions.load(Relaxed) < THREADS * ROUNDS {
        if start.elapsed() > Duration::from_secs(20) {
            // SAFETY: `_exit` only ends the process.
            unsafe { libc::_exit(9) };
        }
        // SAFETY: `usleep` only blocks this thread.
        unsafe { libc::usleep(200) };
    }
    // The lock is unlocked and unmarked, so `try_lock` succeeds. (The last thread may not have returned from its
    // unlock yet.)
    let tried = (0..2000).any(|_| {
        // SAFETY: `usleep` only blocks this thread.
        unsafe { libc::usleep(100) };
        lock.try_lock().is_some()
    });
    // SAFETY: `_exit` only ends the process.
    unsafe { libc::_exit(if tried { 0 } else { 8 }) }
}

/// Forks while one thread holds the lock and others wait for it.
fn is_forked_while_held_and_waited_for<R: RawMutex + Sync>(forks: u64) {
    let lock = &R::INIT;
    let stop = &AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !stop.load(Relaxed) {
                    let guard = lock.lock();
                    busy(2);
                    // SAFETY: this thread acquired the lock with this guard.
                    unsafe { lock.unlock(guard) };
                }
            });
        }
        for round in 0..forks {
            let guard = lock.lock();
            busy(round % 6 * 10);
            // SAFETY: the child only uses the lock and creates threads.
            let child = unsafe { libc::fork() };
            // SAFETY: the forking thread acquired the lock with this guard; in the child, this thread is its copy.
            unsafe { lock.unlock(guard) };
            if child == 0 {
                check_in_child(lock);
            }
            let mut status = 0;
            // SAFETY: this process created the child and has not waited for it, and `status` outlives the call.
            unsafe { libc::waitpid(child, &mut status, 0) };
            assert_eq!(status, 0, "the child of fork {round} hung, or died");
        }
        stop.store(true, Relaxed);
    });
}

#[test]
fn lock_held_and_waited_for_at_fork_works_in_the_child() {
    let forks = env::var("ULOCKS_FORKS").map_or(60, |forks| forks.parse().unwrap());
    match env::var(ROLE).as_deref() {
        Ok("adaptive") => is_forked_while_held_and_waited_for::<Adaptive<Private>>(forks),
        Ok("calock") => is_forked_while_held_and_waited_for::<Calock<Private>>(forks / 2),
        Ok("calock-spin") => is_forked_while_held_and_waited_for::<CalockSpin<Private>>(forks / 2),
        Ok("rwlock") => is_forked_while_held_and_waited_for::<As<RwLock>>(forks / 2),
        Ok("adaptive-rw") => is_forked_while_held_and_waited_for::<As<AdaptiveRw>>(forks / 2),
        Ok("adaptive-rw, upgradable") => is_forked_while_held_and_waited_for::<As<Upgradable>>(forks / 2),
        Ok("semaphore") => is_forked_while_held_and_waited_for::<As<FutexSem>>(forks / 2),
        _ => {
            let locks =
                ["adaptive", "calock", "calock-spin", "rwlock", "adaptive-rw", "adaptive-rw, upgradable", "semaphore"];
            for lock in locks {
                let test = name_of!(lock_held_and_waited_for_at_fork_works_in_the_child);
                let ended = Command::new(env::current_exe().unwrap())
                    .args(["--exact", test, "--test-threads=1"])
                    .env(ROLE, lock)
                    .output()
                    .unwrap();
                let output = String::from_utf8_lossy(&ended.stdout);
                assert!(ended.status.success(), "{lock}: {output}");
            }
        }
    }
}
