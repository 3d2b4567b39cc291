//! A thread that waits for its own lock: it acquired the lock in a caller, kept it when a function returned, or is in a
//! signal handler that interrupted the function with the lock.
//!
//! The C library's locks of its heap and of streams do not say who owns them. A handler that waits for one of them is in a
//! deadlock with the code below it if that is in the C library as well, and no other thread is.

use crate::case::Case;
use crate::explanation::{Again, Finding, Place};
use crate::snapshot::{Frame, Owner, Reason, Thread, Wait};

pub fn find(case: &Case<'_>) -> Option<Finding> {
    (0..case.nodes.len()).find_map(|node| {
        let (process, thread) = case.nodes[node];
        let Wait::Lock(lock) = &thread.wait else { return None };
        let is_own = match lock.owner {
            Owner::Thread { process: pid, thread: tid } | Owner::Likely { process: pid, thread: tid, .. } => {
                (pid, tid) == (process.pid, thread.tid)
            }
            Owner::Unknown => interrupted_the_holder(case, node),
            _ => false,
        };
        (is_own && !thread.has_moved && !lock.is_timed).then(|| {
            let waiters = case.waiters(process.pid, lock).len() - 1;
            let mut member = case.member(node);
            if let (Wait::Lock(own), Owner::Unknown) = (&mut member.wait, &lock.owner) {
                own.owner = Owner::Likely { process: process.pid, thread: thread.tid, reason: Reason::Handler };
            }
            Finding::SelfDeadlock { member, again: again(thread), waiters }
        })
    })
}

/// Returns whether the thread is in a handler, the interrupted code was in the C library, and no other thread is in it
/// other than to wait for the same lock.
fn interrupted_the_holder(case: &Case<'_>, node: usize) -> bool {
    let (process, thread) = case.nodes[node];
    let Wait::Lock(lock) = &thread.wait else { return false };
    let could_hold = |other: &Thread| {
        let waits = matches!(&other.wait, Wait::Lock(wanted) if wanted.address == lock.address);
        let is_in_kernel = !matches!(other.wait, Wait::Nothing);
        other.tid != thread.tid && !waits && !is_in_kernel
    };
    is_in_library(&thread.interrupted) && !process.threads.iter().any(could_hold)
}

/// Returns whether a path is in a library that the program called.
fn is_in_library(path: &[Frame]) -> bool {
    path.first().is_some_and(|frame| !frame.is_own) && path.iter().any(|frame| frame.is_own)
}

fn again(thread: &Thread) -> Again {
    if !thread.interrupted.is_empty() {
        let own = thread.interrupted.iter().position(|frame| frame.is_own);
        let called = own.and_then(|place| thread.interrupted.get(place.checked_sub(1)?)?.function.clone());
        return Again::Handler {
            // The kernel calls the handler, so it is the outermost function above the signal's frame.
            handler: thread.frames.iter().rev().find(|frame| frame.is_own).and_then(Place::of),
            interrupted: own.and_then(|place| Place::of(&thread.interrupted[place])),
            library_call: called,
        };
    }
    let own = || thread.frames.iter().filter(|frame| frame.is_own);
    let caller = own().skip(1).find(|frame| frame.acquires_elsewhere == Some(true)).and_then(Place::of);
    match caller {
        Some(place) => Again::Caller { place },
        // The first function that a thread runs can be called by the language's own; it has no code to look at.
        None if own().count() > 0 && own().all(|frame| frame.acquires_elsewhere == Some(false)) => Again::Kept,
        None => Again::Unknown,
    }
}
