//! What has one form only: completions, man pages, reports, schemas.

use harness::{Format, SharedFlags, UsageError};

/// That no other form was asked for.
///
/// # Errors
/// It was.
pub fn check_form(shared: &SharedFlags, what: &str) -> Result<(), UsageError> {
    match shared.format {
        Format::Text => Ok(()),
        _ => Err(UsageError(format!("--format: {what}; leave --format out"))),
    }
}
