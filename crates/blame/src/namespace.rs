//! The numbers of threads in the PID namespace of their process.
//!
//! A process in a container knows its threads by other numbers than the kernel's events and `/proc` outside of it. What the
//! process says about itself, such as a thread dump of Java or a field of the Python interpreter, has its own numbers.

use std::collections::HashMap;
use std::fs::{read_dir, read_to_string};

/// The threads of a process, by the numbers that it knows them by.
#[derive(Debug)]
pub struct OwnNumbers {
    process: u32,
    /// Whether the process is in another PID namespace than contend.
    is_apart: bool,
    /// The numbers outside, by the own ones.
    outside: HashMap<u32, u32>,
    /// The own numbers, by those outside.
    own: HashMap<u32, u32>,
}

/// Threads that are remembered.
const MOST_THREADS: usize = 65_536;

/// Returns the number of a thread in its innermost namespace; of a process, that of its first thread.
pub fn own_number(process: u32, thread: u32) -> Option<u32> {
    numbers(process, thread).last().copied()
}

fn numbers(process: u32, thread: u32) -> Vec<u32> {
    read_to_string(format!("/proc/{process}/task/{thread}/status"))
        .map_or_else(|_| Vec::new(), |status| listed(&status))
}

/// Returns the numbers of a thread from the reader's namespace to the innermost; empty on an old kernel.
fn listed(status: &str) -> Vec<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap_or_default();
    line.split_ascii_whitespace().filter_map(|number| number.parse().ok()).collect()
}

impl OwnNumbers {
    pub fn of(process: u32) -> Self {
        let is_apart = numbers(process, process).len() > 1;
        Self { process, is_apart, outside: HashMap::new(), own: HashMap::new() }
    }

    /// Returns the number by which the process knows a thread; `None` for a thread that has ended.
    pub fn own(&mut self, thread: u32) -> Option<u32> {
        if !self.is_apart {
            return Some(thread);
        }
        if let Some(number) = self.own.get(&thread) {
            return Some(*number);
        }
        let number = own_number(self.process, thread)?;
        self.note(thread, number);
        Some(number)
    }

    /// Replaces own numbers by those outside, where the thread is known or still there. Returns which they were.
    pub fn outside(&mut self, own: &[u32]) -> Vec<Option<u32>> {
        if !self.is_apart {
            return own.iter().copied().map(Some).collect();
        }
        // The outer number of a new thread can only be found among all threads.
        if own.iter().any(|number| !self.outside.contains_key(number)) {
            let tasks = read_dir(format!("/proc/{}/task", self.process)).into_iter().flatten().flatten();
            for thread in tasks.filter_map(|task| task.file_name().to_str()?.parse().ok()) {
                self.own(thread);
            }
        }
        own.iter().map(|number| self.outside.get(number).copied()).collect()
    }

    fn note(&mut self, thread: u32, number: u32) {
        if self.own.len() >= MOST_THREADS {
            self.own.clear();
            self.outside.clear();
        }
        self.own.insert(thread, number);
        self.outside.insert(number, thread);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_listed_from_outside_to_inside() {
        assert_eq!(listed("Name:\tjava\nTgid:\t4711\nNSpid:\t4711\t30\t7\n"), [4_711, 30, 7]);
        assert_eq!(listed("NSpid:\t4711\n"), [4_711]);
        assert!(listed("Name:\tjava\n").is_empty(), "an old kernel");
    }

    #[test]
    fn threads_of_this_namespace_have_one_number() {
        let (process, thread) = (std::process::id(), rustix::thread::gettid().as_raw_nonzero().get() as u32);
        let mut numbers = OwnNumbers::of(process);
        assert_eq!((numbers.own(thread), numbers.outside(&[thread])), (Some(thread), vec![Some(thread)]));
    }

    #[test]
    fn numbers_of_a_namespace_are_read_once() {
        let (process, thread) = (std::process::id(), rustix::thread::gettid().as_raw_nonzero().get() as u32);
        let mut numbers = OwnNumbers { is_apart: true, ..OwnNumbers::of(process) };
        numbers.note(1_000_000_007, 7);
        assert_eq!((numbers.own(1_000_000_007), numbers.own(1_000_000_008)), (Some(7), None));
        assert_eq!(numbers.outside(&[7, 8, thread]), [Some(1_000_000_007), None, Some(thread)]);
    }
}
