//! Words that no lock has written: a lock in shared memory may find any value in its words.
//!
//! For each value, a call that tries or has a timeout ends, a call that waits blocks, and none panics. Each lock gets
//! every boundary value in every word, and random values. The calls that wait run in forked children, which can be
//! killed.

use std::{
    env, fs,
    panic::{AssertUnwindSafe, catch_unwind},
    process::{Command, Stdio},
    sync::{
        atomic::{AtomicU32, Ordering::Relaxed},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};
use ulocks::{
    Adaptive, AdaptiveRw, Calock, CalockSpin, Condvar, FutexSem, NoCount, Once, Pi, Robust, RwLock, RwLockFair,
    Semaphore, Shared, Ticket, Usema, UsemaSpin,
    lock_api::{
        Mutex, RawMutex, RawMutexTimed, RawRwLock, RawRwLockTimed, RawRwLockUpgradeDowngrade, RawRwLockUpgradeTimed,
    },
    shared::{Plain, SharedMemory},
};

const TIMEOUT: Duration = Duration::from_millis(1);

/// Returns the boundaries of every field that a word may have: around each power of two, and both ends.
fn boundaries() -> Vec<u32> {
    let powers = (0..32).map(|bit| 1u32 << bit);
    let around = powers.flat_map(|power| [power.wrapping_sub(1), power, power.wrapping_neg()]);
    around.chain([0x1fff_ffff, u32::MAX, std::process::id()]).collect()
}

/// Returns contents of `words` words: each boundary in each of them, among zeros and among ones, and random values.
fn contents(words: usize) -> Vec<Vec<u32>> {
    let boundaries = boundaries();
    let mut contents = Vec::new();
    for at in 0..words {
        for rest in [0, u32::MAX] {
            contents.extend(boundaries.iter().map(|&value| {
                let mut content = vec![rest; words];
                content[at] = value;
                content
            }));
        }
    }
    let mut random = 0x1998_0226u64;
    contents.extend((0..200).map(|_| {
        (0..words)
            .map(|_| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (random >> 32) as u32
            })
            .collect()
    }));
    contents
}

/// Returns a lock with these words.
fn crafted<T: Plain>(content: &[u32]) -> SharedMemory<T> {
    let memory = SharedMemory::<T>::anonymous().unwrap();
    write(&*memory, content);
    memory
}

fn write<T: Plain>(value: &T, content: &[u32]) {
    let words = std::ptr::from_ref(value).cast::<AtomicU32>();
    for (at, &word) in content.iter().enumerate() {
        // SAFETY: the value has at least this many words, consists of atomics, and outlives the call.
        unsafe { (*words.add(at)).store(word, Relaxed) };
    }
}

/// Calls `work` with a lock with each content, in a thread that a defect could keep busy forever.
fn ends<T: Plain + 'static>(name: &'static str, work: fn(&T)) {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for content in contents(size_of::<T>() / 4) {
            let lock = crafted::<T>(&content);
            let done = catch_unwind(AssertUnwindSafe(|| work(&lock))).is_ok();
            sender.send((content, done)).unwrap();
        }
    });
    let mut last = Vec::new();
    loop {
        match receiver.recv_timeout(Duration::from_secs(30)) {
            Ok((content, done)) => {
                assert!(done, "{name}: panicked with {content:x?}");
                last = content;
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => return,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("{name}: hangs after {last:x?}"),
        }
    }
}

fn tries<R: RawMutex + Plain>(lock: &R) {
    lock.is_locked();
    if let Some(guard) = lock.try_lock() {
        // SAFETY: this thread acquired the lock with this guard.
        unsafe { lock.unlock(guard) };
    }
}

fn waits<R: RawMutexTimed<Duration = Duration> + Plain>(lock: &R) {
    tries(lock);
    if let Some(guard) = lock.try_lock_for(TIMEOUT) {
        // SAFETY: this thread acquired the lock with this guard.
        unsafe { lock.unlock(guard) };
    }
}

fn readers_try<R: RawRwLock>(lock: &R) {
    lock.is_locked();
    lock.is_locked_exclusive();
    if let Some(guard) = lock.try_lock_shared() {
        // SAFETY: this thread acquired the lock with this guard.
        unsafe { lock.unlock_shared(guard) };
    }
    if let Some(guard) = lock.try_lock_exclusive() {
        // SAFETY: this thread acquired the lock with this guard.
        unsafe { lock.unlock_exclusive(guard) };
    }
}

fn readers_wait<R: RawRwLockTimed<Duration = Duration>>(lock: &R) {
    readers_try(lock);
    if let Some(guard) = lock.try_lock_shared_for(TIMEOUT) {
        // SAFETY: this thread acquired the lock with this guard.
        unsafe { lock.unlock_shared(guard) };
    }
    if let Some(guard) = lock.try_lock_exclusive_for(TIMEOUT) {
        // SAFETY: this thread acquired the lock with this guard.
        unsafe { lock.unlock_exclusive(guard) };
    }
}

