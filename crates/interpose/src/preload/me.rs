//! The calling thread, and how it stands to what is recorded.

use super::external::keeping_errno;
use super::local::{self, Local, OFF};
use super::{place, process, thread_word};
use crate::layout::{Region, Thread};
use core::sync::atomic::Ordering::{Acquire, Relaxed};

/// A thread that records, and what it records into. Two words: so it goes in registers.
#[derive(Clone, Copy)]
pub struct Me {
    pub thread: &'static Thread,
    pub region: &'static Region,
}

/// How the calling thread stands to what is recorded.
pub enum Standing {
    /// It records.
    Ready(Me),
    /// Nothing is recorded in this process: the call is passed on as it is.
    Off,
    /// It has to be found out.
    Unknown,
}

/// How it stands; no more than loads, so that the fast ways need nothing else.
#[inline(always)]
pub fn standing() -> Standing {
    match local::local().level.load(Relaxed) {
        OFF => return Standing::Off,
        0 => return Standing::Unknown,
        _ => {}
    }
    // SAFETY: it is null or within the memory.
    match unsafe { thread_word::get().as_ref() } {
        Some(thread) if thread.busy.load(Relaxed) == 0 => {
            // SAFETY: a level of 1 or 2 is only set once the memory is taken.
            let region = unsafe { local::region().unwrap_unchecked() };
            Standing::Ready(Me { thread, region })
        }
        _ => Standing::Unknown,
    }
}

/// The calling thread, which becomes known if it was not; `None` where nothing is to be recorded.
pub fn me() -> Option<Me> {
    match standing() {
        Standing::Ready(me) => Some(me),
        Standing::Off => None,
        Standing::Unknown => become_known(),
    }
}

#[cold]
#[inline(never)]
fn become_known() -> Option<Me> {
    let local = local::local();
    if local.level.load(Relaxed) == 0 {
        return first_call(local);
    }
    if thread_word::get().is_null() { newcomer(local) } else { reentered() }
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
    if matches!(local.level.load(Acquire), 0 | OFF) { None } else { newcomer(local) }
}

/// A thread's first call, or that of the only thread in a forked child, whose place is still that of its parent.
#[cold]
fn newcomer(local: &'static Local) -> Option<Me> {
    let region = local::region()?;
    let thread = keeping_errno(|| place::enter(region, local))?;
    Some(Me { thread, region })
}
