//! The times when the threads of a program ran, and the threads that ran instead.

use super::timeline::{Preemption, Seen, Timeline};
use std::collections::HashMap;

/// The thread that ran instead of another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Competitor {
    /// Another thread of the program.
    Own,
    /// A thread of this name, of another program or of the kernel.
    Named(String),
    Unknown,
}

/// The threads of a program, as far as their switches are known.
#[derive(Default)]
pub struct Schedule {
    pub threads: HashMap<u32, Timeline>,
    /// Names of the threads that ran instead.
    pub competitors: HashMap<u32, String>,
}

impl Schedule {
    /// Returns the known state of a thread in this time.
    pub fn seen(&self, thread: u32, from: f64, to: f64) -> Seen {
        self.threads.get(&thread).map_or_else(Seen::default, |timeline| timeline.seen(from, to))
    }

    /// Returns the preemptions of a thread that began in this time and ended.
    pub fn preemptions(&self, thread: u32, from: f64, to: f64) -> Vec<Preemption> {
        self.threads.get(&thread).map_or_else(Vec::new, |timeline| timeline.preemptions(from, to).collect())
    }

    /// Returns the name of a thread that ran instead of another.
    pub fn competitor(&self, thread: Option<u32>) -> Competitor {
        let Some(thread) = thread else { return Competitor::Unknown };
        if self.threads.contains_key(&thread) {
            return Competitor::Own;
        }
        self.competitors.get(&thread).cloned().map_or(Competitor::Unknown, Competitor::Named)
    }
}
