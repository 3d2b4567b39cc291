//! Whether unlocks are plain stores is decided when the program is loaded, and threads that meet at the first unlock must
//! not decide otherwise. Each case is a separate process: this test binary again, with its orders in the environment.

use std::{
    env,
    process::Command,
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};
use ulocks::{Adaptive, Private, Shared};

const THREADS: &str = "ULOCKS_TEST_THREADS";

/// A number of threads begins at once to lock and unlock; then one goes on alone until it has been decided.
fn begin(threads: usize) -> bool {
    let (lock, gate) = (&Adaptive::<Private>::new(), &Barrier::new(threads));
    let pairs_for = |time| {
        let start = Instant::now();
        while start.elapsed() < time {
            lock.lock();
            // SAFETY: locked in the line before.
            unsafe { lock.unlock() };
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(move || {
                gate.wait();
                pairs_for(Duration::from_millis(100));
            });
        }
    });
    let start = Instant::now();
    while !Adaptive::<Private>::frees_by_store() && start.elapsed() < Duration::from_millis(500) {
        pairs_for(Duration::from_millis(1));
    }
    assert!(!Adaptive::<Shared>::frees_by_store());
    Adaptive::<Private>::frees_by_store()
}

#[test]
fn sequences_are_registered_before_main() {
    if env::var_os(THREADS).is_none() {
        let said = alone(name_of!(sequences_are_registered_before_main), 1);
        assert!(said.contains("registered"), "{said}");
        return;
    }
    // No lock of this process has been used before this line: no other test runs in it.
    let at_start = Adaptive::<Private>::frees_by_store();
    assert_eq!(at_start, begin(1), "the first unlock decides nothing any more");
    println!("registered");
}

/// The output of a test that runs alone in a process, which is to begin with this number of threads.
fn alone(test: &str, threads: usize) -> String {
    let mut again = Command::new(env::current_exe().unwrap());
    let ended = again.args(["--exact", test, "--nocapture"]).env(THREADS, threads.to_string()).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(ended.status.success(), "{said}");
    said
}

/// Whether a process that begins with this number of threads decides for plain stores.
fn decides(threads: usize) -> bool {
    alone(name_of!(threads_that_meet_at_the_first_unlock_get_plain_stores_too), threads).contains("by a plain store")
}

#[test]
fn threads_that_meet_at_the_first_unlock_get_plain_stores_too() {
    if let Ok(threads) = env::var(THREADS) {
        println!("{}", if begin(threads.parse().unwrap()) { "by a plain store" } else { "by an atomic" });
        return;
    }
    if !decides(1) {
        println!("skipped: needs glibc 2.35 and Linux 5.10");
        return;
    }
    for _ in 0..5 {
        assert!(decides(4), "one thread alone gets plain stores, four that meet do not");
    }
}
