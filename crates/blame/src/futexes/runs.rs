//! Who ran on each CPU between the wake of a thread and its turn.

use std::collections::{HashMap, VecDeque};

/// The threads that ran on each CPU lately, by CPU.
#[derive(Default)]
pub struct Runs(HashMap<usize, VecDeque<Run>>);

struct Run {
    thread: u32,
    from: u64,
}

/// Turns on each CPU that are remembered: more than come between a wake and its thread's turn.
const MOST: usize = 256;

impl Runs {
    /// Notes that a thread came to a CPU.
    pub fn note(&mut self, at: u64, thread: u32, cpu: usize) {
        let runs = self.0.entry(cpu).or_default();
        runs.push_back(Run { thread, from: at });
        if runs.len() > MOST {
            runs.pop_front();
        }
    }

    /// Returns the threads that ran between a wake and the time slice of its thread, on that CPU, and how long they
    /// ran.
    pub fn between(&self, woken: u64, ran: u64, cpu: usize) -> Vec<(u32, f64)> {
        let (mut until, mut found) = (ran, Vec::new());
        for run in self.0.get(&cpu).into_iter().flatten().rev().skip_while(|run| run.from >= ran) {
            found.push((run.thread, until.saturating_sub(run.from.max(woken)) as f64));
            until = run.from;
            if run.from <= woken {
                break;
            }
        }
        found
    }
}
