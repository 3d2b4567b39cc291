//! The call site of a lock, beyond functions that only acquire it.
//!
//! Programs put functions around the C library's: `std::lock_guard` without optimisation, `uv_mutex_lock`, their own.
//! With the return address alone, all locks of such a program were acquired at one call site. A *wrapper* is a function
//! that returns while it still holds a lock that it acquired: its caller is who acquires. So the site of a lock is the
//! first call, from the inside, of a function that is not a wrapper.
//!
//! Whether a function is one is seen at the release. At the first acquisitions of a call site, a *trial* notes for
//! up to [`DEPTH`] functions where their return addresses are on the stack. When the same thread releases the lock, the
//! function has returned if that word is no longer on the stack, or has another value: the release is called from the
//! function's caller, or from one of its other callees, whose return address is another. Until then, the site of an
//! acquisition is the innermost one that is not known to be in a wrapper.
//!
//! Where a function's return address is follows from the address to which the call returns, since compilers keep the
//! stack pointer or the frame pointer at a fixed distance of it ([`unwind`]); that is looked up once for each site.
//! Afterwards, a site costs a look into a table, and one more word of the stack for each wrapper.
//!
//! Frames of more than [`LARGEST`] bytes do not count as wrappers. So a site of a library that was unloaded, and whose address
//! another one has by now, may give a wrong site, but reads no memory but the thread's stack, above which the C library
//! has the thread's description, and the kernel the program's arguments.
//!
//! Only on x86-64; elsewhere the site is the return address.

mod unwind;

use crate::preload::external::has_it;
use core::arch::asm;
use core::ffi::c_int;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};
use unwind::Frame;

/// The maximum number of wrappers around a lock.
const DEPTH: usize = 6;
/// The largest frame of a wrapper.
const LARGEST: usize = 1024;
/// The size of a page of the stack, all of which is mapped if a part is.
const PAGE: usize = 4096;
/// The number of acquisitions after which a function that did not return while it held the lock is not a wrapper, …
const ENOUGH: u64 = 3;
/// … and of those whose release was not seen: threads release the locks of others.
const MOST: u64 = 64;

/// The place on the stack of a call's return address, and the frame pointer of the function that called.
#[derive(Clone, Copy)]
pub struct Call {
    pub place: usize,
    pub frame_pointer: usize,
}

impl Call {
    /// Returns the address to which the call returns.
    #[inline(always)]
    fn site(self) -> usize {
        // SAFETY: the place is on the thread's stack, below the end of a frame that is in use.
        unsafe { (self.place as *const usize).read() }
    }

    /// Returns the call of the function that made this one.
    #[inline(always)]
    fn outer(self, frame: Frame) -> Option<Self> {
        let stack_pointer = self.place + 8;
        let from = if frame.is_by_frame_pointer { self.frame_pointer } else { stack_pointer };
        let end = from.wrapping_add(frame.end as usize);
        if end.wrapping_sub(stack_pointer) > LARGEST || end % 8 != 0 || end == stack_pointer {
            return None;
        }
        let frame_pointer = match frame.frame_pointer_below as usize {
            0 => self.frame_pointer,
            below if below <= end - stack_pointer => {
                // SAFETY: the place is between the stack pointer and the end of the function's frame.
                unsafe { ((end - below) as *const usize).read_unaligned() }
            }
            _ => return None,
        };
        // The outermost function of a coroutine may return nowhere.
        Some(Self { place: end - 8, frame_pointer }).filter(|outer| outer.site() != 0)
    }
}

/// A call site.
struct Entry {
    /// The address to which the call returns; 0 if this is free.
    site: AtomicUsize,
    /// The frame of its function, and whether that is a wrapper: [`Known`].
    known: AtomicU64,
}

/// The knowledge about a call site, in a word: its state, the number of its acquisitions that were looked at, and its
/// frame.
#[derive(Clone, Copy)]
struct Known(u64);

