//! Whether a lock excludes: threads count under it, and no count may be lost.

use super::functions::Exports;
use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// More than there are CPUs on a small machine, so that some wait while a holder is switched out.
pub const THREADS: usize = 4;
const LENGTH: Duration = Duration::from_millis(200);
/// Every so many rounds the holder gives the CPU away: on one CPU nobody would meet it otherwise.
const YIELDS_EVERY: u64 = 64;

/// What the lock lies in, and what nobody may write behind it.
#[repr(align(128))]
pub struct Memory(UnsafeCell<[u8; MEMORY_BYTES]>);

const MEMORY_BYTES: usize = 2 * super::functions::MOST_BYTES;
const UNTOUCHED: u8 = 0xA5;

// SAFETY: the lock's own functions alone touch it while threads use it.
unsafe impl Sync for Memory {}

impl Memory {
    pub fn of(size: usize) -> Box<Self> {
        let mut bytes = [UNTOUCHED; MEMORY_BYTES];
        bytes[..size].fill(0);
        Box::new(Self(UnsafeCell::new(bytes)))
    }

    pub fn address(&self) -> *mut c_void {
        self.0.get().cast()
    }

    /// Whether nothing beyond the lock's size was written.
    pub fn is_kept(&mut self, size: usize) -> bool {
        self.0.get_mut()[size..].iter().all(|&byte| byte == UNTOUCHED)
    }
}

/// How many counts were lost, of how many.
pub fn lost_counts(exports: &Exports, memory: &Memory) -> (u64, u64) {
    // Loads and stores that nothing but the lock orders.
    let counter = AtomicU64::new(0);
    let until = Instant::now() + LENGTH;
    let count = || {
        let mut rounds = 0_u64;
        while Instant::now() < until {
            // SAFETY: the lock was made and not ended, and this thread does not have it.
            unsafe { (exports.functions.acquire)(memory.address()) };
            let seen = counter.load(Ordering::Relaxed);
            match rounds.is_multiple_of(YIELDS_EVERY) {
                true => std::thread::yield_now(),
                false => (0..20).for_each(|_| std::hint::spin_loop()),
            }
            counter.store(seen + 1, Ordering::Relaxed);
            // SAFETY: this thread has it.
            unsafe { (exports.functions.release)(memory.address()) };
            rounds += 1;
        }
        rounds
    };
    let counted: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(count)).collect();
        threads.into_iter().map(|thread| thread.join().expect("counting does not panic")).sum()
    });
    (counted - counter.load(Ordering::Relaxed).min(counted), counted)
}
