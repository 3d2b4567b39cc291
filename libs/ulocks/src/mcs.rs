//! The MCS queue lock: fair, and each waiter spins on its own cache line. It is here for comparison.
//!
//! # State
//!
//! | word | meaning |
//! |---|---|
//! | `tail` | number of the last node in the queue; 0: the lock is unlocked |
//! | `holder` | the holder's node, read and written by the holder only |
//!
//! | word of a node | meaning | written by |
//! |---|---|---|
//! | `taken` | an acquisition uses this node | the thread that allocates or returns the node |
//! | `waits` | 1 while its thread must wait | that thread before it joins; its predecessor, once, to 0 |
//! | `next` | the successor, 0 if none is known | the successor; reset by the thread that allocates the node |
//!
//! Nodes are numbers in tables of the process, not pointers. A table has 4,096 nodes, each in its own cache line. A
//! thread searches from an index derived from its stack address to the next free node. When all are in use, another
//! table is allocated, up to four million nodes; one more is a panic.
//!
//! # Memory ordering
//!
//! Joining is an `AcqRel` swap of `tail`: `Acquire` for the data of a holder that left the lock unlocked, `Release`
//! so that the next thread to join finds the node prepared. The link (`next`) and the handoff (`waits`) are `Release`
//! stores read with `Acquire`. A holder without a successor swaps `tail` from its node to 0 with `Release`. No thread
//! blocks, so there is no wake-up to lose and no fence.
//!
//! # Fairness
//!
//! Strict: first come, first served.
//!
//! # Fork
//!
//! The nodes belong to the process. After a fork, a lock that another thread held or waited for stays held in the
//! child. For the same reason the lock cannot be shared between processes.
//!
//! # Stopped or terminated threads
//!
//! As with [`Ticket`](crate::Ticket): a stopped holder or waiter stops all threads behind it, and with more threads
//! than CPUs the throughput collapses.
//!
//! # References
//!
//! John Mellor-Crummey and Michael Scott, "Algorithms for Scalable Synchronization on Shared-Memory Multiprocessors",
//! ACM TOCS 9(1), 1991, section 2.4. The holder's node is stored in the lock, so that callers need not pass it: the
//! variant of the K42 operating system.

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

/// Number of nodes in a table.
const NODES: usize = if cfg!(loom) { 4 } else { 4096 };
/// Number of tables. Linux has at most four million threads; a thread that holds several of these locks needs a node
/// for each.
const TABLES: usize = if cfg!(loom) { 1 } else { 1024 };

/// Number of iterations before the thread yields the CPU in each further one.
const ROUNDS: u32 = 1000;

/// Position of one waiter in one queue. The alignment keeps two waiters off one cache line, and off the pair of lines
/// that is fetched together.
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
/// Tables that are allocated when all nodes of the previous ones are in use. They are never freed, because a number
/// may refer to a node at any time.
static FURTHER: [OnceLock<Box<[Node]>>; TABLES - 1] = [const { OnceLock::new() }; TABLES - 1];

/// Returns the node with this number, which is not 0.
fn node(number: u32) -> &'static Node {
    let index = number.wrapping_sub(1) as usize;
    match (index / NODES) % TABLES {
        0 => &FIRST[index % NODES],
        table => &FURTHER[table - 1].get_or_init(|| (0..NODES).map(|_| Node::new()).collect())[index % NODES],
    }
}

/// Allocates a free node and returns its number.
///
/// # Panics
///
/// Panics if four million nodes are in use, which means that acquisitions were forgotten.
fn take_node() -> u32 {
    let on_stack = 0u8;
    // Threads have stacks at different addresses, so the address is a good index to start the search. (Under loom,
    // the search starts at the front.)
    let start = if cfg!(loom) { 0 } else { (std::ptr::from_ref(&on_stack).addr() >> 14).wrapping_mul(0x9E37_79B1) };
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

/// An MCS spin lock of 8 bytes, for the threads of one process.
///
/// # Examples
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
        /// Returns an unlocked lock.
        pub fn new() -> Self {
            Mcs { tail: AtomicU32::new(0), holder: AtomicU32::new(0), counts: C::ZERO }
        }
    }

    /// Acquires the lock, and spins in the queue if it is held.
    ///
    /// # Panics
    ///
    /// Panics if four million acquisitions of such locks are held or waited for in this process.
    pub fn lock(&self) {
        let own_node = take_node();
        let before = self.tail.swap(own_node, AcqRel);
        if before != 0 {
            self.counts.write_contended();
            node(before).next.store(own_node, Release);
            spin_until(|| node(own_node).waits.load(Acquire) == 0);
            self.counts.spun();
        }
        self.holder.store(own_node, Relaxed);
    }

    /// Acquires the lock if it is unlocked now.
    ///
    /// # Panics
    ///
    /// Panics if four million acquisitions of such locks are held or waited for in this process.
    pub fn try_lock(&self) -> bool {
        if self.is_locked() {
            return false;
        }
        let own_node = take_node();
        let taken = self.tail.compare_exchange(0, own_node, AcqRel, Relaxed).is_ok();
        if taken {
            self.holder.store(own_node, Relaxed);
        } else {
            give_node(own_node);
        }
        taken
    }

    /// Hands the lock off to the next thread in the queue, or releases it if there is none.
    ///
    /// # Safety
    ///
    /// The caller holds the lock, and gives up the right to it.
    pub unsafe fn unlock(&self) {
        let own_node = self.holder.load(Relaxed);
        if node(own_node).next.load(Acquire) == 0 && self.tail.compare_exchange(own_node, 0, Release, Relaxed).is_ok() {
            give_node(own_node);
            return;
        }
        // A thread has joined the queue, but may not have linked its node yet.
        let mut next = 0;
        spin_until(|| {
            next = node(own_node).next.load(Acquire);
            next != 0
        });
        node(next).waits.store(0, Release);
        give_node(own_node);
    }

    /// Returns whether a thread holds the lock at this moment.
    pub fn is_locked(&self) -> bool {
        self.tail.load(Relaxed) != 0
    }

    /// Returns the counters of this lock.
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
// `unlock` hands the lock off to the next thread in the queue.
raw_mutex_fair!([C: Count] Mcs<C>, unlock);
