//! The rules, one file a kind. Each reads a snapshot and what follows from it for the threads, and asks nothing else.
//!
//! The first rule that finds something gives the verdict. Those with the closest evidence come first.

mod cycle;
mod going;
mod held_lock;
mod no_waker;
mod owner_gone;
mod peer;
mod pool;
mod presence;
mod self_deadlock;

use crate::case::Case;
use crate::explanation::{Explanation, Finding, Unseen};
use crate::snapshot::{Language, Owner, Presence, Snapshot, Wait};

/// A rule.
type Rule = fn(&Case<'_>) -> Option<Finding>;

const RULES: [Rule; 9] = [
    presence::find,
    cycle::find,
    self_deadlock::find,
    owner_gone::find,
    pool::find,
    held_lock::find,
    peer::find,
    no_waker::find,
    going::find,
];

/// Threads outside of the finding that are shown.
const MOST_OTHERS: usize = 6;

/// Explains a snapshot.
pub fn explain(snapshot: &Snapshot) -> Explanation {
    let case = Case::of(snapshot);
    let finding = RULES.iter().find_map(|rule| rule(&case));
    let finding = finding.unwrap_or(Finding::NotSeen { members: Vec::new() });
    let shown = finding.threads();
    let is_other = |node: &usize| {
        let (process, thread) = case.nodes[*node];
        !shown.contains(&(process.pid, thread.tid))
    };
    // The threads that hang say more about a hang than those that go on.
    let mut others: Vec<usize> = (0..case.nodes.len()).filter(is_other).collect();
    others.sort_by_key(|node| case.is_able[*node]);
    Explanation {
        class: finding.class(),
        others: others.into_iter().take(MOST_OTHERS).map(|node| case.member(node)).collect(),
        threads: case.nodes.len(),
        unseen: unseen(&case, &finding),
        apart_s: snapshot.apart_s,
        finding,
    }
}

fn unseen(case: &Case<'_>, finding: &Finding) -> Vec<Unseen> {
    // A finding can infer an owner that the snapshot does not have.
    let inferred = match finding {
        Finding::SelfDeadlock { member, .. } => match &member.wait {
            Wait::Lock(lock) => Some(lock.address),
            _ => None,
        },
        _ => None,
    };
    let mut unseen = Vec::new();
    for process in &case.snapshot.processes {
        let (pid, command) = (process.pid, process.command.clone());
        if process.presence == Presence::Refused {
            unseen.push(Unseen::Process { process: pid, command });
        }
        if process.hides_waits() || process.language == Language::Node {
            let (language, refusal) = (process.language, process.refusal.clone());
            unseen.push(Unseen::Runtime { process: pid, language, seen: process.seen, refusal });
        }
        if process.left_out > 0 {
            unseen.push(Unseen::Threads { process: pid, count: process.left_out });
        }
    }
    let locks = case.hung().filter_map(|node| match &case.nodes[node].1.wait {
        Wait::Lock(lock) if matches!(lock.owner, Owner::Unknown | Owner::Readers) && inferred != Some(lock.address) => {
            Some(lock)
        }
        _ => None,
    });
    for lock in locks {
        let lock = Unseen::Owner { lock: lock.clone() };
        if !unseen.contains(&lock) {
            unseen.push(lock);
        }
    }
    unseen
}

#[cfg(test)]
mod tests;
