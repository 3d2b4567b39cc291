//! The warning about a record that is not in any archive.

use instruments::warning::WarningKind;
use serde::Serialize;

/// The record was not put into the archive.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NotKept {
    /// The reason.
    pub reason: String,
}

impl WarningKind for NotKept {
    const CODE: &'static str = "not_kept";

    fn message(&self) -> String {
        format!("the record was not archived: {}", self.reason)
    }

    fn remedy(&self) -> &'static str {
        "name an archive with --archive or CONTEND_ARCHIVE, write the record with --format json --output FILE, or \
         turn archiving off with --no-keep; the results are valid"
    }
}
