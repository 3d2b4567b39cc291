//! The calling thread, and its relation to the recorded data.

use super::external::keeping_errno;
use super::local::{self, Local, OFF};
use super::{process, slot, thread_word};
use crate::layout::{Header, Region, Thread};
use core::sync::atomic::Ordering::{Acquire, Relaxed};

/// A thread that records, and the memory that it records into. Two words: so it is passed in registers.
#[derive(Clone, Copy)]
pub struct Me {
    pub thread: &'static Thread,
    pub region: &'static Region,
}

/// Returns the calling thread, if it records: no more than loads, so that the fast ways need nothing else.
#[inline(always)]
pub fn ready() -> Option<Me> {
    ready_thread().map(Me::of)
}

#[inline(always)]
fn ready_thread() -> Option<&'static Thread> {
    known_thread().filter(|thread| !thread.is_busy())
}

/// Returns the calling thread, if it records and is at nothing: it holds no lock, and notes nothing. Without the
/// memory: that is one register less to keep while the program's call goes on.
#[inline(always)]
pub fn thread_at_nothing() -> Option<&'static Thread> {
    known_thread().filter(|thread| thread.is_at(0))
}

/// Returns the calling thread, if it records, even if it is at something.
#[inline(always)]
pub fn known_thread() -> Option<&'static Thread> {
    if !local::is_ready() {
        return None;
    }
    // SAFETY: the word is null, or the address of a place in the memory, which stays mapped.
    unsafe { thread_word::get().as_ref() }
}

impl Me {
    /// Returns a thread that was ready.
    #[inline(always)]
    pub fn of(thread: &'static Thread) -> Self {
        // SAFETY: a process is only ready once the memory is taken, and a thread only has a place in it then.
        Self { thread, region: unsafe { local::region().unwrap_unchecked() } }
    }
}

/// Returns the calling thread, which becomes known if it was not; `None` where nothing is to be recorded.
#[inline]
pub fn me() -> Option<Me> {
    ready().or_else(become_known)
}

#[cold]
#[inline(never)]
fn become_known() -> Option<Me> {
    let local = local::local();
    match local.level.load(Relaxed) {
        OFF | Header::WHAT_IF => return None,
        0 => return first_call(local),
        Header::CONFIRM => return me_on_slow_way(),
        _ => {}
    }
    if thread_word::get().is_null() { newcomer(local) } else { reentered() }
}

/// Returns the calling thread in a process that has no fast ways: sections are virtually shorter, or cycles are
/// confirmed. `None` in a handler that came while the thread searched a lock's place, or without room.
#[inline(never)]
pub fn me_on_slow_way() -> Option<Me> {
    // SAFETY: the word is null, or the address of a place in the memory, which stays mapped.
    match unsafe { thread_word::get().as_ref() } {
        Some(thread) if thread.is_busy() => None,
        Some(thread) => Some(Me { thread, region: local::region()? }),
        None => newcomer(local::local()),
    }
}

#[cold]
fn reentered() -> Option<Me> {
    local::region()?.header.lost_reentered.fetch_add(1, Relaxed);
    None
}

#[cold]
fn first_call(local: &'static Local) -> Option<Me> {
    process::begin(local, false);
    let local = local::local();
    let level = local.level.load(Acquire);
    // The only thread of a forked child has its parent's place until it gets a separate one.
    let me = if matches!(level, 0 | OFF) { None } else { newcomer(local) };
    me.filter(|_| level != Header::WHAT_IF)
}

/// Handles a thread's first call, or that of the only thread in a forked child, whose place is still that of its
/// parent.
#[cold]
fn newcomer(local: &'static Local) -> Option<Me> {
    let region = local::region()?;
    let thread = keeping_errno(|| slot::enter(region, local))?;
    Some(Me { thread, region })
}
