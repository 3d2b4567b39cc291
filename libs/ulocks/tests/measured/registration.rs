//! The choice of plain stores for unlocks, which is made when the program is loaded.
//!
//! Threads that arrive at the first unlock together must not change it. Each case is a separate process: this test
//! binary again, with its role in the environment.

use std::{
    env,
    process::Command,
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};
use ulocks::{Adaptive, Private, Shared};

const THREADS: &str = "ULOCKS_TEST_THREADS";

/// Locks and unlocks in several threads at once, then in one thread until the choice is made; returns the choice.
fn begin(threads: usize) -> bool {
    let (lock, gate) = (&Adaptive::<Private>::new(), &Barrier::new(threads));
    let pairs_for = |time| {
        let start = Instant::now();
        while start.elapsed() < time {
            lock.lock();
            // SAFETY: this thread acquired the lock in the line before.
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
        let output = output_of(name_of!(sequences_are_registered_before_main), 1);
        assert!(output.contains("registered"), "{output}");
        return;
    }
    // No lock of this process has been used before this line: no other test runs in it.
    let at_start = Adaptive::<Private>::frees_by_store();
    assert_eq!(at_start, begin(1), "the first unlock decides nothing any more");
    println!("registered");
}

/// Returns the output of a test in a separate process that starts with this number of threads.
fn output_of(test: &str, threads: usize) -> String {
    let mut again = Command::new(env::current_exe().unwrap());
    let ended = again.args(["--exact", test, "--nocapture"]).env(THREADS, threads.to_string()).output().unwrap();
    let output = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(ended.status.success(), "{output}");
    output
}

/// Returns whether a process that starts with this number of threads chooses plain stores.
fn chooses_plain_stores(threads: usize) -> bool {
    output_of(name_of!(concurrent_first_unlocks_still_get_plain_stores), threads).contains("by a plain store")
}

#[test]
fn concurrent_first_unlocks_still_get_plain_stores() {
    if let Ok(threads) = env::var(THREADS) {
        println!("{}", if begin(threads.parse().unwrap()) { "by a plain store" } else { "by an atomic" });
        return;
    }
    if !chooses_plain_stores(1) {
        println!("skipped: needs glibc 2.35 and Linux 5.10");
        return;
    }
    for _ in 0..5 {
        assert!(chooses_plain_stores(4), "one thread alone gets plain stores, four that meet do not");
    }
}
