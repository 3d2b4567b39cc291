//! What is compared.

use super::only::{self, Found};

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
        // A shell would read parentheses.
        let names = only::names(&self.only).join(",");
        let names = if names.contains('(') { format!("'{names}'") } else { names };
        format!("--swap {} --swap-only {names}", self.lock)
    }

    pub fn is_plain(&self) -> bool {
        self.lock == PLAIN
    }
}
