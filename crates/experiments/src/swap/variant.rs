//! A variant of the program: the lock that it gets, in which of its mutexes, and the environment that asks for it.

use super::mutex_filter::{self, Found, is_function};
use exchange::{CHOICE, COUNTS, Counts, ONLY};
use launch::{Variables, preload};

/// The program with a lock in some of its mutexes; `plain` and `pass` substitute none.
#[derive(Clone, Debug)]
pub struct Variant {
    pub lock: &'static str,
    /// The mutexes that have it; all if there is none.
    pub only: Found,
}

/// The unmodified program.
pub const PLAIN: &str = "plain";

impl Variant {
    pub fn plain() -> Self {
        Self { lock: PLAIN, only: Found::new() }
    }

    /// Returns the options that select this variant.
    pub fn flags(&self) -> String {
        // A shell would read parentheses.
        let names = mutex_filter::names(&self.only).join(",");
        let names = if names.contains('(') { format!("'{names}'") } else { names };
        format!("--swap {} --swap-only {names}", self.lock)
    }

    pub fn is_plain(&self) -> bool {
        self.lock == PLAIN
    }

    /// Returns the environment in which the program loads the library at this path, which counts there.
    pub fn variables(&self, path: &str, counts: &Counts) -> Variables {
        if self.is_plain() {
            return Variables::new();
        }
        let mut variables =
            vec![("LD_PRELOAD", preload(path)), (CHOICE, self.lock.into()), (COUNTS, counts.path().into())];
        if !self.only.is_empty() {
            variables.push((ONLY, ranges(&self.only).into()));
        }
        variables
    }
}

/// Writes the mutexes in the form that the library reads.
fn ranges(only: &Found) -> String {
    let range = |(name, range): &(String, std::ops::Range<u64>)| {
        format!("{}{:x}-{:x}", if is_function(name) { "c" } else { "" }, range.start, range.end)
    };
    only.iter().map(range).collect::<Vec<String>>().join(",")
}
