//! The lives of threads: which thread created or joined which. What a thread did before it created another, or after it
//! joined one, did not happen at the same time as what that one did.
//!
//! A `pthread_t` names one thread after another. A life is named by the entry of its create; the first thread of a
//! process, which nothing created, by its `pthread_t`. Where entries leave two lives possible, the life is unknown, and
//! nothing is known to be before or after it.

use interpose::{Kinship, Region};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// A thread from its create to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Life {
    /// A thread known by the entry of its create.
    Created(usize),
    /// A thread known by its process and its `pthread_t`.
    First(u32, u64),
}

/// A create or a join, by its entry's number.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub number: usize,
    pub kind: u32,
    pub process: u32,
    /// The `pthread_t` of the calling thread.
    pub thread: u64,
    /// The `pthread_t` of the other; of a thread that came, its number.
    pub other: u64,
    /// The number of entries when the call was over.
    pub end: usize,
}

/// The lives that are reached from a thread at a position, and from which of their positions on.
type Reached = HashMap<Life, usize>;

/// The creates and joins of all threads.
#[derive(Default)]
pub struct Lives {
    /// Creates by the name of the thread that was created, in their order.
    creates: HashMap<(u32, u64), Vec<Entry>>,
    /// Joins by the name of the thread that was joined.
    joins: HashMap<(u32, u64), Vec<Entry>>,
    /// The lives of the threads that came to a lock, by their numbers.
    comers: HashMap<u32, Life>,
    /// Lives that each life created: the number of the entry, and the new life.
    created: HashMap<Life, Vec<(usize, Life)>>,
    /// The life that joined this one, and from which position on it went on.
    joined: HashMap<Life, Vec<(Life, usize)>>,
    reached: RefCell<HashMap<(Life, usize), Rc<Reached>>>,
}

/// Searches from different threads and positions: where there are more, orders count as possible at the same time.
const MOST_SEARCHES: usize = 2_000;

impl Lives {
    /// Reads the entries of the memory.
    pub fn of(region: &Region) -> Self {
        let entry = |(number, kinship): (usize, &Kinship)| Entry {
            number,
            kind: kinship.kind.load(Acquire),
            process: kinship.process.load(Relaxed),
            thread: kinship.thread.load(Relaxed),
            other: kinship.other.load(Relaxed),
            end: kinship.end.load(Relaxed) as usize,
        };
        Self::of_entries(&region.kinships().enumerate().map(entry).collect::<Vec<Entry>>())
    }

    fn of_entries(entries: &[Entry]) -> Self {
        let mut lives = Self::default();
        for entry in entries {
            let by_name = match entry.kind {
                Kinship::CREATED => &mut lives.creates,
                Kinship::JOINED => &mut lives.joins,
                _ => continue,
            };
            by_name.entry((entry.process, entry.other)).or_default().push(*entry);
        }
        for entry in entries {
            let actor = lives.life_at(entry.process, entry.thread, entry.number);
            match (entry.kind, actor) {
                (Kinship::CAME, Some(actor)) => {
                    lives.comers.insert(entry.other as u32, actor);
                }
                (Kinship::CREATED, Some(actor)) => {
                    lives.created.entry(actor).or_default().push((entry.number, Life::Created(entry.number)));
                }
                (Kinship::JOINED, Some(actor)) => {
                    if let Some(ended) = lives.life_at(entry.process, entry.other, entry.number) {
                        lives.joined.entry(ended).or_default().push((actor, entry.number + 1));
                    }
                }
                _ => {}
            }
        }
        lives
    }

    /// Returns the life that has this name when the entry at this position is made.
    fn life_at(&self, process: u32, name: u64, position: usize) -> Option<Life> {
        let name_key = (process, name);
        let Some(creates) = self.creates.get(&name_key) else { return Some(Life::First(process, name)) };
        let before = creates.partition_point(|create| create.number < position);
        let last = creates[..before].last()?;
        let is_settled = last.end <= position;
        let has_ended = |create: &Entry| {
            let joins = self.joins.get(&name_key).map_or(&[][..], Vec::as_slice);
            let next = joins.partition_point(|join| join.number < create.number);
            joins.get(next).is_some_and(|join| join.number < last.number)
        };
        // While a create goes on, the name may still be that of the thread before, unless that one was joined.
        let is_only = || before < 2 || has_ended(&creates[before - 2]);
        (is_settled || is_only()).then_some(Life::Created(last.number))
    }

