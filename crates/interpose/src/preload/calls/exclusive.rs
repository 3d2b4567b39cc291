//! All locks that exclude (`pthread_mutex_*`, `pthread_spin_*`, `pthread_rwlock_*`): acquiring, trying, releasing,
//! destroying.
//!
//! A lock is tried first. A free lock is then acquired, as fast as by the C library. Otherwise the lock is contended,
//! and only then the clock is read, and the thread waits in the way that the program called. For the program nothing
//! changes: if a try fails for another reason than that the lock is taken, the wait fails too, with the same number.
//!
//! The replaced functions are made by macros, one for each shape: the arguments, and the work done with them. Each
//! makes the function of this name, which passes its call site on, and the one that does the work.

use crate::layout::Kind::{self, Mutex, Read, Spin, Write};
use crate::layout::{Thread, holder};
use crate::preload::callers::{self, Call};
use crate::preload::external::{EBUSY, has_it};
use crate::preload::me::{Me, known_thread, me, me_on_slow_way, ready, thread_at_nothing};
use crate::preload::record::{self, Taken};
use crate::preload::spot::{MUTEX_OWNER, Spot, forget, home_spot, spot};
use crate::preload::{confirm, free_mutex, local, order, shared_lock, what_if};
use core::ffi::{c_int, c_void};
use core::hint::black_box;
use core::sync::atomic::Ordering::Relaxed;

/// Acquires a lock by `take`, which gets the call site.
#[inline(always)]
pub fn at_site(lock: *mut c_void, call: Call, take: impl FnOnce(usize) -> c_int) -> c_int {
    if let Some(site) = callers::site(call) {
        return take(site);
    }
    callers::try_out(lock as usize, call, |site| {
        let code = take(site);
        // The fast way of the release has no look at the trial.
        if let Some(thread) = known_thread() {
            thread.state.fetch_and(!Thread::ALONE, Relaxed);
        }
        code
    })
}

/// Acquires a lock of this kind; `busy` is the result of a try of a taken lock, `is_timed` whether the wait has an end.
///
/// The common case makes no call but the try: everything else is separate, in [`take_otherwise`] and [`take_slowly`].
#[inline(always)]
pub fn take(
    lock: *mut c_void,
    site: usize,
    kind: Kind,
    busy: c_int,
    is_timed: bool,
    tried: impl FnOnce() -> c_int,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(thread) = thread_at_nothing() else {
        return take_otherwise(lock, site, kind, busy, is_timed, tried, real);
    };
    let code = tried();
    if code == 0 {
        return match record::taken_again(Me::of(thread), lock as usize, site, kind) {
            Taken::Noted => 0,
            Taken::Timed => time(thread),
            Taken::Not => took_another(lock, site, kind),
        };
    }
    take_slowly(lock, site, kind, busy, is_timed, code, real)
}

/// Acquires a free mutex, for a thread that holds nothing; returns `None`, with nothing done, in any other case.
#[inline(always)]
pub fn take_free(lock: *mut c_void, site: usize, kind: Kind) -> Option<c_int> {
    let thread = thread_at_nothing()?;
    if !free_mutex::take(lock, thread.tid.load(Relaxed)) {
        return None;
    }
    // The uncommon case is called last, and with a result that the compiler does not know: so it is jumped to, and
    // there is no frame.
    Some(match record::taken_again(Me::of(thread), lock as usize, site, kind) {
        Taken::Noted => 0,
        Taken::Timed => time(thread),
        Taken::Not => took_another(lock, site, kind),
    })
}

#[inline(never)]
fn time(thread: &Thread) -> c_int {
    record::begin_timed(thread);
    black_box(0)
}

/// Notes that a thread that held nothing acquired another lock than the last, or elsewhere, or one that others want.
#[inline(never)]
pub fn took_another(lock: *mut c_void, site: usize, kind: Kind) -> c_int {
    let address = lock as usize;
    match ready().and_then(|me| Some((me, home_spot(me, address, site)?))) {
        Some((me, spot)) if record::taken_alone(me, spot, address, site, kind) => black_box(0),
        _ => took_elsewhere(lock, site, kind),
    }
}

