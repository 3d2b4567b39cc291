//! How threads share a cache line: computed from the accesses alone.

use super::{Access, LINE, Use};
use std::collections::{BTreeMap, HashMap};

/// How threads share a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sharing {
    /// No other thread uses it, or all run on one CPU.
    OneThread,
    /// Several threads read it, and none writes.
    ReadOnly,
    /// A thread writes bytes that another one uses.
    Written,
    /// A thread writes, and the others use other bytes.
    False,
}

impl Sharing {
    /// Returns whether the line moves between CPUs.
    pub fn is_contended(self) -> bool {
        matches!(self, Self::Written | Self::False)
    }
}

/// A word of a line, and its use.
#[derive(Clone, Debug, PartialEq)]
pub struct Word {
    pub offset: u8,
    pub bytes: u8,
    pub samples: u64,
    /// The threads that were seen to write and only to read it.
    pub writers: Vec<u32>,
    pub readers: Vec<u32>,
    pub is_atomic: bool,
}

/// A thread shares a line if it has this part of its samples, and as many: one or two can be of an address that was
/// computed from code that was not executed.
const LEAST_SHARE: f64 = 0.01;
const FEWEST: u64 = 3;

/// The bytes that a thread uses, as bits.
#[derive(Clone, Copy, Default)]
struct Bytes {
    used: u64,
    written: u64,
    samples: u64,
}

/// Decides how threads share a line.
pub fn judge(accesses: &HashMap<Access, u64>) -> Sharing {
    let threads = sharers(accesses);
    let mut cpus: Vec<u32> =
        accesses.keys().filter(|access| threads.contains_key(&access.thread)).map(|access| access.cpu).collect();
    cpus.sort_unstable();
    cpus.dedup();
    if threads.len() < 2 || cpus.len() < 2 {
        return Sharing::OneThread;
    }
    if threads.values().all(|bytes| bytes.written == 0) {
        return Sharing::ReadOnly;
    }
    // Bytes that one thread writes and another one uses.
    let mut contended = 0;
    for (thread, bytes) in &threads {
        let others = threads.iter().filter(|(other, _)| *other != thread).fold(0, |used, (_, other)| used | other.used);
        contended |= bytes.written & others;
    }
    let of_shared = accesses.iter().filter(|(access, _)| threads.contains_key(&access.thread));
    let (mut on_them, mut all) = (0, 0);
    for (access, count) in of_shared {
        on_them += if bits(access) & contended != 0 { *count } else { 0 };
        all += *count;
    }
    if 2 * on_them >= all { Sharing::Written } else { Sharing::False }
}

/// Returns the words of a line, by their places.
pub fn words(accesses: &HashMap<Access, u64>) -> Vec<Word> {
    let threads = sharers(accesses);
    let mut words: BTreeMap<u8, (Word, BTreeMap<u32, bool>)> = BTreeMap::new();
    for (access, count) in accesses {
        let empty = || {
            let (writers, readers) = (Vec::new(), Vec::new());
            let word = Word { offset: access.offset, bytes: 0, samples: 0, writers, readers, is_atomic: false };
            (word, BTreeMap::new())
        };
        let (word, users) = words.entry(access.offset).or_insert_with(empty);
        word.bytes = word.bytes.max(access.bytes);
        word.samples += count;
        word.is_atomic |= access.usage == Use::Atomic;
        if threads.is_empty() || threads.contains_key(&access.thread) {
            *users.entry(access.thread).or_default() |= access.usage.writes();
        }
    }
    let finished = |(mut word, users): (Word, BTreeMap<u32, bool>)| {
        let of = |writes: bool| users.iter().filter(|user| *user.1 == writes).map(|user| *user.0).collect();
        (word.writers, word.readers) = (of(true), of(false));
        word
    };
    words.into_values().map(finished).collect()
}

/// Returns the threads that share a line, and the bytes that each uses.
fn sharers(accesses: &HashMap<Access, u64>) -> HashMap<u32, Bytes> {
    let all: u64 = accesses.values().sum();
    let mut threads: HashMap<u32, Bytes> = HashMap::new();
    for (access, count) in accesses {
        let bytes = threads.entry(access.thread).or_default();
        bytes.samples += count;
        bytes.used |= bits(access);
        bytes.written |= if access.usage.writes() { bits(access) } else { 0 };
    }
    threads.retain(|_, bytes| bytes.samples >= FEWEST && bytes.samples as f64 >= LEAST_SHARE * all as f64);
    threads
}

fn bits(access: &Access) -> u64 {
    let bytes = u64::from(access.bytes).clamp(1, LINE - u64::from(access.offset));
    (u64::MAX >> (LINE - bytes)) << access.offset
}

#[cfg(test)]
mod tests {
    use super::super::{Line, Running, Seen};
    use super::*;

    const FAST_NS: u64 = 211_003;

    fn access(thread: u32, offset: u8, usage: Use) -> Access {
        Access { thread, cpu: thread % 2, offset, bytes: 8, usage, instruction: 0x40_0000 + u64::from(offset) }
    }

    fn sharing(accesses: &[(Access, u64)]) -> Sharing {
        judge(&accesses.iter().copied().collect())
    }

    use Use::{Atomic, Load, Store};

