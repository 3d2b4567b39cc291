//! `Adaptive` of `ulocks`: its word, with the same transitions.
//!
//! These parts are missing: the membarrier before a thread blocks on a lock without recent waiters, the processor's
//! reordering that makes it necessary, the choice of releases that read the clock, and the return of a lock that was reserved
//! just after its acquisition. Unlike there, a waiter learns without a cost how often to read a quiet lock, and by the time
//! between two changes of hands, where the holder of the real lock measures its iterations.
//! Arriving threads do not yield in turn here either, which matters where threads outnumber the cores.

use super::Algorithm;
use crate::machine::{Machine, Place, Ps, Word, ps};
use crate::thread::Thread;
use std::cell::Cell;

const HELD: u64 = 1;
const WAITERS: u64 = 1 << 1;
const RESERVED: u64 = 1 << 2;
const ONE_CREDIT: u64 = 1 << 3;
const CREDIT: u64 = 15 << 3;
const ONE_SLICE: u64 = 1 << 7;
const SLICE: u64 = 3 << 7;
const WAKING: u64 = 1 << 9;
const AWAKE: u64 = 1 << 10;
const CPU_SHIFT: u32 = 14;
const CPU: u64 = 0xffff << CPU_SHIFT;
const STAMP_SHIFT: u32 = 30;

/// The unit of the lock's clock on the machine on which contend was developed: 2^15 cycles of 2.1 GHz.
const UNIT: Ps = 15_600_000;
const LONGEST_SLICE: u64 = 200;
const GOOD_WAIT: u64 = 500;
const PATIENCE: u64 = 3;
const PATIENCE_RESERVED: u64 = 20;
const ROUNDS: u32 = 12;
const YIELDS: u32 = 8;
const YIELDS_WOKEN: u32 = 100;
const PAUSES: u64 = 4;
const QUIET_PAUSES: u64 = 32;
const MOST_PAUSES: u64 = 512;
/// Time between two changes of hands from which reading often is better, and the periods of which one is for learning.
const LONG_NS: f64 = 300.0;
const PERIODS: u64 = 16;
const OFTEN: u32 = 8;
const BEST_SCORE: u32 = 15;
/// Reads of a waiter that reads often.
const READS: u32 = 8;

pub struct Adaptive {
    word: Word,
    pace: Pace,
}

/// How often a waiter reads the word of a quiet lock: a score, and when the lock last changed hands.
#[derive(Default)]
struct Pace {
    score: Cell<u32>,
    changed: Cell<Ps>,
}

impl Pace {
    fn learn(&self, now: Ps) {
        let is_long = now - self.changed.replace(now) >= ps(LONG_NS);
        let score = self.score.get();
        self.score.set(if is_long { (score + 1).min(BEST_SCORE) } else { score.saturating_sub(1) });
    }
}

/// A waiting thread that is not blocked.
#[derive(Default)]
struct Spinner {
    since: u64,
    has_slept: bool,
    is_spinner: bool,
    reserved: bool,
}

impl Algorithm for Adaptive {
    fn new(machine: &mut Machine, _: usize) -> Self {
        Self { word: machine.line(), pace: Pace::default() }
    }

    async fn acquire(&self, thread: &Thread) {
        let word = thread.set_bits(self.word, HELD).await;
        if word & (HELD | RESERVED) == 0 {
            self.note_core(thread, word | HELD).await;
            return;
        }
        if word & HELD == 0 {
            self.release(thread).await;
        }
        let mut spinner = Spinner { since: time(thread), ..Spinner::default() };
        let mut place = Place::InTurn;
        while !self.spin(thread, &mut spinner).await {
            spinner.has_slept = true;
            let mut word = thread.load(self.word).await;
            let expected = loop {
                if word & HELD == 0 {
                    if self.take(thread, &spinner, word, true).await {
                        return;
                    }
                } else {
                    let marked = spinner.marked(word);
                    if marked == word || thread.replace(self.word, word, marked).await {
                        break marked;
                    }
                }
                word = thread.load(self.word).await;
            };
            // One that is woken in vain is the next to be woken, once.
            if thread.sleep_at(self.word, expected, place).await {
                place = if place == Place::InTurn { Place::First } else { Place::InTurn };
            }
        }
    }

    async fn release(&self, thread: &Thread) {
        if thread.replace_restartably(self.word, HELD, 0).await {
            return;
        }
        loop {
            let word = thread.load(self.word).await;
            let (freed, wakes) = freed(word, time(thread));
            if thread.replace(self.word, word, freed).await {
                if wakes && !thread.wake_one_at(self.word, Place::First).await {
                    thread.wake_one(self.word).await;
                }
                return;
            }
        }
    }
}

impl Adaptive {
    /// Notes in the held word on which core it was acquired, unless it is plain.
    async fn note_core(&self, thread: &Thread, mut word: u64) {
        loop {
            let moved = (word ^ (thread.core() as u64 + 1) << CPU_SHIFT) & CPU;
            if word == HELD || moved == 0 || thread.replace(self.word, word, word ^ moved).await {
                return;
            }
            word = thread.load(self.word).await;
        }
    }

