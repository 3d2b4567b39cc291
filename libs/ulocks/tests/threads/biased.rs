//! The biased lock where a model does not reach: second threads that come at any moment, signals whose handlers
//! lock, and forked children. `ULOCKS_TORTURE` is for how many seconds (60 for a thorough run).

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

/// Adds one to both halves, and says when they differ: then two were inside.
fn add(lock: &Halves) {
    let mut halves = lock.lock();
    assert_eq!(halves.0, halves.1);
    halves.0 += 1;
    hint::black_box(&mut *halves);
    halves.1 += 1;
}

static HANDLED: AtomicU64 = AtomicU64::new(0);
static IN_HANDLER: Mutex<Biased, u64> = Mutex::new(0);

/// A sequence within a sequence, of a lock that changes its owner with each thread that the signal finds.
extern "C" fn lock_and_unlock(_: libc::c_int) {
    if let Some(mut count) = IN_HANDLER.try_lock() {
        *count += 1;
    }
    HANDLED.fetch_add(1, Relaxed);
}

fn signal_every(micros: i64) {
    let every = libc::timeval { tv_sec: 0, tv_usec: micros };
    let timer = libc::itimerval { it_interval: every, it_value: every };
    // SAFETY: the handler does only what may be done in one: it tries a lock, and counts. The rest is given by value,
    // in effect.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = lock_and_unlock as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        assert_eq!(libc::sigaction(libc::SIGALRM, &action, std::ptr::null_mut()), 0);
        assert_eq!(libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut()), 0);
    }
}

/// A lock is one thread's for a while, and then a second one comes: the owner may be anywhere in its pair. Says how
/// often the lock was taken.
fn a_second_thread_comes(lock: &Halves, after: u64) -> u64 {
    let (begun, came) = (&AtomicBool::new(false), &AtomicBool::new(false));
    thread::scope(|scope| {
        let owner = scope.spawn(move || {
            let mut times = 0;
            while !came.load(Relaxed) {
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
        came.store(true, Relaxed);
        owner.join().unwrap() + 2
    })
}

#[test]
fn a_second_thread_comes_at_any_moment() {
    signal_every(50);
    let (start, mut rounds) = (Instant::now(), 0);
    // As many rounds and signals as that, however long they take on a busy machine.
    while start.elapsed() < Duration::from_secs(seconds()) || rounds <= 100 || HANDLED.load(Relaxed) <= 100 {
        let lock = Halves::new((0, 0));
        let times = a_second_thread_comes(&lock, rounds % 509);
        assert_eq!(lock.into_inner(), (times, times));
        rounds += 1;
    }
    signal_every(0);
    println!("{rounds} rounds, {} signals", HANDLED.load(Relaxed));
}

#[test]
fn it_is_one_threads_after_another() {
    let lock = Halves::new((0, 0));
    for thread in 1..=10 {
        thread::scope(|scope| {
            scope.spawn(|| (0..100).for_each(|_| add(&lock)));
        });
        assert_eq!(lock.try_lock().map(|halves| halves.0), Some(thread * 100));
    }
}

const ORDERS: &str = "ULOCKS_TEST_BIASED_FORK";

/// The child's threads use what their process has inherited, and end it: 0 if all is well.
fn in_the_child(lock: &Halves) -> ! {
    let times = lock.lock().0;
    let more = a_second_thread_comes(lock, 0) + a_second_thread_comes(lock, 100);
    let right = *lock.lock() == (times + more, times + more);
    // SAFETY: ends the process.
    unsafe { libc::_exit(if right { 0 } else { 9 }) }
}

/// Biased to the thread that forks, which may hold it, or to another, which does not; no thread waits.
#[test]
fn a_child_uses_what_nobody_waited_for() {
    if env::var_os(ORDERS).is_none() {
        let again = ["--exact", "biased::a_child_uses_what_nobody_waited_for", "--test-threads=1"];
        let ended = Command::new(env::current_exe().unwrap()).args(again).env(ORDERS, "1").output().unwrap();
        let output = String::from_utf8_lossy(&ended.stdout);
        assert!(ended.status.success() && output.contains("1 passed"), "{output}");
        return;
    }
    let forks = env::var("ULOCKS_FORKS").map_or(60, |forks| forks.parse().unwrap());
    let (lock_of_another, done) = (&Halves::new((0, 0)), &Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(move || {
            (0..10).for_each(|_| add(lock_of_another));
            done.wait();
            done.wait();
        });
        done.wait();
        for round in 0..forks {
            let lock_of_mine = Halves::new((0, 0));
            (0..10).for_each(|_| add(&lock_of_mine));
            let held = (round % 3 == 0).then(|| lock_of_mine.lock());
            // SAFETY: the child only uses the locks and makes threads.
            let child = unsafe { libc::fork() };
            drop(held);
            if child == 0 {
                in_the_child(if round % 3 == 2 { lock_of_another } else { &lock_of_mine });
            }
            a_second_thread_comes(&lock_of_mine, 0);
            let mut status = 0;
            // SAFETY: waits for the child made above.
            unsafe { libc::waitpid(child, &mut status, 0) };
            assert_eq!(status, 0, "the child of fork {round} hung, or died");
        }
        done.wait();
    });
}
