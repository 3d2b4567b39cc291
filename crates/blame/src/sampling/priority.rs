//! The scheduling priority of a thread, as the kernel has it.

use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// A priority; those of real-time threads are the highest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Priority {
    /// `SCHED_IDLE`.
    Idle,
    /// 20 less the nice value.
    Fair(u8),
    /// `SCHED_FIFO` or `SCHED_RR`, with its priority; `SCHED_DEADLINE` is above all.
    RealTime(u8),
}

impl Priority {
    /// Returns the priority of a thread; `None` once it has ended.
    pub fn of(thread: u32) -> Option<Self> {
        let thread = libc::pid_t::try_from(thread).ok()?;
        // SAFETY: the call takes a number alone.
        let policy = unsafe { libc::sched_getscheduler(thread) };
        match policy & !libc::SCHED_RESET_ON_FORK {
            _ if policy < 0 => None,
            libc::SCHED_IDLE => Some(Self::Idle),
            libc::SCHED_FIFO | libc::SCHED_RR => {
                let mut parameters = libc::sched_param { sched_priority: 0 };
                // SAFETY: the pointer is to a whole structure of this type.
                let is_read = unsafe { libc::sched_getparam(thread, &raw mut parameters) } == 0;
                u8::try_from(parameters.sched_priority).ok().filter(|_| is_read).map(Self::RealTime)
            }
            libc::SCHED_DEADLINE => Some(Self::RealTime(u8::MAX)),
            _ => {
                // The raw call returns 20 less the nice value, so no value of it is like an error.
                // SAFETY: the call takes numbers alone.
                let value = unsafe { libc::syscall(libc::SYS_getpriority, libc::PRIO_PROCESS, thread) };
                u8::try_from(value).ok().filter(|value| *value > 0).map(Self::Fair)
            }
        }
    }
}

impl Display for Priority {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Idle => formatter.write_str("SCHED_IDLE"),
            Self::Fair(value) => write!(formatter, "nice {}", 20 - i32::from(*value)),
            Self::RealTime(u8::MAX) => formatter.write_str("SCHED_DEADLINE"),
            Self::RealTime(value) => write!(formatter, "real-time priority {value}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_are_ordered_as_the_kernel_prefers_threads() {
        let order = [Priority::Idle, Priority::Fair(1), Priority::Fair(20), Priority::Fair(40), Priority::RealTime(1)];
        assert!(order.is_sorted() && order[4] < Priority::RealTime(99));
        assert_eq!(
            order.map(|one| one.to_string()),
            ["SCHED_IDLE", "nice 19", "nice 0", "nice -20", "real-time priority 1"]
        );
    }

    #[test]
    fn priority_is_read_after_a_thread_lowered_it() {
        let [before, after] = std::thread::spawn(|| {
            // SAFETY: it asks for a number, and cannot fail.
            let thread = unsafe { libc::gettid() };
            let before = Priority::of(thread as u32);
            // SAFETY: the call takes numbers alone; the number is this thread's.
            unsafe { libc::setpriority(libc::PRIO_PROCESS, thread as libc::id_t, 19) };
            [before, Priority::of(thread as u32)]
        })
        .join()
        .unwrap();
        if before <= Some(Priority::Fair(1)) {
            return println!("skipped: needs a nice value below 19");
        }
        assert_eq!(after, Some(Priority::Fair(1)), "{before:?}");
    }
}
