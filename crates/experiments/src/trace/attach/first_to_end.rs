//! Where memory runs out, the kernel is to end contend before the process that it watches.
//!
//! Not where contend has started the program: that ends with contend.

use std::fs::{read_to_string, write};

/// As long as this lives, contend is the first that the kernel ends for want of memory.
pub struct FirstToEnd(Option<String>);

const FILE: &str = "/proc/self/oom_score_adj";
const FIRST: &str = "1000";

impl FirstToEnd {
    /// Makes it so, if the kernel has such a thing: raising it needs no privilege.
    pub fn begin() -> Self {
        let before = read_to_string(FILE).ok();
        Self(before.filter(|_| write(FILE, FIRST).is_ok()))
    }
}

impl Drop for FirstToEnd {
    fn drop(&mut self) {
        // If that is refused, contend stays the first.
        self.0.iter().for_each(|before| drop(write(FILE, before.trim())));
    }
}
