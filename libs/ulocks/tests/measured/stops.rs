//! A stopped holder, and a killed waiter.

use super::{child_role, create, file, open, run_again, signal, until};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;
use std::time::Duration;
use ulocks::shared::Plain;
use ulocks::{Adaptive, Inherited, Robust, Shared};

#[repr(C)]
struct Stage {
    robust: Robust<Shared>,
    adaptive: Adaptive<Shared>,
    inside: AtomicU32,
}

// SAFETY: zero is valid for all three fields, and none contains a pointer.
unsafe impl Plain for Stage {}

/// A stopped holder is not dead: no other process acquires its lock until it continues.
#[test]
fn stopped_holder_keeps_its_lock() {
    if let Some((file, _)) = child_role() {
        let stage = open::<Stage>(file, 1).unwrap();
        let _ = stage.robust.lock();
        stage.adaptive.lock();
        stage.inside.store(1, SeqCst);
        until("the stop is over", || stage.inside.load(SeqCst) == 2);
        // SAFETY: this thread acquired both locks in the lines before.
        unsafe {
            stage.adaptive.unlock();
            stage.robust.unlock();
        }
        return;
    }
    let (_directory, file) = file();
    let stage = create::<Stage>(&file, 1).unwrap();
    let mut child = run_again(name_of!(stopped_holder_keeps_its_lock), &file, "");
    until("the child holds both", || stage.inside.load(SeqCst) == 1);
    signal(&child, libc::SIGSTOP);
    assert_eq!(stage.robust.try_lock_for(Duration::from_millis(100)), None);
    assert!(!stage.adaptive.try_lock_for(Duration::from_millis(20)));
    stage.inside.store(2, SeqCst);
    signal(&child, libc::SIGCONT);
    stage.adaptive.lock();
    assert_eq!(stage.robust.lock(), Inherited::Clean);
    assert!(child.wait().unwrap().success());
}

/// A killed waiter consumes no wake-up: the other processes continue to acquire the lock.
#[test]
fn killed_waiter_does_not_block_other_processes() {
    if let Some((file, _)) = child_role() {
        let stage = open::<Stage>(file, 1).unwrap();
        stage.inside.fetch_add(1, SeqCst);
        loop {
            stage.adaptive.lock();
            // SAFETY: this thread acquired the lock in the line before.
            unsafe { stage.adaptive.unlock() };
        }
    }
    let (_directory, file) = file();
    let stage = create::<Stage>(&file, 1).unwrap();
    for round in 0..5u32 {
        stage.adaptive.lock();
        stage.inside.store(0, SeqCst);
        let children: Vec<_> =
            (0..2).map(|_| run_again(name_of!(killed_waiter_does_not_block_other_processes), &file, "")).collect();
        until("the children wait", || stage.inside.load(SeqCst) == 2);
        thread::sleep(Duration::from_micros(u64::from(round) * 300));
        // The children wait for a lock that this process holds, so killing them kills waiters.
        for mut child in children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        // SAFETY: this thread acquired the lock at the beginning of the iteration.
        unsafe { stage.adaptive.unlock() };
        stage.adaptive.lock();
        // SAFETY: this thread acquired the lock in the line before.
        unsafe { stage.adaptive.unlock() };
    }
}
