//! What a process knows of itself: on a page that the kernel empties in a child of `fork`, however it was forked.
//!
//! | level | |
//! |---|---|
//! | 0 | unknown: the first call of a process, or of a forked child, finds out |
//! | 1, 2 | recorded: as in the memory's header |
//! | [`OFF`] | nothing is recorded in this process |
//! | [`WHAT_IF`](crate::layout::Header::WHAT_IF) | how far threads lag: [`what_if`](super::what_if) |

use super::external::{
    MADV_WIPEONFORK, MAP_ANONYMOUS, MAP_FAILED, MAP_PRIVATE, PROT_READ, PROT_WRITE, madvise, mmap, munmap,
};
use super::{entry, next};
use crate::layout::{Header, Region, SAMPLE_OF};
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32};

/// Nothing is recorded.
pub const OFF: u32 = 3;

/// The page.
#[repr(C)]
pub struct Local {
    pub level: AtomicU32,
    /// The place of the process.
    pub process: AtomicU32,
    /// Whether somebody is finding out.
    pub claimed: AtomicU32,
    /// 1 while the level is 1 or 2: what is asked on each call.
    pub ready: AtomicU32,
}

impl Local {
    const fn new(level: u32) -> Self {
        let [process, claimed, ready] = [const { AtomicU32::new(0) }; 3];
        Self { level: AtomicU32::new(level), process, claimed, ready }
    }
}

static UNKNOWN: Local = Local::new(0);
static NOTHING: Local = Local::new(OFF);
static LOCAL: AtomicPtr<Local> = AtomicPtr::new((&raw const UNKNOWN).cast_mut());
static REGION: AtomicPtr<Region> = AtomicPtr::new(null_mut());
/// Of acquisitions those are timed whose number has none of these bits.
static UNTIMED: AtomicU32 = AtomicU32::new(0);
static CLOCK: AtomicU32 = AtomicU32::new(1);

const PAGE: usize = 4096;

/// What is known of this process.
#[inline(always)]
pub fn local() -> &'static Local {
    // SAFETY: it points to a static or to a page that is never given back.
    unsafe { &*LOCAL.load(Acquire) }
}

/// Whether nothing is recorded in this process.
#[inline(always)]
pub fn is_off() -> bool {
    local().level.load(Relaxed) == OFF
}

/// Whether sections are virtually shorter in this process.
#[inline(always)]
pub fn is_what_if() -> bool {
    local().level.load(Relaxed) == Header::WHAT_IF
}

/// Whether this process records.
#[inline(always)]
pub fn is_ready() -> bool {
    local().ready.load(Relaxed) != 0
}

/// The memory; only after a level above 0 was seen.
#[inline(always)]
pub fn region() -> Option<&'static Region> {
    // SAFETY: it is null or mapped for good.
    unsafe { REGION.load(Acquire).as_ref() }
}

/// Whether ticks are the CPU's.
#[inline(always)]
pub fn reads_counter() -> bool {
    CLOCK.load(Relaxed) == 1
}

/// Whether the hold is timed before which there were so many acquisitions.
#[inline(always)]
pub fn is_timed(acquisitions: u64) -> bool {
    acquisitions as u32 & UNTIMED.load(Relaxed) == 0
}

/// Takes the memory; from now on the level is to be found out for each process.
pub fn take(region: &'static Region) {
    CLOCK.store(region.header.clock.load(Relaxed), Relaxed);
    let is_sampled = region.header.level.load(Relaxed) == 1;
    UNTIMED.store(if is_sampled { SAMPLE_OF as u32 - 1 } else { 0 }, Relaxed);
    let (protection, flags) = (PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
    // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing.
    let page = unsafe { mmap(null_mut(), PAGE, protection, flags, -1, 0) };
    if page == MAP_FAILED {
        return give_up();
    }
    // SAFETY: the page is ours.
    if unsafe { madvise(page, PAGE, MADV_WIPEONFORK) } != 0 {
        // SAFETY: the page is ours, and nobody knows it yet.
        unsafe { munmap(page, PAGE) };
        return give_up();
    }
    REGION.store(core::ptr::from_ref(region).cast_mut(), Release);
    LOCAL.store(page.cast(), Release);
}

/// Nothing is recorded in this process, nor in those that it forks: its calls go straight on.
pub fn give_up() {
    next::find_all();
    entry::straighten();
    LOCAL.store((&raw const NOTHING).cast_mut(), Release);
}

/// Whether the caller is the one to find out.
pub fn claim(local: &Local) -> bool {
    local.claimed.compare_exchange(0, 1, AcqRel, Relaxed).is_ok()
}
