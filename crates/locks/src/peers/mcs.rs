//! Concurrency Kit's MCS lock, whose caller brings a node for each acquisition.
//!
//! The nodes are the thread's own: some of them lie in its local storage, so that finding one takes no atomic operation
//! and no allocation. A node outlives the acquisition because the guard stays with its thread, and a thread that ends
//! with a node in use aborts the process: its memory would be somebody else's next.

use super::Room;
use crate::lock::Lock;
use std::cell::Cell;
use std::ffi::c_void;
use std::io;
use std::process::abort;

unsafe extern "C" {
    safe fn contend_ck_mcs_fits(size: usize, align: usize) -> bool;
    fn contend_ck_mcs_init(lock: *mut c_void);
    fn contend_ck_mcs_lock(lock: *mut c_void, node: *mut c_void);
    fn contend_ck_mcs_unlock(lock: *mut c_void, node: *mut c_void);
}

/// How many of these locks a thread may hold at once.
const NODES: usize = 4;

/// On a line of its own, since its thread spins on it and its predecessor writes to it.
#[repr(align(128))]
struct Node(Room);

struct Nodes {
    nodes: [Node; NODES],
    /// A bit for each node that is in use.
    used: Cell<u32>,
}

thread_local! {
    static OURS: Nodes = const { Nodes { nodes: [const { Node(Room::zeroed()) }; NODES], used: Cell::new(0) } };
}

impl Nodes {
    /// A free node, from now on in use, and its bit.
    #[inline(always)]
    fn take(&self) -> (*mut c_void, u32) {
        let place = self.used.get().trailing_ones();
        let node = self.nodes.get(place as usize).expect("a thread holds too many MCS locks at once");
        self.used.set(self.used.get() | 1 << place);
        (node.0.start(), 1 << place)
    }

    #[inline(always)]
    fn give(&self, bit: u32) {
        self.used.set(self.used.get() & !bit);
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        if self.used.get() != 0 {
            abort();
        }
    }
}

pub struct CkMcs(Room);

// SAFETY: the lock is made to be used by all threads of a process.
unsafe impl Sync for CkMcs {}
// SAFETY: a free lock has no tie to the thread that made it.
unsafe impl Send for CkMcs {}

/// Not `Send`, by the pointer: the node is the thread's.
pub struct Guard<'a> {
    lock: &'a CkMcs,
    node: *mut c_void,
    bit: u32,
}

impl Lock for CkMcs {
    type Guard<'a> = Guard<'a>;

    fn create() -> io::Result<Self> {
        assert!(contend_ck_mcs_fits(size_of::<Room>(), align_of::<Room>()), "the library's lock has outgrown its room");
        Ok(Self(Room::zeroed()))
    }

    fn settle(&mut self) -> io::Result<()> {
        // SAFETY: the lock fits, as `create` has seen, and `self` is borrowed exclusively.
        unsafe { contend_ck_mcs_init(self.0.start()) };
        Ok(())
    }

    #[inline(always)]
    fn lock(&self) -> Self::Guard<'_> {
        let (node, bit) = OURS.with(Nodes::take);
        // SAFETY: the lock is initialised, by zeros or by `settle`; the node is in no other queue and stays in place
        // until it is given back, since its thread does not end before.
        unsafe { contend_ck_mcs_lock(self.0.start(), node) };
        Guard { lock: self, node, bit }
    }
}

impl Drop for Guard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the guard's thread holds the lock by this node.
        unsafe { contend_ck_mcs_unlock(self.lock.0.start(), self.node) };
        OURS.with(|ours| ours.give(self.bit));
    }
}
