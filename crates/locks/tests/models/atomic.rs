//! Loom's atomics, and models of spinning, sleeping and time, in place of `src/peers/atomic.rs`.

pub use loom::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use loom::sync::{Condvar, Mutex};
use loom::thread::yield_now;

pub fn spin_until(mut done: impl FnMut() -> bool) {
    while !done() {
        yield_now();
    }
}

/// Checks once, so that the sleep after it is reached.
pub fn spin_for(_: u32, mut done: impl FnMut() -> bool) -> bool {
    done()
}

/// The sleepers of a model, on all words: a sleeper may wake without a reason.
struct Kernel {
    lock: Mutex<()>,
    wakes: Condvar,
}

/// The number of slots of each array: few, so that locks and tickets share them.
const SLOTS: usize = 2;

loom::lazy_static! {
    static ref KERNEL: Kernel = Kernel { lock: Mutex::new(()), wakes: Condvar::new() };
    static ref TWA: [AtomicU64; SLOTS] = std::array::from_fn(|_| AtomicU64::new(0));
    static ref HAPAX: [AtomicU64; SLOTS] = std::array::from_fn(|_| AtomicU64::new(0));
    static ref READERS: [AtomicUsize; SLOTS] = std::array::from_fn(|_| AtomicUsize::new(0));
}

/// Sleeps unless the word has another value. The comparison and the sleep are one step with respect to wakes, as in the
/// kernel.
pub fn sleep_while(word: &AtomicU32, value: u32) {
    let guard = KERNEL.lock.lock().unwrap();
    if word.load(Ordering::SeqCst) == value {
        drop(KERNEL.wakes.wait(guard).unwrap());
    }
}

pub fn wake_one(_: *const AtomicU32) {
    let guard = KERNEL.lock.lock().unwrap();
    KERNEL.wakes.notify_all();
    drop(guard);
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
