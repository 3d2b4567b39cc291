//! Identification of threads by their kernel number, without a system call each time.
//!
//! The number is cached for each thread and discarded in a forked child, whose only thread has a new one. A child
//! made by a bare `clone` or `vfork`, without `pthread_atfork` handlers, would use its parent's number.

use std::{
    cell::Cell,
    fs,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

/// A thread, distinguished by its start time from a later one with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadId {
    pub(crate) tid: u32,
    /// Start time in clock ticks since the machine started, the lower 32 bits; 0 where `/proc` does not provide it.
    pub(crate) started: u32,
}

thread_local! {
    static CURRENT: Cell<Option<ThreadId>> = const { Cell::new(None) };
}

/// Returns the calling thread.
#[inline]
pub(crate) fn current_thread() -> ThreadId {
    CURRENT.get().unwrap_or_else(look_up)
}

#[cold]
fn look_up() -> ThreadId {
    static AT_FORK: AtomicBool = AtomicBool::new(false);
    extern "C" fn forget() {
        CURRENT.set(None);
    }
    // Threads do not wait for each other here, because the other thread might not exist after a fork. Several may
    // register the handler, which then discards the number twice.
    if !AT_FORK.load(Relaxed) {
        // SAFETY: the handler runs in the child of a fork, in its only thread, and only writes a thread-local that
        // has no destructor.
        unsafe { libc::pthread_atfork(None, None, Some(forget)) };
        AT_FORK.store(true, Relaxed);
    }
    let tid = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
    let started = match life(tid) {
        Life::Running(started) => started,
        Life::Ended | Life::Unknown => 0,
    };
    let id = ThreadId { tid, started };
    CURRENT.set(Some(id));
    id
}

/// State of a thread as far as it can be determined.
enum Life {
    /// The thread runs, is blocked or is stopped, and started at that time.
    Running(u32),
    Ended,
    /// The thread exists, and `/proc` is not mounted.
    Unknown,
}

/// Returns whether this thread has certainly ended.
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
    // The name, in parentheses, may contain any bytes, including a part of a multi-byte character. The state and the
    // numbers follow it; the 20th is the start time.
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
    // SAFETY: signal 0 is not delivered; the call only checks that the thread exists.
    let sent = unsafe { libc::kill(tid.cast_signed(), 0) };
    let is_gone = sent < 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH);
    if is_gone { Life::Ended } else { Life::Unknown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_is_alive_until_it_ends() {
        assert!(!has_ended(current_thread()));
        let ended = std::thread::spawn(current_thread).join().unwrap();
        assert_ne!(ended.tid, current_thread().tid);
        // A joined thread may remain in the kernel's table for a moment.
        while !has_ended(ended) {
            std::thread::yield_now();
        }
    }

    /// A reused number is recognised by the start time, so it must be available for any thread name.
    #[test]
    fn thread_with_any_name_has_a_start_time() {
        let started = |name: &'static std::ffi::CStr| {
            std::thread::spawn(move || {
                // SAFETY: the name is a string with a zero byte at its end, which the kernel copies.
                assert_eq!(unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) }, 0);
                current_thread().started
            })
        };
        for name in [c"\xff\xfe", c"mid-character\xc3", c") Z 1 (", c"a) b", c"two\nlines", c""] {
            assert_ne!(started(name).join().unwrap(), 0, "{name:?}");
        }
    }

    #[test]
    fn same_number_with_another_start_time_is_another_thread() {
        let thread = current_thread();
        assert_ne!(thread.started, 0, "/proc provides the start time of this thread");
        assert!(has_ended(ThreadId { started: thread.started.wrapping_add(1), ..thread }));
    }
}
