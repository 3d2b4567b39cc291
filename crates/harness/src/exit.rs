//! The outcome of a command, and errors in its usage.

use std::fmt;

/// Flags that are invalid on this machine or in combination: exit status 2.
#[derive(Debug)]
pub struct UsageError(pub String);

impl fmt::Display for UsageError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&terminal::without_error_numbers(&self.0))
    }
}

impl std::error::Error for UsageError {}

/// A part that cannot be measured in this run, although the rest can.
#[derive(Debug)]
pub struct LeftOut {
    pub what: String,
    pub reason: String,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.what, self.reason)
    }
}

impl std::error::Error for LeftOut {}

/// The error of a run that a signal ended before anything was measured.
#[derive(Debug)]
pub struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("interrupted before anything was measured")
    }
}

impl std::error::Error for Interrupted {}

/// The outcome of a command that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// A comparison or a measurement exceeded a limit.
    Exceeded,
    /// A comparison that should give a verdict could not give one.
    NotJudged,
    Interrupted,
    /// The measured program failed, with this exit status.
    ProgramFailed(u8),
}
