//! Loom's atomics, and models of spinning, sleeping and time, in place of `src/peers/atomic.rs`.

pub use loom::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread::yield_now;
use std::cell::Cell;

pub fn spin_until(mut done: impl FnMut() -> bool) {
    while !done() {
        yield_now();
    }
}

/// Checks once, so that the sleep after it is reached.
pub fn spin_for(_: u32, mut done: impl FnMut() -> bool) -> bool {
    done()
}

/// A thread that sleeps on a word.
struct Sleeper {
    word: usize,
    is_woken: Mutex<bool>,
    alarm: Condvar,
}

std::thread_local! {
    /// Whether a wake wakes all sleepers, of which all but one then wake without a reason. Loom runs the threads of a model
    /// on the thread of its test.
    pub static WAKES_ALL: Cell<bool> = const { Cell::new(false) };
}

/// The number of slots of each array: few, so that locks and tickets share them.
const SLOTS: usize = 2;

loom::lazy_static! {
    static ref SLEEPERS: Mutex<Vec<Arc<Sleeper>>> = Mutex::new(Vec::new());
    static ref TWA: [AtomicU64; SLOTS] = std::array::from_fn(|_| AtomicU64::new(0));
    static ref HAPAX: [AtomicU64; SLOTS] = std::array::from_fn(|_| AtomicU64::new(0));
    static ref READERS: [AtomicUsize; SLOTS] = std::array::from_fn(|_| AtomicUsize::new(0));
}

/// Sleeps unless the word has another value. The comparison and the sleep are one step with respect to wakes, as in the
/// kernel.
pub fn sleep_while(word: &AtomicU32, value: u32) {
    let sleeper = {
        let mut sleepers = SLEEPERS.lock().unwrap();
        if word.load(Ordering::SeqCst) != value {
            return;
        }
        let word = std::ptr::from_ref(word).addr();
        let sleeper = Arc::new(Sleeper { word, is_woken: Mutex::new(false), alarm: Condvar::new() });
        sleepers.push(Arc::clone(&sleeper));
        sleeper
    };
    let mut is_woken = sleeper.is_woken.lock().unwrap();
    while !*is_woken {
        is_woken = sleeper.alarm.wait(is_woken).unwrap();
    }
}

/// Wakes the thread that has slept longest on the word.
pub fn wake_one(word: *const AtomicU32) {
    let mut sleepers = SLEEPERS.lock().unwrap();
    let most = if WAKES_ALL.get() { sleepers.len() } else { 1 };
    for _ in 0..most {
        let place = sleepers.iter().position(|sleeper| WAKES_ALL.get() || sleeper.word == word.addr());
        let Some(sleeper) = place.map(|place| sleepers.remove(place)) else { return };
        *sleeper.is_woken.lock().unwrap() = true;
        sleeper.alarm.notify_one();
    }
}

pub fn sleep_ns(_: u64) {
    yield_now();
}

/// A constant time: bans are never over, and slices have no length.
#[derive(Clone, Copy)]
pub struct Ticks;

impl Ticks {
    pub fn new() -> Self {
        Self
    }

    pub fn now(self) -> u64 {
        1
    }

    pub fn of_ns(self, ns: u64) -> u64 {
        ns
    }

    pub fn to_ns(self, ticks: u64) -> u64 {
        ticks
    }
}

/// Orders `SeqCst` accesses, which loom treats as `AcqRel`: the fence has the order that they have.
pub fn between_seqcst() {
    loom::sync::atomic::fence(Ordering::SeqCst);
}

pub fn twa_slots() -> &'static [AtomicU64] {
    &*TWA
}

pub fn hapax_slots() -> &'static [AtomicU64] {
    &*HAPAX
}

pub fn bravo_readers() -> &'static [AtomicUsize] {
    &*READERS
}
