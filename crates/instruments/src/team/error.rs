//! Why a team did not work.

use std::io;
use thiserror::Error;

/// Why a team did not work.
#[derive(Debug, Error)]
pub enum TeamError {
    /// The system refused a thread.
    #[error(
        "the system allows no more than {started} threads here; `ulimit -u` and the cgroup's pids.max set the limit"
    )]
    Spawn {
        /// Threads that could be started.
        started: usize,
        /// What the system said.
        source: io::Error,
    },
    /// A member could not be pinned.
    #[error("a thread could not be pinned to CPU {cpu}")]
    Pin {
        /// The CPU.
        cpu: usize,
        /// What the system said.
        source: io::Error,
    },
    /// A process of the team did not end by itself.
    #[error("process {member} of the team {how}; the others were ended")]
    Died {
        /// Which of the members, from 0.
        member: usize,
        /// What became of it.
        how: String,
    },
    /// Processes of the team did not end long after they should have.
    #[error("{members} processes of the team did not end a minute after their time; they were killed")]
    Stuck {
        /// How many.
        members: usize,
    },
    /// Threads of the team did not come back, and were left where they are.
    #[error("{members} threads of the team did not come back")]
    LeftBehind {
        /// How many.
        members: usize,
    },
}
