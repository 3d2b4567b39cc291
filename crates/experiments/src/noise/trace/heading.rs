//! What stands at the head of a trace.

/// What stands at the head of a trace.
pub struct Heading<'a> {
    pub scenario: &'a str,
    pub threshold_ns: f64,
    pub started_unix_s: u64,
}
