//! Which process this is, of those that a fork has made of one.
//!
//! A lock that hands over has the places of waiting threads in its words. A forked child inherits those words, and not
//! the threads: its first unlock would hand the lock to nobody. So each object says in which process it was last used,
//! and the first call of another repairs it.
//!
//! The number lies on a page that the kernel empties in a child, however it was forked and whoever's fork handlers run
//! first.

use crate::c;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32};

const PAGE: usize = 4096;
/// Somebody of this generation repairs.
const BUSY: u32 = 1 << 31;

/// What [`HERE`] points to until the page is there: a number that means that it has to be found out.
static NOWHERE: AtomicU32 = AtomicU32::new(0);
static HERE: AtomicPtr<AtomicU32> = AtomicPtr::new((&raw const NOWHERE).cast_mut());
/// The last number that was given; a child goes on from there.
static LAST: AtomicU32 = AtomicU32::new(0);

/// The number of this process; not 0.
#[inline(always)]
fn generation() -> u32 {
    // SAFETY: it points to a static or to a page that is never given back.
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
    // SAFETY: as above.
    let here = unsafe { &*HERE.load(Acquire) };
    let next = (LAST.fetch_add(1, Relaxed) + 1) & !BUSY;
    here.compare_exchange(0, next, AcqRel, Acquire).map_or_else(|other| other, |_| next)
}

fn make_page() {
    let (protection, flags) = (c::PROT_READ | c::PROT_WRITE, c::MAP_PRIVATE | c::MAP_ANONYMOUS);
    // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing.
    let page = unsafe { c::mmap(null_mut(), PAGE, protection, flags, -1, 0) };
    // SAFETY: the page is ours.
    if page == c::MAP_FAILED || unsafe { c::madvise(page, PAGE, c::MADV_WIPEONFORK) } != 0 {
        return without_page();
    }
    let nowhere = (&raw const NOWHERE).cast_mut();
    if HERE.compare_exchange(nowhere, page.cast(), AcqRel, Relaxed).is_err() {
        // SAFETY: the page is ours, and nobody knows it.
        unsafe { c::munmap(page, PAGE) };
    }
}

/// A kernel before 4.14: a handler of the C library's forks empties a static.
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

/// Makes an object this process's own: `repair` is called once, before anybody here goes on, if another process used it
/// last. It is not called for one that nobody has used.
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
            // Whoever is busy may be of a lower priority, on this CPU.
            crate::futex::give_way(round);
        } else if word.compare_exchange(then, now | BUSY, AcqRel, Relaxed).is_ok() {
            if then != 0 {
                repair();
            }
            return word.store(now, Release);
        }
    }
}
