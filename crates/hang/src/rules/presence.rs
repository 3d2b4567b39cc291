//! A process that cannot be looked at, or that something outside of it has stopped.

use crate::case::Case;
use crate::explanation::Finding;
use crate::snapshot::Presence;

pub fn find(case: &Case<'_>) -> Option<Finding> {
    let asked = case.snapshot.asked.iter().filter_map(|pid| case.snapshot.process(*pid));
    // With several processes, one that can be looked at may explain the others.
    let is_single = case.snapshot.asked.len() == 1;
    asked.into_iter().find_map(|process| {
        let (pid, command) = (process.pid, process.command.clone());
        let is_stopped = |thread: &crate::snapshot::Thread| matches!(thread.state, 'T' | 't');
        match process.presence {
            Presence::Missing => is_single.then_some(Finding::Missing { process: pid }),
            Presence::Zombie => {
                let (parent, parent_command) = (process.parent, process.parent_command.clone());
                Some(Finding::Zombie { process: pid, command, parent, parent_command })
            }
            _ if process.is_frozen => Some(Finding::Frozen { process: pid, command }),
            _ if !process.threads.is_empty() && process.threads.iter().all(is_stopped) => {
                Some(Finding::Stopped { process: pid, command, tracer: process.tracer.clone() })
            }
            Presence::Refused => is_single.then_some(Finding::Refused { process: pid, command }),
            Presence::Present => None,
        }
    })
}
