//! Work with a lock that may be user-supplied (loaded from a shared object): its code may crash, or never return.

use instruments::clock::Clock;
use instruments::team::{Member, TeamError, work_or_leave, work_together, work_together_or_leave};
use instruments::warning::{LeftOut, Warning};
use std::fmt;
use std::ops::ControlFlow;
use std::time::Duration;

/// The failure of a shared object with threads in its code.
///
/// The threads are abandoned, so no further undisturbed measurement is possible.
#[derive(Clone, Debug)]
pub struct Lost {
    pub lock: String,
    /// The failure in words that follow the object's name.
    pub what: String,
}

impl fmt::Display for Lost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "--lock {} {}", self.lock, self.what)
    }
}

impl std::error::Error for Lost {}

impl Lost {
    /// Returns the warning in the record.
    pub fn warning(&self) -> Warning {
        LeftOut { what: "the rest of the run".into(), reason: self.to_string() }.into()
    }
}

/// Lets a team work; if the lock is a shared object's, the wait is limited.
///
/// `last_rounds` is the time that the last iterations may take with nothing wrong.
///
/// # Errors
/// Those of the team; the inner one means that members were lost.
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
    classified(lock, work_together_or_leave(clock, length, last_rounds, members, locks::has_crashed))
}

/// Returns the result of `work`, which makes such a lock, or ends it.
pub fn call<T: Send + 'static>(
    lock: &str,
    clock: Clock,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Result<T, Lost>, TeamError> {
    if !locks::is_object(lock) {
        return Ok(Ok(work()));
    }
    classified(lock, work_or_leave(clock, work, locks::has_crashed))
}

/// Returns the result of a repetition in which a shared object may have been lost: that ends the run, and is stored in
/// `lost`, which keeps the first.
///
/// # Errors
/// Any other error.
pub fn or_lost(turn: anyhow::Result<()>, lost: &mut Option<Lost>) -> anyhow::Result<ControlFlow<()>> {
    match turn {
        Ok(()) => Ok(ControlFlow::Continue(())),
        Err(error) => {
            lost.get_or_insert(error.downcast()?);
            Ok(ControlFlow::Break(()))
        }
    }
}

fn classified<T>(lock: &str, worked: Result<T, TeamError>) -> Result<Result<T, Lost>, TeamError> {
    match worked {
        Err(TeamError::LeftBehind { .. }) => Ok(Err(Lost { lock: lock.to_owned(), what: locks::what_became() })),
        worked => worked.map(Ok),
    }
}