    async fn spin(&self, thread: &Thread, spinner: &mut Spinner) -> bool {
        let start = time(thread);
        let woken = spinner.has_slept;
        spinner.is_spinner = false;
        spinner.reserved = false;
        let (patience, mut until, most_yields) =
            if woken { (0, PATIENCE_RESERVED, YIELDS_WOKEN) } else { (PATIENCE, PATIENCE + 1, YIELDS) };
        let learns = start.is_multiple_of(PERIODS);
        let is_often = learns || self.pace.score.get() >= OFTEN;
        let (mut changed, mut yields, mut rounds, mut pauses) = (woken, 0, 0, PAUSES);
        let mut free_since = None;
        let mut seen = thread.load(self.word).await;
        loop {
            let word = thread.load(self.word).await;
            let age = time(thread) - start;
            let void = free_since.is_some_and(|since: u64| age - since > PATIENCE);
            spinner.reserved &= word & RESERVED != 0;
            if word & HELD == 0 && self.take(thread, spinner, word, void).await {
                if learns && is_quiet(word) {
                    self.pace.learn(thread.now());
                }
                return true;
            }
            changed |= (word ^ seen) & (HELD | CREDIT | CPU) != 0;
            seen = word;
            if word & HELD == 0 {
                free_since = free_since.or(Some(age));
                thread.give_way().await;
                thread.pause(PAUSES).await;
                continue;
            }
            free_since = None;
            let quiet = is_quiet(word) && !spinner.reserved;
            let is_soon = is_often && rounds < READS;
            pauses = if quiet && age < patience && !is_soon {
                (pauses * 2).clamp(QUIET_PAUSES, MOST_PAUSES)
            } else {
                PAUSES
            };
            if word & AWAKE == 0 {
                if !quiet {
                    spinner.is_spinner = thread.replace(self.word, word, word | AWAKE).await;
                }
            } else if !spinner.is_spinner && !woken && (word & (WAITERS | SLICE) != 0 || rounds > ROUNDS) {
                return false;
            }
            if !spinner.reserved && (changed || quiet) && age >= patience && self.reserve(thread, spinner, word).await {
                until = age + if changed { PATIENCE_RESERVED } else { PATIENCE };
            } else if (word & CPU) >> CPU_SHIFT == thread.core() as u64 + 1 {
                if yields == most_yields {
                    return false;
                }
                yields += 1;
                thread.give_way().await;
            } else if age >= until {
                return false;
            }
            rounds += 1;
            thread.pause(pauses).await;
        }
    }

    async fn take(&self, thread: &Thread, spinner: &Spinner, word: u64, void: bool) -> bool {
        if word & HELD != 0 || (word & RESERVED != 0 && !spinner.has_slept && !spinner.reserved && !void) {
            return false;
        }
        let taken = spinner.taken(word, thread.core() as u64 + 1, time(thread));
        thread.replace(self.word, word, taken).await
    }

    async fn reserve(&self, thread: &Thread, spinner: &mut Spinner, word: u64) -> bool {
        spinner.reserved = word & (HELD | RESERVED) == HELD && thread.replace(self.word, word, word | RESERVED).await;
        spinner.reserved
    }
}

impl Spinner {
    /// Returns the held word after this thread has announced that it blocks.
    fn marked(&self, word: u64) -> u64 {
        let word = if self.reserved { word & !RESERVED } else { word };
        let word = if self.is_spinner { word & !AWAKE } else { word };
        word & !WAKING | WAITERS
    }

    fn taken(&self, word: u64, cpu: u64, now: u64) -> u64 {
        if !self.has_slept {
            return if is_quiet(word) { HELD } else { self.contended(word, cpu) };
        }
        let taken = self.contended(word & !WAKING, cpu) | WAITERS;
        stamped(another_slice(taken, now - self.since), now)
    }

    fn contended(&self, word: u64, cpu: u64) -> u64 {
        let word = if self.is_spinner { word & !AWAKE } else { word };
        word & !(CPU | RESERVED) | HELD | CREDIT | cpu << CPU_SHIFT
    }
}

fn time(thread: &Thread) -> u64 {
    thread.now() / UNIT
}

fn is_quiet(word: u64) -> bool {
    word & (CREDIT | WAITERS) == 0
}

/// Returns the word after a release, and whether the releasing thread wakes a waiter.
fn freed(word: u64, now: u64) -> (u64, bool) {
    let free = word & !HELD;
    if word & WAITERS == 0 {
        return (if word & CREDIT > ONE_CREDIT { free - ONE_CREDIT } else { free & RESERVED }, false);
    }
    let is_due = now - (word >> STAMP_SHIFT) >= LONGEST_SLICE >> ((word & SLICE) / ONE_SLICE);
    let is_left_alone = word & (AWAKE | WAKING) == 0;
    if !is_due && !is_left_alone {
        return (free | CREDIT, false);
    }
    let is_handed_off = is_due && !is_left_alone && (word & WAKING == 0 || word & SLICE == SLICE);
    (stamped(waking(free), now) | CREDIT | if is_handed_off { RESERVED } else { 0 }, true)
}

fn waking(word: u64) -> u64 {
    if word & WAKING == 0 {
        word | WAKING
    } else if word & SLICE != 0 {
        word - ONE_SLICE
    } else {
        word & !(WAITERS | WAKING)
    }
}

fn stamped(word: u64, now: u64) -> u64 {
    word & ((1 << STAMP_SHIFT) - 1) | now << STAMP_SHIFT
}

fn another_slice(word: u64, waited: u64) -> u64 {
    if waited > GOOD_WAIT {
        word | SLICE
    } else if waited < GOOD_WAIT / 4 && word & SLICE != 0 {
        word - ONE_SLICE
    } else {
        word
    }
}
