//! Readers of the small text files in `/proc` and `/sys`, below a root that tests can replace.
//!
//! Every reader returns `None` for a file that is absent, unreadable or not understood: on some kernels and in some
//! containers, each of them is.

use std::path::Path;
use std::str::FromStr;

use super::set::CpuSet;

/// Returns the text of the file without surrounding white space; an empty file is an empty text.
pub(crate) fn text(root: &Path, path: &str) -> Option<String> {
    let text = std::fs::read_to_string(root.join(path)).ok()?;
    // The device tree terminates its texts with a NUL.
    Some(text.trim_matches(|c: char| c.is_whitespace() || c == '\0').to_owned())
}

/// Returns the text of the file, unless it is empty.
pub(crate) fn word(root: &Path, path: &str) -> Option<String> {
    text(root, path).filter(|text| !text.is_empty())
}

/// Returns the only number in the file.
pub(crate) fn number<T: FromStr>(root: &Path, path: &str) -> Option<T> {
    text(root, path)?.parse().ok()
}

/// Returns the `0` or `1` in the file as a flag.
pub(crate) fn flag(root: &Path, path: &str) -> Option<bool> {
    match text(root, path)?.as_str() {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

/// Returns the list of CPUs in the file.
pub(crate) fn cpus(root: &Path, path: &str) -> Option<CpuSet> {
    parse_cpus(&text(root, path)?)
}

/// Parses a mask of CPUs as the kernel prints it: groups of 32 in hexadecimal digits, the highest first.
pub(crate) fn parse_mask(text: &str) -> Option<CpuSet> {
    let mut cpus = Vec::new();
    for (group, digits) in text.trim().rsplit(',').enumerate() {
        let bits = u32::from_str_radix(digits, 16).ok()?;
        cpus.extend((0..32).filter(|bit| bits >> bit & 1 == 1).map(|bit| group * 32 + bit));
    }
    Some(cpus.into_iter().collect())
}

/// Parses a list of CPUs as the kernel prints it: some files contain `(null)` for none.
pub(crate) fn parse_cpus(text: &str) -> Option<CpuSet> {
    match text.trim() {
        "(null)" => Some(CpuSet::default()),
        list => list.parse().ok(),
    }
}
