//! The conditions of a configuration, and its name: the plan, the progress and every view take their words from here.

use std::fmt;
use terminal::{counted, nanoseconds};

/// Everything of a configuration but its lock. Locks are ranked among those with the same conditions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    pub children: usize,
    /// Whether the children are processes.
    pub processes: bool,
    pub locks: usize,
    pub nonhold_us: f64,
    pub hold_us: f64,
    /// Per cent of acquisitions that read.
    pub share: u32,
}

impl Conditions {
    pub fn workers(&self) -> String {
        workers(self.children, self.processes)
    }

    pub fn locks(&self) -> String {
        counted(self.locks, "lock")
    }

    pub fn hold(&self) -> String {
        format!("hold {}", nanoseconds(self.hold_us * 1e3))
    }

    pub fn nonhold(&self) -> String {
        format!("non-hold {}", nanoseconds(self.nonhold_us * 1e3))
    }

    /// `20 % reads`; empty where no acquisition reads.
    pub fn reads(&self) -> String {
        if self.share > 0 { format!("{} % reads", self.share) } else { String::new() }
    }

    /// Non-hold and hold time: `7+3 µs`.
    fn work(&self) -> String {
        format!("{}+{} µs", self.nonhold_us, self.hold_us)
    }

    /// The name of a chart across the numbers of children.
    pub fn but_children(&self) -> String {
        let workers = if self.processes { "processes" } else { "threads" };
        joined([workers.to_owned(), self.locks(), self.work(), self.reads()])
    }

    /// The name of a chart across the hold times.
    pub fn but_hold(&self) -> String {
        joined([self.workers(), self.locks(), self.nonhold(), self.reads()])
    }
}

impl fmt::Display for Conditions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&joined([self.workers(), self.locks(), self.work(), self.reads()]))
    }
}

/// `4 threads`, `1 process`.
pub fn workers(children: usize, processes: bool) -> String {
    match (processes, children) {
        (true, 1) => "1 process".to_owned(),
        (true, many) => format!("{many} processes"),
        (false, number) => counted(number, "thread"),
    }
}

fn joined(words: [String; 4]) -> String {
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<String>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_and_readers_are_part_of_the_name() {
        let threads = Conditions { children: 4, processes: false, locks: 1, nonhold_us: 7.0, hold_us: 3.0, share: 0 };
        assert_eq!(threads.to_string(), "4 threads, 1 lock, 7+3 µs");
        let processes = Conditions { processes: true, locks: 2, share: 20, ..threads };
        assert_eq!(processes.to_string(), "4 processes, 2 locks, 7+3 µs, 20 % reads");
        assert_eq!(processes.but_children(), "processes, 2 locks, 7+3 µs, 20 % reads");
        assert_eq!(threads.but_hold(), "4 threads, 1 lock, non-hold 7.00 µs");
    }
}