impl Known {
    const PLAIN: u64 = 1;
    const WRAPPER: u64 = 2;
    const STATE: u64 = 3;
    const ACTIVE: u32 = 2;
    const SEEN: u32 = 4;
    const BY_FRAME_POINTER: u64 = 1 << 15;
    const END: u32 = 16;
    const BELOW: u32 = 32;

    /// Nothing is known yet of a function with this frame; one without is plain.
    fn of(frame: Option<Frame>) -> Self {
        let Some(frame) = frame.filter(|frame| frame.end < 1 << 16 && frame.frame_pointer_below < 1 << 16) else {
            return Self(Self::PLAIN);
        };
        let by = if frame.is_by_frame_pointer { Self::BY_FRAME_POINTER } else { 0 };
        Self(by | u64::from(frame.end) << Self::END | u64::from(frame.frame_pointer_below) << Self::BELOW)
    }

    #[inline(always)]
    fn frame(self) -> Frame {
        Frame {
            is_by_frame_pointer: self.0 & Self::BY_FRAME_POINTER != 0,
            end: (self.0 >> Self::END) as u16 as u32,
            frame_pointer_below: (self.0 >> Self::BELOW) as u16 as u32,
        }
    }

    #[inline(always)]
    fn is(self, state: u64) -> bool {
        self.0 & Self::STATE == state
    }
}

/// The number of sites; further ones are plain.
const SITES: usize = 2048;
/// The number of places that are searched for one.
const PROBES: usize = 8;

static ENTRIES: [Entry; SITES] = [const { Entry { site: AtomicUsize::new(0), known: AtomicU64::new(0) } }; SITES];

#[inline(always)]
fn home(site: usize) -> usize {
    site.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (usize::BITS - SITES.trailing_zeros())
}

/// Returns the site of an acquisition; `None` if that of its functions is not decided.
#[inline(always)]
pub fn site(call: Call) -> Option<usize> {
    let site = call.site();
    match at_home(site) {
        Some(known) if known.is(Known::PLAIN) => Some(site),
        _ => outer_site(call),
    }
}

/// Returns what is known of a site whose place was free when it came.
#[inline(always)]
fn at_home(site: usize) -> Option<Known> {
    let entry = &ENTRIES[home(site) % SITES];
    (entry.site.load(Acquire) == site).then(|| Known(entry.known.load(Relaxed)))
}

#[inline(never)]
fn outer_site(mut call: Call) -> Option<usize> {
    for _ in 0..DEPTH {
        let site = call.site();
        let known = match at_home(site) {
            Some(known) => known,
            None => known_elsewhere(site)?,
        };
        match known.0 & Known::STATE {
            Known::PLAIN => break,
            Known::WRAPPER => {}
            _ => return None,
        }
        let Some(outer) = call.outer(known.frame()) else { break };
        call = outer;
    }
    Some(call.site())
}

/// Returns what is known of a site; `None` if it is new. A new one that finds no room is plain.
#[cold]
#[inline(never)]
fn known_elsewhere(site: usize) -> Option<Known> {
    let mut places = (0..PROBES).map(|probe| &ENTRIES[(home(site) + probe) % SITES]);
    let entry = places.find(|entry| matches!(entry.site.load(Acquire), there if there == site || there == 0));
    match entry {
        None => Some(Known(Known::PLAIN)),
        Some(entry) if entry.site.load(Acquire) == site => Some(Known(entry.known.load(Relaxed))),
        Some(_) => None,
    }
}

/// Returns whether a site is in a function that is known to be a wrapper.
pub fn is_in_wrapper(site: usize) -> bool {
    at_home(site).or_else(|| known_elsewhere(site)).is_some_and(|known| known.is(Known::WRAPPER))
}

