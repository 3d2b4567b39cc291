//! The objects that threads wait for, and the waits for each of them as far as samples show them.

use super::budget::Part;
use super::priority::Priority;
use crate::pairs;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// The object that a blocked thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Wait {
    /// A lock that the library notes, by its slot.
    Lock(u32),
    /// A futex word that is in no such lock.
    Word { process: u32, address: u64 },
    /// A system call, by its number; `file` is the pipe or the counter of events that it reads, 0 for any other call.
    Call { number: i64, part: Part, file: u64 },
    /// Something that the kernel does not show.
    Hidden,
}

/// The number of a call path.
pub type Path = usize;

/// The waits for one lock or word, as far as samples show them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Waited {
    /// Thread time, in seconds.
    pub seconds: f64,
    /// The part of `seconds` of threads that were on a CPU or ready for one: those that spin, and those that were
    /// woken.
    pub runnable_s: f64,
    /// Call paths that waited.
    pub paths: BTreeMap<Path, f64>,
    /// The states of the holder while threads waited.
    #[serde(with = "pairs")]
    pub holders: BTreeMap<Holder, f64>,
    /// The paths of the language in which the holder ran, or was ready for a CPU, where that shows them.
    #[serde(default)]
    pub ran_in: BTreeMap<Path, f64>,
    /// The part of `seconds` in which the holder was a thread of another process than the waiter's, by its process.
    pub other_processes: BTreeMap<u32, f64>,
    /// The part of `seconds` of threads that tried again and again to acquire it, and slept or yielded in between.
    pub polled_s: f64,
    /// The part of `seconds` of waits to reacquire a mutex after a wait for a condition, by the condition's slot.
    pub after_condition: BTreeMap<u32, f64>,
    /// Waits, for a word, of the other blocked threads of the process at the same time, and what the rest did.
    #[serde(with = "pairs")]
    pub peers: BTreeMap<Vec<(Wait, Path)>, Peers>,
    /// The largest number of threads that waited at the same time, and for how long that many did.
    pub most_waiters: usize,
    pub most_waiters_s: f64,
    /// The largest number of threads that held it at the same time: more than one for a semaphore of a pool.
    pub most_holders: usize,
}

impl Waited {
    /// Adds the waits for another lock.
    pub fn add(&mut self, other: &Self) {
        self.seconds += other.seconds;
        self.runnable_s += other.runnable_s;
        add_all(&mut self.paths, &other.paths);
        add_all(&mut self.holders, &other.holders);
        add_all(&mut self.ran_in, &other.ran_in);
        add_all(&mut self.other_processes, &other.other_processes);
        self.polled_s += other.polled_s;
        add_all(&mut self.after_condition, &other.after_condition);
        other.peers.iter().for_each(|(peers, more)| self.peers.entry(peers.clone()).or_default().add(more));
        self.note_waiters(other.most_waiters, other.most_waiters_s);
        self.most_holders = self.most_holders.max(other.most_holders);
    }

    /// Notes the number of threads that waited at the same time, and for how long.
    pub fn note_waiters(&mut self, count: usize, seconds: f64) {
        match count.cmp(&self.most_waiters) {
            Ordering::Greater => (self.most_waiters, self.most_waiters_s) = (count, seconds),
            Ordering::Equal => self.most_waiters_s += seconds,
            Ordering::Less => {}
        }
    }

    /// Returns the call paths of the waiters, of the holders, and of the other threads.
    pub(super) fn all_paths(&self) -> impl Iterator<Item = Path> + '_ {
        let of_holder = |holder: &Holder| if let Holder::Blocked { path, .. } = holder { *path } else { None };
        let holders = self.holders.keys().filter_map(of_holder);
        let own = self.paths.keys().chain(self.ran_in.keys()).copied();
        own.chain(holders).chain(self.peers.keys().flatten().map(|(_, path)| *path))
    }

    /// Returns the objects that the holders and the other threads waited for or held.
    pub(super) fn objects(&self) -> impl Iterator<Item = Wait> + '_ {
        let of_holder = |holder: &Holder| match holder {
            Holder::Blocked { wait, held, .. } => [Some(*wait), Some(*held)],
            Holder::Chained { held, .. } => [None, Some(*held)],
            _ => [None; 2],
        };
        let holders = self.holders.keys().flat_map(of_holder).flatten();
        let conditions = self.after_condition.keys().map(|slot| Wait::Lock(*slot));
        holders.chain(conditions).chain(self.peers.keys().flatten().map(|(wait, _)| *wait))
    }
}

fn add_all<K: Clone + Ord>(sums: &mut BTreeMap<K, f64>, more: &BTreeMap<K, f64>) {
    more.iter().for_each(|(key, seconds)| *sums.entry(key.clone()).or_default() += seconds);
}

/// The time that threads waited for a word while the same other threads were blocked; of those that were alike, two.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Peers {
    pub seconds: f64,
    /// The parts of it in which threads that were not blocked had a CPU, and in which they were ready for one.
    pub running_s: f64,
    pub ready_s: f64,
    /// The part of `ready_s` in which all of those had a lower priority than the waiter.
    pub outranked_s: f64,
}

impl Peers {
    /// Adds the times of others.
    pub fn add(&mut self, other: &Self) {
        self.seconds += other.seconds;
        self.running_s += other.running_s;
        self.ready_s += other.ready_s;
        self.outranked_s += other.outranked_s;
    }
}

/// The activity of a lock's holder while others waited for the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Holder {
    Running,
    /// It had no CPU.
    Ready,
    /// It had no CPU, and has a lower priority than the waiter.
    Outranked {
        holder: Priority,
        waiter: Priority,
    },
    Blocked {
        wait: Wait,
        path: Option<Path>,
        /// The lock that it held: another one than the waiter's if holders waited for other locks themselves.
        held: Wait,
        /// The pair at which it acquired that lock, if the library noted it.
        pair: Option<u32>,
    },
    /// It waited for another lock, which it or a further holder was kept from by a thread that ran, or had no CPU.
    Chained {
        /// The lock of that thread, and the pair at which it acquired it.
        held: Wait,
        pair: Option<u32>,
        is_running: bool,
    },
    /// The lock was released, and the thread that was woken for it did not run yet.
    None,
    /// No thread held the lock, and the waiter slept until its next try.
    Free,
    /// The waiter was blocked, and no thread is known to hold the lock.
    Unknown,
}

const MOST_OBJECTS: usize = 4_096;

pub(super) fn room(waited: &mut BTreeMap<Wait, Waited>, object: Wait) -> Option<&mut Waited> {
    let has_room = waited.len() < MOST_OBJECTS || waited.contains_key(&object);
    has_room.then(|| waited.entry(object).or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_most_waiters_is_that_of_the_largest_number() {
        let waited = |counts: &[(usize, f64)]| {
            let mut waited = Waited::default();
            counts.iter().for_each(|(count, seconds)| waited.note_waiters(*count, *seconds));
            waited
        };
        let mut one = waited(&[(2, 1.0), (3, 0.5), (2, 4.0), (3, 0.25)]);
        assert_eq!((one.most_waiters, one.most_waiters_s), (3, 0.75));
        one.add(&waited(&[(3, 1.0), (1, 9.0)]));
        assert_eq!((one.most_waiters, one.most_waiters_s), (3, 1.75));
        one.add(&waited(&[(4, 0.125)]));
        assert_eq!((one.most_waiters, one.most_waiters_s), (4, 0.125));
    }
}
