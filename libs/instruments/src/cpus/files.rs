//! The small text files of `/proc` and `/sys`, below a root that tests can replace.
//!
//! Every reader answers `None` for a file that is absent, unreadable or not understood: on some kernel, in some
//! container, each of them is.

use std::path::Path;
use std::str::FromStr;

use super::set::CpuSet;

/// The file's text without the white space around it; an empty file is an empty text.
pub(crate) fn text(root: &Path, path: &str) -> Option<String> {
    let text = std::fs::read_to_string(root.join(path)).ok()?;
    // The device tree ends its texts in a NUL.
    Some(text.trim_matches(|c: char| c.is_whitespace() || c == '\0').to_owned())
}

/// The file's text, unless it is empty.
pub(crate) fn word(root: &Path, path: &str) -> Option<String> {
    text(root, path).filter(|text| !text.is_empty())
}

/// The file's one number.
pub(crate) fn number<T: FromStr>(root: &Path, path: &str) -> Option<T> {
    text(root, path)?.parse().ok()
}

/// The file's `0` or `1`.
pub(crate) fn flag(root: &Path, path: &str) -> Option<bool> {
    match text(root, path)?.as_str() {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

/// The file's list of CPUs.
pub(crate) fn cpus(root: &Path, path: &str) -> Option<CpuSet> {
    parse_cpus(&text(root, path)?)
}

/// A list of CPUs as the kernel prints it: some files say `(null)` for none.
pub(crate) fn parse_cpus(text: &str) -> Option<CpuSet> {
    match text.trim() {
        "(null)" => Some(CpuSet::default()),
        list => list.parse().ok(),
    }
}
