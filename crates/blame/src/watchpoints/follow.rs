//! Assembly of acquisitions and holds from the accesses of each thread to a watched word.
//!
//! Accesses of different threads may come in another order than they happened, since each is timed after the fact. The
//! accesses of one thread come in its order, and the thread that acquires a lock releases it. So each thread is followed
//! for itself.

use super::decode::Operation;
use std::collections::HashMap;
use std::time::Instant;

/// An access of a thread to a watched word.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The number of the word.
    pub word: usize,
    pub at_ns: u64,
    pub thread: u32,
    /// `None` if the instruction is unknown.
    pub operation: Option<Operation>,
    /// The number of the call path.
    pub stack: usize,
}

/// The accesses to all words.
pub struct Follower {
    words: Vec<Word>,
    /// Time between two accesses of one thread that is due to watching them.
    cost_ns: f64,
}

#[derive(Default)]
struct Word {
    threads: HashMap<u32, Thread>,
    usage: Usage,
}

/// The state of a thread, as far as the window shows it.
#[derive(Default)]
struct Thread {
    hold: Option<Hold>,
    /// Accesses since the thread began to try in vain.
    tries: u64,
}

struct Hold {
    since_ns: u64,
    stack: usize,
    /// Accesses of the thread since then, each of which took time.
    accesses: u64,
}

/// The use of a word in the watched windows.
#[derive(Clone, Debug, Default)]
pub struct Usage {
    pub accesses: u64,
    pub acquisitions: u64,
    /// Acquisitions after a failed attempt, or after reading the word.
    pub contended: u64,
    /// Attempts that did not acquire the lock.
    pub failed: u64,
    /// Loads and comparisons by threads that did not hold the lock.
    pub reads: u64,
    /// Holds that began and ended in a window, in ns, without the time that watching took. At most [`MOST_HOLDS`].
    pub holds_ns: Vec<f64>,
    pub holds: u64,
    pub held_ns: f64,
    /// Holds without a known begin or end in their window.
    pub cut: u64,
    /// Accesses by unknown instructions, and changes that neither acquire nor release.
    pub other: u64,
    /// Values that a release stored, with their counts.
    pub released_as: HashMap<u64, u64>,
    pub by_stack: HashMap<usize, Tries>,
}

/// The accesses at a call path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tries {
    pub acquisitions: u64,
    pub failed: u64,
    pub reads: u64,
    /// Sum of the holds that were acquired here.
    pub held_ns: f64,
}

/// Holds whose times are kept.
pub const MOST_HOLDS: usize = 1 << 18;
/// Threads, call paths and values that are remembered for each word.
const MOST_KEYS: usize = 16_384;
const MOST_VALUES: usize = 64;

/// The meaning of an access for a lock.
enum Meaning {
    Reads,
    Acquires,
    Fails,
    /// The value that it leaves, if that is known.
    Releases(Option<u64>),
    Other,
}

impl Follower {
    pub fn new(words: usize, cost_ns: f64) -> Self {
        Self { words: std::iter::repeat_with(Word::default).take(words).collect(), cost_ns }
    }

    /// Notes that a window begins or ends, or that events were lost: the holders are unknown.
    pub fn forget_threads(&mut self) {
        for word in &mut self.words {
            word.usage.cut += word.threads.values().filter(|thread| thread.hold.is_some()).count() as u64;
            word.threads.clear();
        }
    }

    /// Notes the next access. The accesses of a thread come in their order.
    pub fn note(&mut self, access: Access) {
        let cost_ns = self.cost_ns;
        if let Some(word) = self.words.get_mut(access.word) {
            word.note(access, cost_ns);
        }
    }

    pub fn usage(&self, word: usize) -> &Usage {
        &self.words[word].usage
    }
}

impl Word {
    fn note(&mut self, access: Access, cost_ns: f64) {
        let usage = &mut self.usage;
        usage.accesses += 1;
        if self.threads.len() >= MOST_KEYS && !self.threads.contains_key(&access.thread) {
            self.threads.clear();
        }
        let thread = self.threads.entry(access.thread).or_default();
        if let Some(hold) = &mut thread.hold {
            hold.accesses += 1;
        }
        let has_room = usage.by_stack.len() < MOST_KEYS || usage.by_stack.contains_key(&access.stack);
        let mut unlisted = Tries::default();
        let tries = if has_room { usage.by_stack.entry(access.stack).or_default() } else { &mut unlisted };
        match meaning(access.operation, thread.hold.is_some()) {
            Meaning::Reads if thread.hold.is_some() => {}
            Meaning::Reads => {
                (usage.reads, tries.reads, thread.tries) = (usage.reads + 1, tries.reads + 1, thread.tries + 1);
            }
            Meaning::Fails => {
                (usage.failed, tries.failed, thread.tries) = (usage.failed + 1, tries.failed + 1, thread.tries + 1);
            }
            Meaning::Acquires => {
                usage.acquisitions += 1;
                tries.acquisitions += 1;
                usage.contended += u64::from(thread.tries > 0);
                *thread =
                    Thread { hold: Some(Hold { since_ns: access.at_ns, stack: access.stack, accesses: 0 }), tries: 0 };
            }
            Meaning::Releases(value) => {
                if let Some(value) = value
                    && (usage.released_as.len() < MOST_VALUES || usage.released_as.contains_key(&value))
                {
                    *usage.released_as.entry(value).or_default() += 1;
                }
                let hold = std::mem::take(thread).hold;
                match hold {
                    Some(hold) => usage.held(&hold, access.at_ns, cost_ns),
                    None => usage.cut += 1,
                }
            }
            Meaning::Other => usage.other += 1,
        }
    }
}

