//! One check: a property of the machine or a permission, its effect, and the command that changes it.

use instruments::warning::Warning;
use serde::Serialize;

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The experiments have it.
    Met,
    /// They do not have it: it is refused, absent, or set in another way.
    Missing,
    /// The experiments do not need another setting, but with this one threads wait longer.
    RaisesLatency,
    /// It cannot be found out here.
    Unknown,
    /// No experiment uses it.
    NotNeeded,
}

/// One property of the machine, or one permission.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    pub group: &'static str,
    pub name: &'static str,
    pub state: State,
    /// The observation.
    pub found: String,
    /// The commands that measure less, or less exactly, without it.
    pub affects: &'static [&'static str],
    /// The effect of the setting on latencies.
    pub cost: Option<&'static str>,
    /// The command that grants it, or the change that provides it.
    pub remedy: Option<String>,
}

/// Creates a check that is met.
pub fn met(group: &'static str, name: &'static str, found: impl Into<String>) -> Check {
    Check { group, name, state: State::Met, found: found.into(), affects: &[], cost: None, remedy: None }
}

/// Creates a check whose result cannot be found out here.
pub fn unknown(group: &'static str, name: &'static str, found: impl Into<String>) -> Check {
    Check { state: State::Unknown, ..met(group, name, found) }
}

impl Check {
    /// Makes it a check that is not met.
    pub fn missing(self, affects: &'static [&'static str], remedy: impl Into<String>) -> Self {
        Self { state: State::Missing, affects, remedy: Some(remedy.into()), ..self }
    }
}

/// Creates a check that is not met, with the words of a warning.
pub fn of_warning(
    (group, name): (&'static str, &'static str),
    warning: &Warning,
    affects: &'static [&'static str],
) -> Check {
    met(group, name, warning.message()).missing(affects, warning.remedy())
}
