//! Yields of arriving threads to other threads of the same lock.
//!
//! A thread that yields stays in the run queue, and each thread that runs next runs only until it finds the lock held.
//! So all threads run one after another within a few milliseconds, and a preempted holder runs again soon. A thread that
//! blocks needs a wake-up. It then waits in the run queue behind threads that use up their time slices.
//!
//! That helps only if the threads that run next use the same lock. Any other thread takes a whole time slice of some
//! milliseconds. The fair scheduler counts the yield as a slice that this thread has used up. A thread cannot know which
//! one runs next. So each CPU notes when the lock was last used on it. If that was long ago when a yield ends, something
//! else ran, and threads do not yield on this CPU for about 5 ms. Each further such yield doubles that time, until many
//! other yields have followed each other.
//!
//! Threads begin to yield while threads are blocked, since only then releases note that the lock was used. Where sections are
//! short, they go on for some 0.2 s when no thread is blocked any more. The holder then releases the lock by a plain store, and
//! the threads of another CPU read the word every 2 µs or so: this more than doubles the throughput of empty sections.
//! It ends on a CPU where a yield takes longer than any thread that arrives there: the holder has used up its time slice, or
//! another program has run, and threads that block will show which.
//!
//! All of it is a hint: locks and CPUs that share an entry of the table, threads that overwrite each other's update, and a
//! forked child that inherits the table cost time only.

use super::{
    pace::{self, entry_of},
    word::{Iterations, may_have_blocked},
};
use crate::{
    atomic::{AtomicU32 as Word, give_way},
    cpu::{coarse_now, cpu_hint, fine_now},
};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Entries of the table; locks and CPUs share them.
const ENTRIES: usize = 64;
static TABLE: [Entry; ENTRIES] = [const { Entry::new() }; ENTRIES];

/// Time from which a yield has let another thread run, in units of about 10 ns. A yield without another runnable thread takes
/// about a tenth of it.
const SWITCHED: u32 = 300;
/// Time without a use of the lock on this CPU after which another program has run, in units of about 10 ns. A time slice is
/// longer. Threads that need some 100 µs for each use count as another program, since one of 16 uses is noted.
const UNUSED: u32 = 200_000;
/// How long yields are forbidden first, in units of about 10 µs, and how often that time doubles.
const FORBIDDEN: u32 = 1 << 9;
const DOUBLINGS: u32 = 6;
/// Number of other yields after which the time is the first one again.
const REGULAR: u32 = 256;
/// How long threads go on to yield once no thread is blocked, in units of about 10 µs.
const ROTATION: u32 = 1 << 14;

/// The uses of a lock on a CPU, and whether threads may yield there.
///
/// The times are those of `fine_now` or `coarse_now`.
#[repr(align(64))]
struct Entry {
    /// When a thread last used the lock, in units of about 10 ns.
    used: AtomicU32,
    /// When a release last read the clock, in units of about 10 ns.
    released: AtomicU32,
    /// Until when yields are forbidden, in units of about 10 µs.
    forbidden: AtomicU32,
    /// How often the time has doubled.
    doublings: AtomicU32,
    /// Yields since then.
    regular: AtomicU32,
    /// When a yield last ended in which others used the lock, in units of about 10 µs.
    rotated: AtomicU32,
    /// When the last release began the iterations of a credit that ends, in units of about 10 ns; 0 after their end.
    began: AtomicU32,
}

impl Entry {
    const fn new() -> Self {
        let [used, released, forbidden, doublings, regular, rotated, began] = [const { AtomicU32::new(0) }; 7];
        Entry { used, released, forbidden, doublings, regular, rotated, began }
    }