impl Usage {
    fn held(&mut self, hold: &Hold, until_ns: u64, cost_ns: f64) {
        let ns = until_ns.saturating_sub(hold.since_ns) as f64 - hold.accesses as f64 * cost_ns;
        (self.holds, self.held_ns) = (self.holds + 1, self.held_ns + ns);
        if self.holds_ns.len() < MOST_HOLDS {
            self.holds_ns.push(ns);
        }
        if let Some(tries) = self.by_stack.get_mut(&hold.stack) {
            tries.held_ns += ns;
        }
    }

    /// Returns the value of the word while no thread has the lock: the one that most releases left.
    pub fn free_value(&self) -> Option<u64> {
        self.released_as
            .iter()
            .max_by_key(|(value, count)| (**count, std::cmp::Reverse(**value)))
            .map(|(value, _)| *value)
    }
}

/// Returns what an access means, by whether its thread holds the lock: the change that a holder makes releases it.
fn meaning(operation: Option<Operation>, holds: bool) -> Meaning {
    let locked = |value: u64| value & 1 == 1;
    match operation {
        None => Meaning::Other,
        Some(Operation::Read) => Meaning::Reads,
        Some(Operation::Failed { .. }) if holds => Meaning::Reads,
        Some(Operation::Failed { .. }) => Meaning::Fails,
        Some(Operation::Swapped { old, new }) if holds => {
            if new == 0 || locked(old) && !locked(new) {
                Meaning::Releases(Some(new))
            } else {
                Meaning::Other
            }
        }
        Some(Operation::Swapped { old, new }) => {
            if old == 0 && new != 0 || !locked(old) && locked(new) {
                Meaning::Acquires
            } else {
                Meaning::Other
            }
        }
        Some(Operation::Exchange { .. }) if holds => Meaning::Releases(None),
        Some(Operation::Exchange { old: 0 }) => Meaning::Acquires,
        Some(Operation::Exchange { .. }) => Meaning::Fails,
        Some(Operation::FetchAdd { .. } | Operation::Change) if !holds => Meaning::Other,
        Some(Operation::SetBit { was_set }) => match (holds, was_set) {
            (true, _) => Meaning::Other,
            (false, true) => Meaning::Fails,
            (false, false) => Meaning::Acquires,
        },
        Some(Operation::ClearBit) => Meaning::Releases(None),
        Some(Operation::FetchAdd { .. } | Operation::Change) => Meaning::Releases(None),
        Some(Operation::Subtract { .. }) if holds => Meaning::Releases(None),
        Some(Operation::Subtract { is_zero: true }) => Meaning::Acquires,
        Some(Operation::Subtract { is_zero: false }) => Meaning::Fails,
        // Without a hold, it began before the window, or another thread acquired the lock.
        Some(Operation::Store { value }) => Meaning::Releases(value),
    }
}

// Windows in which a process is watched at a cost to it.

/// The schedule of the windows: the cost of the accesses, and of opening and closing, stays within a share of the time.
pub struct Schedule {
    budget: f64,
    limits: Limits,
    began: Instant,
    spent_s: f64,
    /// Begin of the open window, and its accesses.
    open: Option<(Instant, u64)>,
}

/// A window is open for at least this long, unless it has this many accesses.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub window_s: f64,
    pub accesses: u64,
}

impl Schedule {
    /// `budget` is the part of one CPU's time that watching may take.
    pub fn new(budget: f64, limits: Limits, began: Instant) -> Self {
        Self { budget, limits, began, spent_s: 0.0, open: None }
    }

    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Returns whether a window is due.
    pub fn is_due(&self, now: Instant) -> bool {
        self.open.is_none() && !self.is_overspent(now)
    }

    /// Notes that a window was opened, which took so long.
    pub fn opened(&mut self, now: Instant, took_s: f64) {
        self.open = Some((now, 0));
        self.spent_s += took_s;
    }

    /// Notes accesses, and returns whether the window must be closed.
    pub fn spend(&mut self, accesses: u64, cost_ns: f64, now: Instant) -> bool {
        self.spent_s += accesses as f64 * cost_ns / 1e9;
        let is_overspent = self.is_overspent(now);
        let Some((since, seen)) = &mut self.open else { return false };
        *seen += accesses;
        is_overspent && ((now - *since).as_secs_f64() >= self.limits.window_s || *seen >= self.limits.accesses)
    }

