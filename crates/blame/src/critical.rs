//! The longest path through the run: from its end back through each wait to the thread that ended it, and so to the
//! beginning (critical lock analysis: Chen and Stenström, SC 2012). A change that shortens the path shortens the run;
//! shorter waits outside the path do not.
//!
//! It is found forwards: each thread knows of the path that leads to where it is how much of it lay in the holds of
//! each lock that a thread waited for, and in the lock's handoffs. A thread whose wait ends goes on with the path of
//! the thread that ended it.

use std::collections::{HashMap, VecDeque};

/// The time of a path that each lock has, by its place.
type Spent = Vec<(u32, f64)>;

/// All paths that may become the longest.
#[derive(Default)]
pub struct Critical {
    threads: HashMap<u32, VecDeque<Segment>>,
    /// Begin of the paths.
    began: f64,
    /// The last time that something was seen, and of which thread.
    last: (f64, u32),
}

/// A part of a path, from the end of a thread's wait on.
#[derive(Clone)]
struct Segment {
    since: f64,
    spent: Spent,
}

/// A wait that another ended; times in ns since the start.
pub struct Ended {
    pub thread: u32,
    pub at: f64,
    pub by: u32,
    pub released: f64,
    /// The lock that was waited for, and the time since which the thread that ended the wait was seen to have it;
    /// `None` for a signal.
    pub lock: Option<(u32, f64)>,
}

/// Segments of a thread that are remembered: one that ended a wait may have waited itself before that is read.
const SEGMENTS: usize = 4;
/// Locks of a path that are remembered.
const LOCKS: usize = 32;
/// Threads that are remembered: a program can start threads for as long as it runs.
const THREADS: usize = 16_384;

impl Critical {
    /// Creates paths that begin at this time.
    pub fn since(began: f64) -> Self {
        Self { began, ..Self::default() }
    }

    /// Notes the next wait, in the order of the waits' ends.
    pub fn note(&mut self, wait: &Ended) {
        let origin = self.threads.get(&wait.by).and_then(|all| all.iter().rev().find(|one| one.since <= wait.released));
        let (since, mut spent) = origin.map_or((self.began, Vec::new()), |origin| (origin.since, origin.spent.clone()));
        if let Some((lock, held_since)) = wait.lock {
            add(&mut spent, lock, wait.at - held_since.max(since).min(wait.released));
        }
        if self.threads.len() >= THREADS {
            self.forget_half();
        }
        let segments = self.threads.entry(wait.thread).or_default();
        segments.push_back(Segment { since: wait.at, spent });
        if segments.len() > SEGMENTS {
            segments.pop_front();
        }
        if wait.at >= self.last.0 {
            self.last = (wait.at, wait.thread);
        }
    }

    /// Forgets the threads whose last wait ended the longest ago.
    fn forget_half(&mut self) {
        let last = |all: &VecDeque<Segment>| all.back().map_or(0.0, |segment| segment.since);
        let mut times: Vec<f64> = self.threads.values().map(last).collect();
        let half = times.len() / 2;
        let middle = *times.select_nth_unstable_by(half, f64::total_cmp).1;
        self.threads.retain(|_, all| last(all) > middle);
    }

    /// Notes that a thread was seen, since the run may end with it.
    pub fn seen(&mut self, thread: u32, at: f64) {
        if at >= self.last.0 {
            self.last = (at, thread);
        }
    }

    /// Returns the part of the longest path that was in a lock's holds and handoffs, by the lock's place.
    pub fn shares(&self) -> HashMap<u32, f64> {
        let (end, thread) = self.last;
        let spent = self.threads.get(&thread).and_then(|all| all.back()).map(|segment| &segment.spent);
        spent.into_iter().flatten().map(|&(lock, ns)| (lock, (ns / (end - self.began)).min(1.0))).collect()
    }
}

fn add(spent: &mut Spent, lock: u32, ns: f64) {
    match spent.iter_mut().find(|one| one.0 == lock) {
        Some(one) => one.1 += ns,
        None => spent.push((lock, ns)),
    }
    if spent.len() > LOCKS {
        spent.sort_by(|one, other| other.1.total_cmp(&one.1));
        spent.truncate(LOCKS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_goes_on_with_that_of_who_ended_the_wait() {
        let mut critical = Critical::default();
        let ended = |thread, at, by, released, lock| Ended { thread, at, by, released, lock };
        // 1 holds lock 7 from 10 to 40, for which 2 waits; 2 holds lock 8 from 50 to 90, for which 3 waits.
        critical.note(&ended(2, 41.0, 1, 40.0, Some((7, 10.0))));
        critical.note(&ended(3, 91.0, 2, 90.0, Some((8, 50.0))));
        // Another lock that is waited for outside the path does not count.
        critical.note(&ended(5, 95.0, 4, 94.0, Some((9, 1.0))));
        critical.seen(3, 100.0);
        let shares = critical.shares();
        assert_eq!((shares[&7], shares[&8], shares.get(&9)), (0.31, 0.41, None));
    }

    #[test]
    fn of_a_hold_only_what_lies_on_the_path_counts() {
        let mut critical = Critical::default();
        // 1 has lock 7 from 0 to 80, and waits within it for 2, which signals at 60.
        critical.note(&Ended { thread: 1, at: 60.0, by: 2, released: 60.0, lock: None });
        critical.note(&Ended { thread: 3, at: 80.0, by: 1, released: 80.0, lock: Some((7, 0.0)) });
        assert_eq!(critical.shares()[&7], 0.25);
    }
}
