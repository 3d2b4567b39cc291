//! What only this experiment warns of.

use instruments::warning::{Severity, WarningKind, percent};
use serde::Serialize;
use terminal::nanoseconds;

/// The lock was not held for as long as was asked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HoldOff {
    /// The lock whose hold time was farthest off.
    pub what: String,
    pub asked_ns: f64,
    pub held_ns: f64,
}

impl WarningKind for HoldOff {
    const CODE: &'static str = "hold_off";
    const SEVERITY: Severity = Severity::ChangesFigure;

    fn message(&self) -> String {
        let share = (self.held_ns / self.asked_ns - 1.0).abs();
        let asked = nanoseconds(self.asked_ns);
        format!(
            "{} was held for {} instead of {asked}: a deviation of {}",
            self.what,
            nanoseconds(self.held_ns),
            percent(share)
        )
    }

    fn remedy(&self) -> &'static str {
        "run again on a quieter machine, since the CPU's speed changed during the run; do not compare round trips of this run"
    }
}
