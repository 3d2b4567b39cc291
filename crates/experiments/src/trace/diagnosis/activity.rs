//! The activities of a thread that held a lock while others waited. The words for them are made last.

use crate::trace::evidence::Evidence;
use blame::sampling::budget::{Part, call_name, moves_messages};
use blame::sampling::waited::Wait;
use std::fmt;

/// The activity of a thread.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Activity {
    Ran,
    NoCpu,
    /// Asleep, in a system call if that is known.
    Slept(Option<i64>),
    /// In a system call, by its number: for I/O, or for another reason.
    InIo(i64),
    InCall(i64),
    /// It waited for another lock.
    WaitedFor(String),
    /// It waited for another thread to bring something, at this object.
    Awaited(String),
    InFutex,
    Hidden,
}

impl Activity {
    /// Returns whether the thread was not blocked.
    pub(super) fn is_runnable(&self) -> bool {
        matches!(self, Self::Ran | Self::NoCpu)
    }

    /// Returns the name of the system call in which the thread was blocked.
    pub(super) fn call(&self) -> Option<String> {
        match self {
            Self::Slept(Some(number)) | Self::InIo(number) | Self::InCall(number) => Some(call_name(*number)),
            _ => None,
        }
    }

    /// Returns the other lock for which the thread waited.
    pub(super) fn other_lock(&self) -> Option<&str> {
        match self {
            Self::WaitedFor(lock) => Some(lock),
            _ => None,
        }
    }

    /// Returns the verb for a function that does it.
    pub(super) fn verb(&self) -> &'static str {
        match self {
            Self::Slept(_) => "sleeps",
            Self::InIo(_) => "waits for I/O",
            Self::WaitedFor(_) | Self::Awaited(_) | Self::InFutex => "waits",
            Self::Ran | Self::NoCpu | Self::InCall(_) | Self::Hidden => "blocks",
        }
    }

    /// Returns a remedy with its condition: a thread that waits for bytes may wait for its next job.
    pub(super) fn unless_job(&self, remedy: String) -> String {
        match self {
            Self::InCall(number) if moves_messages(*number) => {
                format!("unless that is the wait for the next job, {remedy}")
            }
            _ => remedy,
        }
    }
}

impl fmt::Display for Activity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ran => formatter.write_str("ran"),
            Self::NoCpu => formatter.write_str("had no CPU"),
            Self::Slept(None) => formatter.write_str("slept"),
            Self::Slept(Some(number)) => write!(formatter, "slept ({})", call_name(*number)),
            Self::InIo(number) => write!(formatter, "waited for I/O ({})", call_name(*number)),
            Self::InCall(number) => write!(formatter, "was blocked ({})", call_name(*number)),
            Self::WaitedFor(lock) => write!(formatter, "waited for {lock}"),
            Self::Awaited(object) => write!(formatter, "waited for another thread, at {object},"),
            Self::InFutex => formatter.write_str("waited in a futex call"),
            Self::Hidden => formatter.write_str("was blocked"),
        }
    }
}

impl Evidence {
    /// Returns the activity of a blocked thread.
    pub(super) fn activity(&self, wait: Wait) -> Activity {
        match wait {
            Wait::Call { part: Part::Sleep, number, .. } => Activity::Slept(Some(number)),
            Wait::Call { part: Part::Io, number, .. } => Activity::InIo(number),
            Wait::Call { number, .. } => Activity::InCall(number),
            Wait::Lock(slot) => Activity::WaitedFor(self.lock_name(slot).unwrap_or_default().to_owned()),
            Wait::Word { .. } => Activity::InFutex,
            Wait::Hidden => Activity::Hidden,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remedy_for_a_wait_for_bytes_has_a_condition() {
        let remedy = |activity: Activity| activity.unless_job("move it".into());
        assert_eq!(remedy(Activity::InCall(libc::SYS_read)), "unless that is the wait for the next job, move it");
        for other in [Activity::InCall(libc::SYS_connect), Activity::InIo(libc::SYS_read), Activity::InFutex] {
            assert_eq!(remedy(other), "move it");
        }
    }

    #[test]
    fn words_name_the_call_or_the_lock() {
        assert_eq!(Activity::Slept(Some(libc::SYS_nanosleep)).to_string(), "slept (nanosleep)");
        assert_eq!(Activity::Slept(Some(libc::SYS_nanosleep)).call().as_deref(), Some("nanosleep"));
        assert_eq!(Activity::WaitedFor("rows (db.c:4)".into()).other_lock(), Some("rows (db.c:4)"));
        assert_eq!(Activity::WaitedFor("rows".into()).call(), None);
    }
}
