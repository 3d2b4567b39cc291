//! Locks of parking_lot. A thread that waits for one blocks in its own word, which is a part of the thread's data
//! for waiting; so is the address of the lock. The layout of that data is the compiler's choice, so each address near the
//! word is a candidate. It is the lock's if it is there in nearly all samples and leads to a state with a waiter.

use crate::memory::read;
use std::collections::HashMap;

/// The candidates near one word, each with its number of samples.
#[derive(Clone, Debug, Default)]
struct Candidates {
    samples: u64,
    counts: HashMap<u64, u64>,
}

/// The words that threads were seen to wait for.
#[derive(Default)]
pub struct Parked(HashMap<(u32, u64), Candidates>);

/// Words, and candidates of each, that are remembered.
const MOST_WORDS: usize = 4_096;
const MOST_CANDIDATES: usize = 64;
/// Samples without a candidate after which a word is taken for one of another lock.
const IN_VAIN: u64 = 8;
/// The part of the samples that must have the address: a waiter marks the lock before it blocks.
const NEARLY_ALL: f64 = 0.9;
/// Bytes before and after the word: the data for waiting has 40.
const REACH: u64 = 40;

impl Parked {
    /// Notes that a thread waits for a word.
    pub fn note(&mut self, process: u32, word: u64) {
        let has_room = self.0.len() < MOST_WORDS || self.0.contains_key(&(process, word));
        let Some(candidates) = has_room.then(|| self.0.entry((process, word)).or_default()) else { return };
        if candidates.samples >= IN_VAIN && candidates.counts.is_empty() {
            return;
        }
        let (mut near, from) = ([0; 2 * REACH as usize], (word & !7).saturating_sub(REACH));
        let length = read(process, from, &mut near);
        let has_waiter = |address: &u64| {
            let mut state = [0];
            // The two lowest bits are the marks of waiters, or one of them and that of the holder.
            *address > u64::from(u16::MAX) && read(process, *address, &mut state) == 1 && state[0] & 3 != 0
        };
        let values =
            near[..length].chunks_exact(8).map(|value| u64::from_ne_bytes(*value.first_chunk().unwrap_or(&[0; 8])));
        candidates.note(values.filter(has_waiter));
    }

    /// Returns the addresses of the locks, by process and word, as far as there is one candidate.
    pub fn locks(&self) -> HashMap<(u32, u64), u64> {
        let mut words: HashMap<(u32, u64), usize> = HashMap::new();
        for ((process, _), candidates) in &self.0 {
            candidates.likely().for_each(|address| *words.entry((*process, address)).or_default() += 1);
        }
        let lock = |(process, candidates): (u32, &Candidates)| {
            let shared = |address: &u64| words[&(process, *address)];
            let most = candidates.likely().map(|address| shared(&address)).max()?;
            let mut likely = candidates.likely().filter(|address| shared(address) == most);
            likely.next().filter(|_| likely.next().is_none())
        };
        self.0.iter().filter_map(|(&(process, word), one)| Some(((process, word), lock((process, one))?))).collect()
    }

    /// Forgets all words.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl Candidates {
    fn note(&mut self, found: impl Iterator<Item = u64>) {
        self.samples += 1;
        for address in found {
            if self.counts.len() < MOST_CANDIDATES || self.counts.contains_key(&address) {
                *self.counts.entry(address).or_default() += 1;
            }
        }
    }

    fn likely(&self) -> impl Iterator<Item = u64> {
        let least = NEARLY_ALL * self.samples as f64;
        self.counts.iter().filter(move |(_, count)| **count as f64 >= least).map(|(address, _)| *address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The data of a thread, with the word after the addresses as compilers lay it out.
    #[repr(C)]
    #[derive(Default)]
    struct Data {
        before: [u64; 8],
        lock: u64,
        next: u64,
        tokens: [u64; 2],
        word: u32,
        after: [u64; 8],
    }

    fn address<T>(of: &T) -> u64 {
        (&raw const *of).addr() as u64
    }

    #[test]
    fn lock_is_the_address_that_has_a_waiter_in_all_samples() {
        let (locks, pid) = ([3_u8, 0, 2, 7], std::process::id());
        let data = |lock: &u8, other: &u8| Data { lock: address(lock), next: address(other), ..Data::default() };
        // The second lock is free, so it has no waiter; the last one is an address that only one thread has.
        let threads = [data(&locks[0], &locks[1]), data(&locks[0], &locks[3]), data(&locks[2], &locks[1])];
        let mut parked = Parked::default();
        for _ in 0..10 {
            threads.iter().for_each(|thread| parked.note(pid, address(&thread.word)));
        }
        let found = parked.locks();
        let lock = |thread: &Data| found.get(&(pid, address(&thread.word))).copied();
        assert_eq!(lock(&threads[0]), Some(address(&locks[0])));
        assert_eq!(lock(&threads[1]), Some(address(&locks[0])));
        assert_eq!(lock(&threads[2]), Some(address(&locks[2])));
    }

    #[test]
    fn thread_that_waits_for_several_locks_has_none() {
        let (locks, pid) = ([3_u8, 3], std::process::id());
        let mut data = Data::default();
        let mut parked = Parked::default();
        for turn in 0..10 {
            data.lock = address(&locks[turn % 2]);
            parked.note(pid, address(&data.word));
        }
        assert_eq!(parked.locks(), HashMap::new());
    }
}