    #[test]
    fn different_words_of_threads_are_false_sharing() {
        assert_eq!(sharing(&[(access(1, 0, Store), 50), (access(2, 8, Store), 50)]), Sharing::False);
        assert_eq!(sharing(&[(access(1, 0, Atomic), 50), (access(2, 0, Atomic), 50)]), Sharing::Written);
        // A reader of another word than the writer's, and of the same.
        assert_eq!(sharing(&[(access(1, 0, Store), 5), (access(2, 8, Load), 95)]), Sharing::False);
        assert_eq!(sharing(&[(access(1, 0, Store), 5), (access(2, 0, Load), 95)]), Sharing::Written);
        // A counter that both use, and a few samples of a field next to it.
        let few = (access(2, 16, Load), 10);
        assert_eq!(sharing(&[(access(1, 0, Atomic), 45), (access(2, 0, Atomic), 45), few]), Sharing::Written);
    }

    #[test]
    fn line_without_another_thread_or_a_writer_does_not_move() {
        assert_eq!(sharing(&[]), Sharing::OneThread);
        assert_eq!(sharing(&[(access(1, 0, Store), 50), (access(1, 8, Store), 50)]), Sharing::OneThread);
        assert_eq!(sharing(&[(access(1, 0, Load), 50), (access(2, 8, Load), 50)]), Sharing::ReadOnly);
        // Two samples of another thread, and threads that share a CPU.
        assert_eq!(sharing(&[(access(1, 0, Store), 50), (access(2, 8, Load), 2)]), Sharing::OneThread);
        assert_eq!(sharing(&[(access(1, 0, Store), 50), (access(3, 8, Store), 50)]), Sharing::OneThread);
    }

    /// The verdict does not depend on the numbers of threads and CPUs, on where in the code the accesses are, and on how
    /// often each was seen in proportion.
    #[test]
    fn verdict_is_the_same_under_other_names() {
        let mut random = fastrand::Rng::with_seed(7);
        let usages = [Load, Store, Atomic];
        for _ in 0..500 {
            let mut one = || {
                let place =
                    Access { usage: usages[random.usize(..3)], ..access(random.u32(1..5), 8 * random.u8(..3), Load) };
                (Access { cpu: place.thread % 3, ..place }, random.u64(3..100))
            };
            let accesses: HashMap<Access, u64> = (0..5).map(|_| one()).collect();
            let renamed = |(access, count): (&Access, &u64)| {
                let (thread, cpu) = (1_000 - access.thread, 9 - access.cpu);
                (Access { thread, cpu, instruction: access.instruction ^ 0x77, ..*access }, 4 * count)
            };
            assert_eq!(judge(&accesses), judge(&accesses.iter().map(renamed).collect()), "{accesses:?}");
            let found = words(&accesses);
            assert_eq!(found.iter().map(|word| word.samples).sum::<u64>(), accesses.values().sum::<u64>());
        }
    }

    /// Returns the use of a line in a window: each access many times, by threads that run all the time, or in turn.
    fn window(accesses: &[(Access, u64)], is_in_turn: bool) -> Line {
        let mut seen: Vec<Seen> = Vec::new();
        for (place, (access, count)) in accesses.iter().enumerate() {
            let begin = if is_in_turn { 1_000_000_000 * place as u64 } else { 0 };
            // No two of them at exactly the same time.
            let at = |number: u64| begin + number * FAST_NS + 1_000 * place as u64;
            seen.extend((0..*count).map(|number| Seen { access: *access, at_ns: at(number), is_on_stack: false }));
        }
        let running = Running::at(seen.iter().map(|seen| (1, seen.access.thread, seen.at_ns)), FAST_NS);
        Line::of_window(&seen, &running)
    }

    #[test]
    fn only_windows_in_which_threads_share_the_line_count() {
        let mut line = Line::default();
        // Another thread has the block of memory later.
        line.add(window(&[(access(1, 0, Store), 50)], false));
        line.add(window(&[(access(2, 8, Store), 50)], false));
        assert_eq!((line.samples, line.contended), (100, 0));
        line.add(window(&[(access(3, 16, Store), 20), (access(4, 24, Store), 20)], false));
        assert_eq!((line.samples, judge(&line.accesses)), (140, Sharing::False));
        let users: Vec<(u8, Vec<u32>)> =
            words(&line.accesses).into_iter().map(|word| (word.offset, word.writers)).collect();
        assert_eq!(users, [(16, vec![3]), (24, vec![4])]);
        // All but the first and the last sample are between two of the other thread.
        assert_eq!(line.contended, 38);
    }

    #[test]
    fn threads_that_run_in_turn_do_not_fight() {
        let accesses = [(access(1, 0, Store), 50), (access(2, 0, Store), 50)];
        assert_eq!((window(&accesses, true).contended, window(&accesses, false).contended), (0, 98));
        // The second one runs half as long.
        let accesses = [(access(1, 0, Store), 50), (access(2, 0, Store), 25)];
        assert!((45..60).contains(&window(&accesses, false).contended));
    }

    /// A thread gets the lock of an interpreter each 5 ms from the other one.
    #[test]
    fn passing_on_a_lock_is_not_running_together() {
        let turn = |number: u64| {
            let access = access(1 + (number % 2) as u32, 0, Store);
            let at = move |sample: u64| 5_000_000 * number + sample * FAST_NS;
            (0..23).map(move |sample| Seen { access, at_ns: at(sample), is_on_stack: false })
        };
        let seen: Vec<Seen> = (0..10).flat_map(turn).collect();
        let running = Running::at(seen.iter().map(|seen| (1, seen.access.thread, seen.at_ns)), FAST_NS);
        assert_eq!(Line::of_window(&seen, &running).contended, 0);
    }
}
