//! The state of a process: on a page that the kernel empties in a child of `fork`, however it was forked. The page is
//! the library's own, so that a call need not look up its address.
//!
//! | level | |
//! |---|---|
//! | 0 | unknown: the first call of a process, or of a forked child, finds out |
//! | 1, 2 | recorded: as in the memory's header |
//! | [`OFF`] | nothing is recorded in this process |
//! | [`WHAT_IF`](crate::layout::Header::WHAT_IF) | how far threads lag: [`what_if`](super::what_if) |
//! | [`CONFIRM`](crate::layout::Header::CONFIRM) | recorded, and threads are held: [`confirm`](super::confirm) |

use super::external::{MADV_WIPEONFORK, keeping_errno, madvise};
use super::{entry, next};
use crate::layout::{Header, Region, SAMPLE_OF};
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32};

/// The level at which nothing is recorded.
pub const OFF: u32 = 3;

/// The page.
#[repr(C)]
pub struct Local {
    pub level: AtomicU32,
    /// The place of the process.
    pub process: AtomicU32,
    /// The mark that a thread is finding out.
    pub claimed: AtomicU32,
    /// 1 while the level is 1 or 2: the word that each call reads.
    pub ready: AtomicU32,
    /// The kernel's number of the process; 0 until it is known.
    pub pid: AtomicU32,
}

/// The page, as long as one of the machine can be, and aligned to one.
#[cfg_attr(target_arch = "x86_64", repr(C, align(4096)))]
#[cfg_attr(not(target_arch = "x86_64"), repr(C, align(65536)))]
struct Page(Local);

static PAGE: Page = {
    let [level, process, claimed, ready, pid] = [const { AtomicU32::new(0) }; 5];
    Page(Local { level, process, claimed, ready, pid })
};
static REGION: AtomicPtr<Region> = AtomicPtr::new(null_mut());
/// The bits of a place's count that are all 0 for an acquisition that is timed.
static UNTIMED: AtomicU32 = AtomicU32::new(0);
static CLOCK: AtomicU32 = AtomicU32::new(1);
/// Whether the program has forbidden itself system calls: also in the processes that it forks.
static IS_CONFINED: AtomicBool = AtomicBool::new(false);

/// Returns the state of this process.
#[inline(always)]
pub fn local() -> &'static Local {
    &PAGE.0
}

/// Returns whether nothing is recorded in this process.
#[inline(always)]
pub fn is_off() -> bool {
    local().level.load(Relaxed) == OFF
}

/// Returns whether sections are virtually shorter in this process.
#[inline(always)]
pub fn is_what_if() -> bool {
    local().level.load(Relaxed) == Header::WHAT_IF
}

/// Returns whether threads are held between two locks in this process.
#[inline(always)]
pub fn is_confirming() -> bool {
    local().level.load(Relaxed) == Header::CONFIRM
}

/// Returns whether this process records on the fast ways.
#[inline(always)]
pub fn is_ready() -> bool {
    local().ready.load(Relaxed) != 0
}

/// Returns the memory; only after a level above 0 was seen.
#[inline(always)]
pub fn region() -> Option<&'static Region> {
    // SAFETY: the pointer is null or to the memory, which stays mapped.
    unsafe { REGION.load(Acquire).as_ref() }
}

/// Returns the addresses of the memory; none before it is mapped.
pub fn memory() -> core::ops::Range<usize> {
    let start = REGION.load(Acquire).addr();
    start..if start == 0 { 0 } else { start + size_of::<Region>() }
}

/// Returns whether the program has forbidden itself system calls.
pub fn is_confined() -> bool {
    IS_CONFINED.load(Relaxed)
}

/// Makes no system call from now on, since the program has forbidden itself some. Recording goes on where it needs none.
pub fn confine() {
    IS_CONFINED.store(true, Relaxed);
    if is_what_if() || is_confirming() || !reads_counter() {
        keeping_errno(give_up);
    }
}

/// Returns whether ticks are the CPU's.
#[inline(always)]
pub fn reads_counter() -> bool {
    CLOCK.load(Relaxed) == 1
}

/// Returns whether the hold is timed before which a place had this count.
#[inline(always)]
pub fn is_timed(count: u64) -> bool {
    // With `TIMES_ALL`, the topmost bit, the count is negative.
    count as u32 & UNTIMED.load(Relaxed) == 0 || (count as i64) < 0
}

/// Returns whether holds are timed as a sample only.
pub fn is_sampled() -> bool {
    UNTIMED.load(Relaxed) != 0
}

/// Stores the memory; from now on the level is to be found out for each process.
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

/// Ends recording in this process, and in those that it forks: its calls go straight on.
pub fn give_up() {
    next::find_all();
    entry::straighten();
    local().ready.store(0, Release);
    local().level.store(OFF, Release);
}

/// Returns whether the caller is the one to find out.
pub fn claim(local: &Local) -> bool {
    local.claimed.compare_exchange(0, 1, AcqRel, Relaxed).is_ok()
}
