//! A wait as pictures and exports show it.

use blame::waits::Wait;

/// A wait with the names of what it was for.
pub struct NamedWait {
    pub wait: Wait,
    pub process: u32,
    pub lock: String,
    pub site: String,
    /// Where who released it had taken it.
    pub holder: Option<String>,
}
