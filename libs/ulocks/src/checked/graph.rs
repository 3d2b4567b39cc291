//! The wait-for graph and the order of acquisitions: which thread holds or waits for which lock, and which locks were
//! acquired while others were held.

use std::{
    backtrace::Backtrace,
    collections::{HashMap, HashSet},
    fmt::Write,
    sync::Arc,
};

/// Number of a lock, unique as long as the process lives.
pub(super) type LockId = u64;
/// Number of a thread, unique as long as the process lives.
pub(super) type ThreadNumber = u64;

struct Hold {
    thread: ThreadNumber,
    since: Arc<Backtrace>,
}

/// State of all watched locks.
#[derive(Default)]
pub(super) struct Graph {
    holds: HashMap<LockId, Hold>,
    waits: HashMap<ThreadNumber, (LockId, Arc<Backtrace>)>,
    /// For each lock, the locks that were acquired while it was held, and the call site of the first time.
    orders: HashMap<LockId, HashMap<LockId, Arc<Backtrace>>>,
}

impl Graph {
    pub(super) fn taken(&mut self, lock: LockId, thread: ThreadNumber, call_site: Arc<Backtrace>) {
        self.waits.remove(&thread);
        self.holds.insert(lock, Hold { thread, since: call_site });
    }

    pub(super) fn freed(&mut self, lock: LockId) {
        self.holds.remove(&lock);
    }

    pub(super) fn destroyed(&mut self, lock: LockId) {
        self.holds.remove(&lock);
        self.orders.remove(&lock);
        self.orders.values_mut().for_each(|after| drop(after.remove(&lock)));
    }

    /// Records that this thread is about to acquire the lock; returns a report if the order is new and conflicts with
    /// an earlier one.
    pub(super) fn ordered(&mut self, lock: LockId, thread: ThreadNumber, call_site: &Arc<Backtrace>) -> Option<String> {
        let held: Vec<LockId> =
            self.holds.iter().filter(|(_, hold)| hold.thread == thread).map(|(&id, _)| id).collect();
        let mut report = None;
        for before in held.into_iter().filter(|&before| before != lock) {
            if self.orders.get(&before).is_some_and(|after| after.contains_key(&lock)) {
                continue;
            }
            if let Some(first_site) = self.first_step(lock, before) {
                report.get_or_insert(format!(
                    "locks {before} and {lock} are taken in both orders, which can deadlock\n\
                     {before} before {lock}, here:\n{call_site}\n{lock} before {before}, first here:\n{first_site}"
                ));
            }
            self.orders.entry(before).or_default().insert(lock, Arc::clone(call_site));
        }
        report
    }

    /// Returns the call site at which, on a path between the two locks, the second lock of the path was first
    /// acquired while the first was held; `None` without a path.
    fn first_step(&self, from: LockId, to: LockId) -> Option<&Arc<Backtrace>> {
        let leads = |step: LockId| {
            let (mut seen, mut pending) = (HashSet::new(), vec![step]);
            while let Some(lock) = pending.pop() {
                if lock == to {
                    return true;
                }
                if seen.insert(lock) {
                    pending.extend(self.orders.get(&lock).into_iter().flat_map(HashMap::keys));
                }
            }
            false
        };
        self.orders.get(&from)?.iter().find(|(step, _)| leads(**step)).map(|(_, site)| site)
    }

    /// Records that this thread waits for the lock until it acquires it; returns a report if that closes a cycle.
    pub(super) fn waits(&mut self, lock: LockId, thread: ThreadNumber, call_site: Arc<Backtrace>) -> Option<String> {
        self.waits.insert(thread, (lock, call_site));
        let (mut waiting, mut awaited, mut report) = (thread, lock, String::new());
        loop {
            let hold = self.holds.get(&awaited)?;
            let (_, site) = self.waits.get(&waiting)?;
            let _ = write!(
                report,
                "thread {waiting} waits for lock {awaited}, here:\n{site}\n\
                 thread {} has held lock {awaited} since here:\n{}\n",
                hold.thread, hold.since
            );
            if hold.thread == thread {
                self.waits.remove(&thread);
                return Some(format!("deadlock: no thread will release lock {lock}\n{report}"));
            }
            // The thread that closed a cycle without this thread has reported it.
            if hold.thread == waiting {
                return None;
            }
            waiting = hold.thread;
            awaited = self.waits.get(&waiting)?.0;
        }
    }
}
