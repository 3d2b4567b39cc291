//! The biased lock beyond its model: second threads that arrive at any moment, signals whose handlers lock, and
//! forked children.
//!
//! `ULOCKS_TORTURE` sets the duration in seconds (60 for a thorough run).

use std::{
    env, hint,
    process::Command,
    sync::{
        Barrier,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};
use ulocks::{Biased, lock_api::Mutex};

type Halves = Mutex<Biased, (u64, u64)>;

fn seconds() -> u64 {
    env::var("ULOCKS_TORTURE").map_or(2, |seconds| seconds.parse().unwrap())
}

/// Adds one to both halves, and asserts that they were equal: otherwise two threads were in the critical section.
fn add(lock: &Halves) {
    let mut halves = lock.lock();
    assert_eq!(halves.0, halves.1);
    halves.0 += 1;
    hint::black_box(&mut *halves);
    halves.1 += 1;
}

static HANDLED: AtomicU64 = AtomicU64::new(0);
static IN_HANDLER: Mutex<Biased, u64> = Mutex::new(0);

/// Runs a sequence within a sequence, of a lock whose owner changes with each thread that the signal interrupts.
extern "C" fn lock_and_unlock(_: libc::c_int) {
    if let Some(mut count) = IN_HANDLER.try_lock() {
        *count += 1;
    }
    HANDLED.fetch_add(1, Relaxed);
}

fn signal_every(micros: i64) {
    let every = libc::timeval { tv_sec: 0, tv_usec: micros };
    let timer = libc::itimerval { it_interval: every, it_value: every };
    // SAFETY: the handler only tries a lock and counts, which is async-signal-safe. The calls read structures that
    // outlive them.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = lock_and_unlock as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        assert_eq!(libc::sigaction(libc::SIGALRM, &action, std::ptr::null_mut()), 0);
        assert_eq!(libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut()), 0);
    }
}

/// Lets one thread use a lock for a while, and then a second one; returns how often the lock was acquired.
///
/// The owner may be at any point of its pair when the second thread arrives.
fn add_in_two_threads(lock: &Halves, after: u64) -> u64 {
    let (begun, has_arrived) = (&AtomicBool::new(false), &AtomicBool::new(false));
    thread::scope(|scope| {
        let owner = scope.spawn(move || {
            let mut times = 0;
            while !has_arrived.load(Relaxed) {
                add(lock);
                times += 1;
                begun.store(true, Relaxed);
            }
            times
        });
        while !begun.load(Relaxed) {
            thread::yield_now();
        }
        (0..after).for_each(|_| hint::spin_loop());
        add(lock);
        add(lock);
        has_arrived.store(true, Relaxed);
        owner.join().unwrap() + 2
    })
}

#[test]
fn second_thread_may_arrive_at_any_moment() {
    signal_every(50);
    let (start, mut rounds) = (Instant::now(), 0);
    // Run at least this number of rounds and signals, however long they take on a busy machine.
    while start.elapsed() < Duration::from_secs(seconds()) || rounds <= 100 || HANDLED.load(Relaxed) <= 100 {
        let lock = Halves::new((0, 0));
        let times = add_in_two_threads(&lock, rounds % 509);
        assert_eq!(lock.into_inner(), (times, times));
        rounds += 1;
    }
    signal_every(0);
    println!("{rounds} rounds, {} signals", HANDLED.load(Relaxed));
}

const ROLE: &str = "ULOCKS_TEST_BIASED_FORK";

/// Uses the inherited lock in threads of the child, and ends the process: with 0 if all is correct.
fn check_in_child(lock: &Halves) -> ! {
    let times = lock.lock().0;
    let more = add_in_two_threads(lock, 0) + add_in_two_threads(lock, 100);
    let is_correct = *lock.lock() == (times + more, times + more);
    // SAFETY: `_exit` only ends the process.
    unsafe { libc::_exit(if is_correct { 0 } else { 9 }) }
}

/// The lock is biased to the forking thread, which may hold it, or to another one, which does not; no thread waits.
#[test]
fn forked_child_uses_biased_locks_without_waiters() {
    if env::var_os(ROLE).is_none() {
        let again = ["--exact", name_of!(forked_child_uses_biased_locks_without_waiters), "--test-threads=1"];
        let ended = Command::new(env::current_exe().unwrap()).args(again).env(ROLE, "1").output().unwrap();
        let output = String::from_utf8_lossy(&ended.stdout);
        assert!(ended.status.success() && output.contains("1 passed"), "{output}");
        return;
    }
    let forks = env::var("ULOCKS_FORKS").map_or(60, |forks| forks.parse().unwrap());
    let (lock_of_other_thread, done) = (&Halves::new((0, 0)), &Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(move || {
            (0..10).for_each(|_| add(lock_of_other_thread));
            done.wait();
            done.wait();
        });
        done.wait();
        for round in 0..forks {
            let own_lock = Halves::new((0, 0));
            (0..10).for_each(|_| add(&own_lock));
            let held = (round % 3 == 0).then(|| own_lock.lock());
            // SAFETY: the child only uses the locks and creates threads.
            let child = unsafe { libc::fork() };
            drop(held);
            if child == 0 {
                check_in_child(if round % 3 == 2 { lock_of_other_thread } else { &own_lock });
            }
            add_in_two_threads(&own_lock, 0);
            let mut status = 0;
            // SAFETY: this process created the child and has not waited for it, and `status` outlives the call.
            unsafe { libc::waitpid(child, &mut status, 0) };
            assert_eq!(status, 0, "the child of fork {round} hung, or died");
        }
        done.wait();
    });
}
