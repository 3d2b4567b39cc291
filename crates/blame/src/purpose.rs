//! The purpose of a word, seen from its use: the threads that wait for it, those that wake them, and the order of both.
//!
//! A thread that was woken because it got a lock passes the lock on: it wakes another one at the same word before it waits
//! there again, and no other thread wakes one there in the meantime. A thread that got work does not: another one brings the next.
//! This needs no names, stacks or symbols, so that a program's own lock is known whatever its functions are called, and
//! without any.
//!
//! Two threads that wake each other in turn may have a lock that both always want, or ask and answer: that is not decided.
//! Where each thread sleeps at a separate word, the words that are waited for in one place of the code are looked at together.
//! Threads that pass them on may have a lock, or be the stages of some work: that is not decided, either. Nor is it for locks that no
//! thread released in the time.
//!
//! The same holds for goroutines and the channels at which they wait: a channel can be a queue, a pool, or a lock.

use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The use of an object by the threads that wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Purpose {
    /// Those who end the waits have passed through the object themselves: a lock, whatever it is made of.
    Exclusion,
    /// The same with several threads inside at a time: a pool, or the workers that one condition tells of all things.
    Pool,
    /// Others end the waits: a queue, an event, an answer.
    Work,
    /// One wake ends several waits: a barrier, or a condition that is broadcast.
    Together,
    /// Most waits end by their time limit.
    Poll,
    /// Two threads wake each other in turn, or each thread waits for a separate object and wakes another one that waits in the
    /// same place: they hand on a lock, or ask and answer.
    Turns,
}

/// An object that threads wait for. The words of a process that are one object have one block: the C library's condition
/// variable has two in a row. So has one side of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Block {
    /// The process, 0 for words that processes may share; or the place in the language's runtime that waits.
    within: u64,
    address: u64,
}

/// Returns the address of the block that a word is in.
pub fn block_address(address: u64) -> u64 {
    const BYTES: u64 = 8;
    address & !(BYTES - 1)
}

impl Block {
    /// Returns the block of a word; a private word is of one process alone.
    pub fn of(process: u32, address: u64, is_private: bool) -> Self {
        Self { within: if is_private { u64::from(process) } else { 0 }, address: block_address(address) }
    }

    /// Returns the place of the code in which words are waited for, by the innermost addresses of a call path: those of the C
    /// library's functions, and of those that called them.
    pub fn place(process: u32, path: &[u64]) -> Self {
        const INNERMOST: usize = 4;
        let mut hasher = DefaultHasher::new();
        path.iter().take(INNERMOST).for_each(|address| address.hash(&mut hasher));
        // A word has an even address.
        Self { within: u64::from(process), address: hasher.finish() | 1 }
    }

    /// Returns one side of a channel: those that receive from it and those that send to it wait at separate places of the
    /// runtime.
    pub fn side(channel: u64, place: u64) -> Self {
        Self { within: place, address: channel }
    }
}

/// The result of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Woken,
    TimedOut,
}

/// The uses of all objects that were seen.
#[derive(Default)]
pub struct Uses {
    uses: HashMap<Block, Use>,
    /// The place in which each word was waited for last.
    places: HashMap<Block, Block>,
    /// The threads that were woken at an object, and have neither woken another nor waited there since; and when that was.
    got: HashMap<(u32, Block), u64>,
}

#[derive(Default)]
struct Use {
    tally: Tally,
    waiters: HashSet<u32>,
    /// The last call that woke threads, and the last one of another thread than that: who, and when.
    last: Option<(u32, u64)>,
    last_of_another: Option<(u32, u64)>,
}

/// How an object was used, in numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Threads that have waited.
    pub waiters: u64,
    /// Waits that were ended by a wake, and those that ended by their time limit.
    pub waits: u64,
    pub timeouts: u64,
    /// Calls that woke a thread, those of them by threads that have waited themselves, and the threads that were woken.
    pub wakes: u64,
    pub wakes_by_waiters: u64,
    pub woken: u64,
    /// Threads that were woken, and then woke another, or waited again.
    pub passed: u64,
    pub kept: u64,
    /// Those of `passed` in whose time another thread woke one: it was inside as well, or brings work.
    pub shared: u64,
}

