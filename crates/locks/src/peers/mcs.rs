//! Concurrency Kit's MCS lock, whose caller brings a node for each acquisition.

use super::foreign::Room;
use super::queued::{Node, Nodes};
use crate::lock::Lock;
use std::ffi::c_void;
use std::io;
use std::marker::PhantomData;

unsafe extern "C" {
    safe fn contend_ck_mcs_fits(size: usize, align: usize) -> bool;
    fn contend_ck_mcs_init(lock: *mut c_void);
    fn contend_ck_mcs_lock(lock: *mut c_void, node: *mut c_void);
    fn contend_ck_mcs_unlock(lock: *mut c_void, node: *mut c_void);
}

thread_local! {
    static OWN: Nodes<Room> = Nodes::default();
}

pub struct CkMcs(Room);

// SAFETY: the lock is made to be used by all threads of a process.
unsafe impl Sync for CkMcs {}
// SAFETY: a free lock has no tie to the thread that made it.
unsafe impl Send for CkMcs {}

/// A guard that is not `Send`, by the pointer: the node belongs to the thread.
pub struct Guard<'a> {
    lock: &'a CkMcs,
    own: Node<Room>,
    _stays: PhantomData<*const ()>,
}

fn start(own: Node<Room>) -> *mut c_void {
    // SAFETY: the node is in the thread's storage.
    unsafe { (*own.node).start() }
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
        let own = OWN.with(Nodes::take);
        // SAFETY: the lock is initialised, by zeros or by `settle`; the node is in no other queue and stays in place
        // until it is given back, since its thread does not end before.
        unsafe { contend_ck_mcs_lock(self.0.start(), start(own)) };
        Guard { lock: self, own, _stays: PhantomData }
    }
}

impl Drop for Guard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the guard's thread holds the lock by this node.
        unsafe { contend_ck_mcs_unlock(self.lock.0.start(), start(self.own)) };
        OWN.with(|own| own.give(self.own));
    }
}
