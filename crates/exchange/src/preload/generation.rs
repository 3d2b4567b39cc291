//! The identity of this process among those that forks have made.
//!
//! A lock with handoff has the positions of waiting threads in its words. A forked child inherits those words, and not
//! the threads: its first unlock would hand the lock off to no thread. So each object notes the process in which it was
//! last used, and the first call of another repairs it.
//!
//! The number is stored on a page that the kernel empties in a child, however it was forked and whichever fork handlers
//! run first.

use crate::c;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32};

const PAGE: usize = 4096;
/// A thread of this generation repairs.
const BUSY: u32 = 1 << 31;

/// The target of [`HERE`] until the page exists: a number that means that it is not determined yet.
static NOWHERE: AtomicU32 = AtomicU32::new(0);
static HERE: AtomicPtr<AtomicU32> = AtomicPtr::new((&raw const NOWHERE).cast_mut());
/// The last number that was given; a child continues from there.
static LAST: AtomicU32 = AtomicU32::new(0);

/// Returns the number of this process; not 0.
#[inline(always)]
fn generation() -> u32 {
    // SAFETY: the pointer is to a static or to a page that is never unmapped.
    match unsafe { &*HERE.load(Acquire) }.load(Relaxed) {
        0 => c::keeping_errno(find),
        known => known,
    }
}

#[cold]
fn find() -> u32 {
    if core::ptr::eq(HERE.load(Acquire), &raw const NOWHERE) {
        make_page();
    }
    // SAFETY: the pointer is to a static or to a page that is never unmapped.
    let current = unsafe { &*HERE.load(Acquire) };
    let next = (LAST.fetch_add(1, Relaxed) + 1) & !BUSY;
    current.compare_exchange(0, next, AcqRel, Acquire).map_or_else(|other| other, |_| next)
}

fn make_page() {
    let (protection, flags) = (c::PROT_READ | c::PROT_WRITE, c::MAP_PRIVATE | c::MAP_ANONYMOUS);
    // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing.
    let page = unsafe { c::mmap(null_mut(), PAGE, protection, flags, -1, 0) };
    // SAFETY: the page was mapped above, and nothing else refers to it.
    if page == c::MAP_FAILED || unsafe { c::madvise(page, PAGE, c::MADV_WIPEONFORK) } != 0 {
        return without_page();
    }
    let nowhere = (&raw const NOWHERE).cast_mut();
    if HERE.compare_exchange(nowhere, page.cast(), AcqRel, Relaxed).is_err() {
        // SAFETY: the page was mapped above, and nothing else refers to it.
        unsafe { c::munmap(page, PAGE) };
    }
}

/// Handles a kernel before 4.14: a handler of the C library's forks resets a static.
fn without_page() {
    static EMPTIED: AtomicU32 = AtomicU32::new(0);
    unsafe extern "C" fn in_child() {
        EMPTIED.store(0, Release);
    }
    let nowhere = (&raw const NOWHERE).cast_mut();
    if HERE.compare_exchange(nowhere, (&raw const EMPTIED).cast_mut(), AcqRel, Relaxed).is_ok() {
        // SAFETY: the handler stores to a static.
        unsafe { c::pthread_atfork(None, None, Some(in_child)) };
    }
}

/// Makes an object this process's own: `repair` is called once, before any thread here continues, if another process
/// used it last.
///
/// It is not called for an unused one.
#[inline(always)]
pub fn settle(word: &AtomicU32, repair: impl FnOnce()) {
    let now = generation();
    if word.load(Acquire) != now {
        settle_slowly(word, now, repair);
    }
}

#[cold]
fn settle_slowly(word: &AtomicU32, now: u32, repair: impl FnOnce()) {
    for round in 0.. {
        let then = word.load(Acquire);
        if then == now {
            return;
        }
        if then == now | BUSY {
            // The repairing thread may have a lower priority, on this CPU.
            crate::futex::give_way(round);
        } else if word.compare_exchange(then, now | BUSY, AcqRel, Relaxed).is_ok() {
            if then != 0 {
                repair();
            }
            return word.store(now, Release);
        }
    }
}
