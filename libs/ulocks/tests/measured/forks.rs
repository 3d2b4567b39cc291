//! A fork while locks are in use.

use super::{child_role, run_again};
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
// SAFETY: zero is valid for all fields, and none contains a pointer.
unsafe impl Plain for Family {}

/// Uses all locks in a child, and ends it.
fn work(family: &Family, sysv: &SysvSem) -> ! {
    for _ in 0..1000 {
        family.adaptive.with(|n| *n += 1);
        family.robust.with(|n| *n += 1);
        family.pi.with(|n| *n += 1);
        family.readers.lock_shared();
        family.fair.lock_exclusive();
        // SAFETY: this thread acquired both locks in the lines before.
        unsafe {
            family.fair.unlock_exclusive();
            family.readers.unlock_shared();
        }
    }
    sysv.lock();
    sysv.unlock();
    // SAFETY: the child exits by _exit, so this copy is the only one that it drops.
    drop(unsafe { std::ptr::read(sysv) });
    family.semaphore.release();
    // SAFETY: `_exit` exits without running the exit handlers of the test runner.
    unsafe { libc::_exit(0) }
}

/// After a fork while locks are in use, the child can use shared locks, and does not remove its parent's semaphore.
#[test]
fn forked_children_share_locks_and_remove_nothing() {
    let test = name_of!(forked_children_share_locks_and_remove_nothing);
    if child_role().is_none() {
        // Fork in a separate process, whose other threads cannot be within an allocation at the fork.
        assert!(run_again(test, Path::new("-"), "").wait().unwrap().success());
        return;
    }
    let family = SharedMemory::<Family>::anonymous().unwrap();
    let sysv = SysvSem::new(1).unwrap();
    // The parent's thread number and membarrier registration exist before the forks.
    family.robust.with(|n| *n += 1);
    family.adaptive.with(|n| *n += 1);
    let children: Vec<_> = (0..3)
        .map(|_| {
            // SAFETY: only one thread of this process matters; the child uses shared memory and exits by _exit.
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
        // SAFETY: this process created the child and has not waited for it, and `status` outlives the call.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0, "a child failed");
    }
    sysv.lock();
    assert_eq!(family.adaptive.with(|n| *n), 3001);
    assert_eq!(family.robust.with(|n| *n), 3001);
    assert_eq!(family.pi.with(|n| *n), 3000);
}
