//! What a kind of warning is.

use super::severity::Severity;
use serde::Serialize;

/// A kind of warning: a struct whose fields are the warning's, with its code and its two texts beside it.
///
/// ```
/// use instruments::warning::{Warning, WarningKind};
/// use serde::Serialize;
///
/// /// The lock under test was never contended.
/// #[derive(Serialize)]
/// struct NeverContended {
///     /// How often it was taken.
///     rounds: u64,
/// }
///
/// impl WarningKind for NeverContended {
///     const CODE: &'static str = "never_contended";
///
///     fn message(&self) -> String {
///         format!("the lock was free in all {} rounds", self.rounds)
///     }
///
///     fn remedy(&self) -> &'static str {
///         "use more --threads"
///     }
/// }
///
/// let warning = Warning::from(NeverContended { rounds: 17 });
/// assert!(warning.is::<NeverContended>());
/// ```
pub trait WarningKind: Serialize {
    /// The name that it has in a record, for programs to tell warnings apart by. Nothing else may have it, in any
    /// crate.
    const CODE: &'static str;
    /// How much it matters.
    const SEVERITY: Severity = Severity::LimitsConclusion;

    /// What was seen, with its figures: one sentence without a full stop.
    fn message(&self) -> String;

    /// What can be done about it: a flag, a file, a capability; or how to read the figures if nothing can.
    fn remedy(&self) -> &'static str;
}

/// A share in 0..1, for a message.
pub fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}
