//! A process at the other end of a pipe, a socket or a file lock that does nothing for it: it is named, with what it does.
//!
//! A process that waits for a user, for requests or for a short time is idle, and so is the one that waits for it.

use crate::case::Case;
use crate::explanation::Finding;
use crate::snapshot::Wait;

/// Sleeps that are shorter end by themselves, before a user asks.
const LONG_SLEEP_S: f64 = 10.0;

pub fn find(case: &Case<'_>) -> Option<Finding> {
    (0..case.nodes.len()).find_map(|node| {
        let (process, thread) = case.nodes[node];
        if thread.has_moved || !case.snapshot.asked.contains(&process.pid) {
            return None;
        }
        let (peers, is_lock) = match &thread.wait {
            Wait::Peer { peers, is_timed: false, .. } => (peers.clone(), false),
            Wait::FileLock { owner: Some(owner), .. } => (vec![*owner], true),
            _ => return None,
        };
        let is_peer = |other: &usize| peers.contains(&case.nodes[*other].0.pid) && *other != node;
        let threads: Vec<usize> = (0..case.nodes.len()).filter(is_peer).collect();
        let is_seen = peers.iter().all(|pid| case.snapshot.process(*pid).is_some_and(|one| !one.threads.is_empty()));
        let stands = |other: &usize| stands_still(case, *other, is_lock);
        (is_seen && !threads.is_empty() && threads.iter().all(stands)).then(|| Finding::Peer {
            member: case.member(node),
            peers: threads.into_iter().map(|node| case.member(node)).collect(),
        })
    })
}

fn stands_still(case: &Case<'_>, node: usize, has_lock: bool) -> bool {
    let thread = case.nodes[node].1;
    let is_stopped = matches!(thread.state, 'T' | 't');
    let is_idle = match &thread.wait {
        Wait::Time { span_s } => span_s.is_some_and(|span| span >= LONG_SLEEP_S),
        Wait::Signal => true,
        // A lock of a file is not to be kept while its owner waits for others.
        Wait::Terminal | Wait::Requests { .. } | Wait::Outside { is_timed: false, .. } => has_lock,
        Wait::Peer { is_timed: false, .. } | Wait::Child { .. } => has_lock,
        _ => false,
    };
    is_stopped || !thread.has_moved && (is_idle || !case.is_able[node])
}
