//! Who is calling, as the kernel numbers threads, without asking it each time.
//!
//! The number is kept for each thread and forgotten in a forked child, whose only thread has a new one. A child made
//! by a bare `clone` or `vfork`, past `pthread_atfork`, would believe that it is its parent.

use std::{
    cell::Cell,
    fs,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

/// A thread, told apart from a later one with the same number by when it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadId {
    pub(crate) tid: u32,
    /// In clock ticks since the machine started, the lower 32 bits; 0 where `/proc` does not tell.
    pub(crate) started: u32,
}

thread_local! {
    static MINE: Cell<Option<ThreadId>> = const { Cell::new(None) };
}

/// The calling thread.
#[inline]
pub(crate) fn mine() -> ThreadId {
    MINE.get().unwrap_or_else(ask)
}

#[cold]
fn ask() -> ThreadId {
    static AT_FORK: AtomicBool = AtomicBool::new(false);
    extern "C" fn forget() {
        MINE.set(None);
    }
    // Nobody waits for another, who might not be there after a fork: several may register, and forget twice.
    if !AT_FORK.load(Relaxed) {
        // SAFETY: the handler runs in the child of a fork, in the one thread it has, and only writes a thread-local
        // that has no destructor.
        unsafe { libc::pthread_atfork(None, None, Some(forget)) };
        AT_FORK.store(true, Relaxed);
    }
    let tid = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
    let started = match life(tid) {
        Life::Running(started) => started,
        Life::Ended | Life::Unknown => 0,
    };
    let id = ThreadId { tid, started };
    MINE.set(Some(id));
    id
}

/// What can be known about a thread.
enum Life {
    /// It runs, sleeps or is stopped, and started then.
    Running(u32),
    Ended,
    /// It exists; `/proc` is not mounted.
    Unknown,
}

/// Whether this thread has ended. When in doubt it has not.
pub(crate) fn has_ended(thread: ThreadId) -> bool {
    match life(thread.tid) {
        Life::Running(started) => thread.started != 0 && started != 0 && started != thread.started,
        Life::Ended => true,
        Life::Unknown => false,
    }
}

fn life(tid: u32) -> Life {
    let Ok(stat) = fs::read(format!("/proc/{tid}/stat")) else {
        return exists(tid);
    };
    // The name, in parentheses, may hold any bytes, a character cut in two among them; after it come the state and
    // the numbers: the 20th is the start.
    let after_name = stat.rsplit(|&byte| byte == b')').next().unwrap_or_default();
    let mut fields = str::from_utf8(after_name).unwrap_or_default().split_ascii_whitespace();
    match fields.next() {
        Some("Z" | "X" | "x") => Life::Ended,
        Some(_) => {
            let started = fields.nth(18).and_then(|ticks| ticks.parse::<u64>().ok());
            started.map_or(Life::Unknown, |ticks| Life::Running(ticks as u32))
        }
        None => exists(tid),
    }
}

fn exists(tid: u32) -> Life {
    // SAFETY: signal 0 is not delivered; the call only checks that the thread is there.
    let sent = unsafe { libc::kill(tid.cast_signed(), 0) };
    let gone = sent < 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH);
    if gone { Life::Ended } else { Life::Unknown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_alive_until_it_ends() {
        assert!(!has_ended(mine()));
        let other = std::thread::spawn(mine).join().unwrap();
        assert_ne!(other.tid, mine().tid);
        // A joined thread may be in the kernel's table for a moment longer.
        while !has_ended(other) {
            std::thread::yield_now();
        }
    }

    /// A reused number is noticed by the start time, so it must be known whatever the thread is called.
    #[test]
    fn a_thread_with_any_name_has_a_start() {
        let started = |name: &'static std::ffi::CStr| {
            std::thread::spawn(move || {
                // SAFETY: the name is a string with a zero at its end; the kernel copies it.
                assert_eq!(unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) }, 0);
                mine().started
            })
        };
        for name in [c"\xff\xfe", c"mid-character\xc3", c") Z 1 (", c"a) b", c"two\nlines", c""] {
            assert_ne!(started(name).join().unwrap(), 0, "{name:?}");
        }
    }

    #[test]
    fn the_same_number_started_at_another_time_is_another_thread() {
        let me = mine();
        assert_ne!(me.started, 0, "/proc tells when this thread started");
        assert!(has_ended(ThreadId { started: me.started.wrapping_add(1), ..me }));
    }
}
