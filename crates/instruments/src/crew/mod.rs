//! Threads, or processes, that start together, work for a while, and end together.
//!
//! Each member is pinned, prepares itself, and calls [`Muster::ready`]. When the last one is ready, a start a little in
//! the future is announced, and all of them wait for that instant: a barrier would let them out one after the other,
//! and the first would run uncontended. A member that fails cancels the muster, so nobody waits for it.

mod processes;

pub use processes::work_together_as_processes;

use crate::clock::Clock;
use crate::cpus::pin_current_thread;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use thiserror::Error;

/// One thread or process of a crew.
pub struct Member<'a> {
    /// The CPU that it is pinned to; `None` leaves it where the scheduler wants it.
    pub cpu: Option<usize>,
    /// What it does. It must call [`Muster::ready`] once and end soon after [`Muster::stop`].
    pub job: Box<dyn FnOnce(&Muster) + Send + 'a>,
}

/// Why a crew did not work.
#[derive(Debug, Error)]
pub enum CrewError {
    /// The system refused a thread.
    #[error(
        "the system allows no more than {started} threads here ({source}); `ulimit -u` and the cgroup's pids.max set the limit"
    )]
    Spawn {
        /// Threads that could be started.
        started: usize,
        /// What the system said.
        source: io::Error,
    },
    /// A member could not be pinned.
    #[error("a thread could not be pinned to CPU {cpu}: {source}")]
    Pin {
        /// The CPU.
        cpu: usize,
        /// What the system said.
        source: io::Error,
    },
    /// A process of the crew did not end by itself.
    #[error("process {member} of the crew {how}; the others were ended")]
    Died {
        /// Which of the members, from 0.
        member: usize,
        /// What became of it.
        how: String,
    },
    /// Processes of the crew did not end long after they should have.
    #[error("{members} processes of the crew did not end a minute after their time; they were killed")]
    Stuck {
        /// How many.
        members: usize,
    },
}

/// Where the members of a crew meet.
pub struct Muster {
    clock: Clock,
    /// The end of the window, in ticks. On a line of its own: the members read it in every round.
    stop: Line,
    /// The start, in ticks; 0 until it is announced.
    start: AtomicU64,
    members: usize,
    ready: AtomicUsize,
    cancelled: AtomicBool,
    length_ticks: u64,
}

#[repr(align(128))]
struct Line(AtomicU64);

/// How far ahead the start is announced, beside the time in which every sleeping member looks: long enough to wake.
const HEAD_START: Duration = Duration::from_micros(300);

impl Muster {
    fn new(clock: Clock, members: usize, length: Duration) -> Self {
        Self {
            clock,
            stop: Line(AtomicU64::new(0)),
            start: AtomicU64::new(0),
            members,
            ready: AtomicUsize::new(0),
            cancelled: AtomicBool::new(false),
            length_ticks: clock.ticks_in(length),
        }
    }

    /// Says that this member is prepared, and waits for the start. Returns the start in ticks, or `None` when the
    /// crew does not work after all.
    pub fn ready(&self) -> Option<u64> {
        if self.ready.fetch_add(1, Ordering::AcqRel) + 1 == self.members {
            let start = self.clock.now() + self.clock.ticks_in(HEAD_START + 2 * self.look_every());
            self.stop.0.store(start + self.length_ticks, Ordering::Relaxed);
            self.start.store(start, Ordering::Release);
        }
        // Members may share a CPU with those that still prepare, so waiting gives it away.
        while self.start.load(Ordering::Acquire) == 0 {
            if self.cancelled.load(Ordering::Relaxed) {
                return None;
            }
            std::thread::sleep(self.look_every());
        }
        let start = self.start.load(Ordering::Relaxed);
        while self.clock.now() < start {
            std::thread::yield_now();
        }
        Some(start)
    }

    /// Many that wait look less often, or their looking would keep the others from preparing.
    fn look_every(&self) -> Duration {
        Duration::from_micros(50 + 5 * self.members as u64)
    }

    /// When to stop, in ticks. Cheap enough to ask in every round.
    #[inline(always)]
    pub fn stop(&self) -> u64 {
        self.stop.0.load(Ordering::Relaxed)
    }

    /// Ends the window at `ticks` for everyone, unless it ends before.
    pub fn stop_at(&self, ticks: u64) {
        self.stop.0.fetch_min(ticks, Ordering::Relaxed);
    }

    fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

/// Runs `work` on a thread of its own that is pinned to `cpu`, so that the caller's affinity stays as it is.
///
/// # Errors
/// The system refuses the thread, or it may not run on that CPU.
///
/// # Panics
/// When `work` does.
pub fn on_cpu<T: Send>(cpu: usize, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let pinned = move || pin_current_thread(cpu).map(|()| work());
        let thread = std::thread::Builder::new().spawn_scoped(scope, pinned)?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Cancels the muster when a member panics, so that the others do not wait for it.
struct CancelOnPanic<'a>(&'a Muster);

impl Drop for CancelOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.cancel();
            self.0.stop_at(0);
        }
    }
}

/// Lets all members work for `length` from a common start, and waits until all have ended.
///
/// # Errors
/// A thread that the system refuses, or a CPU that a member may not run on. Nobody has worked then.
///
/// # Panics
/// When a member panics, once the others have ended.
pub fn work_together(clock: Clock, length: Duration, members: Vec<Member<'_>>) -> Result<(), CrewError> {
    let muster = Muster::new(clock, members.len(), length);
    std::thread::scope(|scope| {
        let mut threads = Vec::with_capacity(members.len());
        for member in members {
            let muster = &muster;
            match std::thread::Builder::new().spawn_scoped(scope, move || serve(muster, member)) {
                Ok(thread) => threads.push(thread),
                Err(source) => {
                    muster.cancel();
                    return Err(CrewError::Spawn { started: threads.len(), source });
                }
            }
        }
        let mut outcome = Ok(());
        for thread in threads {
            match thread.join() {
                Ok(served) => outcome = outcome.and(served),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        outcome
    })
}

fn serve(muster: &Muster, member: Member<'_>) -> Result<(), CrewError> {
    let _guard = CancelOnPanic(muster);
    if let Some(cpu) = member.cpu
        && let Err(source) = pin_current_thread(cpu)
    {
        muster.cancel();
        return Err(CrewError::Pin { cpu, source });
    }
    (member.job)(muster);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> Clock {
        Clock::calibrate(Duration::from_millis(10)).clock
    }

    #[test]
    fn all_members_start_after_the_common_start_and_end_after_the_stop() {
        let clock = clock();
        let seen = std::sync::Mutex::new(Vec::new());
        let member = || Member {
            cpu: None,
            job: Box::new(|muster: &Muster| {
                let start = muster.ready().expect("nobody cancels");
                let first = clock.now();
                while clock.now() < muster.stop() {
                    std::thread::yield_now();
                }
                seen.lock().unwrap().push((start, first, clock.now(), muster.stop()));
            }),
        };
        work_together(clock, Duration::from_millis(2), (0..4).map(|_| member()).collect()).unwrap();
        let seen = seen.into_inner().unwrap();
        assert_eq!(seen.len(), 4);
        assert!(seen.iter().all(|&(start, first, last, stop)| start == seen[0].0 && first >= start && last >= stop));
    }

    #[test]
    fn a_member_can_end_the_window_for_all() {
        let clock = clock();
        let hour = Duration::from_secs(3600);
        let member = |ends: bool| Member {
            cpu: None,
            job: Box::new(move |muster: &Muster| {
                muster.ready();
                if ends {
                    muster.stop_at(clock.now());
                }
                while clock.now() < muster.stop() {
                    std::thread::yield_now();
                }
            }),
        };
        work_together(clock, hour, vec![member(false), member(true)]).unwrap();
    }

    #[test]
    fn a_cpu_that_does_not_exist_cancels_the_crew() {
        let member = |cpu| Member { cpu, job: Box::new(|muster: &Muster| assert!(muster.ready().is_none())) };
        let error = work_together(clock(), Duration::from_secs(1), vec![member(None), member(Some(100_000))]);
        assert!(error.unwrap_err().to_string().contains("CPU 100000"));
    }

    #[test]
    fn a_panic_ends_the_crew_and_is_passed_on() {
        let clock = clock();
        let waiting = Member { cpu: None, job: Box::new(|muster: &Muster| assert!(muster.ready().is_none())) };
        let failing = Member { cpu: None, job: Box::new(|_: &Muster| panic!("on purpose")) };
        let members = std::panic::AssertUnwindSafe(vec![waiting, failing]);
        let outcome = std::panic::catch_unwind(|| {
            let members = members;
            work_together(clock, Duration::from_secs(1), members.0)
        });
        assert!(outcome.is_err());
    }
}