/// Notes an acquisition whose place is not the one where it would be if all places had been free, or that has no place
/// yet.
#[inline(never)]
fn took_elsewhere(lock: *mut c_void, site: usize, kind: Kind) -> c_int {
    let address = lock as usize;
    if let Some((me, spot)) = ready().and_then(|me| Some((me, spot(me, address, site, kind)?)))
        && !record::taken_alone(me, spot, address, site, kind)
    {
        // With a wait that ends, only threads come here that hold nothing else.
        note_taken(me, spot, address, kind, false);
    }
    black_box(0)
}

/// Acquires a free mutex, for a thread that holds others; returns `None`, with nothing done, in any other case.
#[inline(always)]
pub fn take_free_within(lock: *mut c_void, site: usize, kind: Kind) -> Option<c_int> {
    let thread = known_thread().filter(|thread| !thread.is_busy() && thread.depth() > 0)?;
    if !free_mutex::take(lock, thread.tid.load(Relaxed)) {
        return None;
    }
    let (me, address) = (Me::of(thread), lock as usize);
    match home_spot(me, address, site) {
        Some(spot) if record::taken_within(me, spot, address, kind) => Some(0),
        _ => Some(took_elsewhere(lock, site, kind)),
    }
}

#[inline(always)]
fn note_taken(me: Me, spot: Spot, address: usize, kind: Kind, is_timed: bool) {
    if !record::taken_within(me, spot, address, kind) {
        order::note(me, spot, kind, is_timed);
        record::taken(me, spot, address, kind, 0);
    }
}

/// Acquires a lock if the thread holds another one; if nothing is recorded; or if it is not known yet whether it is.
#[inline(never)]
fn take_otherwise(
    lock: *mut c_void,
    site: usize,
    kind: Kind,
    busy: c_int,
    is_timed: bool,
    tried: impl FnOnce() -> c_int,
    real: impl FnOnce() -> c_int,
) -> c_int {
    if local::is_off() {
        return real();
    }
    if local::is_what_if() {
        return what_if::take(lock, site, kind, busy, tried, real);
    }
    if local::is_confirming() {
        confirm::before(lock, site, kind);
        let tried = tried();
        let code = take_slowly(lock, site, kind, busy, is_timed, tried, real);
        confirm::after();
        return code;
    }
    let code = tried();
    take_slowly(lock, site, kind, busy, is_timed, code, real)
}

/// Does the rest, after a try that returned `code`.
#[inline(never)]
fn take_slowly(
    lock: *mut c_void,
    site: usize,
    kind: Kind,
    busy: c_int,
    is_timed: bool,
    code: c_int,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let me = if has_it(code) || code == busy { me() } else { None };
    let Some((me, spot)) = me.and_then(|me| Some((me, spot(me, lock as usize, site, kind)?))) else {
        return if has_it(code) { code } else { real() };
    };
    if has_it(code) {
        note_taken(me, spot, lock as usize, kind, is_timed);
        return code;
    }
    order::note(me, spot, kind, is_timed);
    me.thread.is_timed.store(is_timed as u32, Relaxed);
    let waited = record::waited(me, spot, holder_of(me, lock, kind, spot), real, has_it);
    if has_it(waited.code) {
        record::taken(me, spot, lock as usize, kind, waited.at);
    }
    waited.code
}

/// Returns the holder of a taken lock: the C library notes the thread in a mutex itself, a moment later.
fn holder_of(me: Me, lock: *mut c_void, kind: Kind, spot: Spot) -> u64 {
    if !kind.has_owner() {
        return spot.last_holder(me);
    }
    // SAFETY: the program gives a mutex, in which this word is.
    match unsafe { ((lock.addr() + MUTEX_OWNER) as *const u32).read_volatile() } {
        0 => 0,
        thread => holder::somewhere(thread),
    }
}

/// Tries to acquire a lock.
pub fn attempt(lock: *mut c_void, site: usize, kind: Kind, busy: c_int, real: impl FnOnce() -> c_int) -> c_int {
    let Some(me) = me() else {
        return if local::is_what_if() { what_if::attempt(lock, site, kind, real) } else { real() };
    };
    let code = real();
    if has_it(code) {
        if let Some(spot) = spot(me, lock as usize, site, kind) {
            record::taken(me, spot, lock as usize, kind, 0);
        }
    } else if code == busy {
        record::tried_in_vain(me, lock as usize, site, kind);
    }
    code
}

