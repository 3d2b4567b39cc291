//! Measured times compared with those that a program noted itself.

/// Returns a message if a value is off by more than a tenth.
pub fn off(what: &str, seen: f64, known: f64) -> Option<String> {
    ((seen - known).abs() > 0.1 * known).then(|| format!("{what}: {seen} seen, {known} known"))
}
