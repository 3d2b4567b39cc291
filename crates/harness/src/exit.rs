//! How a command ends, and what its user got wrong.

use std::fmt;

/// Flags that make no sense on this machine or together: exit status 2.
#[derive(Debug)]
pub struct UsageError(pub String);

impl fmt::Display for UsageError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&terminal::without_error_numbers(&self.0))
    }
}

impl std::error::Error for UsageError {}

/// What cannot be measured in this run, which is no failure of the rest.
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

/// A signal came before anything was measured.
#[derive(Debug)]
pub struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("interrupted before anything was measured")
    }
}

impl std::error::Error for Interrupted {}

/// How what did not fail ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// A comparison, or a measurement, found what was not to be.
    Exceeded,
    /// A comparison that was to give a verdict could give none.
    NotJudged,
    Interrupted,
    /// The program that was run failed, with this exit status.
    ProgramFailed(u8),
}
