//! Threads that wait for each other: each for a lock of the next one, for its end, for the end of its process, or for what
//! its process has to send.
//!
//! A process that is waited for goes on if any of its threads does, so such a wait is a part of a cycle only if all of its
//! threads hang. The owner of a lock is one thread, and no other can release it.

use crate::case::{Case, Waker};
use crate::explanation::Finding;
use crate::snapshot::Wait;
use std::collections::{HashSet, VecDeque};

pub fn find(case: &Case<'_>) -> Option<Finding> {
    let edges: Vec<Vec<usize>> = (0..case.nodes.len()).map(|node| edges(case, node)).collect();
    let cycles = (0..case.nodes.len()).filter_map(|node| shortest(&edges, node));
    let best = cycles.min_by_key(Vec::len)?;
    Some(Finding::Cycle { members: best.into_iter().map(|node| case.member(node)).collect() })
}

fn edges(case: &Case<'_>, node: usize) -> Vec<usize> {
    match case.waker(node) {
        Waker::Known(nodes) => {
            let is_lock = matches!(case.nodes[node].1.wait, Wait::Lock(_));
            let counts = |next: &usize| *next != node && (is_lock || !case.is_able[node]);
            nodes.into_iter().filter(counts).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the shortest cycle through a thread, from it on.
fn shortest(edges: &[Vec<usize>], first: usize) -> Option<Vec<usize>> {
    let (mut paths, mut seen) = (VecDeque::from([vec![first]]), HashSet::new());
    while let Some(path) = paths.pop_front() {
        for next in &edges[path[path.len() - 1]] {
            if *next == first {
                return Some(path);
            }
            if seen.insert(*next) {
                paths.push_back(path.iter().chain([next]).copied().collect());
            }
        }
    }
    None
}