/// Returns the entry of a site, which becomes known; `None` without room.
fn learn(site: usize) -> Option<&'static Entry> {
    if site == 0 || !unwind::is_ready() {
        return None;
    }
    for probe in 0..PROBES {
        let entry = &ENTRIES[(home(site) + probe) % SITES];
        let there = entry.site.load(Acquire);
        if there == site {
            return Some(entry);
        }
        if there == 0 {
            let frame = Known::of(unwind::frame(site));
            // The frame first: a site that is found has one.
            if entry.known.compare_exchange(0, frame.0 | CLAIMED, AcqRel, Acquire).is_err() {
                // Another thread fills it.
                return None;
            }
            entry.known.store(frame.0, Relaxed);
            entry.site.store(site, Release);
            return Some(entry);
        }
    }
    None
}

/// The bit of an entry's word while its site is written.
const CLAIMED: u64 = 1 << 63;

/// A function whose return is looked for.
struct Level {
    entry: AtomicUsize,
    /// The place of its return address, and the address.
    place: AtomicUsize,
    returns_to: AtomicUsize,
}

/// A lock that was acquired, and the functions that were active then.
struct Trial {
    /// The thread, as its pointer to itself; 0 if this is free.
    owner: AtomicUsize,
    lock: AtomicUsize,
    depth: AtomicU32,
    levels: [Level; DEPTH],
}

/// The value of `owner` while a trial is written or read.
const BUSY: usize = 1;
const TRIALS: usize = 16;

#[rustfmt::skip]
static ALL: [Trial; TRIALS] = [const { Trial {
    owner: AtomicUsize::new(0),
    lock: AtomicUsize::new(0),
    depth: AtomicU32::new(0),
    levels: [const { Level { entry: AtomicUsize::new(0), place: AtomicUsize::new(0), returns_to: AtomicUsize::new(0) } }; DEPTH],
} }; TRIALS];
/// The number of trials that were begun.
static BEGUN: AtomicUsize = AtomicUsize::new(0);
/// The number of trials whose release has not come.
static OPEN: AtomicU32 = AtomicU32::new(0);

