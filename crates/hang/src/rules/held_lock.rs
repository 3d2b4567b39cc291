//! A lock whose owner is alive and does nothing to release it: it waits for something else, without an end that is in sight.
//!
//! If no function of its stack is one in which the others acquire the lock, or calls what they call to acquire it, it has
//! left that function with the lock: a path that returns without releasing. A call from another library is not recognised,
//! so that is stated as a possibility.

use crate::case::Case;
use crate::explanation::Finding;
use crate::snapshot::{Owner, Thread, Wait};

/// Sleeps that are shorter end by themselves, before a user asks.
const LONG_SLEEP_S: f64 = 10.0;

pub fn find(case: &Case<'_>) -> Option<Finding> {
    (0..case.nodes.len()).find_map(|node| {
        let (process, thread) = case.nodes[node];
        let Wait::Lock(lock) = &thread.wait else { return None };
        if thread.has_moved || lock.is_timed {
            return None;
        }
        let owner = last_owner(case, node)?;
        let (_, holder) = case.nodes[owner];
        if !stands_still(case, owner) {
            return None;
        }
        // The chain's last lock is the one that the last owner has.
        let lock = case.nodes.iter().find_map(|(_, waiter)| match &waiter.wait {
            Wait::Lock(lock) if !waiter.has_moved && owner_of(case, &waiter.wait) == Some(owner) => Some(lock),
            _ => None,
        });
        let lock = lock?.clone();
        let waiters = case.waiters(process.pid, &lock);
        let is_elsewhere =
            lock.owner_acquires == Some(false) && waiters.iter().all(|node| is_elsewhere(holder, case.nodes[*node].1));
        let waiters = waiters.into_iter().map(|node| case.member(node)).collect();
        Some(Finding::HeldLock { waiters, lock, owner: case.member(owner), is_elsewhere })
    })
}

fn owner_of(case: &Case<'_>, wait: &Wait) -> Option<usize> {
    let Wait::Lock(lock) = wait else { return None };
    match lock.owner {
        Owner::Thread { process, thread } | Owner::Likely { process, thread, .. } => case.node(process, thread),
        _ => None,
    }
}

/// Follows the owners of locks to one that waits for no lock.
fn last_owner(case: &Case<'_>, first: usize) -> Option<usize> {
    let mut node = owner_of(case, &case.nodes[first].1.wait)?;
    for _ in 0..case.nodes.len() {
        match owner_of(case, &case.nodes[node].1.wait) {
            Some(next) => node = next,
            None => return Some(node),
        }
    }
    None
}

fn stands_still(case: &Case<'_>, node: usize) -> bool {
    let thread = case.nodes[node].1;
    !thread.has_moved
        && match &thread.wait {
            Wait::Nothing | Wait::Disk { .. } | Wait::Hidden | Wait::Lock(_) => false,
            // Neither its deadline nor the other end is seen.
            Wait::Outside { .. } if thread.is_goroutine => false,
            Wait::Time { span_s } => span_s.is_some_and(|span| span >= LONG_SLEEP_S),
            Wait::Event { is_timed, .. } | Wait::Outside { is_timed, .. } | Wait::Peer { is_timed, .. } => !is_timed,
            Wait::Child { .. } | Wait::Join { .. } => !case.is_able[node],
            _ => true,
        }
}

/// Returns whether the owner is in no function of the waiter that leads to the lock, up to the first that both have in
/// common because they run the same program.
fn is_elsewhere(owner: &Thread, waiter: &Thread) -> bool {
    let place = waiter.frames.iter().find(|frame| frame.is_own).and_then(|frame| frame.function.as_deref());
    place.is_some_and(|place| !owner.frames.iter().any(|frame| frame.function.as_deref() == Some(place)))
}
