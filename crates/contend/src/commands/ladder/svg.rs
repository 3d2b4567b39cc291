//! The ladder as a picture of its own, for a slide or a README.

use crate::output::print_or_write;
use harness::{Format, SharedFlags, UsageError};
use record::Ladder;

/// Pictures that somebody may want, and that are not written.
const OTHERS: [&str; 6] = ["png", "jpg", "jpeg", "gif", "webp", "pdf"];

/// Whether `--output` names a picture.
///
/// # Errors
/// One of a kind that is not written; one that is to have another format.
pub fn is_wanted(shared: &SharedFlags) -> Result<bool, UsageError> {
    let Some(path) = shared.output.as_deref().filter(|_| shared.writes_a_file()) else { return Ok(false) };
    let kind = path.extension().map(|kind| kind.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let (kind, shown) = (kind.as_str(), path.display());
    if OTHERS.contains(&kind) {
        let how = "a picture is written as .svg; `rsvg-convert` or a browser makes others of that";
        return Err(UsageError(format!("--output {shown}: {how}")));
    }
    if kind == "svg" && shared.format != Format::Text {
        return Err(UsageError(format!("--output {shown}: a picture has no --format; leave it out")));
    }
    Ok(kind == "svg")
}

/// Writes it to the file that `--output` names.
///
/// # Errors
/// It cannot be written.
pub fn write(ladder: &Ladder, machine: &str, shared: &SharedFlags) -> anyhow::Result<()> {
    print_or_write(&report::ladder_file(ladder, machine), shared)
}