/// Releases a lock, by a call whose return address is at `place`. The release is noted before: afterwards the lock may
/// be gone.
#[inline(always)]
pub fn release(lock: *mut c_void, place: usize, real: impl FnOnce() -> c_int) -> c_int {
    match known_thread().map(Me::of) {
        Some(me) if record::released_alone(me, lock as usize) => real(),
        _ => release_otherwise(lock, place, real),
    }
}

#[inline(never)]
fn release_otherwise(lock: *mut c_void, place: usize, real: impl FnOnce() -> c_int) -> c_int {
    if let Some(me) = ready() {
        record::released(me, lock as usize);
    } else if local::is_what_if() {
        callers::end_trial(lock as usize, place);
        return what_if::release(lock, real);
    } else if local::is_confirming()
        && let Some(me) = me_on_slow_way()
    {
        record::released(me, lock as usize);
    }
    // The hold is over for the record.
    callers::end_trial(lock as usize, place);
    real()
}

/// Destroys a lock of this kind.
pub fn destroy(object: *mut c_void, kind: Kind, real: impl FnOnce() -> c_int) -> c_int {
    // Afterwards nothing shows that it was shared.
    let shared = shared_lock::key(object as usize, kind);
    let code = real();
    if code == 0
        && let Some(me) = me()
    {
        forget(me, object as usize, shared);
    } else if code == 0 && local::is_what_if() {
        what_if::forget(object);
    }
    code
}

/// Defines a function that acquires: `takes!(function, the one that tries, kind, result of a try of a taken lock)`.
macro_rules! takes {
    ($name:ident, $attempt:ident, $kind:expr, $busy:expr) => {
        const _: () = {
            use crate::preload::{entry::entry, next};
            use core::ffi::{c_int, c_void};

    entry!($name => work, called 1);

            extern "C" fn work(lock: *mut c_void, place: usize, frame_pointer: usize) -> c_int {
                at_site(lock, Call { place, frame_pointer }, |site| {
                    // SAFETY: the arguments are the program's own; a try makes the same requirements of them as a wait.
                    let tried = move || unsafe { next::$attempt()(lock) };
                    // SAFETY: the arguments are passed on as the program gave them.
                    take(lock, site, $kind, $busy, false, tried, move || unsafe { next::$name()(lock) })
                })
            }
        };
    };
}

/// Defines the same for mutexes: a free one is acquired here ([`free_mutex`](crate::preload::free_mutex)), without a
/// call.
macro_rules! takes_mutex {
    ($name:ident, $attempt:ident, $kind:expr, $busy:expr) => {
        const _: () = {
            use crate::preload::{entry::entry, next};
            use core::ffi::{c_int, c_void};

    entry!($name => work, called 1);

            extern "C" fn work(lock: *mut c_void, place: usize, frame_pointer: usize) -> c_int {
                at_site(lock, Call { place, frame_pointer }, |site| {
                    take_free(lock, site, $kind).unwrap_or_else(|| otherwise(lock, site))
                })
            }

            #[inline(never)]
            fn otherwise(lock: *mut c_void, site: usize) -> c_int {
                take_free_within(lock, site, $kind).unwrap_or_else(|| by_calls(lock, site))
            }

            #[inline(never)]
            fn by_calls(lock: *mut c_void, site: usize) -> c_int {
                // SAFETY: the arguments are the program's own; a try makes the same requirements of them as a wait.
                let tried = move || unsafe { next::$attempt()(lock) };
                // SAFETY: the arguments are passed on as the program gave them.
                take(lock, site, $kind, $busy, false, tried, move || unsafe { next::$name()(lock) })
            }
        };
    };
}

/// Defines the same with an end of the wait.
macro_rules! takes_until {
    ($name:ident, $attempt:ident, $kind:expr, $busy:expr) => {
        const _: () = {
            use crate::preload::{entry::entry, external::Timespec, next};
            use core::ffi::{c_int, c_void};

    entry!($name => work, called 2);

            extern "C" fn work(lock: *mut c_void, time: *const Timespec, place: usize, frame_pointer: usize) -> c_int {
                at_site(lock, Call { place, frame_pointer }, |site| {
                    // SAFETY: the lock is the program's own; a try makes the same requirements of it as a wait.
                    let tried = move || unsafe { next::$attempt()(lock) };
                    // SAFETY: the arguments are passed on as the program gave them.
                    take(lock, site, $kind, $busy, true, tried, move || unsafe { next::$name()(lock, time) })
                })
            }
        };
    };
}

