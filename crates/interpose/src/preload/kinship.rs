//! The creates and joins of threads, and the first lock call of each: the calls of a thread before it created another,
//! or after it joined one, did not happen at the same time as those of that one.

use super::external::pthread_self;
use super::local::{self, Local};
use super::thread_word;
use crate::layout::{Header, KINSHIPS, Kinship, Region, Thread};
use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::{Relaxed, Release};

/// Returns the memory, where orders are recorded.
fn recorded() -> Option<&'static Region> {
    let is_recorded = matches!(local::local().level.load(Relaxed), 1 | 2 | Header::CONFIRM);
    local::region().filter(|_| is_recorded)
}

/// Takes the next entry, and writes its thread; returns `None` without room.
fn begin(region: &'static Region, local: &Local) -> Option<&'static Kinship> {
    let counter = &region.header.kinships;
    // No further than a little beyond the last: the counter does not wrap.
    if counter.load(Relaxed) as usize >= KINSHIPS {
        return None;
    }
    let kinship = region.kinships.get(counter.fetch_add(1, Relaxed) as usize)?;
    kinship.process.store(local.process.load(Relaxed), Relaxed);
    // SAFETY: the call takes nothing.
    kinship.thread.store(unsafe { pthread_self() } as u64, Relaxed);
    Some(kinship)
}

fn end(region: &Region, kinship: &Kinship, kind: u32, other: u64) {
    kinship.other.store(other, Relaxed);
    kinship.end.store(region.header.kinships.load(Relaxed), Relaxed);
    kinship.kind.store(kind, Release);
}

/// Begins the next epoch of the calling thread, after a create or a join.
fn go_on() {
    // SAFETY: the word is null, or the address of a slot in the memory, which stays mapped.
    if let Some(thread) = unsafe { thread_word::get().as_ref() }.filter(|thread| !thread.is_busy()) {
        thread.begin_epoch();
    }
}

/// Creates a thread, whose name is then at `name`.
pub fn create(name: *mut c_void, real: impl FnOnce() -> c_int) -> c_int {
    let Some(region) = recorded() else { return real() };
    let kinship = begin(region, local::local());
    let code = real();
    if code == 0 {
        // SAFETY: the program gives room for a thread's name, and the C library has written it.
        let name = unsafe { name.cast::<u64>().read() };
        kinship.into_iter().for_each(|kinship| end(region, kinship, Kinship::CREATED, name));
        go_on();
    }
    code
}

/// Waits for a thread's end.
pub fn join(name: *mut c_void, real: impl FnOnce() -> c_int) -> c_int {
    let Some(region) = recorded() else { return real() };
    let kinship = begin(region, local::local());
    let code = real();
    if code == 0 {
        kinship.into_iter().for_each(|kinship| end(region, kinship, Kinship::JOINED, name as u64));
        go_on();
    }
    code
}

/// Notes that the calling thread has a slot now.
pub fn came(region: &'static Region, local: &Local, thread: &Thread, comer: u32) {
    thread.comer.store(comer, Relaxed);
    // Another value than the thread before it in the slot had: the orders that one noted are not known of this one.
    thread.epoch.store(comer.wrapping_mul(0x85eb_ca6b) ^ 0x5bd1_e995, Relaxed);
    if recorded().is_some()
        && let Some(kinship) = begin(region, local)
    {
        end(region, kinship, Kinship::CAME, u64::from(comer));
    }
}
