//! What a process knows of itself: on a page that the kernel empties in a child of `fork`, however it was forked. The
//! page is the library's own, so that a call need not ask first where it is.
//!
//! | level | |
//! |---|---|
//! | 0 | unknown: the first call of a process, or of a forked child, finds out |
//! | 1, 2 | recorded: as in the memory's header |
//! | [`OFF`] | nothing is recorded in this process |
//! | [`WHAT_IF`](crate::layout::Header::WHAT_IF) | how far threads lag: [`what_if`](super::what_if) |
//! | [`CONFIRM`](crate::layout::Header::CONFIRM) | recorded, and threads are held: [`confirm`](super::confirm) |

use super::external::{MADV_WIPEONFORK, madvise};
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

/// As long as a page of the machine can be, and begins where one begins.
#[cfg_attr(target_arch = "x86_64", repr(C, align(4096)))]
#[cfg_attr(not(target_arch = "x86_64"), repr(C, align(65536)))]
struct Page(Local);

static PAGE: Page = {
    let [level, process, claimed, ready] = [const { AtomicU32::new(0) }; 4];
    Page(Local { level, process, claimed, ready })
};
static REGION: AtomicPtr<Region> = AtomicPtr::new(null_mut());
/// Of acquisitions those are timed whose number has none of these bits.
static UNTIMED: AtomicU32 = AtomicU32::new(0);
static CLOCK: AtomicU32 = AtomicU32::new(1);

/// What is known of this process.
#[inline(always)]
pub fn local() -> &'static Local {
    &PAGE.0
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

/// Whether threads are held between two locks in this process.
#[inline(always)]
pub fn is_confirming() -> bool {
    local().level.load(Relaxed) == Header::CONFIRM
}

/// Whether this process records on the fast ways.
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

/// Whether the hold is timed before which a place had this count.
#[inline(always)]
pub fn is_timed(count: u64) -> bool {
    // With `TIMES_ALL`, the topmost bit, the count is negative.
    count as u32 & UNTIMED.load(Relaxed) == 0 || (count as i64) < 0
}

/// Takes the memory; from now on the level is to be found out for each process.
pub fn take(region: &'static Region) {
    CLOCK.store(region.header.clock.load(Relaxed), Relaxed);
    let is_sampled = region.header.level.load(Relaxed) == 1;
    UNTIMED.store(if is_sampled { SAMPLE_OF as u32 - 1 } else { 0 }, Relaxed);
    // SAFETY: the page is ours and anonymous, since all of it is zeros; if the kernel will not empty it, that is said.
    if unsafe { madvise((&raw const PAGE).cast_mut().cast(), size_of::<Page>(), MADV_WIPEONFORK) } != 0 {
        return give_up();
    }
    REGION.store(core::ptr::from_ref(region).cast_mut(), Release);
}

/// Nothing is recorded in this process, nor in those that it forks: its calls go straight on.
pub fn give_up() {
    next::find_all();
    entry::straighten();
    local().level.store(OFF, Release);
}

/// Whether the caller is the one to find out.
pub fn claim(local: &Local) -> bool {
    local.claimed.compare_exchange(0, 1, AcqRel, Relaxed).is_ok()
}
