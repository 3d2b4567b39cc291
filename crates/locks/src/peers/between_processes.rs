//! The peers without pointers, in a form for several processes: each lock has its own waiting array, since the arrays of
//! [`atomic`](super::atomic) belong to one process.
//!
//! A process that is killed while it holds such a lock or waits for it blocks all processes behind it, as with
//! `ticket`: both locks hand off in the order of arrival.

use super::algorithm::Algorithm;
use super::atomic::{AtomicU64, SLOTS};
use super::hapax::{Blocks, Hapax};
use super::twa::Twa;
use instruments::shared_memory::SharedArray;
use std::cell::Cell;
use std::sync::LazyLock;

/// The key of a lock that has its array for itself. An address may differ between processes.
const KEY: usize = 0;

/// A lock and its waiting array.
pub struct WithArray<L> {
    lock: L,
    slots: [AtomicU64; SLOTS],
}

impl<L> WithArray<L> {
    fn of(lock: L) -> Self {
        Self { lock, slots: [const { AtomicU64::new(0) }; SLOTS] }
    }
}

impl Algorithm for WithArray<Twa> {
    type Held = u32;

    fn new() -> Self {
        Self::of(Twa::new())
    }

    #[inline(always)]
    fn acquire(&self) -> u32 {
        self.lock.acquire_in(&self.slots, KEY)
    }

    #[inline(always)]
    unsafe fn release(&self, held: u32) {
        self.lock.release_in(&self.slots, KEY, held);
    }
}

/// The counter of the blocks, in memory that forked children share. It exists from the first lock on, which a process
/// makes before it forks the others.
static BLOCKS: LazyLock<SharedArray<Blocks>> = LazyLock::new(|| {
    // SAFETY: the handler only writes to a variable of its thread, which is the one that forked.
    unsafe { libc::pthread_atfork(None, None, Some(forget_block)) };
    SharedArray::from_fn(1, |_| Ok(Blocks::new())).expect("the system has a page of memory")
});

thread_local! {
    /// The next number of the thread.
    static NEXT: Cell<u64> = const { Cell::new(0) };
}

/// Makes a forked child take a block: its thread has the numbers of the parent's thread.
extern "C" fn forget_block() {
    NEXT.set(0);
}

impl Algorithm for WithArray<Hapax> {
    type Held = u64;

    fn new() -> Self {
        LazyLock::force(&BLOCKS);
        Self::of(Hapax::new())
    }

    #[inline(always)]
    fn acquire(&self) -> u64 {
        let own = BLOCKS[0].number(NEXT.get());
        NEXT.set(own + 1);
        self.lock.acquire_as(&self.slots, own);
        own
    }

    #[inline(always)]
    unsafe fn release(&self, held: u64) {
        self.lock.release_as(&self.slots, held);
    }
}