/// Objects and threads that are followed: a program can use a new word for each request.
const MOST_BLOCKS: usize = 16_384;
const MOST_GOT: usize = 65_536;
/// Waiters of an object that are remembered: a thread beyond them counts as one that has not waited.
const MOST_WAITERS: usize = 1_024;

/// Number of waits after which the threads' next calls decide.
const FEW: u64 = 3;
/// Number of them from which an object is said to be handed on. Of fewer, three in four would wake another by chance too often: workers
/// that pass a queue's next job on do so now and then.
const LEAST_PASSED: u64 = 10;
/// Threads of which the use of their words is looked at together: two that wake each other may as well ask and answer.
const LEAST_IN_TURN: u64 = 3;
/// The share of woken threads that pass the object on. In 23 objects for exclusion it was 0.88 to 1.00, and in 27 others 0.50
/// at most; nothing is said in between.
const PASSED_BY_MOST: f64 = 0.75;
const PASSED_BY_FEW: f64 = 0.5;
/// The waits that a wake ends, from which the threads go on together.
const SEVERAL: f64 = 1.5;
/// The part of the threads that passed an object on in whose time others may have woken one: a thread that has released a
/// lock may lose its CPU before it wakes the next one.
const LATE: f64 = 0.25;

impl Uses {
    fn at(&mut self, block: Block) -> Option<&mut Use> {
        let has_room = self.uses.len() < MOST_BLOCKS || self.uses.contains_key(&block);
        has_room.then(|| self.uses.entry(block).or_default())
    }

    /// Notes the place in which a thread waits for a word.
    pub fn waits_in(&mut self, place: Block, block: Block) {
        if self.places.len() < MOST_BLOCKS || self.places.contains_key(&block) {
            self.places.insert(block, place);
        }
    }

    /// Returns the place in which a word was waited for last.
    pub fn place_of(&self, block: Block) -> Option<Block> {
        self.places.get(&block).copied()
    }

    /// Notes that a thread asks for an object, and does not have it from before.
    pub fn asks(&mut self, thread: u32, block: Block) {
        if self.got.remove(&(thread, block)).is_some()
            && let Some(one) = self.at(block)
        {
            one.tally.kept += 1;
        }
    }

    /// Notes the end of a wait at this time.
    pub fn waited(&mut self, thread: u32, block: Block, end: End, at: u64) {
        let Some(one) = self.at(block) else { return };
        if one.waiters.len() < MOST_WAITERS {
            one.waiters.insert(thread);
            one.tally.waiters = one.waiters.len() as u64;
        }
        match end {
            End::TimedOut => one.tally.timeouts += 1,
            End::Woken => {
                one.tally.waits += 1;
                if self.got.len() >= MOST_GOT {
                    self.got.clear();
                }
                self.got.insert((thread, block), at);
            }
        }
    }

    /// Notes a call at this time that wakes threads which wait for an object, whether there are any or not. Returns the time at
    /// which the thread got the object, if it was woken for it and has not passed it on before.
    pub fn passes(&mut self, thread: u32, block: Block, at: u64) -> Option<u64> {
        let since = self.got.remove(&(thread, block));
        let one = self.at(block)?;
        if one.last.is_some_and(|(by, _)| by != thread) {
            one.last_of_another = one.last;
        }
        one.last = Some((thread, at));
        if let Some(since) = since {
            one.tally.passed += 1;
            one.tally.shared += u64::from(one.last_of_another.is_some_and(|(_, woke)| woke > since));
        }
        since
    }

    /// Notes how many threads such a call woke.
    pub fn woke(&mut self, thread: u32, block: Block, count: u64) {
        if let Some(one) = self.at(block).filter(|_| count > 0) {
            one.tally.wakes += 1;
            one.tally.woken += count;
            one.tally.wakes_by_waiters += u64::from(one.waiters.contains(&thread));
        }
    }

    /// Forgets who has what: calls after this may have been missed.
    pub fn interrupt(&mut self) {
        self.got.clear();
    }

    /// Returns what a word is for; `None` where its use does not say, as with a single waiter.
    pub fn purpose(&self, process: u32, address: u64) -> Option<Purpose> {
        let blocks = [true, false].map(|is_private| Block::of(process, address, is_private));
        blocks.into_iter().find_map(|block| self.of(block).or_else(|| self.of_place(block)))
    }

