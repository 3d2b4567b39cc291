//! The peers, each in a form that fits into a mutex and that any thread may release.
//!
//! | lock | bytes 0..8 | bytes 8..16 |
//! |---|---|---|
//! | `twa` | the two tickets | |
//! | `hapax` | the number that arrived last | the number that departed last, or the holder's |
//! | `reciprocating`, `cna`, `malthusian` | the lock of the paper | the node of the holder |
//!
//! Papers pass a value from the acquisition to the release, which `pthread_mutex_unlock` does not have. So the holder
//! notes it in the lock, and nodes are in a table of the process instead of the thread's storage: a thread may end with
//! a mutex, and another one release it.

use super::thread::{next_number, set_next_number, thread_number};
use crate::RawMutex;
use crate::c;
use crate::peers::atomic::{hapax_slots, twa_slots};
use crate::peers::cna::{self, Cna, current_numa};
use crate::peers::hapax::{Blocks, Hapax};
use crate::peers::malthusian::{self, Malthusian};
use crate::peers::reciprocating::{Element, Position, Reciprocating};
use crate::peers::twa::Twa;
use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32};

impl RawMutex for Twa {
    type Guard = ();

    #[inline(always)]
    fn lock(&self) {
        self.acquire_in(twa_slots(), self.key());
    }

    #[inline(always)]
    fn try_lock(&self) -> bool {
        self.try_acquire()
    }

    #[inline(always)]
    unsafe fn unlock(&self) {
        self.release_in(twa_slots(), self.key(), self.serving());
    }

    #[inline(always)]
    fn is_locked(&self) -> bool {
        self.is_held()
    }
}

/// Returns a number that no other acquisition in this process has.
#[inline(always)]
fn number() -> u64 {
    static BLOCKS: Blocks = Blocks::new();
    let number = BLOCKS.number(next_number());
    set_next_number(number + 1);
    number
}

impl RawMutex for Hapax {
    type Guard = ();

    #[inline(always)]
    fn lock(&self) {
        let own = number();
        self.acquire_as(hapax_slots(), own);
        self.note(own);
    }

    #[inline(always)]
    fn try_lock(&self) -> bool {
        let own = number();
        let is_acquired = self.try_acquire_as(own);
        if is_acquired {
            self.note(own);
        }
        is_acquired
    }

    #[inline(always)]
    unsafe fn unlock(&self) {
        self.release_as(hapax_slots(), self.noted());
    }

    #[inline(always)]
    fn is_locked(&self) -> bool {
        self.is_held()
    }
}

/// A lock whose acquisitions each bring a node.
///
/// # Safety
/// A lock of zeros is released, and a node of zeros is valid.
pub unsafe trait Queue {
    type Node: 'static;

    /// # Safety
    /// No other acquisition uses the node until its release has returned.
    unsafe fn acquire(&self, own: &Self::Node);

    /// # Safety
    /// As for `acquire`.
    unsafe fn try_acquire(&self, own: &Self::Node) -> bool;

    /// # Safety
    /// The lock is held by an acquisition with this node.
    unsafe fn release(&self, own: &Self::Node);

    fn is_held(&self) -> bool;
}

fn pointer<N>(node: &N) -> *mut N {
    core::ptr::from_ref(node).cast_mut()
}

// SAFETY: both are a null pointer or 0 in each field.
unsafe impl<const EVERY: u32> Queue for Cna<EVERY> {
    type Node = cna::QueueNode;

    #[inline(always)]
    unsafe fn acquire(&self, own: &Self::Node) {
        // SAFETY: the caller makes the same guarantee; nodes are never freed.
        unsafe { self.acquire_with(pointer(own), current_numa) }
    }

    #[inline(always)]
    unsafe fn try_acquire(&self, own: &Self::Node) -> bool {
        // SAFETY: the caller makes the same guarantee; nodes are never freed.
        unsafe { self.try_acquire_with(pointer(own)) }
    }

    #[inline(always)]
    unsafe fn release(&self, own: &Self::Node) {
        // SAFETY: the caller makes the same guarantee.
        unsafe { self.release_with(pointer(own), current_numa) }
    }

    #[inline(always)]
    fn is_held(&self) -> bool {
        Self::is_held(self)
    }
}

// SAFETY: both are a null pointer or 0 in each field.
unsafe impl<const EVERY: u32> Queue for Malthusian<EVERY> {
    type Node = malthusian::QueueNode;

    #[inline(always)]
    unsafe fn acquire(&self, own: &Self::Node) {
        // SAFETY: the caller makes the same guarantee; nodes are never freed.
        unsafe { self.acquire_with(pointer(own)) }
    }

    #[inline(always)]
    unsafe fn try_acquire(&self, own: &Self::Node) -> bool {
        // SAFETY: the caller makes the same guarantee; nodes are never freed.
        unsafe { self.try_acquire_with(pointer(own)) }
    }

    #[inline(always)]
    unsafe fn release(&self, own: &Self::Node) {
        // SAFETY: the caller makes the same guarantee.
        unsafe { self.release_with(pointer(own)) }
    }

    #[inline(always)]
    fn is_held(&self) -> bool {
        Self::is_held(self)
    }
}

/// A waiting element, and the position of the acquisition with it, which is written and read by the holder only.
pub struct Place {
    element: Element,
    position: UnsafeCell<MaybeUninit<Position>>,
}

// SAFETY: both are a null pointer in each field, or of any bytes.
unsafe impl Queue for Reciprocating {
    type Node = Place;

