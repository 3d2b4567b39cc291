//! A fork in the middle of everything.

use super::{again, orders};
use std::path::Path;
use ulocks::shared::{Guarded, Plain, SharedMemory};
use ulocks::{Adaptive, FutexSem, Pi, Robust, RwLock, RwLockFair, Semaphore, Shared, SysvSem};

#[repr(C)]
struct Family {
    adaptive: Guarded<Adaptive<Shared>, u64>,
    robust: Guarded<Robust<Shared>, u64>,
    pi: Guarded<Pi<Shared>, u64>,
    readers: RwLock<Shared>,
    fair: RwLockFair<Shared>,
    semaphore: FutexSem<Shared>,
}
// SAFETY: zero is valid for all, and none holds a pointer.
unsafe impl Plain for Family {}

/// What a child does, which ends with it.
fn work(family: &Family, sysv: &SysvSem) -> ! {
    for _ in 0..1000 {
        family.adaptive.with(|n| *n += 1);
        family.robust.with(|n| *n += 1);
        family.pi.with(|n| *n += 1);
        family.readers.lock_shared();
        family.fair.lock_exclusive();
        // SAFETY: both were locked above.
        unsafe {
            family.fair.unlock_exclusive();
            family.readers.unlock_shared();
        }
    }
    sysv.lock();
    sysv.unlock();
    // SAFETY: the child leaves by _exit below, so this copy is the only one it drops.
    drop(unsafe { std::ptr::read(sysv) });
    family.semaphore.release();
    // SAFETY: leaves without running the test runner's exit handlers.
    unsafe { libc::_exit(0) }
}

/// A fork in the middle of everything: the child can use shared locks, and does not remove its parent's semaphore.
#[test]
fn forked_children_share_locks_and_remove_nothing() {
    let test = name_of!(forked_children_share_locks_and_remove_nothing);
    if orders().is_none() {
        // In a separate process, whose other threads cannot be in the middle of an allocation at the fork.
        assert!(again(test, Path::new("-"), "").wait().unwrap().success());
        return;
    }
    let family = SharedMemory::<Family>::anonymous().unwrap();
    let sysv = SysvSem::new(1).unwrap();
    // The parent's thread number and membarrier registration are known before the forks.
    family.robust.with(|n| *n += 1);
    family.adaptive.with(|n| *n += 1);
    let children: Vec<_> = (0..3)
        .map(|_| {
            // SAFETY: this process has one thread that matters; the child uses shared memory and leaves by _exit.
            let child = unsafe { libc::fork() };
            if child == 0 {
                work(&family, &sysv);
            }
            child
        })
        .collect();
    children.iter().for_each(|_| family.semaphore.acquire());
    for child in children {
        let mut status = 0;
        // SAFETY: the child is ours, the status is a valid place.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0, "a child failed");
    }
    sysv.lock();
    assert_eq!(family.adaptive.with(|n| *n), 3001);
    assert_eq!(family.robust.with(|n| *n), 3001);
    assert_eq!(family.pi.with(|n| *n), 3000);
}