    /// Returns what a word is for at which one thread alone waits, by the use of all words that are waited for in the same place.
    fn of_place(&self, block: Block) -> Option<Purpose> {
        let waiters = |block: &Block| self.uses.get(block).map_or(0, |one| one.tally.waiters);
        let place = self.places.get(&block).filter(|place| waiters(&block) == 1 && waiters(place) >= LEAST_IN_TURN)?;
        match self.of(*place)? {
            Purpose::Exclusion | Purpose::Pool => Some(Purpose::Turns),
            Purpose::Work => Some(Purpose::Work),
            Purpose::Together | Purpose::Poll | Purpose::Turns => None,
        }
    }

    /// Returns what an object is for; `None` where its use does not say.
    pub fn of(&self, block: Block) -> Option<Purpose> {
        self.uses.get(&block)?.tally.purpose()
    }
}

impl Tally {
    /// Adds the use of another object, for several that are one.
    pub fn add(&mut self, other: &Self) {
        self.waiters += other.waiters;
        self.waits += other.waits;
        self.timeouts += other.timeouts;
        self.wakes += other.wakes;
        self.wakes_by_waiters += other.wakes_by_waiters;
        self.woken += other.woken;
        self.passed += other.passed;
        self.kept += other.kept;
        self.shared += other.shared;
    }

