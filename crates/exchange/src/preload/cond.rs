//! Condition variables, for mutexes with a lock of ours in them and for those that stay the C library's.
//!
//! | word | meaning |
//! |---|---|
//! | `notes` | how often somebody has notified |
//! | `inside` | how many threads are in a wait; `CLOSING`: somebody destroys it and waits for them to leave |
//! | `generation` | in which process it was last used |
//!
//! The C library's initialisers leave these 0 and note the clock behind them; see [`theirs`].
//!
//! # Ordering
//! A waiter counts itself in and reads `notes` while it still has the mutex. A notifier that made the condition true
//! did so under the mutex, later, and so finds the waiter counted, and changes the `notes` that the waiter compares as
//! it falls asleep. The mutex orders them.
//!
//! # Who is woken
//! A thread that was blocked when the notification was made: the kernel changes `notes` and wakes as one step, so a thread
//! that comes later cannot sleep before the wake, whatever its priority. Of those that were blocked, the one with the
//! highest real-time priority, and among equals the one that has slept longest. One that times out or is cancelled at that moment was
//! either woken, which the kernel then says, or leaves the wake to another. A thread that is cancelled notifies once
//! more on its way out: it may have been the one that a signal was for.
//!
//! # Destroying
//! POSIX allows that as soon as nobody is blocked: who was woken may still be on its way out of its wait. So the
//! destroyer waits until `inside` is 0; who makes it 0 gives the kernel its address, and does not read it any more.

use super::cancel::cancellably;
use super::generation::settle;
use super::mutex::{self, Kind, Mutex};
use super::theirs::{self, WORDS};
use super::{locks, next};
use crate::c::{CLOCK_MONOTONIC, CLOCK_REALTIME, ETIMEDOUT};
use crate::futex::{ALL, Deadline, Private, Wait, add_and_wake, wait, wake};
use core::ffi::{c_int, c_void};
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

const CLOSING: u32 = 1 << 31;

/// A condition variable's words.
#[repr(transparent)]
pub struct Cond([AtomicU32; WORDS]);

/// The condition variable that a program points to.
///
/// # Safety
/// It is one, and lives as long as the call.
pub unsafe fn at<'a>(cond: *mut c_void) -> &'a Cond {
    // SAFETY: the caller says that it is one; it is as large and as aligned.
    unsafe { &*cond.cast() }
}

/// A thread in a wait, and what it has to undo should it be cancelled.
struct Waiting<'a> {
    cond: &'a Cond,
    mutex: *mut c_void,
}

impl Cond {
    fn notes(&self) -> &AtomicU32 {
        &self.0[0]
    }

    fn inside(&self) -> &AtomicU32 {
        &self.0[1]
    }

    /// Whether it is the C library's.
    #[inline(always)]
    pub fn is_theirs(&self) -> bool {
        theirs::is_shared(&self.0)
    }

    /// The clock of its deadlines.
    pub fn clock(&self) -> c_int {
        if theirs::is_monotonic(&self.0) { CLOCK_MONOTONIC } else { CLOCK_REALTIME }
    }

    /// Frees the mutex, waits, and takes it again.
    pub fn wait(&self, mutex: *mut c_void, deadline: Option<Deadline>) -> c_int {
        // Threads that were in it at a fork are not in the child.
        settle(&self.0[2], || self.inside().store(0, Relaxed));
        self.inside().fetch_add(1, Relaxed);
        let notes = self.notes().load(Relaxed);
        let waiting = Waiting { cond: self, mutex };
        let refused = waiting.free();
        if refused != 0 {
            self.leave();
            return refused;
        }
        let argument = (&raw const waiting).cast_mut().cast();
        // SAFETY: the wait only sleeps; what undoes it takes such a thread, which lives as long as the call.
        let code = unsafe { cancellably(undo, argument, || sleep(self.notes(), notes, deadline)) };
        self.leave();
        match waiting.take() {
            0 => code,
            refused => refused,
        }
    }

    /// Wakes one, or all.
    pub fn notify(&self, most: u32) {
        if self.inside().load(Relaxed) & !CLOSING != 0 {
            add_and_wake::<Private>(self.notes(), most);
        }
    }

    fn leave(&self) {
        if self.inside().fetch_sub(1, AcqRel) == CLOSING + 1 {
            wake::<Private>(self.inside(), u32::MAX, ALL);
        }
    }

    /// Waits until all have left.
    pub fn destroy(&self) {
        settle(&self.0[2], || self.inside().store(0, Relaxed));
        let mut inside = self.inside().fetch_or(CLOSING, AcqRel) | CLOSING;
        while inside != CLOSING {
            wait::<Private>(self.inside(), inside, ALL, None);
            inside = self.inside().load(Acquire);
        }
        self.0[..3].iter().for_each(|word| word.store(0, Relaxed));
    }
}

/// Sleeps until a notification. A signal handler does not end the wait.
fn sleep(notes: &AtomicU32, before: u32, deadline: Option<Deadline>) -> c_int {
    while notes.load(Acquire) == before {
        match wait::<Private>(notes, before, ALL, deadline) {
            Wait::TimedOut => return ETIMEDOUT,
            Wait::Changed => return 0,
            Wait::Woken | Wait::Interrupted => {}
        }
    }
    0
}

unsafe extern "C" fn undo(waiting: *mut c_void) {
    // SAFETY: it is the thread that waits, which lies on this stack, further up.
    let waiting = unsafe { &*waiting.cast::<Waiting<'_>>() };
    waiting.cond.notify(1);
    waiting.cond.leave();
    waiting.take();
}

impl Waiting<'_> {
    /// The mutex, if there is a lock of ours in it.
    fn ours(&self) -> Option<&Mutex> {
        // SAFETY: the program waits with it, so it is one and lives.
        let mutex = unsafe { mutex::at(self.mutex) };
        (locks::any() && mutex.kind() != Kind::Theirs).then_some(mutex)
    }

    fn free(&self) -> c_int {
        let Some(mutex) = self.ours() else {
            // SAFETY: as the program gave it.
            return unsafe { next::pthread_mutex_unlock()(self.mutex) };
        };
        if !mutex.is_anothers() {
            mutex.will_come_back();
        }
        locks::exchanged!(L => mutex.unlock::<L>(mutex.kind()), 0)
    }

    fn take(&self) -> c_int {
        let Some(mutex) = self.ours() else {
            // SAFETY: as the program gave it.
            return unsafe { next::pthread_mutex_lock()(self.mutex) };
        };
        let code = locks::exchanged!(L => mutex.lock::<L>(mutex.kind()), 0);
        mutex.is_back();
        code
    }
}