fn upgradable_readers_wait<R: RawRwLockUpgradeTimed<Duration = Duration> + RawRwLockUpgradeDowngrade>(lock: &R) {
    for _ in 0..2 {
        let Some(guard) = lock.try_lock_upgradable().or_else(|| lock.try_lock_upgradable_for(TIMEOUT)) else { return };
        // SAFETY: each guard is that of the acquisition that the previous call made or left.
        unsafe {
            match lock.try_upgrade_for(guard, TIMEOUT) {
                Ok(guard) => lock.unlock_shared(lock.downgrade(guard)),
                Err(guard) => lock.unlock_shared(lock.downgrade_upgradable(guard)),
            }
        }
    }
    if let Some(guard) = lock.try_lock_exclusive_for(TIMEOUT) {
        // SAFETY: this thread acquired the lock with this guard.
        unsafe { lock.unlock_upgradable(lock.downgrade_to_upgradable(guard)) };
    }
}

#[test]
fn trying_and_timed_calls_end_on_any_word() {
    ends("adaptive", waits::<Adaptive<Shared>>);
    ends("calock", waits::<Calock<Shared>>);
    ends("calock-spin", waits::<CalockSpin<Shared>>);
    ends("pi", waits::<Pi<Shared>>);
    ends("robust", waits::<Robust<Shared>>);
    ends("usema", tries::<Usema<Shared>>);
    ends("usema-spin", tries::<UsemaSpin<Shared>>);
    ends("ticket", tries::<Ticket<NoCount>>);
    ends("rwlock", readers_wait::<RwLock<Shared>>);
    ends("adaptive-rw", readers_wait::<AdaptiveRw<Shared>>);
    ends("adaptive-rw, upgradable", upgradable_readers_wait::<AdaptiveRw<Shared>>);
    ends("rwlock-fair", readers_try::<RwLockFair<Shared>>);
    ends("pi, held by the caller", |lock: &Pi<Shared>| {
        // SAFETY: `gettid` takes no argument and returns a number.
        write(lock, &[unsafe { libc::gettid() }.cast_unsigned()]);
        assert!(!lock.try_lock_for(TIMEOUT));
    });
    ends("semaphore", |semaphore: &FutexSem<Shared>| {
        semaphore.release();
        semaphore.try_acquire();
        semaphore.acquire_for(TIMEOUT);
    });
    ends("condition", |changed: &Condvar<Shared>| {
        changed.notify_all();
        let lock = Mutex::<Calock, ()>::new(());
        changed.wait_for(&mut lock.lock(), TIMEOUT);
        changed.notify_one();
    });
}

/// The words change while a thread holds the lock, which then releases it.
#[test]
fn holder_of_an_overwritten_lock_can_release_it() {
    fn frees<R: RawMutex + Plain>(lock: &R) {
        let words = size_of::<R>() / size_of::<u32>();
        for content in contents(words) {
            write(lock, &vec![0; words]);
            let guard = lock.lock();
            write(lock, &content);
            // SAFETY: this thread acquired the lock with this guard.
            unsafe { lock.unlock(guard) };
        }
    }
    fn upgradable_readers_free(lock: &AdaptiveRw<Shared>) {
        type Holder = (fn(&AdaptiveRw<Shared>), unsafe fn(&AdaptiveRw<Shared>));
        let holders: [Holder; 4] = [
            (AdaptiveRw::lock_upgradable, AdaptiveRw::unlock_upgradable),
            (AdaptiveRw::lock_upgradable, AdaptiveRw::downgrade_upgradable),
            (AdaptiveRw::lock_exclusive, AdaptiveRw::downgrade),
            (AdaptiveRw::lock_exclusive, AdaptiveRw::downgrade_to_upgradable),
        ];
        for content in contents(1) {
            for (acquire, change) in holders {
                write(lock, &[0]);
                acquire(lock);
                write(lock, &content);
                // SAFETY: this thread acquired the lock in the mode that the function changes.
                unsafe { change(lock) };
            }
        }
    }
    fn readers_free<R: RawRwLock + Plain>(lock: &R) {
        let words = size_of::<R>() / size_of::<u32>();
        for content in contents(words) {
            write(lock, &vec![0; words]);
            let guard = lock.lock_shared();
            write(lock, &content);
            // SAFETY: this thread acquired the lock for reading with this guard.
            unsafe { lock.unlock_shared(guard) };
        }
    }
    ends_once("adaptive", frees::<Adaptive<Shared>>);
    ends_once("calock", frees::<Calock<Shared>>);
    ends_once("pi", frees::<Pi<Shared>>);
    ends_once("robust", frees::<Robust<Shared>>);
    ends_once("usema", frees::<Usema<Shared>>);
    ends_once("ticket", frees::<Ticket<NoCount>>);
    ends_once("rwlock", readers_free::<RwLock<Shared>>);
    ends_once("adaptive-rw", readers_free::<AdaptiveRw<Shared>>);
    ends_once("adaptive-rw, upgradable", upgradable_readers_free);
    ends_once("rwlock-fair", readers_free::<RwLockFair<Shared>>);
}

