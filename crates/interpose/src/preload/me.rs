//! The calling thread, how it stands to what is recorded, and its place in the memory: taken at its first call, given
//! back at its end.

use super::clock::now;
use super::external::{gettid, keeping_errno, pthread_key_create, pthread_setspecific};
use super::local::{self, Local, OFF};
use super::{process, thread_word, what_if};
use crate::layout::{Header, Lock, Region, Thread, holder};
use core::ffi::{c_uint, c_void};
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// A thread that records, and what it records into. Two words: so it goes in registers.
#[derive(Clone, Copy)]
pub struct Me {
    pub thread: &'static Thread,
    pub region: &'static Region,
}

/// The calling thread, if it records: no more than loads, so that the fast ways need nothing else.
#[inline(always)]
pub fn ready() -> Option<Me> {
    ready_thread().map(Me::of)
}

#[inline(always)]
fn ready_thread() -> Option<&'static Thread> {
    known_thread().filter(|thread| !thread.is_busy())
}

/// The calling thread, if it records and is at nothing: it holds no lock, and notes nothing. Without the memory: that
/// is a register less to keep while the program's call goes on.
#[inline(always)]
pub fn thread_at_nothing() -> Option<&'static Thread> {
    known_thread().filter(|thread| thread.is_at(0))
}

/// The same, be it at something.
#[inline(always)]
pub fn known_thread() -> Option<&'static Thread> {
    if !local::is_ready() {
        return None;
    }
    // SAFETY: it is null or within the memory.
    unsafe { thread_word::get().as_ref() }
}

impl Me {
    /// A thread that was ready.
    #[inline(always)]
    pub fn of(thread: &'static Thread) -> Self {
        // SAFETY: a process is only ready once the memory is taken, and a thread only has a place in it then.
        Self { thread, region: unsafe { local::region().unwrap_unchecked() } }
    }
}

/// The calling thread, which becomes known if it was not; `None` where nothing is to be recorded.
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
        _ => {}
    }
    if thread_word::get().is_null() { newcomer(local) } else { reentered() }
}

/// The calling thread in a process whose sections are virtually shorter; `None` in a handler that came while it looked
/// for a lock's place, or without room.
#[inline(never)]
pub fn me_what_if() -> Option<Me> {
    // SAFETY: it is null or within the memory.
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
    // The only thread of a forked child has its parent's place until it has one of its own.
    let me = if matches!(level, 0 | OFF) { None } else { newcomer(local) };
    me.filter(|_| level != Header::WHAT_IF)
}

/// A thread's first call, or that of the only thread in a forked child, whose place is still that of its parent.
#[cold]
fn newcomer(local: &'static Local) -> Option<Me> {
    let region = local::region()?;
    let thread = keeping_errno(|| enter(region, local))?;
    Some(Me { thread, region })
}

/// The key whose value's end says that a thread ends, plus 1. Keys as low as this have their room in each thread.
static KEY: AtomicU32 = AtomicU32::new(0);

/// Gives the calling thread a place.
pub fn enter(region: &'static Region, local: &Local) -> Option<&'static Thread> {
    let thread = take_place(region)?;
    region.header.comers.fetch_add(1, Relaxed);
    thread.process.store(local.process.load(Relaxed), Relaxed);
    [&thread.state, &thread.waiting].iter().for_each(|word| word.store(0, Relaxed));
    thread.last.lock.store(0, Relaxed);
    thread.started.store(now(), Relaxed);
    let tid = gettid();
    thread.key_base.store(Lock::key_base(local.process.load(Relaxed)), Relaxed);
    thread.holder_base.store(holder::base(tid), Relaxed);
    thread.tid.store(tid, Release);
    thread_word::set(thread);
    if local::is_what_if() {
        what_if::began(region, thread);
    }
    if let Some(key) = KEY.load(Relaxed).checked_sub(1) {
        // SAFETY: the key was created, and the value is only given to `leave`.
        unsafe { pthread_setspecific(key as c_uint, core::ptr::from_ref(thread).cast()) };
    }
    Some(thread)
}

/// A place: that of a thread that ended, or a new one.
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

/// A thread ends. Should it take locks after this, it gets another place.
unsafe extern "C" fn leave(value: *mut c_void) {
    let Some(region) = local::region() else { return };
    // SAFETY: the value is what `enter` set.
    let thread = unsafe { &*value.cast::<Thread>() };
    // A child of `fork` ends with its parent's value, which is not its own to give back.
    if local::local().level.load(Relaxed) != 0 && core::ptr::eq(thread_word::get(), thread) {
        give_back(region, thread);
    }
}

/// Gives a place back.
pub fn give_back(region: &Region, thread: &Thread) {
    if local::is_what_if() {
        what_if::ended(region, thread);
    }
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
