//! Who holds what, who waits for what, and in which order locks were taken.

use std::{
    backtrace::Backtrace,
    collections::{HashMap, HashSet},
    fmt::Write,
    sync::Arc,
};

/// A lock, for as long as the process lives: numbers are not used again.
pub(super) type LockId = u64;
/// A thread, likewise.
pub(super) type ThreadNumber = u64;

struct Hold {
    thread: ThreadNumber,
    since: Arc<Backtrace>,
}

/// What is known of all watched locks.
#[derive(Default)]
pub(super) struct Graph {
    holds: HashMap<LockId, Hold>,
    waits: HashMap<ThreadNumber, (LockId, Arc<Backtrace>)>,
    /// For each lock those that were taken while it was held, and where that was first.
    orders: HashMap<LockId, HashMap<LockId, Arc<Backtrace>>>,
}

impl Graph {
    pub(super) fn taken(&mut self, lock: LockId, thread: ThreadNumber, here: Arc<Backtrace>) {
        self.waits.remove(&thread);
        self.holds.insert(lock, Hold { thread, since: here });
    }

    pub(super) fn freed(&mut self, lock: LockId) {
        self.holds.remove(&lock);
    }

    pub(super) fn destroyed(&mut self, lock: LockId) {
        self.holds.remove(&lock);
        self.orders.remove(&lock);
        self.orders.values_mut().for_each(|after| drop(after.remove(&lock)));
    }

    /// This thread is about to take the lock: what is wrong with the order, if that is new and wrong.
    pub(super) fn ordered(&mut self, lock: LockId, thread: ThreadNumber, here: &Arc<Backtrace>) -> Option<String> {
        let held: Vec<LockId> =
            self.holds.iter().filter(|(_, hold)| hold.thread == thread).map(|(&id, _)| id).collect();
        let mut said = None;
        for before in held.into_iter().filter(|&before| before != lock) {
            if self.orders.get(&before).is_some_and(|after| after.contains_key(&lock)) {
                continue;
            }
            if let Some(other) = self.first_step(lock, before) {
                said.get_or_insert(format!(
                    "locks {before} and {lock} are taken in both orders, which can deadlock\n\
                     {before} before {lock}, here:\n{here}\n{lock} before {before}, first here:\n{other}"
                ));
            }
            self.orders.entry(before).or_default().insert(lock, Arc::clone(here));
        }
        said
    }

    /// Where, on a way from the one lock to the other, the first was held as another was taken; `None` without a way.
    fn first_step(&self, from: LockId, to: LockId) -> Option<&Arc<Backtrace>> {
        let leads = |step: LockId| {
            let (mut seen, mut left) = (HashSet::new(), vec![step]);
            while let Some(lock) = left.pop() {
                if lock == to {
                    return true;
                }
                if seen.insert(lock) {
                    left.extend(self.orders.get(&lock).into_iter().flat_map(HashMap::keys));
                }
            }
            false
        };
        self.orders.get(&from)?.iter().find(|(step, _)| leads(**step)).map(|(_, place)| place)
    }

    /// This thread waits for the lock, until it takes it: the circle that this closes, if it does.
    pub(super) fn waits(&mut self, lock: LockId, thread: ThreadNumber, here: Arc<Backtrace>) -> Option<String> {
        self.waits.insert(thread, (lock, here));
        let (mut waiting, mut wanted, mut said) = (thread, lock, String::new());
        loop {
            let hold = self.holds.get(&wanted)?;
            let (_, place) = self.waits.get(&waiting)?;
            let _ = write!(
                said,
                "thread {waiting} waits for lock {wanted}, here:\n{place}\n\
                 thread {} has held lock {wanted} since here:\n{}\n",
                hold.thread, hold.since
            );
            if hold.thread == thread {
                self.waits.remove(&thread);
                return Some(format!("deadlock: no thread will release lock {lock}\n{said}"));
            }
            // A circle that this thread is not in was told by the one that closed it.
            if hold.thread == waiting {
                return None;
            }
            waiting = hold.thread;
            wanted = self.waits.get(&waiting)?.0;
        }
    }
}
