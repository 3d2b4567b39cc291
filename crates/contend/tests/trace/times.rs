//! Times that were seen beside those that a program noted itself.

/// What is off by more than a tenth, if it is.
pub fn off(what: &str, seen: f64, known: f64) -> Option<String> {
    ((seen - known).abs() > 0.1 * known).then(|| format!("{what}: {seen} seen, {known} known"))
}
