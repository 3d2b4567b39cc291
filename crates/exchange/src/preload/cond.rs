//! Condition variables, for mutexes with a substituted lock and for those that stay the C library's; and
//! `pthread_cond_*`.
//!
//! | word | meaning |
//! |---|---|
//! | `notes` | the number of notifications |
//! | `inside` | the number of threads in a wait; `CLOSING`: a thread destroys it and waits for them to leave |
//! | `generation` | the process in which it was last used |
//!
//! The C library's initialisers leave these 0 and note the clock behind them.
//!
//! Those that processes may share stay the C library's. Their bytes say so; where, is found by initialising one
//! ([`ask`]).
//!
//! # Ordering
//! A waiter counts itself in and reads `notes` while it still has the mutex. A notifier that made the condition true
//! did so under the mutex, later. So it finds the waiter counted, and changes the `notes` that the waiter compares as
//! it blocks. The mutex orders them.
//!
//! # Wake-up order
//! A notification wakes a thread that was blocked when it was made. The kernel changes `notes` and wakes as one step,
//! so a later thread cannot block before the wake, whatever its priority. Among the blocked threads it wakes the one
//! with the highest real-time priority, and among equals the one that has slept longest. A thread that times out or is
//! cancelled at that moment was either woken, which the kernel then reports, or leaves the wake to another. A thread
//! that is cancelled notifies once more on its way out: the signal may have been for it.
//!
//! # Destroying
//! POSIX allows that as soon as no thread is blocked: a woken thread may still be on its way out of its wait. So the
//! destroyer waits until `inside` is 0; the thread that makes it 0 passes its address to the kernel, and does not read
//! it any more.

use super::cancel::cancellably;
use super::choice::count;
use super::generation::settle;
use super::mutex::{self, Kind, Mutex};
use super::shared_cond;
use super::{locks, next};
use crate::c::{self, CLOCK_MONOTONIC, CLOCK_REALTIME, EINVAL, ETIMEDOUT, Timespec};
use crate::futex::{ALL, Deadline, Private, Wait, add_and_wake, wait, wake};
use crate::shared::condition::{self, WORDS};
use core::ffi::{c_int, c_uint, c_void};
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use core::sync::atomic::{AtomicU8, AtomicU32};

const CLOSING: u32 = 1 << 31;

/// A condition variable's words.
#[repr(transparent)]
struct Cond([AtomicU32; WORDS]);

/// Returns the condition variable that a program points to.
///
/// # Safety
/// It is one, and lives as long as the call.
unsafe fn at<'a>(cond: *mut c_void) -> &'a Cond {
    // SAFETY: the caller promises that it is one; it has the same size and alignment.
    unsafe { &*cond.cast() }
}

/// A thread in a wait, and the data to undo the wait if it is cancelled.
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

    /// Returns whether it is the C library's.
    #[inline(always)]
    pub fn is_c_librarys(&self) -> bool {
        is_shared(&self.0)
    }

    /// Returns the clock of its deadlines.
    pub fn clock(&self) -> c_int {
        if is_monotonic(&self.0) { CLOCK_MONOTONIC } else { CLOCK_REALTIME }
    }

    /// Releases the mutex, waits, and reacquires it.
    pub fn wait(&self, mutex: *mut c_void, deadline: Option<Deadline>) -> c_int {
        // Threads that were in it at a fork do not exist in the child.
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
        // SAFETY: the wait only blocks; its undo function takes such a waiter, which lives as long as the call.
        let code = unsafe { cancellably(undo, argument, || sleep(self.notes(), notes, deadline)) };
        self.leave();
        match waiting.take() {
            0 => code,
            refused => refused,
        }
    }

    /// Wakes up to `most` waiters.
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

    /// Waits until all waiters have left.
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

/// Blocks until a notification.
///
/// A signal handler does not end the wait.
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
    // SAFETY: the pointer is to the waiter, which is on this stack, further up.
    let waiting = unsafe { &*waiting.cast::<Waiting<'_>>() };
    waiting.cond.notify(1);
    waiting.cond.leave();
    waiting.take();
}

