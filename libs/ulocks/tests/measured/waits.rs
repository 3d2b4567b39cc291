//! How long a thread waits for an adaptive lock that others acquire again at once, and what waiting costs.

use std::{
    fs::File,
    hint::spin_loop,
    os::unix::fs::FileExt,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};
use ulocks::{
    Adaptive, AdaptiveRw, Shared,
    lock_api::{RawMutex, RawRwLock, RawRwLockUpgrade},
};

trait Lock: Sync {
    fn lock(&self);
    fn unlock(&self);
}

macro_rules! lock {
    ($lock:ty, $acquire:ident, $release:ident) => {
        impl Lock for $lock {
            fn lock(&self) {
                self.$acquire();
            }
            fn unlock(&self) {
                // SAFETY: each thread releases what it has acquired.
                unsafe { self.$release() }
            }
        }
    };
}
lock!(Adaptive, lock, unlock);
lock!(Adaptive<Shared>, lock, unlock);
lock!(AdaptiveRw, lock_exclusive, unlock_exclusive);

/// Upgradable mode, which excludes itself.
struct UpgradableMode(AdaptiveRw);

impl Lock for UpgradableMode {
    fn lock(&self) {
        self.0.lock_upgradable();
    }
    fn unlock(&self) {
        // SAFETY: each thread releases what it has acquired.
        unsafe { self.0.unlock_upgradable() }
    }
}

/// Time for which this thread could have run and had no CPU.
fn run_delay(statistics: &File) -> Duration {
    let mut text = [0; 64];
    let read = statistics.read_at(&mut text, 0).unwrap();
    let text = std::str::from_utf8(&text[..read]).unwrap();
    Duration::from_nanos(text.split_whitespace().nth(1).unwrap().parse().unwrap())
}

/// Time after which a blocked thread is served, whichever threads spin.
const SLICE: Duration = Duration::from_micros(300);

/// Lets threads acquire the lock again at once for a second; returns the longest wait, without the time for which the
/// waiter had no CPU, and the longest hold.
fn longest(lock: &dyn Lock, threads: usize, hold: Duration, is_asleep: bool) -> (Duration, Duration) {
    let stop = &AtomicBool::new(false);
    let cycle = move || {
        let statistics = File::open("/proc/thread-self/schedstat").unwrap();
        let (mut longest_wait, mut longest_hold) = (Duration::ZERO, Duration::ZERO);
        while !stop.load(Relaxed) {
            let (delay, start) = (run_delay(&statistics), Instant::now());
            lock.lock();
            let acquired = Instant::now();
            let delayed = run_delay(&statistics) - delay;
            longest_wait = longest_wait.max((acquired - start).saturating_sub(delayed));
            if is_asleep {
                thread::sleep(hold);
            } else {
                while acquired.elapsed() < hold {
                    spin_loop();
                }
            }
            longest_hold = longest_hold.max(acquired.elapsed());
            lock.unlock();
        }
        (longest_wait, longest_hold)
    };
    thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(cycle)).collect();
        thread::sleep(Duration::from_secs(1));
        stop.store(true, Relaxed);
        let ended = started.into_iter().map(|thread| thread.join().unwrap());
        ended.reduce(|one, other| (one.0.max(other.0), one.1.max(other.1))).unwrap()
    })
}

/// The bound that the documentation states: a section and a slice of each thread that waits before it, and 50 ms.
fn is_bounded(lock: &dyn Lock, threads: usize, hold: Duration, is_asleep: bool) {
    let (wait, longest_hold) = longest(lock, threads, hold, is_asleep);
    let bound = Duration::from_millis(50) + longest_hold + (hold + SLICE) * threads as u32;
    assert!(wait <= bound, "{threads} threads, {hold:?}, asleep {is_asleep}: {wait:?}, bound {bound:?}");
}

#[test]
fn thread_waits_for_a_bounded_time_whatever_others_hold() {
    for is_asleep in [true, false] {
        for (threads, hold) in [(2, 5_000), (2, 1_000), (2, 300), (8, 2_000), (50, 100), (200, 5)] {
            is_bounded(&<Adaptive>::new(), threads, Duration::from_micros(hold), is_asleep);
        }
    }
    is_bounded(&<Adaptive>::new(), 2, Duration::from_millis(50), true);
    is_bounded(&Adaptive::<Shared>::new(), 2, Duration::from_millis(5), true);
}

#[test]
fn modes_that_exclude_themselves_are_bounded_too() {
    for (threads, hold) in [(2, 5_000), (2, 1_000), (8, 2_000)] {
        is_bounded(&<AdaptiveRw>::new(), threads, Duration::from_micros(hold), true);
        is_bounded(&UpgradableMode(AdaptiveRw::new()), threads, Duration::from_micros(hold), true);
    }
}

/// Regression: a timed acquisition of a second failed while the lock was released 200 times in it.
#[test]
fn timed_acquisition_succeeds_while_the_lock_is_released() {
    let (lock, stop) = (<Adaptive>::new(), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Relaxed) {
                lock.lock();
                thread::sleep(Duration::from_millis(5));
                // SAFETY: this thread has acquired the lock.
                unsafe { lock.unlock() };
            }
        });
        thread::sleep(Duration::from_millis(20));
        let acquired = (0..20).filter(|_| {
            let acquired = lock.try_lock_for(Duration::from_millis(200));
            if acquired {
                // SAFETY: this thread has acquired the lock.
                unsafe { lock.unlock() };
            }
            acquired
        });
        assert_eq!(acquired.count(), 20);
        stop.store(true, Relaxed);
    });
}

fn cpu_time() -> Duration {
    // SAFETY: the call writes a `timespec` to memory that outlives it.
    let now = unsafe {
        let mut now = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut now);
        now
    };
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Regression: 100 threads that were blocked between processes used half of a CPU, since each nap that ended was a wake-up.
#[test]
fn blocked_threads_use_next_to_no_cpu_time() {
    let exclusive = <Adaptive<Shared> as RawMutex>::INIT;
    let readers = <AdaptiveRw<Shared> as RawRwLock>::INIT;
    exclusive.lock();
    readers.lock_exclusive();
    let used = thread::scope(|scope| {
        for _ in 0..50 {
            scope.spawn(|| {
                exclusive.lock();
                // SAFETY: this thread has acquired the lock.
                unsafe { exclusive.unlock() };
            });
            scope.spawn(|| {
                let guard = RawRwLockUpgrade::lock_upgradable(&readers);
                // SAFETY: this thread has acquired the lock upgradably.
                unsafe { RawRwLockUpgrade::unlock_upgradable(&readers, guard) };
            });
        }
        thread::sleep(Duration::from_millis(300));
        let before = cpu_time();
        thread::sleep(Duration::from_secs(1));
        let used = cpu_time() - before;
        // SAFETY: this thread has acquired both.
        unsafe {
            exclusive.unlock();
            readers.unlock_exclusive();
        }
        used
    });
    assert!(used < Duration::from_millis(50), "{used:?} in a second");
}