    /// Returns what the object is for; `None` where its use does not say.
    pub fn purpose(&self) -> Option<Purpose> {
        if self.waiters < 2 {
            return None;
        }
        let decided = self.passed + self.kept;
        let token = self.passed as f64 / decided.max(1) as f64;
        let is_known = decided >= FEW;
        let wake_themselves = 2 * self.wakes_by_waiters > self.wakes;
        if decided >= LEAST_PASSED && token > PASSED_BY_MOST && wake_themselves {
            let is_alone = self.shared as f64 <= LATE * self.passed as f64;
            return Some(match (self.waiters < LEAST_IN_TURN, is_alone) {
                (true, _) => Purpose::Turns,
                (false, true) => Purpose::Exclusion,
                (false, false) => Purpose::Pool,
            });
        }
        // Some locks wake all that wait, of whom one gets it.
        if self.wakes > 0 && self.woken as f64 >= SEVERAL * self.wakes as f64 {
            return Some(Purpose::Together);
        }
        let is_passed_by_few = token <= PASSED_BY_FEW;
        if is_passed_by_few && self.timeouts > self.waits && self.timeouts >= FEW {
            return Some(Purpose::Poll);
        }
        // Those who release a semaphore do not wake another one each time.
        (is_known && is_passed_by_few && !wake_themselves).then_some(Purpose::Work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block() -> Block {
        Block::of(1, 0xf04, true)
    }

    fn purpose(uses: &Uses) -> Option<Purpose> {
        uses.purpose(1, 0xf00)
    }

    /// Threads 2, 3 and 4 wait in turn, and these do what they do then, at these times.
    fn used(rounds: u64, then: impl FnMut(&mut Uses, u32, u64)) -> Uses {
        used_by(3, rounds, then)
    }

    fn used_by(threads: u64, rounds: u64, mut then: impl FnMut(&mut Uses, u32, u64)) -> Uses {
        let mut uses = Uses::default();
        for turn in 0..threads * rounds {
            let (thread, at) = (2 + (turn % threads) as u32, 100 * turn);
            uses.asks(thread, block());
            uses.waited(thread, block(), End::Woken, at);
            then(&mut uses, thread, at);
        }
        uses
    }

    fn passes(uses: &mut Uses, thread: u32, at: u64) {
        uses.passes(thread, block(), at);
        uses.woke(thread, block(), 1);
    }

    #[test]
    fn who_got_a_lock_passes_it_on() {
        let lock = |rounds| used(rounds, |uses, thread, at| passes(uses, thread, at + 50));
        assert_eq!(
            purpose(&used_by(2, 1, |uses, thread, at| passes(uses, thread, at + 50))),
            None,
            "two waits say too little"
        );
        assert_eq!(purpose(&lock(2)), None, "workers that pass on a queue's next job may do so six times");
        assert_eq!(purpose(&lock(4)), Some(Purpose::Exclusion));
        assert_eq!(lock(4).uses.len(), 1);
        assert_eq!(lock(4).purpose(2, 0xf00), None, "the word of another process");
    }

    #[test]
    fn lock_that_wakes_all_is_one() {
        let uses = used(9, |uses, thread, at| {
            uses.passes(thread, block(), at + 50);
            uses.woke(thread, block(), 2);
        });
        assert_eq!(purpose(&uses), Some(Purpose::Exclusion));
    }

    #[test]
    fn two_that_wake_each_other_may_ask_and_answer() {
        let uses = used_by(2, 9, |uses, thread, at| passes(uses, thread, at + 50));
        assert_eq!(purpose(&uses), Some(Purpose::Turns));
    }

    #[test]
    fn who_got_work_does_not_bring_the_next() {
        let uses = used(4, |uses, _, at| passes(uses, 9, at + 90));
        assert_eq!(purpose(&uses), Some(Purpose::Work));
    }

    /// One condition tells of new jobs and of finished ones: the other worker finishes its job in the meantime.
    #[test]
    fn several_inside_are_no_lock() {
        let mut before = None;
        let uses = used(4, |uses, thread, at| {
            if let Some(before) = before.replace(thread) {
                passes(uses, before, at + 50);
            }
        });
        assert_eq!(purpose(&uses), Some(Purpose::Pool));
    }

    #[test]
    fn wakes_of_several_and_time_limits_are_told_apart() {
        let (mut barrier, mut poll) = (Uses::default(), Uses::default());
        for at in 0..4 {
            barrier.woke(4, block(), 2);
            for thread in [2, 3] {
                barrier.waited(thread, block(), End::Woken, at);
                poll.waited(thread, block(), End::TimedOut, at);
            }
        }
        assert_eq!([purpose(&barrier), purpose(&poll)], [Some(Purpose::Together), Some(Purpose::Poll)]);
    }

    /// Two of three threads wake another: neither a lock nor a queue is known to be used so.
    #[test]
    fn what_is_in_between_is_not_decided() {
        let mut turn = 0;
        let uses = used(12, |uses, thread, at| {
            turn += 1;
            if turn % 3 > 0 {
                passes(uses, thread, at + 50);
            }
        });
        assert_eq!(purpose(&uses), None);
    }

    #[test]
    fn a_single_waiter_says_nothing() {
        let mut uses = Uses::default();
        for at in 0..9 {
            uses.asks(2, block());
            uses.waited(2, block(), End::Woken, at);
        }
        assert_eq!(purpose(&uses), None);
    }

    /// Each of three threads sleeps at its own word; the one that goes on wakes the next.
    #[test]
    fn words_of_single_threads_are_looked_at_together() {
        let used = |threads: u32, path: &dyn Fn(u32) -> u64| {
            let mut uses = Uses::default();
            let word = |thread: u32| Block::of(1, 0x100 * u64::from(thread), true);
            let place = |thread: u32| Block::place(1, &[1, 2, 3, path(thread)]);
            for at in 0..30 {
                let (thread, next) = (at as u32 % threads, (at as u32 + 1) % threads);
                uses.waits_in(place(thread), word(thread));
                for block in [word(thread), place(thread)] {
                    uses.asks(thread, block);
                    uses.waited(thread, block, End::Woken, 100 * at);
                }
                for block in [Some(word(next)), uses.place_of(word(next))].into_iter().flatten() {
                    uses.passes(thread, block, 100 * at + 50);
                    uses.woke(thread, block, 1);
                }
            }
            uses.purpose(1, 0x100)
        };
        assert_eq!(used(3, &|_| 4), Some(Purpose::Turns));
        assert_eq!(used(2, &|_| 4), None, "a request and its answer");
        assert_eq!(used(3, &|thread| thread.into()), None, "stages of different functions");
        let mut answers = Uses::default();
        for at in 0..30 {
            let (client, word) = (at as u32 % 3, Block::of(1, 0x100 * (at % 3), true));
            answers.waits_in(Block::place(1, &[1]), word);
            for block in [word, Block::place(1, &[1])] {
                answers.asks(client, block);
                answers.waited(client, block, End::Woken, 100 * at);
                answers.passes(9, block, 100 * at + 50);
                answers.woke(9, block, 1);
            }
        }
        assert_eq!(answers.purpose(1, 0x100), Some(Purpose::Work));
    }

    /// A pause in the record, in which the threads may have passed it on.
    #[test]
    fn what_was_not_seen_counts_for_nothing() {
        let uses = used(9, |uses, _, _| uses.interrupt());
        assert_eq!(purpose(&uses), None);
    }
}
