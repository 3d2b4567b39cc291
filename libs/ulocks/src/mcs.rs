//! The MCS queue lock: fair, and each waiter spins on a cache line of its own. Here for contrast.
//!
//! # State
//! | word | meaning |
//! |---|---|
//! | `tail` | the last in line, as the number of its node; 0: the lock is free |
//! | `holder` | the holder's node, written and read by the holder only |
//!
//! | in a node | meaning | written by |
//! |---|---|---|
//! | `taken` | some acquisition uses this node | who takes the node, who gives it back |
//! | `waits` | 1 while its thread must wait | that thread before it joins; the one before it, once, to 0 |
//! | `next` | the node behind it, 0 if none is known | the one behind it; reset by who takes the node |
//!
//! Nodes are numbers in tables of the process, not pointers: 4,096 in each, a cache line each, found by the thread's
//! address in memory and, where that is taken, the next free one. When all are taken another table is made, up to four
//! million nodes; one more is a panic.
//!
//! # Ordering
//! Joining is an `AcqRel` swap of `tail`: `Acquire` for the data of a holder that left it free, `Release` so that the
//! next to join finds the node prepared. The link (`next`) and the handover (`waits`) are `Release` stores read with
//! `Acquire`. A holder that leaves nobody behind swaps `tail` from its node to 0 with `Release`. Nobody sleeps, so
//! there is no wake-up to lose and no fence.
//!
//! # Fairness
//! Strict, first come, first served.
//!
//! # A stopped or dead holder
//! As with [`Ticket`](crate::Ticket): a stopped holder or waiter stops all behind it, and with more threads than CPUs
//! throughput collapses. The nodes belong to the process, so this lock cannot be shared between processes. After a
//! fork a lock that another thread held or waited for stays held in the child.
//!
//! # Source
//! John Mellor-Crummey and Michael Scott, "Algorithms for Scalable Synchronization on Shared-Memory Multiprocessors",
//! ACM TOCS 9(1), 1991, section 2.4. Keeping the holder's node in the lock, so that nobody has to pass it in: the K42
//! operating system's variant.

use crate::{
    atomic::{
        AtomicU32,
        Ordering::{AcqRel, Acquire, Relaxed, Release},
        pause,
    },
    count::{Count, NoCount},
    futex::give_way,
};
use std::sync::OnceLock;

/// Nodes of a table.
const NODES: usize = if cfg!(loom) { 4 } else { 4096 };
/// Tables. Linux has four million threads at most; one that holds many of these locks needs a node for each.
const TABLES: usize = if cfg!(loom) { 1 } else { 1024 };

/// How many rounds to spin before yielding the CPU each round.
const ROUNDS: u32 = 1000;

/// One waiter's place in one line. The alignment keeps two waiters off one cache line (and the pair that is fetched
/// together).
#[repr(C, align(128))]
struct Node {
    taken: AtomicU32,
    waits: AtomicU32,
    next: AtomicU32,
}

impl Node {
    const_unless_loom! {
        fn new() -> Self {
            Node { taken: AtomicU32::new(0), waits: AtomicU32::new(0), next: AtomicU32::new(0) }
        }
    }
}

#[cfg(not(loom))]
static FIRST: [Node; NODES] = [const { Node::new() }; NODES];
#[cfg(loom)]
loom::lazy_static! {
    static ref FIRST: [Node; NODES] = std::array::from_fn(|_| Node::new());
}
/// Those that are made when all nodes before them are taken. They stay: a number may name one at any time.
static FURTHER: [OnceLock<Box<[Node]>>; TABLES - 1] = [const { OnceLock::new() }; TABLES - 1];

/// The node with this number, which is not 0.
fn node(number: u32) -> &'static Node {
    let index = number.wrapping_sub(1) as usize;
    match (index / NODES) % TABLES {
        0 => &FIRST[index % NODES],
        table => &FURTHER[table - 1].get_or_init(|| (0..NODES).map(|_| Node::new()).collect())[index % NODES],
    }
}