    #[inline(always)]
    unsafe fn acquire(&self, own: &Place) {
        // SAFETY: the caller guarantees that no other acquisition uses the element, which is never freed; the position
        // is this thread's, which has the lock.
        unsafe { *own.position.get() = MaybeUninit::new(self.acquire_with(pointer(&own.element))) };
    }

    #[inline(always)]
    unsafe fn try_acquire(&self, own: &Place) -> bool {
        let acquired = self.try_acquire_with(pointer(&own.element));
        if let Some(position) = acquired {
            // SAFETY: the position is this thread's, which has the lock.
            unsafe { *own.position.get() = MaybeUninit::new(position) };
        }
        acquired.is_some()
    }

    #[inline(always)]
    unsafe fn release(&self, own: &Place) {
        // SAFETY: the caller guarantees an acquisition with this node, which wrote the position.
        unsafe { self.release_from((*own.position.get()).assume_init()) };
    }

    #[inline(always)]
    fn is_held(&self) -> bool {
        Self::is_held(self)
    }
}

/// A queue lock that notes the node of its holder.
#[repr(C)]
pub struct Queued<Q: Queue> {
    queue: Q,
    holder: AtomicPtr<Slot<Q::Node>>,
}

impl<Q: Queue> RawMutex for Queued<Q> {
    type Guard = ();

    #[inline(always)]
    fn lock(&self) {
        let own = take::<Q::Node>();
        // SAFETY: the node was taken for this acquisition.
        unsafe { self.queue.acquire(&own.node) };
        self.holder.store(pointer(own), Relaxed);
    }

    #[inline(always)]
    fn try_lock(&self) -> bool {
        if self.queue.is_held() {
            return false;
        }
        let own = take::<Q::Node>();
        // SAFETY: the node was taken for this acquisition.
        let is_acquired = unsafe { self.queue.try_acquire(&own.node) };
        if is_acquired {
            self.holder.store(pointer(own), Relaxed);
        } else {
            own.taken.store(0, Release);
        }
        is_acquired
    }

    #[inline(always)]
    unsafe fn unlock(&self) {
        // SAFETY: the lock is held, so the holder noted its slot, which is never freed.
        let own = unsafe { &*self.holder.load(Relaxed) };
        // SAFETY: the lock is held by the acquisition with this node. The lock is not accessed after this call.
        unsafe { self.queue.release(&own.node) };
        own.taken.store(0, Release);
    }

    #[inline(always)]
    fn is_locked(&self) -> bool {
        self.queue.is_held()
    }
}

/// A node of the table, on its own cache lines: its thread spins on it.
#[repr(C, align(128))]
struct Slot<N> {
    /// Whether an acquisition uses it.
    taken: AtomicU32,
    node: N,
}

/// The number of slots in a table.
const SLOTS: usize = 4096;
/// The number of tables: Linux has at most four million threads.
const TABLES: usize = 1024;
/// The distance of the first slots of two threads, which hold several mutexes.
const STRIDE: usize = 8;

/// The tables of the chosen lock, which are mapped when the ones before are full. An allocator may be the caller.
static TABLE: [AtomicPtr<c_void>; TABLES] = [const { AtomicPtr::new(null_mut()) }; TABLES];

/// Returns an unused slot and marks it as used.
#[inline(always)]
fn take<N: 'static>() -> &'static Slot<N> {
    let first = thread_number() as usize * STRIDE % SLOTS;
    let table = TABLE[0].load(Acquire).cast::<Slot<N>>();
    if !table.is_null() {
        // SAFETY: the table is mapped and has this number of slots, of the chosen lock.
        let slot = unsafe { &*table.add(first) };
        if is_taken_now(slot) {
            return slot;
        }
    }
    search(first)
}

#[inline(always)]
fn is_taken_now<N>(slot: &Slot<N>) -> bool {
    slot.taken.load(Relaxed) == 0 && slot.taken.compare_exchange(0, 1, Acquire, Relaxed).is_ok()
}

#[cold]
fn search<N: 'static>(first: usize) -> &'static Slot<N> {
    for table in &TABLE {
        let slots = mapped::<N>(table);
        let (before, behind) = slots.split_at(first);
        if let Some(slot) = behind.iter().chain(before).find(|slot| is_taken_now(slot)) {
            return slot;
        }
    }
    c::die("libulocks_pthread: four million mutexes are held or waited for at once\n")
}

/// Returns the slots of a table, which is mapped at its first use.
fn mapped<N: 'static>(table: &AtomicPtr<c_void>) -> &'static [Slot<N>] {
    let mut start = table.load(Acquire);
    if start.is_null() {
        let (protection, flags) = (c::PROT_READ | c::PROT_WRITE, c::MAP_PRIVATE | c::MAP_ANONYMOUS);
        let bytes = size_of::<Slot<N>>() * SLOTS;
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing.
        let new = unsafe { c::mmap(null_mut(), bytes, protection, flags, -1, 0) };
        if new == c::MAP_FAILED {
            c::die("libulocks_pthread: no memory for the nodes of a lock\n");
        }
        start = match table.compare_exchange(null_mut(), new, AcqRel, Acquire) {
            Ok(_) => new,
            Err(other) => {
                // SAFETY: the memory was mapped above, and nothing else refers to it.
                unsafe { c::munmap(new, bytes) };
                other
            }
        };
    }
    // SAFETY: the table is never unmapped, and has this number of slots of the chosen lock; zeros are valid nodes.
    unsafe { core::slice::from_raw_parts(start.cast(), SLOTS) }
}