    /// Returns whether all that a thread does up to a position is before what another does from a position on.
    pub fn is_before(&self, (comer, position): (u32, u32), (other, later): (u32, u32)) -> bool {
        let (Some(life), Some(other)) = (self.comers.get(&comer), self.comers.get(&other)) else { return false };
        let reached = self.reached_from(*life, position as usize);
        reached.is_some_and(|reached| reached.get(other).is_some_and(|from| *from <= later as usize))
    }

    fn reached_from(&self, life: Life, position: usize) -> Option<Rc<Reached>> {
        // What follows changes only with the creates of this life.
        let creates = self.created.get(&life).map_or(&[][..], Vec::as_slice);
        let position = creates[creates.partition_point(|(number, _)| *number < position)..].first();
        let position = position.map_or(usize::MAX, |(number, _)| *number);
        if let Some(found) = self.reached.borrow().get(&(life, position)) {
            return Some(found.clone());
        }
        if self.reached.borrow().len() >= MOST_SEARCHES {
            return None;
        }
        let found = Rc::new(self.search(life, position));
        self.reached.borrow_mut().insert((life, position), found.clone());
        Some(found)
    }

    fn search(&self, life: Life, position: usize) -> Reached {
        let (mut reached, mut open) = (Reached::new(), vec![(life, position)]);
        // It ends: a thread is opened again only from an earlier position.
        while let Some((life, from)) = open.pop() {
            let created = self.created.get(&life).into_iter().flatten();
            let created = created.filter(|(number, _)| *number >= from).map(|(_, child)| (*child, 0));
            let joined = self.joined.get(&life).into_iter().flatten().copied();
            for (next, from) in created.chain(joined) {
                if reached.get(&next).is_none_or(|known| *known > from) {
                    reached.insert(next, from);
                    open.push((next, from));
                }
            }
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAIN: u64 = 1;

    /// Entries of one process: kind, calling thread, the other, and how many entries there were when the call was over.
    fn lives(entries: &[(u32, u64, u64, usize)]) -> Lives {
        let entry = |(number, &(kind, thread, other, end)): (usize, &(u32, u64, u64, usize))| Entry {
            number,
            kind,
            process: 0,
            thread,
            other,
            end,
        };
        Lives::of_entries(&entries.iter().enumerate().map(entry).collect::<Vec<Entry>>())
    }

    #[test]
    fn joined_thread_is_before_the_next_one_with_its_name() {
        let lives = lives(&[
            (Kinship::CREATED, MAIN, 7, 1),
            (Kinship::CAME, 7, 100, 2),
            (Kinship::JOINED, MAIN, 7, 3),
            (Kinship::CREATED, MAIN, 7, 5),
            (Kinship::CAME, 7, 101, 5),
        ]);
        assert!(lives.is_before((100, 2), (101, 5)));
        assert!(!lives.is_before((101, 5), (100, 2)));
    }

    #[test]
    fn threads_that_live_at_once_are_not_ordered() {
        let lives = lives(&[
            (Kinship::CAME, MAIN, 99, 1),
            (Kinship::CREATED, MAIN, 7, 2),
            (Kinship::CREATED, MAIN, 8, 3),
            (Kinship::CAME, 7, 100, 4),
            (Kinship::CAME, 8, 101, 5),
            (Kinship::JOINED, MAIN, 7, 6),
            (Kinship::JOINED, MAIN, 8, 7),
        ]);
        assert!(!lives.is_before((100, 5), (101, 5)) && !lives.is_before((101, 5), (100, 5)));
        // The creating thread: before its first create, between, and after its last join.
        assert!(lives.is_before((99, 1), (100, 4)) && lives.is_before((99, 1), (101, 5)));
        assert!(!lives.is_before((99, 2), (100, 4)) && lives.is_before((99, 2), (101, 5)));
        assert!(lives.is_before((100, 5), (99, 6)) && !lives.is_before((101, 5), (99, 6)));
        assert!(lives.is_before((101, 5), (99, 7)));
    }

    #[test]
    fn name_that_may_be_of_two_lives_is_unknown() {
        // The first thread is detached; a second create is under way when a thread with this name comes.
        let lives =
            lives(&[(Kinship::CREATED, MAIN, 7, 1), (Kinship::CREATED, MAIN, 7, 3), (Kinship::CAME, 7, 100, 3)]);
        assert!(lives.comers.is_empty());
    }
}
