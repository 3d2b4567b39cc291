//! Why a team did not work.

use std::io;
use thiserror::Error;

/// Why a team did not work.
#[derive(Debug, Error)]
pub enum TeamError {
    /// The system refused a thread.
    #[error("cannot start more than {started} threads; raise `ulimit -u` or the cgroup's pids.max")]
    Spawn {
        /// Threads that could be started.
        started: usize,
        /// What the system said.
        source: io::Error,
    },
    /// A member could not be pinned.
    #[error("cannot pin a thread to CPU {cpu}")]
    Pin {
        /// The CPU.
        cpu: usize,
        /// What the system said.
        source: io::Error,
    },
    /// A process of the team did not end by itself.
    #[error("worker process {member} {how}; the other workers were stopped")]
    Died {
        /// Which of the members, from 0.
        member: usize,
        /// What became of it.
        how: String,
    },
    /// Processes of the team did not end long after they should have.
    #[error("{members} worker processes were still running one minute after their end time; they were killed")]
    Stuck {
        /// How many.
        members: usize,
    },
    /// Threads of the team did not come back, and were left where they are.
    #[error("{members} worker threads did not return")]
    LeftBehind {
        /// How many.
        members: usize,
    },
}
