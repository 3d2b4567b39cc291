//! The measurement in a separate process and session.
//!
//! The scheduler's autogroups divide the CPU between sessions first and only then by priority. An idle thread of one
//! session takes half of a CPU from a busy thread of another. So spinners that are to take only unused time are put
//! into a separate session, whose group then gets the smallest weight, 15 against 1,024. That cannot be done for a
//! thread, and would take this process from its terminal. Spinners of another priority stay in the user's session, as
//! would the program whose share is measured.
//!
//! The child dies with its parent, however that ends.

use super::{Measured, run_plan};
use crate::load::flags::Priority;
use crate::load::plan::Plan;
use crate::load::record::IntervalRow;
use harness::{Calibrated, Observer, SmtMonitor};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// A message of the child, an object per line.
#[derive(Serialize, Deserialize)]
enum Message {
    Interval(Vec<IntervalRow>),
    Measured(Box<Measured>),
    Failed(String),
}

/// How often the observer is polled for a stop, and the child's messages are read.
const LOOK: Duration = Duration::from_millis(50);

/// Measures in a child until the plan's length is over or the observer stops it.
///
/// The caller must have no other threads: a forked child has only a copy of the calling one.
pub fn run_in_child(
    plan: &Plan,
    seed: u64,
    calibrated: &Calibrated,
    monitor: &mut SmtMonitor,
    observer: &mut impl Observer<[IntervalRow]>,
) -> io::Result<Measured> {
    let (parent_end, child_end) = UnixStream::pair()?;
    let parent = std::process::id();
    // SAFETY: the caller is the only thread, so the child's copy of the process is complete; it measures and leaves
    // with `_exit`, so nothing of the parent's is dropped twice.
    let child = match unsafe { libc::fork() } {
        -1 => return Err(io::Error::last_os_error()),
        0 => {
            drop(parent_end);
            let served = catch_unwind(AssertUnwindSafe(|| serve(parent, child_end, (plan, seed), calibrated, monitor)));
            // SAFETY: `_exit` ends the process and accesses no memory.
            unsafe { libc::_exit(i32::from(!matches!(served, Ok(Ok(()))))) }
        }
        pid => Child(Pid::from_raw(pid).ok_or_else(|| io::Error::other("fork returned no process id"))?),
    };
    drop(child_end);
    let measured = listen(parent_end, observer);
    drop(child);
    measured
}

/// A child that has not been waited for.
///
/// Dropping it ends it, unless it has ended by itself.
struct Child(Pid);

impl Drop for Child {
    fn drop(&mut self) {
        // It has sent all its messages, or never will. Its process ID is not reused before it is waited for.
        let _ = kill_process(self.0, Signal::KILL);
        let _ = waitpid(Some(self.0), WaitOptions::empty());
    }
}

/// Runs the parent's part: passes the child's rows to the observer, and the observer's request to stop to the child.
fn listen(mut child: UnixStream, observer: &mut impl Observer<[IntervalRow]>) -> io::Result<Measured> {
    child.set_nonblocking(true)?;
    let mut lines = Lines::default();
    let mut stopping = false;
    loop {
        let mut stop = observer.wait(Instant::now() + LOOK).is_break();
        let open = lines.read_from(&mut child)?;
        while let Some(message) = lines.next() {
            match serde_json::from_slice(&message)? {
                Message::Interval(rows) => stop |= observer.piece(&rows).is_break(),
                Message::Measured(measured) => return Ok(*measured),
                Message::Failed(reason) => return Err(io::Error::other(reason)),
            }
        }
        if !open {
            return Err(io::Error::other("the measuring process was killed"));
        }
        if stop && !stopping {
            stopping = true;
            // A child that has ended has sent a message.
            let _ = child.write_all(b"stop");
        }
        if stopping {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// The complete lines of the received data.
#[derive(Default)]
struct Lines(Vec<u8>);

impl Lines {
    /// Reads the available data; returns whether more may come.
    fn read_from(&mut self, stream: &mut UnixStream) -> io::Result<bool> {
        let mut piece = [0; 4096];
        loop {
            match stream.read(&mut piece) {
                Ok(0) => return Ok(false),
                Ok(length) => self.0.extend_from_slice(&piece[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The child ended before it read the request to stop.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(false),
                Err(error) => return Err(error),
            }
        }
    }

    fn next(&mut self) -> Option<Vec<u8>> {
        let end = self.0.iter().position(|&byte| byte == b'\n')?;
        Some(self.0.drain(..=end).collect())
    }
}

/// Runs the child to its end.
fn serve(
    parent: u32,
    stream: UnixStream,
    (plan, seed): (&Plan, u64),
    calibrated: &Calibrated,
    monitor: &mut SmtMonitor,
) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if std::os::unix::process::parent_id() != parent {
        return Ok(());
    }
    if plan.priority == Priority::IDLE {
        leave_the_session();
    }
    let mut parent = Parent(stream);
    let message = match run_plan(plan, seed, calibrated, monitor, &mut parent) {
        Ok(measured) => Message::Measured(Box::new(measured)),
        Err(error) => Message::Failed(error.to_string()),
    };
    parent.send(&message)
}

/// Moves to a session whose group, if the kernel groups by session, has the least weight.
///
/// If that is refused, the spinners have more weight than intended, which is measured and reported.
fn leave_the_session() {
    if rustix::process::setsid().is_err() {
        return;
    }
    // The kernel allows this to all unprivileged users together ten times per second.
    for _ in 0..20 {
        match std::fs::write("/proc/self/autogroup", "19") {
            Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => std::thread::sleep(LOOK),
            _ => return,
        }
    }
}

/// The observer of the child: its parent, at the other end of the stream.
struct Parent(UnixStream);

impl Parent {
    fn send(&mut self, message: &Message) -> io::Result<()> {
        let line = serde_json::to_string(message)? + "\n";
        self.0.write_all(line.as_bytes())
    }
}

impl Observer<[IntervalRow]> for Parent {
    fn wait(&mut self, until: Instant) -> ControlFlow<()> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
            // The parent sends only the request to stop, or closes the stream.
            let mut parent = [PollFd::new(&self.0, PollFlags::IN)];
            match poll(&mut parent, Some(&timeout)) {
                Ok(0) => return ControlFlow::Continue(()),
                Err(rustix::io::Errno::INTR) => {}
                _ => return ControlFlow::Break(()),
            }
        }
    }

    fn note(&self, _: &str) {}

    fn piece(&mut self, rows: &[IntervalRow]) -> ControlFlow<()> {
        match self.send(&Message::Interval(rows.to_vec())) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}
