//! Condition variables that processes may share stay the C library's. Their bytes say so: where, it shows on one that
//! it is asked to initialise.

use super::next;
use crate::c;
use core::ffi::{c_uint, c_void};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU8, AtomicU32};

/// The words of a condition variable.
pub const WORDS: usize = 12;
/// Words that ours use: the mark must lie behind them.
const OURS: usize = 3;

/// The words where the C library notes that one is shared, and that its clock is the monotonic one, and the bits.
static SHARED: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];
static CLOCK: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];
static IS_KNOWN: AtomicU8 = AtomicU8::new(0);

/// Whether the C library's attributes say that processes may share it.
#[inline(always)]
pub fn is_shared(words: &[AtomicU32; WORDS]) -> bool {
    find();
    is_marked(words, &SHARED)
}

/// Whether its deadlines are by the monotonic clock.
pub fn is_monotonic(words: &[AtomicU32; WORDS]) -> bool {
    find();
    is_marked(words, &CLOCK)
}

fn is_marked(words: &[AtomicU32; WORDS], mark: &[AtomicU32; 2]) -> bool {
    let (word, bits) = (mark[0].load(Relaxed), mark[1].load(Relaxed));
    words[word as usize % WORDS].load(Relaxed) & bits != 0
}

/// Finds out where it shows.
#[inline(always)]
pub fn find() {
    if IS_KNOWN.load(core::sync::atomic::Ordering::Acquire) == 0 {
        c::keeping_errno(ask);
    }
}

/// Threads that ask at the same time find the same.
#[cold]
fn ask() {
    let shared = marked(|attributes| {
        // SAFETY: they are initialised.
        unsafe { c::pthread_condattr_setpshared(attributes, c::PTHREAD_PROCESS_SHARED) };
    });
    let monotonic = marked(|attributes| {
        // SAFETY: they are initialised.
        unsafe { c::pthread_condattr_setclock(attributes, c::CLOCK_MONOTONIC) };
    });
    for (mark, found) in [(&SHARED, shared), (&CLOCK, monotonic)] {
        mark[0].store(found.0, Relaxed);
        mark[1].store(found.1, Relaxed);
    }
    IS_KNOWN.store(1, core::sync::atomic::Ordering::Release);
}

/// Where the C library notes this attribute, and as which bits.
fn marked(set: impl FnOnce(*mut c_uint)) -> (u32, u32) {
    let mut attributes: [c_uint; 4] = [0; 4];
    let mut words = [0_u32; WORDS];
    // SAFETY: both are at least as large as the C library's objects.
    unsafe {
        c::pthread_condattr_init(attributes.as_mut_ptr());
        set(attributes.as_mut_ptr());
        next::pthread_cond_init()(words.as_mut_ptr().cast::<c_void>(), attributes.as_ptr());
    }
    match words.iter().position(|word| *word != 0) {
        Some(word) if word >= OURS => (word as u32, words[word]),
        _ => c::die("libulocks_pthread: unknown layout of the C library's condition variables\n"),
    }
}
