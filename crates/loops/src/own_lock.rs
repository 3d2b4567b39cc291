//! Work at a lock that may be a shared object's: a stranger's code, which may crash, or never come back.

use instruments::clock::Clock;
use instruments::team::{Member, TeamError, work_or_leave, work_together, work_together_or_leave};
use instruments::warning::{LeftOut, Warning};
use std::fmt;
use std::ops::ControlFlow;
use std::time::Duration;

/// What a shared object did to the threads that were in its code. They are left where they are, so nothing more can be
/// measured that is to be undisturbed.
#[derive(Clone, Debug)]
pub struct Lost {
    pub lock: String,
    /// In words that follow its name.
    pub what: String,
}

impl fmt::Display for Lost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "--lock {} {}", self.lock, self.what)
    }
}

impl std::error::Error for Lost {}

impl Lost {
    /// What a record says of it.
    pub fn warning(&self) -> Warning {
        LeftOut { what: "the rest of the run".into(), reason: self.to_string() }.into()
    }
}

/// Lets a team work; if the lock is a shared object's, it is not waited for for ever. The last rounds of all may take
/// so long, with nothing wrong.
///
/// # Errors
/// Those of the team; within, that members were lost.
pub fn work_at(
    lock: &str,
    clock: Clock,
    length: Duration,
    last_rounds: Duration,
    members: Vec<Member<'static>>,
) -> Result<Result<(), Lost>, TeamError> {
    if !locks::is_object(lock) {
        return work_together(clock, length, members).map(Ok);
    }
    told(lock, work_together_or_leave(clock, length, last_rounds, members, locks::has_crashed))
}

/// What `work` gives, which makes such a lock, or ends it.
pub fn call<T: Send + 'static>(
    lock: &str,
    clock: Clock,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Result<T, Lost>, TeamError> {
    if !locks::is_object(lock) {
        return Ok(Ok(work()));
    }
    told(lock, work_or_leave(clock, work, locks::has_crashed))
}

/// What comes of a turn in which a shared object may have been lost: that ends it all, and is kept in `lost`, which
/// keeps the first.
///
/// # Errors
/// Those that are something else.
pub fn or_lost(turn: anyhow::Result<()>, lost: &mut Option<Lost>) -> anyhow::Result<ControlFlow<()>> {
    match turn {
        Ok(()) => Ok(ControlFlow::Continue(())),
        Err(error) => {
            lost.get_or_insert(error.downcast()?);
            Ok(ControlFlow::Break(()))
        }
    }
}

fn told<T>(lock: &str, worked: Result<T, TeamError>) -> Result<Result<T, Lost>, TeamError> {
    match worked {
        Err(TeamError::LeftBehind { .. }) => Ok(Err(Lost { lock: lock.to_owned(), what: locks::what_became() })),
        worked => worked.map(Ok),
    }
}