    /// Returns the entry of the lock at this address on a CPU.
    fn of(lock: usize, cpu: u32) -> &'static Self {
        &TABLE[(entry_of(lock, ENTRIES) + cpu as usize) % ENTRIES]
    }

    fn is_forbidden(&self, now: u32) -> bool {
        // A time that has passed looks like one in the far future, once the clock has wrapped around.
        (1..=FORBIDDEN << DOUBLINGS).contains(&self.forbidden.load(Relaxed).wrapping_sub(now))
    }

    /// Returns whether the threads of a lock have lately run in turn on this CPU.
    fn rotates(&self, now: u32) -> bool {
        now.wrapping_sub(self.rotated.load(Relaxed)) < ROTATION && !self.is_forbidden(now)
    }

    /// Notes a use and yields; returns whether another thread ran, and the time after it.
    fn yield_and_time(&self) -> (bool, u64) {
        let before = fine_now() as u32;
        self.used.store(before, Relaxed);
        give_way();
        let after = fine_now();
        ((after as u32).wrapping_sub(before) > SWITCHED, after)
    }

    /// Returns whether the lock was not used for so long that something else must have run.
    fn is_unused(&self, fine: u32) -> bool {
        fine.wrapping_sub(self.used.load(Relaxed)).cast_signed() > UNUSED.cast_signed()
    }

    /// Notes the begin or the end of two iterations at this time, and returns how long they took.
    fn iterated(&self, at: Iterations, now: u32) -> Option<u32> {
        let began = self.began.load(Relaxed);
        self.began.store(if at == Iterations::Begin { now | 1 } else { 0 }, Relaxed);
        (at == Iterations::End && began != 0).then(|| now.wrapping_sub(began))
    }

    /// Notes a yield on a lock whose uses are not noted. After a long one, a thread of it has used up its time slice, or
    /// another program has run. Threads then do not yield until they have done so while threads were blocked.
    fn note_quiet(&self, fine: u32, coarse: u32) {
        if self.is_unused(fine) {
            self.rotated.store(coarse.wrapping_sub(ROTATION), Relaxed);
        }
    }

    /// Notes a yield that ended at this time, in both units, and whether another thread ran.
    fn note(&self, switched: bool, fine: u32, coarse: u32) {
        let doublings = self.doublings.load(Relaxed);
        if self.is_unused(fine) {
            self.forbidden.store(coarse.wrapping_add(FORBIDDEN << doublings), Relaxed);
            self.doublings.store((doublings + 1).min(DOUBLINGS), Relaxed);
            self.regular.store(0, Relaxed);
            return;
        }
        if switched {
            self.rotated.store(coarse, Relaxed);
        }
        if doublings != 0 {
            let regular = self.regular.load(Relaxed) + 1;
            self.regular.store(regular, Relaxed);
            if regular >= REGULAR {
                self.doublings.store(0, Relaxed);
            }
        }
    }
}

/// How often threads began to block on a lock without blocked threads, whose uses are not noted; locks share the entries.
static CROWDED: [AtomicU32; ENTRIES] = [const { AtomicU32::new(0) }; ENTRIES];

/// Notes that threads begin to block on the lock at this address.
pub(super) fn crowds(lock: usize) {
    CROWDED[entry_of(lock, ENTRIES)].fetch_add(1, Relaxed);
}

/// Notes that a thread uses the lock at this address on this CPU.
pub(super) fn used(lock: usize) {
    Entry::of(lock, cpu_hint()).used.store(fine_now() as u32, Relaxed);
}

/// Notes a release that has read the clock: it is a use of the lock, and shows how long its sections are at most.
pub(super) fn released(lock: usize) {
    let (entry, now) = (Entry::of(lock, cpu_hint()), fine_now() as u32);
    entry.used.store(now, Relaxed);
    pace::released(lock, now.wrapping_sub(entry.released.load(Relaxed)));
    entry.released.store(now, Relaxed);
}

/// Yields, and returns whether another thread ran; returns `None` if yields are forbidden.
pub(super) fn yield_in_turn(word: &Word) -> Option<bool> {
    let (lock, cpu) = (core::ptr::from_ref(word).addr(), cpu_hint());
    let entry = Entry::of(lock, cpu);
    if entry.is_forbidden(coarse_now()) {
        return None;
    }
    let crowded = CROWDED[entry_of(lock, ENTRIES)].load(Relaxed);
    let (switched, after) = entry.yield_and_time();
    let was_noted = may_have_blocked(word.load(Relaxed)) && CROWDED[entry_of(lock, ENTRIES)].load(Relaxed) == crowded;
    if was_noted && cpu_hint() == cpu {
        entry.note(switched, after as u32, (after >> 10) as u32);
    }
    Some(switched)
}

