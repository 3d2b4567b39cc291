//! Threads that are not hung: they run, or wait for something that comes from outside: requests, a user, a time.

use crate::case::Case;
use crate::explanation::Finding;
use crate::snapshot::Wait;

/// Members that are shown.
const MOST: usize = 8;

pub fn find(case: &Case<'_>) -> Option<Finding> {
    let is_asked = |node: &usize| case.snapshot.asked.contains(&case.nodes[*node].0.pid);
    let mut nodes: Vec<usize> = (0..case.nodes.len()).filter(is_asked).collect();
    nodes.sort_by_key(|node| rank(case, *node));
    let first = *nodes.first()?;
    let thread = case.nodes[first].1;
    if matches!(thread.wait, Wait::Disk { .. }) && thread.state == 'D' && !thread.has_moved {
        return Some(Finding::Disk { member: case.member(first) });
    }
    let members = nodes.iter().take(MOST).map(|node| case.member(*node)).collect();
    let is_shown = nodes.iter().any(|node| rank(case, *node) < NOT_SHOWN);
    // The waits of goroutines and of Java's monitors are not those of the threads that serve them.
    let has_runtime = case.nodes[first].0.hides_waits();
    let is_seen = is_shown && (!has_runtime || thread.wait == Wait::Nothing);
    Some(if is_seen { Finding::Going { members } } else { Finding::NotSeen { members } })
}

const NOT_SHOWN: usize = 10;

/// Returns the place of a thread among those that say why the process is not hung.
fn rank(case: &Case<'_>, node: usize) -> usize {
    let thread = case.nodes[node].1;
    match &thread.wait {
        Wait::Nothing => 0,
        Wait::Disk { .. } if thread.state == 'D' => 1,
        Wait::Requests { .. } => 2,
        Wait::Terminal => 3,
        // A server or a shell that does something at times is idle all the same.
        _ if thread.has_moved => 4,
        Wait::Peer { .. } | Wait::FileLock { .. } => 5,
        Wait::Child { .. } => 6,
        Wait::Time { .. } => 7,
        Wait::Outside { .. } => 8,
        Wait::Signal | Wait::Disk { .. } | Wait::Event { is_timed: true, .. } => 9,
        Wait::Lock(_) | Wait::Event { .. } | Wait::Join { .. } | Wait::Hidden => NOT_SHOWN,
    }
}
