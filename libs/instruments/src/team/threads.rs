//! A team of threads.

use super::{Member, StartGate, TeamError};
use crate::clock::Clock;
use crate::cpus::pin_current_thread;
use std::io;
use std::time::Duration;

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

/// Cancels the start when a member panics, so that the others do not wait for it.
struct CancelOnPanic<'a>(&'a StartGate);

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
pub fn work_together(clock: Clock, length: Duration, members: Vec<Member<'_>>) -> Result<(), TeamError> {
    let gate = StartGate::new(clock, members.len(), length);
    std::thread::scope(|scope| {
        let mut threads = Vec::with_capacity(members.len());
        for member in members {
            let gate = &gate;
            match std::thread::Builder::new().spawn_scoped(scope, move || serve(gate, member)) {
                Ok(thread) => threads.push(thread),
                Err(source) => {
                    gate.cancel();
                    return Err(TeamError::Spawn { started: threads.len(), source });
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

pub(super) fn serve(gate: &StartGate, member: Member<'_>) -> Result<(), TeamError> {
    let _guard = CancelOnPanic(gate);
    if let Some(cpu) = member.cpu
        && let Err(source) = pin_current_thread(cpu)
    {
        gate.cancel();
        return Err(TeamError::Pin { cpu, source });
    }
    (member.job)(gate);
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
            job: Box::new(|gate: &StartGate| {
                let start = gate.ready().expect("no thread cancels");
                let first = clock.now();
                while clock.now() < gate.stop() {
                    std::thread::yield_now();
                }
                seen.lock().unwrap().push((start, first, clock.now(), gate.stop()));
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
            job: Box::new(move |gate: &StartGate| {
                gate.ready();
                if ends {
                    gate.stop_at(clock.now());
                }
                while clock.now() < gate.stop() {
                    std::thread::yield_now();
                }
            }),
        };
        work_together(clock, hour, vec![member(false), member(true)]).unwrap();
    }

    #[test]
    fn a_cpu_that_does_not_exist_cancels_the_team() {
        let member = |cpu| Member { cpu, job: Box::new(|gate: &StartGate| assert!(gate.ready().is_none())) };
        let error = work_together(clock(), Duration::from_secs(1), vec![member(None), member(Some(100_000))]);
        assert!(error.unwrap_err().to_string().contains("CPU 100000"));
    }

    #[test]
    fn a_panic_ends_the_team_and_is_passed_on() {
        let clock = clock();
        let waiting = Member { cpu: None, job: Box::new(|gate: &StartGate| assert!(gate.ready().is_none())) };
        let failing = Member { cpu: None, job: Box::new(|_: &StartGate| panic!("on purpose")) };
        let members = std::panic::AssertUnwindSafe(vec![waiting, failing]);
        let outcome = std::panic::catch_unwind(|| {
            let members = members;
            work_together(clock, Duration::from_secs(1), members.0)
        });
        assert!(outcome.is_err());
    }
}