/// Yields where threads ran in turn lately, on a lock without blocked threads, and returns whether another thread ran; returns
/// `None` if they did not.
pub(super) fn yield_in_rotation(word: &Word) -> Option<bool> {
    let (lock, cpu) = (core::ptr::from_ref(word).addr(), cpu_hint());
    let entry = Entry::of(lock, cpu);
    if !entry.rotates(coarse_now()) {
        return None;
    }
    let (switched, after) = entry.yield_and_time();
    if cpu_hint() == cpu {
        entry.note_quiet(after as u32, (after >> 10) as u32);
    }
    Some(switched)
}

/// Notes a release that begins or ends the last two iterations of a credit, which may be that of a probe, on the lock at this
/// address. If they end on another CPU than they began, they tell nothing.
#[cold]
pub(super) fn iterated(lock: usize, at: Iterations) {
    let now = fine_now() as u32;
    if let Some(time) = Entry::of(lock, cpu_hint()).iterated(at, now) {
        pace::iterated(lock, time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: u32 = u32::MAX - 5;

    /// An entry after a yield in which something else ran.
    fn forbidden() -> Entry {
        let entry = Entry::new();
        entry.note(true, UNUSED + 1, END);
        entry
    }

    #[test]
    fn yields_to_others_are_forbidden_for_a_while() {
        let entry = Entry::new();
        entry.note(true, UNUSED, 7);
        assert!(!entry.is_forbidden(7), "the lock was used during the yield");
        let last = END.wrapping_add(FORBIDDEN - 1);
        assert!(forbidden().is_forbidden(END) && forbidden().is_forbidden(last));
        assert!(
            !forbidden().is_forbidden(last.wrapping_add(1)) && !forbidden().is_forbidden(last.wrapping_add(1 << 31))
        );
    }

    #[test]
    fn threads_rotate_for_a_while_after_others_used_the_lock() {
        const START: u32 = 1 << 31;
        let entry = Entry::new();
        let rotates_at = |since: u32| entry.rotates(START.wrapping_add(since));
        entry.note(false, UNUSED, START);
        assert!(!rotates_at(0), "no other thread ran");
        entry.note(true, UNUSED, START);
        assert!(rotates_at(0) && rotates_at(ROTATION - 1) && !rotates_at(ROTATION));
        entry.note_quiet(UNUSED, START.wrapping_add(1));
        assert!(rotates_at(1), "the lock was used");
        entry.note_quiet(UNUSED + 1, START.wrapping_add(1));
        assert!(!rotates_at(1), "something else ran");
        entry.note(true, UNUSED, START);
        entry.note(true, UNUSED + 1, START);
        assert!(!rotates_at(0), "yields are forbidden");
    }

    #[test]
    fn iterations_are_measured_from_their_begin() {
        let entry = Entry::new();
        assert_eq!(entry.iterated(Iterations::End, 7), None, "they began on another CPU");
        assert_eq!(entry.iterated(Iterations::Begin, END), None);
        assert_eq!(entry.iterated(Iterations::End, END.wrapping_add(40)), Some(40 - (END & 1 ^ 1)));
        assert_eq!(entry.iterated(Iterations::End, END.wrapping_add(50)), None, "they have ended");
    }

    #[test]
    fn time_doubles_until_many_yields_were_regular() {
        let after = |regular| {
            let entry = forbidden();
            (0..regular).for_each(|_| entry.note(true, UNUSED, END));
            entry.note(true, UNUSED + 1, 0);
            (1..).find(|&now| !entry.is_forbidden(now)).unwrap()
        };
        assert_eq!((after(0), after(REGULAR - 1), after(REGULAR)), (2 * FORBIDDEN, 2 * FORBIDDEN, FORBIDDEN));
        let entry = forbidden();
        (0..100).for_each(|_| entry.note(true, UNUSED + 1, 0));
        assert!(!entry.is_forbidden(FORBIDDEN << DOUBLINGS));
    }
}
