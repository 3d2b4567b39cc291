//! A lock whose owner exists no more: the thread has ended, its process was killed, or the process was forked while a thread
//! of the parent held the lock.
//!
//! The word in the lock names a thread that the process does not have. The kernel gives numbers in ascending order, so a
//! thread with a smaller number than the process's is none that it created: it is from before the fork.

use crate::case::Case;
use crate::explanation::{Finding, Gone};
use crate::snapshot::{Owner, Wait};

pub fn find(case: &Case<'_>) -> Option<Finding> {
    (0..case.nodes.len()).find_map(|node| {
        let (process, thread) = case.nodes[node];
        let Wait::Lock(lock) = &thread.wait else { return None };
        let Owner::Gone { thread: owner } = lock.owner else { return None };
        if thread.has_moved || lock.is_timed {
            return None;
        }
        let parent = process.parent;
        let is_of_parent = case.snapshot.thread(parent, owner).is_some();
        let gone = match () {
            () if lock.is_shared => Gone::Killed,
            // A runtime that knows of no owner has no number of it.
            () if owner == 0 => Gone::Ended,
            () if is_of_parent || owner < process.pid => Gone::Inherited { parent, is_alive: is_of_parent },
            () => Gone::Ended,
        };
        let members = case.waiters(process.pid, lock).into_iter().map(|node| case.member(node)).collect();
        Some(Finding::OwnerGone { members, lock: lock.clone(), owner, gone })
    })
}
