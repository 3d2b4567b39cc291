//! Threads that wait for each other: each for a lock of the next one, for its end, for the end of its process, or for what
//! its process has to send.
//!
//! A process that is waited for goes on if any of its threads does, so such a wait is a part of a cycle only if all of its
//! threads hang. The owner of a lock is one thread, and no other can release it.

use crate::case::{Case, Waker};
use crate::explanation::Finding;
use crate::snapshot::Wait;
use std::collections::{HashMap, VecDeque};

/// Edges that are followed in all; a cycle that is found by then is the answer.
const MOST_STEPS: usize = 1 << 24;

pub fn find(case: &Case<'_>) -> Option<Finding> {
    let edges: Vec<Vec<usize>> = (0..case.nodes.len()).map(|node| edges(case, node)).collect();
    let mut left = MOST_STEPS;
    let cycles = (0..case.nodes.len()).filter_map(|node| shortest(&edges, node, &mut left));
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

/// Returns the shortest cycle through a thread, from it on. Following an edge takes one of the steps that are left.
fn shortest(edges: &[Vec<usize>], first: usize, left: &mut usize) -> Option<Vec<usize>> {
    // Each thread that was reached, with the one before it.
    let (mut before, mut open) = (HashMap::new(), VecDeque::from([first]));
    while let Some(node) = open.pop_front() {
        *left = left.checked_sub(edges[node].len())?;
        for next in &edges[node] {
            if *next == first {
                // It ends: each thread was reached from one that was reached before.
                let mut cycle: Vec<usize> =
                    std::iter::successors(Some(node), |node| before.get(node).copied()).collect();
                cycle.reverse();
                return Some(cycle);
            }
            before.entry(*next).or_insert_with(|| {
                open.push_back(*next);
                node
            });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::shortest;

    #[test]
    fn the_shortest_cycle_is_found_within_the_steps() {
        // The way over 3 is longer, and 4 only waits for the cycle.
        let edges = [vec![1, 3], vec![2], vec![0], vec![1], vec![0]];
        let found = |first: usize, mut left: usize| (shortest(&edges, first, &mut left), left);
        assert_eq!(found(0, 100), (Some(vec![0, 1, 2]), 95));
        assert_eq!(found(4, 100).0, None);
        assert_eq!(found(0, 3).0, None);
    }
}