impl Waiting<'_> {
    /// Returns the mutex, if it contains a substituted lock.
    fn substituted(&self) -> Option<&Mutex> {
        // SAFETY: the program waits with it, so it is a mutex and lives.
        let mutex = unsafe { mutex::at(self.mutex) };
        (locks::any() && mutex.kind() != Kind::CLibrary).then_some(mutex)
    }

    fn free(&self) -> c_int {
        let Some(mutex) = self.substituted() else {
            // SAFETY: the mutex is passed on as the program gave it.
            return unsafe { next::pthread_mutex_unlock()(self.mutex) };
        };
        if !mutex.is_owned_by_another() {
            mutex.will_come_back();
        }
        locks::exchanged!(L => mutex.unlock::<L>(mutex.kind()), 0)
    }

    fn take(&self) -> c_int {
        let Some(mutex) = self.substituted() else {
            // SAFETY: the mutex is passed on as the program gave it.
            return unsafe { next::pthread_mutex_lock()(self.mutex) };
        };
        let code = locks::exchanged!(L => mutex.lock::<L>(mutex.kind()), 0);
        mutex.is_back();
        code
    }
}

/// Returns whether the C library's own function handles it: no lock was selected.
fn is_passed_on() -> bool {
    !locks::any()
}

#[cfg_attr(preload, unsafe(no_mangle))]
extern "C" fn pthread_cond_init(cond: *mut c_void, attributes: *const c_uint) -> c_int {
    // SAFETY: the arguments are passed on as the program gave them.
    let code = unsafe { next::pthread_cond_init()(cond, attributes) };
    // SAFETY: the program gives a condition variable, which the C library has just initialised.
    if code == 0 && locks::any() && unsafe { at(cond) }.is_c_librarys() {
        count(|left| &left.shared);
    }
    code
}

#[cfg_attr(preload, unsafe(no_mangle))]
pub extern "C" fn pthread_cond_wait(cond: *mut c_void, mutex: *mut c_void) -> c_int {
    // SAFETY: the program gives a condition variable.
    let condvar = unsafe { at(cond) };
    // SAFETY: the arguments are passed on as the program gave them.
    let original = move |mutex| unsafe { next::pthread_cond_wait()(cond, mutex) };
    match () {
        () if is_passed_on() => original(mutex),
        () if condvar.is_c_librarys() => shared_cond::wait(cond, mutex, original),
        () => condvar.wait(mutex, None),
    }
}

#[cfg_attr(preload, unsafe(no_mangle))]
pub extern "C" fn pthread_cond_timedwait(cond: *mut c_void, mutex: *mut c_void, time: *const Timespec) -> c_int {
    // SAFETY: the program gives a condition variable.
    let condvar = unsafe { at(cond) };
    // SAFETY: the arguments are passed on as the program gave them.
    let original = move |mutex| unsafe { next::pthread_cond_timedwait()(cond, mutex, time) };
    match () {
        () if is_passed_on() => original(mutex),
        () if condvar.is_c_librarys() => shared_cond::wait(cond, mutex, original),
        () => wait_until(cond, mutex, condvar.clock(), time),
    }
}

#[cfg_attr(preload, unsafe(no_mangle))]
extern "C" fn pthread_cond_clockwait(
    cond: *mut c_void,
    mutex: *mut c_void,
    clock: c_int,
    time: *const Timespec,
) -> c_int {
    // SAFETY: the program gives a condition variable.
    let condvar = unsafe { at(cond) };
    // SAFETY: the arguments are passed on as the program gave them.
    let original = move |mutex| unsafe { next::pthread_cond_clockwait()(cond, mutex, clock, time) };
    match clock {
        _ if is_passed_on() => original(mutex),
        _ if condvar.is_c_librarys() => shared_cond::wait(cond, mutex, original),
        CLOCK_REALTIME | CLOCK_MONOTONIC => wait_until(cond, mutex, clock, time),
        _ => EINVAL,
    }
}

