//! The CPU time of another thread of this process, read from outside.
//!
//! A thread's account can be read while it runs: the kernel updates it at the moment of the call. The IDs are those of
//! the kernel's header `linux/posix-timers_types.h`: the complement of the thread's ID, a bit for "thread, not
//! process", and two bits for the account. `pthread_getcpuclockid` makes the same IDs, but only for the exact account.

use std::io;

/// The two accounts that the kernel keeps of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadClock {
    thread: u32,
}

/// The account of the tick: user and system time, in whole ticks where the kernel accounts by ticks.
const BY_TICK: u32 = 0;
/// The account of the scheduler from switch to switch, in nanoseconds.
const EXACT: u32 = 2;
const OF_A_THREAD: u32 = 4;

impl ThreadClock {
    /// Lets the thread run as any other from now on, if that is permitted.
    pub fn give_usual_share(self) {
        let parameters = libc::sched_param { sched_priority: 0 };
        // SAFETY: the kernel reads the structure behind the pointer, which lives during the call.
        let _ = unsafe { libc::sched_setscheduler(self.thread as i32, libc::SCHED_OTHER, &raw const parameters) };
    }

    /// Returns the clock of the calling thread.
    pub fn of_current_thread() -> Self {
        Self { thread: rustix::thread::gettid().as_raw_nonzero().get() as u32 }
    }

    /// Returns the thread's CPU time in nanoseconds, as the scheduler measures it from switch to switch.
    ///
    /// # Errors
    /// The thread has ended.
    pub fn exact_ns(self) -> io::Result<u64> {
        self.read(EXACT)
    }

    /// Returns the thread's CPU time in nanoseconds, as the tick attributes it: the account that `/proc/stat` adds up.
    ///
    /// # Errors
    /// The thread has ended.
    pub fn by_tick_ns(self) -> io::Result<u64> {
        self.read(BY_TICK)
    }

    fn read(self, account: u32) -> io::Result<u64> {
        let id = (!self.thread << 3) | OF_A_THREAD | account;
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the call writes one timespec to the pointer, which is to one that outlives the call; the ID of an
        // ended thread is refused with EINVAL.
        let result = unsafe { libc::clock_gettime(id as libc::clockid_t, &raw mut time) };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    #[test]
    fn sleeping_thread_is_read_from_outside_as_by_itself() {
        let (sender, receiver) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let mut sum = 0_u64;
            (0..2_000_000_u64).for_each(|number| sum = std::hint::black_box(sum ^ number));
            let clock = ThreadClock::of_current_thread();
            sender.send((clock, clock.exact_ns().unwrap())).unwrap();
            let _ = ended.recv();
        });
        let (clock, as_read_inside) = receiver.recv().unwrap();
        let outside = clock.exact_ns().unwrap();
        assert!(as_read_inside > 0 && outside >= as_read_inside, "{outside} {as_read_inside}");
        assert!(clock.by_tick_ns().is_ok());
        end.send(()).unwrap();
        thread.join().unwrap();
    }

    #[test]
    fn ended_thread_has_no_account() {
        let clock = std::thread::spawn(ThreadClock::of_current_thread).join().unwrap();
        // A thread is joined a moment before the kernel has released it.
        let patience = Instant::now();
        while clock.exact_ns().is_ok() {
            assert!(patience.elapsed() < Duration::from_secs(60), "it still has one");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