    /// Notes that the window was closed, which took so long; returns its length.
    pub fn closed(&mut self, now: Instant, took_s: f64) -> f64 {
        self.spent_s += took_s;
        self.open.take().map_or(0.0, |(since, _)| (now - since).as_secs_f64())
    }

    fn is_overspent(&self, now: Instant) -> bool {
        self.budget < 1.0 && self.spent_s > self.budget * (now - self.began).as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const COST_NS: f64 = 50.0;

    fn followed(accesses: &[(u64, u32, Operation)]) -> Usage {
        let mut follower = Follower::new(1, COST_NS);
        for (at_ns, thread, operation) in accesses.iter().copied() {
            let access = Access { word: 0, at_ns, thread, operation: Some(operation), stack: thread as usize };
            follower.note(access);
        }
        follower.forget_threads();
        follower.usage(0).clone()
    }

    const SWAPPED: Operation = Operation::Swapped { old: 0, new: 1 };
    const RELEASED: Operation = Operation::Store { value: Some(0) };

    /// Thread 2 spins while 1 has the lock, and its events come before the release that let it in.
    #[test]
    fn holds_are_of_each_thread_without_the_cost_of_watching() {
        let usage = followed(&[
            (1_000, 1, SWAPPED),
            (1_100, 2, Operation::Failed { found: 1 }),
            (1_200, 2, Operation::Read),
            (1_300, 1, Operation::Read),
            (1_390, 2, SWAPPED),
            (1_400, 1, RELEASED),
            (1_900, 2, RELEASED),
        ]);
        assert_eq!((usage.acquisitions, usage.contended, usage.failed, usage.reads), (2, 1, 1, 1));
        assert_eq!(usage.holds_ns, [400.0 - 2.0 * COST_NS, 510.0 - COST_NS]);
        assert_eq!((usage.cut, usage.other, usage.free_value()), (0, 0, Some(0)));
        assert_eq!(usage.by_stack[&2], Tries { acquisitions: 1, failed: 1, reads: 1, held_ns: 460.0 });
    }

    #[test]
    fn kinds_of_locks_are_followed_by_their_operations() {
        // glibc's spin lock is free at 1; its mutex and that of Rust exchange.
        let decrements = [
            (100, 1, Operation::Subtract { is_zero: true }),
            (200, 2, Operation::Subtract { is_zero: false }),
            (300, 1, Operation::Store { value: Some(1) }),
        ];
        let usage = followed(&decrements);
        assert_eq!((usage.acquisitions, usage.failed, usage.holds, usage.free_value()), (1, 1, 1, Some(1)));
        let exchanges = [
            (100, 1, Operation::Exchange { old: 0 }),
            (200, 2, Operation::Exchange { old: 1 }),
            (300, 1, Operation::Exchange { old: 2 }),
            (400, 2, Operation::Exchange { old: 0 }),
            (500, 2, Operation::Subtract { is_zero: true }),
        ];
        let usage = followed(&exchanges);
        assert_eq!((usage.acquisitions, usage.contended, usage.failed, usage.holds), (2, 1, 1, 2));
        // A waiter that marks the word as contended does not acquire it.
        let marks = followed(&[(100, 2, Operation::Swapped { old: 1, new: 2 })]);
        assert_eq!((marks.acquisitions, marks.other), (0, 1));
        let bits = [(100, 1, Operation::SetBit { was_set: false }), (250, 1, Operation::ClearBit)];
        assert_eq!(followed(&bits).holds_ns, [100.0]);
    }

    #[test]
    fn holds_across_the_ends_of_a_window_are_cut() {
        let usage = followed(&[(100, 1, RELEASED), (200, 1, SWAPPED)]);
        assert_eq!((usage.acquisitions, usage.holds, usage.cut), (1, 0, 2));
    }

    const LIMITS: Limits = Limits { window_s: 0.02, accesses: 4_096 };

    /// Simulates a process that accesses the word every 10 µs, each at a cost of 50 µs.
    #[test]
    fn windows_keep_the_cost_within_the_budget() {
        let (began, tick) = (Instant::now(), Duration::from_millis(1));
        let mut schedule = Schedule::new(0.02, LIMITS, began);
        let (mut open_ticks, mut windows) = (0, 0);
        for count in 0..60_000_u32 {
            let now = began + tick * count;
            if schedule.is_due(now) {
                schedule.opened(now, 0.0);
                windows += 1;
            } else if schedule.is_open() {
                open_ticks += 1;
                if schedule.spend(16, 50_000.0, now) {
                    schedule.closed(now, 0.0);
                }
            }
        }
        let cost_s = f64::from(open_ticks) * 16.0 * 50e-6;
        assert!((0.8..=1.25).contains(&(cost_s / (0.02 * 60.0))), "{cost_s}");
        assert!(windows > 30, "{windows}");
        let mut always = Schedule::new(1.0, LIMITS, began);
        always.opened(began, 0.0);
        assert!(!always.spend(1 << 20, 50_000.0, began + tick));
    }
}
