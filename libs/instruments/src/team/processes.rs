//! A team of processes: forked, watched, and never left behind.

use super::{Member, StartGate, TeamError};
use crate::clock::Clock;
use crate::cpus::pin_current_thread;
use crate::shared_memory::SharedArray;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, waitpid};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// A child that has not ended this long after the window is taken to be stuck, and killed.
const PATIENCE: Duration = Duration::from_secs(60);
const PIN_FAILED: i32 = 101;
const PANICKED: i32 = 102;

/// Lets all members work for `length` from a common start, each in a process of its own, and waits until all have
/// ended.
///
/// What the members write must lie in a [`SharedArray`], or it is lost with the child. Children die with the calling
/// thread, whatever ends it. The caller must have no other threads: a forked child has only a copy of the calling one,
/// and a lock that another thread held at that moment, the allocator's for instance, would stay locked in it.
///
/// While it waits it looks at `is_cut`: once that is true, the window ends for all. A signal that only the caller gets,
/// say, is not seen by its children.
///
/// # Errors
/// A process that the system refuses, a CPU that a member may not run on, a child that died or had to be killed because
/// it did not end. No child is left in any case.
pub fn work_together_as_processes(
    clock: Clock,
    length: Duration,
    members: Vec<Member<'_>>,
    is_cut: impl Fn() -> bool,
) -> Result<(), TeamError> {
    let count = members.len();
    let gate = SharedArray::from_fn(1, |_| Ok(StartGate::new(clock, count, length)))
        .map_err(|source| TeamError::Spawn { started: 0, source })?;
    let mut children = Children { running: Vec::with_capacity(count) };
    for (place, member) in members.into_iter().enumerate() {
        match fork_member(&gate[0], member) {
            Ok(pid) => children.running.push((pid, place)),
            Err(source) => {
                gate[0].cancel();
                return Err(TeamError::Spawn { started: place, source });
            }
        }
    }
    children.wait(length, || {
        if is_cut() {
            gate[0].stop_at(clock.now());
        }
    })
}

fn fork_member(gate: &StartGate, member: Member<'_>) -> io::Result<Pid> {
    let parent = std::process::id();
    // SAFETY: the caller is the only thread (see `work_together_as_processes`), so the child's copy of the process is
    // whole; it runs the member and leaves with `_exit`, so nothing of the parent's is dropped twice.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let status = live_and_die(parent, gate, member);
            // SAFETY: `_exit` ends the process and touches nothing.
            unsafe { libc::_exit(status) }
        }
        pid => Pid::from_raw(pid).ok_or_else(|| io::Error::other("fork returned no process id")),
    }
}

/// The child's whole life; its exit status.
fn live_and_die(parent: u32, gate: &StartGate, member: Member<'_>) -> i32 {
    let dies_with_parent = rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).is_ok();
    if !dies_with_parent || std::os::unix::process::parent_id() != parent {
        return 0;
    }
    if let Some(cpu) = member.cpu
        && pin_current_thread(cpu).is_err()
    {
        gate.cancel();
        return PIN_FAILED;
    }
    match catch_unwind(AssertUnwindSafe(|| (member.job)(gate))) {
        Ok(()) => 0,
        Err(_) => {
            gate.cancel();
            gate.stop_at(0);
            PANICKED
        }
    }
}

/// Children that have not been waited for. Dropping kills them.
struct Children {
    running: Vec<(Pid, usize)>,
}

impl Children {
    /// Waits for all; `look` is called now and then meanwhile.
    fn wait(mut self, length: Duration, look: impl Fn()) -> Result<(), TeamError> {
        let began = Instant::now();
        let mut misfortunes = Vec::new();
        while !self.running.is_empty() {
            let before = self.running.len();
            self.running.retain(|&(pid, place)| match waitpid(Some(pid), WaitOptions::NOHANG) {
                Ok(None) => true,
                Ok(Some((_, status))) => {
                    misfortunes.extend(misfortune(place, status));
                    false
                }
                Err(_) => false,
            });
            if let Some(error) = misfortunes.pop() {
                // The others may wait for its lock or its arrival, and would wait for ever: they are killed.
                return Err(error);
            }
            if began.elapsed() > length + PATIENCE {
                return Err(TeamError::Stuck { members: self.running.len() });
            }
            if self.running.len() == before {
                look();
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(())
    }
}

fn misfortune(place: usize, status: WaitStatus) -> Option<TeamError> {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(0), _) => None,
        (_, Some(signal)) => Some(TeamError::Died { member: place, how: format!("was killed by signal {signal}") }),
        (Some(PIN_FAILED), _) => Some(TeamError::Died { member: place, how: "could not be pinned to its CPU".into() }),
        (code, _) => Some(TeamError::Died { member: place, how: format!("ended with status {}", code.unwrap_or(-1)) }),
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for &(pid, _) in &self.running {
            // It may have ended meanwhile; its number is not given to another process before it is waited for.
            let _ = kill_process(pid, Signal::KILL);
            let _ = waitpid(Some(pid), WaitOptions::empty());
        }
    }
}
