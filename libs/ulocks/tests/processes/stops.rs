//! A holder that is stopped, and a waiter that is killed.

use super::{again, create, file, open, orders, signal, until};
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

// SAFETY: zero is valid for all three, and none holds a pointer.
unsafe impl Plain for Stage {}

/// A stopped holder is not a dead one: no other process gets its lock until it goes on.
#[test]
fn a_stopped_holder_keeps_its_lock() {
    if let Some((file, _)) = orders() {
        let stage = open::<Stage>(file, 1).unwrap();
        let _ = stage.robust.lock();
        stage.adaptive.lock();
        stage.inside.store(1, SeqCst);
        until("the stop is over", || stage.inside.load(SeqCst) == 2);
        // SAFETY: both were locked above.
        unsafe {
            stage.adaptive.unlock();
            stage.robust.unlock();
        }
        return;
    }
    let (_folder, file) = file();
    let stage = create::<Stage>(&file, 1).unwrap();
    let mut child = again(name_of!(a_stopped_holder_keeps_its_lock), &file, "");
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

/// A killed waiter takes nothing with it: the lock still goes round among the others.
#[test]
fn a_killed_waiter_does_not_block_the_others() {
    if let Some((file, _)) = orders() {
        let stage = open::<Stage>(file, 1).unwrap();
        stage.inside.fetch_add(1, SeqCst);
        loop {
            stage.adaptive.lock();
            // SAFETY: locked in the line before.
            unsafe { stage.adaptive.unlock() };
        }
    }
    let (_folder, file) = file();
    let stage = create::<Stage>(&file, 1).unwrap();
    for round in 0..5u32 {
        stage.adaptive.lock();
        stage.inside.store(0, SeqCst);
        let children: Vec<_> =
            (0..2).map(|_| again(name_of!(a_killed_waiter_does_not_block_the_others), &file, "")).collect();
        until("the children wait", || stage.inside.load(SeqCst) == 2);
        thread::sleep(Duration::from_micros(u64::from(round) * 300));
        // They wait for a lock that this process holds, so killing them kills waiters.
        for mut child in children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        // SAFETY: locked above.
        unsafe { stage.adaptive.unlock() };
        stage.adaptive.lock();
        // SAFETY: locked in the line before.
        unsafe { stage.adaptive.unlock() };
    }
}
