//! What is compared.

use super::only::Found;

/// The program with a lock in some of its mutexes; `plain` and `pass` are no locks.
#[derive(Clone, Debug)]
pub struct Variant {
    pub lock: &'static str,
    /// All if there is none.
    pub only: Found,
}

/// The program as it is.
pub const PLAIN: &str = "plain";

impl Variant {
    pub fn plain() -> Self {
        Self { lock: PLAIN, only: Found::new() }
    }

    /// What its user types for it.
    pub fn flags(&self) -> String {
        let names: Vec<&str> = self.only.iter().map(|(name, _)| name.as_str()).collect();
        format!("--swap {} --swap-only {}", self.lock, names.join(","))
    }

    pub fn is_plain(&self) -> bool {
        self.lock == PLAIN
    }
}