/// Acquires a lock by `take`, which gets the site as far as it is known, and begins a trial.
#[cold]
#[inline(never)]
pub fn try_out(lock: usize, call: Call, take: impl FnOnce(usize) -> c_int) -> c_int {
    let (mut site, mut inner) = (None, call);
    let mut levels = [(None::<&'static Entry>, 0, 0); DEPTH];
    for level in &mut levels {
        let Some(entry) = learn(inner.site()) else { break };
        let known = Known(entry.known.load(Relaxed));
        if !known.is(Known::WRAPPER) {
            site.get_or_insert(inner.site());
        }
        if known.is(Known::PLAIN) {
            break;
        }
        let Some(outer) = inner.outer(known.frame()) else {
            decide(entry, Known::PLAIN);
            break;
        };
        if !known.is(Known::WRAPPER) {
            *level = (Some(entry), outer.place, outer.site());
        }
        inner = outer;
    }
    // All but one word is written before the lock is held, so that the hold is no longer by it.
    let trial = prepared(lock, &levels);
    let code = take(site.unwrap_or_else(|| inner.site()));
    if let Some(trial) = trial {
        if has_it(code) {
            OPEN.fetch_add(1, Relaxed);
        }
        trial.owner.store(if has_it(code) { thread_pointer() } else { 0 }, Release);
        if has_it(code) {
            levels.iter().filter_map(|level| level.0).for_each(count);
        }
    }
    code
}

/// Returns a trial of these functions, which no thread has yet.
fn prepared(lock: usize, levels: &[(Option<&'static Entry>, usize, usize); DEPTH]) -> Option<&'static Trial> {
    let trial = &ALL[BEGUN.fetch_add(1, Relaxed) % TRIALS];
    let before = trial.owner.load(Relaxed);
    if before == BUSY || trial.owner.compare_exchange(before, BUSY, Acquire, Relaxed).is_err() {
        return None;
    }
    if before != 0 {
        OPEN.fetch_sub(1, Relaxed);
    }
    trial.lock.store(lock, Relaxed);
    let mut depth = 0;
    for (entry, place, returns_to) in levels.iter().filter_map(|level| Some((level.0?, level.1, level.2))) {
        let level = &trial.levels[depth];
        level.entry.store(core::ptr::from_ref(entry).addr(), Relaxed);
        level.place.store(place, Relaxed);
        level.returns_to.store(returns_to, Relaxed);
        depth += 1;
    }
    trial.depth.store(depth as u32, Relaxed);
    Some(trial)
}

/// Counts an acquisition by a function that was not decided yet. After many, it is plain.
fn count(entry: &'static Entry) {
    let known = Known(entry.known.load(Relaxed));
    if (known.0 >> Known::SEEN) & 0xff >= MOST {
        decide(entry, Known::PLAIN);
    } else {
        entry.known.fetch_add(1 << Known::SEEN, Relaxed);
    }
}

/// Ends the trials of a lock that this thread is about to release, by a call whose return address is at `place`.
#[inline(always)]
pub fn end_trial(lock: usize, place: usize) {
    if OPEN.load(Relaxed) != 0 {
        end_open_trial(lock, place);
    }
}

#[cold]
#[inline(never)]
fn end_open_trial(lock: usize, place: usize) {
    let own = thread_pointer();
    for trial in ALL.iter().filter(|trial| trial.lock.load(Relaxed) == lock) {
        if trial.owner.compare_exchange(own, BUSY, Acquire, Relaxed).is_err() {
            continue;
        }
        let is_same = trial.lock.load(Relaxed) == lock;
        if is_same {
            let mut has_returned = false;
            for level in trial.levels[..(trial.depth.load(Relaxed) as usize).min(DEPTH)].iter().rev() {
                // What a function called has returned before it; its word may still be there.
                has_returned |= judge(level, place, has_returned);
            }
            OPEN.fetch_sub(1, Relaxed);
        }
        trial.owner.store(if is_same { 0 } else { own }, Release);
    }
}

/// Looks whether a function has returned since it acquired the lock, at a release whose return address is at `place`, and
/// notes it; `is_known` says that it has.
///
/// Nothing is learned where the two are apart: the thread may be on another stack by now, and the first one gone.
fn judge(level: &Level, place: usize, is_known: bool) -> bool {
    let (at, returns_to) = (level.place.load(Relaxed), level.returns_to.load(Relaxed));
    let is_near = if at < place { place - at < PAGE } else { at / PAGE == place / PAGE };
    if !is_known && !is_near {
        return false;
    }
    // SAFETY: the page is that of `place`, which is on the thread's stack.
    let has_returned = is_known || at < place || unsafe { (at as *const usize).read_volatile() } != returns_to;
    // SAFETY: the address is that of an entry, which is a static.
    let entry = unsafe { &*(level.entry.load(Relaxed) as *const Entry) };
    let known = Known(entry.known.load(Relaxed));
    if has_returned {
        decide(entry, Known::WRAPPER);
    } else if (known.0 >> Known::ACTIVE) & 3 >= ENOUGH - 1 {
        decide(entry, Known::PLAIN);
    } else {
        entry.known.fetch_add(1 << Known::ACTIVE, Relaxed);
    }
    has_returned
}

/// Ends all trials in a forked child, whose only thread may have the address of one that is gone.
pub fn forget_trials() {
    for trial in &ALL {
        trial.owner.store(0, Relaxed);
    }
    OPEN.store(0, Relaxed);
    for entry in ENTRIES.iter().filter(|entry| entry.site.load(Relaxed) == 0) {
        entry.known.store(0, Relaxed);
    }
}

/// Sets the state of a site, unless another thread has: evidence that came first is not replaced by a limit.
fn decide(entry: &Entry, state: u64) {
    _ = entry.known.fetch_update(Relaxed, Relaxed, |now| Known(now).is(0).then_some(now | state));
}

/// Returns the word by which a thread finds its own variables, which no other thread has.
fn thread_pointer() -> usize {
    let pointer: usize;
    // SAFETY: on x86-64, the C library keeps the thread's own address there.
    unsafe { asm!("mov {}, fs:0", out(reg) pointer, options(nostack, pure, readonly)) };
    pointer
}
