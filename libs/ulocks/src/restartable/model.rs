//! Model of restartable sequences for loom: a store that the fence of another thread may have made impossible.
//!
//! A sequence is modelled as: announce it, compare, and, as one step, store if nothing has aborted it since. A fence
//! aborts all announced sequences. The kernel also aborts them for its own reasons, a preemption or a signal: in a
//! model, that is a thread that calls [`abort`] at any moment.
//!
//! The store is a `swap` here. After a thread has seen a plain store, loom would let it still read a value that its
//! own read-modify-write wrote before. No order of the changes of one word permits that.
//!
//! [`Fault`] breaks the pair in the three ways in which it could be written wrongly. Each must make a model fail.

use crate::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Relaxed, Release, SeqCst},
};
use loom::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering::SeqCst as Real};

/// A mistake that the model can make on request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Fault {
    /// No mistake.
    None,
    /// The waiter does not fence.
    NoFence,
    /// The waiter fences, and sets the flag after that.
    FenceBeforeMark,
    /// The holder stores, and compares after that.
    StoreBeforeCompare,
}

static FAULT: AtomicU8 = AtomicU8::new(Fault::None as u8);

/// Makes the model contain this mistake from now on.
pub fn break_by(fault: Fault) {
    FAULT.store(fault as u8, Real);
}

fn breaks_by(fault: Fault) -> bool {
    FAULT.load(Real) == fault as u8
}

/// Largest number of threads in a model.
const THREADS: usize = 4;

/// The kernel's state of each thread: whether it is in a sequence that has not been aborted.
#[derive(Default)]
struct Sequences([Mutex<bool>; THREADS]);

loom::lazy_static! {
    static ref SEQUENCES: Sequences = Sequences::default();
    static ref NUMBERS: Mutex<usize> = Mutex::new(0);
}

loom::thread_local! {
    static SEQUENCE_INDEX: usize = {
        let mut next = NUMBERS.lock().unwrap();
        *next += 1;
        *next - 1
    };
}

pub(crate) fn free_if<const EXPECTED: u32>(word: &AtomicU32) -> bool {
    let sequence = &SEQUENCES.0[SEQUENCE_INDEX.with(|sequence| *sequence)];
    *sequence.lock().unwrap() = true;
    if breaks_by(Fault::StoreBeforeCompare) {
        let before = word.load(Relaxed);
        word.swap(0, Release);
        return before == EXPECTED;
    }
    if word.load(Relaxed) != EXPECTED {
        return false;
    }
    let mut running = sequence.lock().unwrap();
    if *running {
        word.swap(0, Release);
    }
    std::mem::replace(&mut *running, false)
}

pub(crate) fn mark_and_fence(word: &AtomicU32, old: u32, mark: u32) -> Result<(), u32> {
    if breaks_by(Fault::FenceBeforeMark) {
        fence();
    }
    word.compare_exchange(old, mark, SeqCst, Relaxed)?;
    if breaks_by(Fault::None) || breaks_by(Fault::StoreBeforeCompare) {
        fence();
    }
    Ok(())
}

pub(crate) fn store_if(word: &AtomicU64, expected: u64, new: u64) -> bool {
    let sequence = &SEQUENCES.0[SEQUENCE_INDEX.with(|sequence| *sequence)];
    *sequence.lock().unwrap() = true;
    if breaks_by(Fault::StoreBeforeCompare) {
        return word.swap(new, Release) == expected;
    }
    if word.load(Relaxed) != expected {
        return false;
    }
    let mut running = sequence.lock().unwrap();
    if *running {
        word.swap(new, Release);
    }
    std::mem::replace(&mut *running, false)
}

pub(crate) fn current_thread() -> u64 {
    SEQUENCE_INDEX.with(|sequence| *sequence as u64 + 1) << 6
}

pub(crate) fn works() -> bool {
    true
}

pub(crate) fn mark_wide_and_fence(word: &AtomicU64, old: u64, mark: u64) -> Result<(), u64> {
    if breaks_by(Fault::FenceBeforeMark) {
        fence();
    }
    word.compare_exchange(old, mark, SeqCst, Relaxed)?;
    if breaks_by(Fault::None) || breaks_by(Fault::StoreBeforeCompare) {
        fence();
    }
    Ok(())
}

/// Aborts all sequences.
pub fn abort() {
    SEQUENCES.0.iter().for_each(|sequence| *sequence.lock().unwrap() = false);
}

fn fence() {
    loom::sync::atomic::fence(SeqCst);
    abort();
    loom::sync::atomic::fence(SeqCst);
}

pub(crate) fn may_be_in_vain() -> bool {
    false
}
