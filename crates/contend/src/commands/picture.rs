//! A single picture, for a slide or a README, as SVG.

use harness::{Format, SharedFlags, UsageError};

/// Other kinds of pictures, which are refused with a message.
const OTHERS: [&str; 6] = ["png", "jpg", "jpeg", "gif", "webp", "pdf"];

/// Returns whether `--output` names a picture.
///
/// # Errors
/// The kind of picture is not supported, or contradicts `--format`.
pub fn is_requested(shared: &SharedFlags) -> Result<bool, UsageError> {
    let Some(path) = shared.output.as_deref().filter(|_| shared.writes_a_file()) else { return Ok(false) };
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    if OTHERS.contains(&ending.as_str()) {
        let svg = path.with_extension("svg");
        let how = format!(
            "charts are written as SVG; write {}, which a browser or `rsvg-convert` converts to other formats",
            svg.display()
        );
        return Err(UsageError(format!("--output {}: {how}", path.display())));
    }
    if ending == "svg" && shared.format != Format::Text {
        return Err(UsageError(format!("--output {}: a chart has no --format; omit it", path.display())));
    }
    Ok(ending == "svg")
}