fn wait_until(cond: *mut c_void, mutex: *mut c_void, clock: c_int, time: *const Timespec) -> c_int {
    // SAFETY: the program gives a time.
    let Some(deadline) = Deadline::from_program(clock, unsafe { *time }) else { return EINVAL };
    // SAFETY: the program gives a condition variable.
    unsafe { at(cond) }.wait(mutex, Some(deadline))
}

#[cfg_attr(preload, unsafe(no_mangle))]
pub extern "C" fn pthread_cond_signal(cond: *mut c_void) -> c_int {
    // SAFETY: the argument is passed on as the program gave it.
    notify(cond, 1, move || unsafe { next::pthread_cond_signal()(cond) })
}

#[cfg_attr(preload, unsafe(no_mangle))]
pub extern "C" fn pthread_cond_broadcast(cond: *mut c_void) -> c_int {
    // SAFETY: the argument is passed on as the program gave it.
    notify(cond, u32::MAX, move || unsafe { next::pthread_cond_broadcast()(cond) })
}

fn notify(cond: *mut c_void, most: u32, original: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the program gives a condition variable.
    let condvar = unsafe { at(cond) };
    if is_passed_on() {
        return original();
    }
    if condvar.is_c_librarys() {
        return shared_cond::notify(cond, original);
    }
    condvar.notify(most);
    0
}

#[cfg_attr(preload, unsafe(no_mangle))]
pub extern "C" fn pthread_cond_destroy(cond: *mut c_void) -> c_int {
    // SAFETY: the program gives a condition variable.
    let condvar = unsafe { at(cond) };
    if is_passed_on() || condvar.is_c_librarys() {
        // SAFETY: the argument is passed on as the program gave it.
        return unsafe { next::pthread_cond_destroy()(cond) };
    }
    condvar.destroy();
    0
}

/// The number of words of a substituted one: the mark must be behind them.
const OURS: usize = 3;

/// The words where the C library notes that one is shared, and that its clock is the monotonic one, and the bits.
static SHARED: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];
static CLOCK: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];
static IS_KNOWN: AtomicU8 = AtomicU8::new(0);

/// Returns whether the C library's attributes say that processes may share it.
#[inline(always)]
pub fn is_shared(words: &[AtomicU32; WORDS]) -> bool {
    find();
    is_marked(words, &SHARED)
}

/// Returns whether its deadlines are by the monotonic clock.
fn is_monotonic(words: &[AtomicU32; WORDS]) -> bool {
    find();
    is_marked(words, &CLOCK)
}

fn is_marked(words: &[AtomicU32; WORDS], mark: &[AtomicU32; 2]) -> bool {
    let (word, bits) = (mark[0].load(Relaxed), mark[1].load(Relaxed));
    words[word as usize % WORDS].load(Relaxed) & bits != 0
}

/// Determines where the C library notes the attributes.
#[inline(always)]
pub fn find() {
    if IS_KNOWN.load(core::sync::atomic::Ordering::Acquire) == 0 {
        c::keeping_errno(ask);
    }
}

/// Finds both marks; concurrent threads find the same.
#[cold]
fn ask() {
    let shared = condition::mark_of_shared(next::pthread_cond_init());
    let monotonic = condition::mark_of_clock(next::pthread_cond_init(), c::CLOCK_MONOTONIC);
    for (mark, found) in [(&SHARED, shared), (&CLOCK, monotonic)] {
        let Some((word, bits)) = found.filter(|(word, _)| *word >= OURS) else {
            c::die("libulocks_pthread: unknown layout of the C library's condition variables\n");
        };
        mark[0].store(word as u32, Relaxed);
        mark[1].store(bits, Relaxed);
    }
    IS_KNOWN.store(1, core::sync::atomic::Ordering::Release);
}
