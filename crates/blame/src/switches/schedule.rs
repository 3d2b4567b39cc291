//! The times when the threads of a program ran, and the threads that ran instead.

use super::timeline::{Preemption, Seen, Timeline};
use std::collections::{HashMap, HashSet};

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
    /// The processes of these threads: their other threads belong to the program, too.
    pub processes: HashSet<u32>,
    /// The processes and the names of the threads that ran instead.
    pub competitors: HashMap<u32, (u32, String)>,
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
        match self.competitors.get(&thread) {
            _ if self.threads.contains_key(&thread) => Competitor::Own,
            Some((process, _)) if self.processes.contains(process) => Competitor::Own,
            Some((_, name)) => Competitor::Named(name.clone()),
            None => Competitor::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfollowed_thread_of_a_followed_process_is_the_programs_own() {
        let mut schedule = Schedule::default();
        schedule.threads.insert(11, Timeline::default());
        schedule.processes.insert(10);
        for (thread, process, name) in [(12, 10, "worker"), (21, 20, "cc1"), (11, 10, "main")] {
            schedule.competitors.insert(thread, (process, name.to_owned()));
        }
        let found = [11, 12, 21, 31].map(|thread| schedule.competitor(Some(thread)));
        let named = Competitor::Named("cc1".into());
        assert_eq!(found, [Competitor::Own, Competitor::Own, named, Competitor::Unknown]);
        assert_eq!(schedule.competitor(None), Competitor::Unknown);
    }
}
