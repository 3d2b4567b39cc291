//! A lost wake-up: threads wait for events, and each thread that could cause them waits as well.
//!
//! It is not known which thread would have signalled, only that none that is left can: no thread runs, waits for a time, or for
//! something outside of the processes. Where a runtime has waits that are not of threads, that is not known either.
//!
//! Java runs the program's code at a signal (a shutdown hook), and a server's first thread often waits for that alone. So
//! one thread of the program that waits for an event says nothing, nor do workers without a task.

use crate::case::Case;
use crate::explanation::Finding;
use crate::snapshot::{Language, Wait};

pub fn find(case: &Case<'_>) -> Option<Finding> {
    let is_asked = |node: &usize| case.snapshot.asked.contains(&case.nodes[*node].0.pid);
    let mut hung: Vec<usize> = case.hung().filter(is_asked).collect();
    if hung.is_empty() {
        hung = case.hung().collect();
    }
    // Threads that wait for the end of others say less.
    let is_end = |node: &usize| match &case.nodes[*node].1.wait {
        Wait::Join { .. } | Wait::Child { .. } => true,
        Wait::Event { object, .. } => object == "join" || object == "group",
        _ => false,
    };
    hung.sort_by_key(is_end);
    let has_code = |node: &&usize| case.nodes[**node].1.frames.iter().any(|frame| frame.is_own);
    // A semaphore is an event as well.
    let wants_lock = |node: &usize| match &case.nodes[*node].1.wait {
        Wait::Lock(lock) => !lock.name.as_deref().is_some_and(|class| class.ends_with(".Semaphore")),
        _ => false,
    };
    let may_have_hook = hung.iter().any(|node| case.nodes[*node].0.language == Language::Java)
        && hung.iter().filter(has_code).count() < 2
        && !hung.iter().any(wants_lock);
    let is_known = !may_have_hook && hung.iter().all(|node| !case.nodes[*node].0.hides_waits());
    let members: Vec<_> = hung.iter().map(|node| case.member(*node)).collect();
    match (members.is_empty(), is_known) {
        (true, _) => None,
        (false, true) => Some(Finding::NoWaker { members }),
        (false, false) => Some(Finding::NotSeen { members }),
    }
}
