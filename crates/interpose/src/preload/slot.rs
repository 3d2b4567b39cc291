//! A thread's place in the memory: acquired in its first call, released when it ends.

use super::callers;
use super::clock::now;
use super::external::{pthread_key_create, pthread_setspecific};
use super::kinship;
use super::local::{self, Local};
use super::thread_number::gettid;
use super::thread_word;
use super::what_if::ends;
use crate::layout::{Lock, Region, Thread, holder};
use core::ffi::{c_uint, c_void};
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// The key whose value's destructor runs when a thread ends, plus 1. Keys as low as this have their room in each
/// thread.
static KEY: AtomicU32 = AtomicU32::new(0);

/// Gives the calling thread a place.
pub fn enter(region: &'static Region, local: &Local) -> Option<&'static Thread> {
    let thread = take_place(region)?;
    let comer = region.header.comers.fetch_add(1, Relaxed);
    thread.process.store(local.process.load(Relaxed), Relaxed);
    let words = [&thread.state, &thread.waiting, &thread.wants, &thread.polled, &thread.through];
    words.iter().for_each(|word| word.store(0, Relaxed));
    thread.last.lock.store(0, Relaxed);
    thread.request.label.store(0, Relaxed);
    thread.started.store(now(), Relaxed);
    let tid = gettid();
    thread.key_base.store(Lock::key_base(local.process.load(Relaxed)), Relaxed);
    thread.holder_base.store(holder::base(tid), Relaxed);
    thread.tid.store(tid, Release);
    kinship::came(region, local, thread, comer);
    thread_word::set(thread);
    if local::is_what_if() {
        ends::began(region, thread);
    }
    if let Some(key) = KEY.load(Relaxed).checked_sub(1) {
        // SAFETY: the key was created, and the value is only given to `leave`.
        unsafe { pthread_setspecific(key as c_uint, core::ptr::from_ref(thread).cast()) };
    }
    Some(thread)
}

/// Returns a place: that of a thread that ended, or a new one.
fn take_place(region: &'static Region) -> Option<&'static Thread> {
    let header = &region.header;
    let mut chain = header.ended.load(Acquire);
    while let Some(place) = ((chain >> 32) as usize).checked_sub(1) {
        let thread = region.threads.get(place)?;
        let next = (thread.next.load(Relaxed) as u64) << 32 | ((chain as u32).wrapping_add(1)) as u64;
        match header.ended.compare_exchange_weak(chain, next, AcqRel, Acquire) {
            Ok(_) => return Some(thread),
            Err(now) => chain = now,
        }
    }
    let place = header.threads.load(Relaxed) as usize;
    if place >= region.threads.len() {
        header.lost_threads.fetch_add(1, Relaxed);
        return None;
    }
    let place = header.threads.fetch_add(1, Relaxed) as usize;
    region.threads.get(place)
}

/// Creates the key. Before any program's own, so that its values need no memory of the heap.
pub fn prepare() {
    let mut key: c_uint = 0;
    // SAFETY: the pointer is to a whole key, and the destructor takes what `enter` sets.
    if unsafe { pthread_key_create(&raw mut key, Some(leave)) } == 0 {
        KEY.store(key as u32 + 1, Relaxed);
    }
}

/// Clears the word in a forked child, whose only thread has no place yet. This must be done before another thread of
/// the child makes the process's first call: the place in it is that of the parent's thread, with that one's number.
pub unsafe extern "C" fn forget_parent() {
    thread_word::set(core::ptr::null());
    // The only thread of a process has its number.
    local::local().pid.store(gettid(), Relaxed);
    callers::forget_trials();
}

/// Releases the place of a thread that ends. If it acquires locks after this, it gets another place.
unsafe extern "C" fn leave(value: *mut c_void) {
    let Some(region) = local::region() else { return };
    // SAFETY: the value is what `enter` set.
    let thread = unsafe { &*value.cast::<Thread>() };
    // A child of `fork` ends with its parent's value, which is not its own to give back.
    if local::local().level.load(Relaxed) != 0 && core::ptr::eq(thread_word::get(), thread) {
        give_back(region, thread);
    }
}

/// Releases a place.
pub fn give_back(region: &Region, thread: &Thread) {
    if local::is_what_if() {
        ends::ended(region, thread);
    }
    region.end_request(thread, now());
    thread_word::set(core::ptr::null());
    let (lived, started) = (thread.lived.load(Relaxed), thread.started.load(Relaxed));
    thread.lived.store(lived + now().saturating_sub(started), Relaxed);
    thread.tid.store(0, Release);
    let place = region.place_of(thread);
    let mut chain = region.header.ended.load(Acquire);
    loop {
        thread.next.store((chain >> 32) as u32, Relaxed);
        let next = (place as u64 + 1) << 32 | ((chain as u32).wrapping_add(1)) as u64;
        match region.header.ended.compare_exchange_weak(chain, next, AcqRel, Acquire) {
            Ok(_) => return,
            Err(now) => chain = now,
        }
    }
}