/// Takes a free node and gives its number.
///
/// # Panics
/// When four million are taken: then acquisitions were forgotten.
fn take_node() -> u32 {
    let here = 0u8;
    // Threads have stacks at different addresses: a place to start looking, no more. (Under loom: at the front.)
    let start = if cfg!(loom) { 0 } else { (std::ptr::from_ref(&here).addr() >> 14).wrapping_mul(0x9E37_79B1) };
    let mut numbers = (0..TABLES)
        .flat_map(|table| (0..NODES).map(move |step| (table * NODES + start.wrapping_add(step) % NODES) as u32 + 1));
    let number = numbers.find(|&number| {
        let taken = &node(number).taken;
        taken.load(Relaxed) == 0 && taken.compare_exchange(0, 1, Acquire, Relaxed).is_ok()
    });
    let number = number.unwrap_or_else(|| panic!("{} acquisitions of Mcs locks at once", TABLES * NODES));
    node(number).waits.store(1, Relaxed);
    node(number).next.store(0, Relaxed);
    number
}

fn give_node(number: u32) {
    node(number).taken.store(0, Release);
}

/// The MCS spin lock. 8 bytes, for the threads of one process.
///
/// ```
/// use ulocks::{Mcs, lock_api::Mutex};
///
/// static SHORT: Mutex<Mcs, u32> = Mutex::new(7);
/// assert_eq!(*SHORT.lock(), 7);
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct Mcs<C: Count = NoCount> {
    tail: AtomicU32,
    holder: AtomicU32,
    counts: C,
}

const _: () = assert!(cfg!(loom) || size_of::<Mcs>() == 8);

impl<C: Count> Mcs<C> {
    const_unless_loom! {
        /// A free lock.
        pub fn new() -> Self {
            Mcs { tail: AtomicU32::new(0), holder: AtomicU32::new(0), counts: C::ZERO }
        }
    }

    /// Takes the lock, spinning in line if it is held.
    ///
    /// # Panics
    /// When four million acquisitions of such locks are held or waited for in this process.
    pub fn lock(&self) {
        let mine = take_node();
        let before = self.tail.swap(mine, AcqRel);
        if before != 0 {
            self.counts.write_contended();
            node(before).next.store(mine, Release);
            spin_until(|| node(mine).waits.load(Acquire) == 0);
            self.counts.spun();
        }
        self.holder.store(mine, Relaxed);
    }

    /// Takes the lock if it is free now.
    ///
    /// # Panics
    /// As [`lock`](Self::lock).
    pub fn try_lock(&self) -> bool {
        if self.is_locked() {
            return false;
        }
        let mine = take_node();
        let taken = self.tail.compare_exchange(0, mine, AcqRel, Relaxed).is_ok();
        if taken {
            self.holder.store(mine, Relaxed);
        } else {
            give_node(mine);
        }
        taken
    }

    /// Hands the lock to the next in line, or frees it if there is none.
    ///
    /// # Safety
    /// The lock is held, and the caller gives up the right to it.
    pub unsafe fn unlock(&self) {
        let mine = self.holder.load(Relaxed);
        if node(mine).next.load(Acquire) == 0 && self.tail.compare_exchange(mine, 0, Release, Relaxed).is_ok() {
            give_node(mine);
            return;
        }
        // Somebody has joined; the link from here to its node may still be on its way.
        let mut next = 0;
        spin_until(|| {
            next = node(mine).next.load(Acquire);
            next != 0
        });
        node(next).waits.store(0, Release);
        give_node(mine);
    }

    /// Whether somebody holds the lock, at this moment.
    pub fn is_locked(&self) -> bool {
        self.tail.load(Relaxed) != 0
    }

    /// What happened on this lock, if it counts.
    pub fn counts(&self) -> &C {
        &self.counts
    }
}

fn spin_until(mut done: impl FnMut() -> bool) {
    for round in 0u32.. {
        if done() {
            return;
        }
        if round < ROUNDS { pause() } else { give_way(round) }
    }
}

raw_mutex!([C: Count] Mcs<C>, lock_api::GuardSend);

// SAFETY: `unlock` hands over to the next in line already.
#[cfg(not(loom))]
unsafe impl<C: Count> lock_api::RawMutexFair for Mcs<C> {
    unsafe fn unlock_fair(&self, _: Self::Guard) {
        // SAFETY: the caller holds the lock: it has the guard.
        unsafe { self.unlock() }
    }
}