/// Defines the same with the clock of that end.
macro_rules! takes_by_clock {
    ($name:ident, $attempt:ident, $kind:expr, $busy:expr) => {
        const _: () = {
            use crate::preload::{entry::entry, external::Timespec, next};
            use core::ffi::{c_int, c_void};

    entry!($name => work, called 3);

            extern "C" fn work(
                lock: *mut c_void,
                clock: c_int,
                time: *const Timespec,
                place: usize,
                frame_pointer: usize,
            ) -> c_int {
                at_site(lock, Call { place, frame_pointer }, |site| {
                    // SAFETY: the lock is the program's own; a try makes the same requirements of it as a wait.
                    let tried = move || unsafe { next::$attempt()(lock) };
                    // SAFETY: the arguments are passed on as the program gave them.
                    take(lock, site, $kind, $busy, true, tried, move || unsafe { next::$name()(lock, clock, time) })
                })
            }
        };
    };
}

/// Defines a function that tries: `attempts!(function, kind, its result for a taken lock)`.
macro_rules! attempts {
    ($name:ident, $kind:expr, $busy:expr) => {
        const _: () = {
            use crate::preload::{entry::entry, next};
            use core::ffi::{c_int, c_void};

    entry!($name => work, called 1);

            extern "C" fn work(lock: *mut c_void, place: usize, frame_pointer: usize) -> c_int {
                at_site(lock, Call { place, frame_pointer }, |site| {
                    // SAFETY: the arguments are passed on as the program gave them.
                    attempt(lock, site, $kind, $busy, move || unsafe { next::$name()(lock) })
                })
            }
        };
    };
}

/// Defines a function that releases: `releases!(function)`.
macro_rules! releases {
    ($name:ident) => {
        const _: () = {
            use crate::preload::{entry::entry, next};
            use core::ffi::{c_int, c_void};

    entry!($name => work, called 1);

            extern "C" fn work(lock: *mut c_void, place: usize, _: usize) -> c_int {
                // SAFETY: the argument is passed on as the program gave it.
                release(lock, place, move || unsafe { next::$name()(lock) })
            }
        };
    };
}

/// Defines a function that destroys: `destroys!(function, kind)`.
macro_rules! destroys {
    ($name:ident, $kind:expr) => {
        const _: () = {
            use crate::preload::next;
            use core::ffi::{c_int, c_void};

            #[cfg_attr(preload, unsafe(no_mangle))]
            extern "C" fn $name(object: *mut c_void) -> c_int {
                // SAFETY: the argument is passed on as the program gave it.
                destroy(object, $kind, move || unsafe { next::$name()(object) })
            }
        };
    };
}

pub(super) use {attempts, destroys, releases, takes_mutex, takes_until};

takes_mutex!(pthread_mutex_lock, pthread_mutex_trylock, Mutex, EBUSY);
takes_until!(pthread_mutex_timedlock, pthread_mutex_trylock, Mutex, EBUSY);
takes_by_clock!(pthread_mutex_clocklock, pthread_mutex_trylock, Mutex, EBUSY);
attempts!(pthread_mutex_trylock, Mutex, EBUSY);
releases!(pthread_mutex_unlock);
destroys!(pthread_mutex_destroy, Mutex);

takes!(pthread_spin_lock, pthread_spin_trylock, Spin, EBUSY);
attempts!(pthread_spin_trylock, Spin, EBUSY);
releases!(pthread_spin_unlock);
destroys!(pthread_spin_destroy, Spin);

takes!(pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, Read, EBUSY);
takes_until!(pthread_rwlock_timedrdlock, pthread_rwlock_tryrdlock, Read, EBUSY);
takes_by_clock!(pthread_rwlock_clockrdlock, pthread_rwlock_tryrdlock, Read, EBUSY);
attempts!(pthread_rwlock_tryrdlock, Read, EBUSY);
takes!(pthread_rwlock_wrlock, pthread_rwlock_trywrlock, Write, EBUSY);
takes_until!(pthread_rwlock_timedwrlock, pthread_rwlock_trywrlock, Write, EBUSY);
takes_by_clock!(pthread_rwlock_clockwrlock, pthread_rwlock_trywrlock, Write, EBUSY);
attempts!(pthread_rwlock_trywrlock, Write, EBUSY);
releases!(pthread_rwlock_unlock);
destroys!(pthread_rwlock_destroy, Write);