fn ends_once<T: Plain + 'static>(name: &'static str, work: fn(&T)) {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let lock = SharedMemory::<T>::anonymous().unwrap();
        sender.send(catch_unwind(AssertUnwindSafe(|| work(&lock))).is_ok()).unwrap();
    });
    assert_eq!(receiver.recv_timeout(Duration::from_secs(60)), Ok(true), "{name}");
}

/// Returns whether a child has exited or is blocked, in each of three checks, because it also sleeps between its own
/// two checks.
fn has_exited_or_blocks(child: libc::pid_t) -> bool {
    (0..3).all(|_| {
        thread::sleep(Duration::from_millis(2));
        let stat = fs::read_to_string(format!("/proc/{child}/stat")).unwrap();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['S', 'Z']))
    })
}

/// Calls `work` with locks of some of the contents, each in a forked child, until the child exits or is blocked.
fn blocks<T: Plain>(name: &str, work: fn(&T)) {
    for content in contents(size_of::<T>() / 4).into_iter().step_by(23) {
        let lock = crafted::<T>(&content);
        // SAFETY: only one thread of this process matters; the child uses shared memory and exits by _exit.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let done = catch_unwind(AssertUnwindSafe(|| work(&lock))).is_ok();
            // SAFETY: `_exit` exits without running the exit handlers of the test runner.
            unsafe { libc::_exit(i32::from(!done)) };
        }
        let start = Instant::now();
        let mut quiet = false;
        while !quiet && start.elapsed() < Duration::from_secs(10) {
            quiet = has_exited_or_blocks(child);
        }
        let mut status = 0;
        // SAFETY: this process created the child and has not waited for it, and `status` outlives the call.
        unsafe {
            libc::kill(child, libc::SIGKILL);
            libc::waitpid(child, &mut status, 0);
        }
        assert!(quiet, "{name}: spins for ever with {content:x?}");
        assert!(!libc::WIFEXITED(status) || status == 0, "{name}: panicked with {content:x?}");
    }
}

#[test]
fn waiting_calls_block_on_any_word() {
    const ROLE: &str = "ULOCKS_TEST_CRAFTED";
    if env::var_os(ROLE).is_none() {
        let mut test = Command::new(env::current_exe().unwrap());
        test.args(["--exact", name_of!(waiting_calls_block_on_any_word), "--nocapture", "--test-threads=1"])
            .env(ROLE, "");
        assert!(test.stdout(Stdio::null()).status().unwrap().success());
        return;
    }
    blocks("adaptive", |lock: &Adaptive<Shared>| lock.lock());
    blocks("calock", |lock: &Calock<Shared>| lock.lock());
    blocks("pi", |lock: &Pi<Shared>| lock.lock());
    blocks("robust", |lock: &Robust<Shared>| {
        let _ = lock.lock();
    });
    blocks("usema", |lock: &Usema<Shared>| lock.lock());
    blocks("ticket", |lock: &Ticket<NoCount>| lock.lock());
    blocks("rwlock, reading", |lock: &RwLock<Shared>| lock.lock_shared());
    blocks("rwlock, writing", |lock: &RwLock<Shared>| lock.lock_exclusive());
    blocks("adaptive-rw, reading", |lock: &AdaptiveRw<Shared>| lock.lock_shared());
    blocks("adaptive-rw, upgradable", |lock: &AdaptiveRw<Shared>| lock.lock_upgradable());
    // SAFETY: the child exits after the call, or is killed within it, so no thread relies on the lock.
    blocks("adaptive-rw, upgrading", |lock: &AdaptiveRw<Shared>| unsafe { lock.upgrade() });
    blocks("adaptive-rw, writing", |lock: &AdaptiveRw<Shared>| lock.lock_exclusive());
    blocks("rwlock-fair, reading", |lock: &RwLockFair<Shared>| lock.lock_shared());
    blocks("rwlock-fair, writing", |lock: &RwLockFair<Shared>| lock.lock_exclusive());
    blocks("semaphore", |semaphore: &FutexSem<Shared>| semaphore.acquire());
    blocks("once", |once: &Once<Shared>| once.call_once(|| ()));
}
