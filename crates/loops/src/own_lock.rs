//! Work with a lock that may be user-supplied (loaded from a shared object): its code may crash, or never return.

use harness::Interruption;
use instruments::clock::Clock;
use instruments::team::{Member, TeamError, work_or_leave, work_together_or_leave};
use instruments::warning::{LeftOut, Warning};
use std::cell::OnceCell;
use std::fmt;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

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

/// Lets a team work. After the request to end, its threads are left alone once they are late; those in the code of a
/// shared object are so at any time.
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
    interruption: &Interruption,
) -> Result<Result<(), Lost>, TeamError> {
    /// The time that threads have to end, which wait for each other and may share a CPU.
    const LATE: Duration = Duration::from_millis(500);
    /// Practically no limit.
    const DAY: Duration = Duration::from_secs(24 * 3600);
    let requested: OnceCell<Instant> = OnceCell::new();
    let is_late = || interruption.is_requested() && requested.get_or_init(Instant::now).elapsed() > LATE;
    if locks::is_object(lock) {
        let is_lost = || locks::has_crashed() || is_late();
        return classified(lock, work_together_or_leave(clock, length, last_rounds, members, is_lost));
    }
    match work_together_or_leave(clock, length, DAY, members, is_late) {
        Err(TeamError::LeftBehind { members }) => {
            let what = format!("kept {members} threads waiting after the end of the run");
            Ok(Err(Lost { lock: lock.to_owned(), what }))
        }
        worked => worked.map(Ok),
    }
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
