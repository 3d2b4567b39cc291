//! An experiment, or any other command of contend's, as a child process: its text, and what it tells while it measures.
//!
//! It ends with this process, whatever ends that, and runs on all CPUs that this process was given, although the screen
//! has drawn back to one of them.

use crate::machine::Machine;
use harness::LiveLine;
use instruments::cpus;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Done,
    /// It was stopped; what was measured so far was kept.
    Stopped,
    /// With this exit status.
    Failed(i32),
    /// By a signal that leaves nothing.
    Killed(i32),
}

/// A child, and what has come of it.
pub struct Child {
    process: std::process::Child,
    live: Stream,
    text: Stream,
    errors: Stream,
    ended: Option<Ended>,
}

/// An end of a pipe, and what it has brought.
struct Stream {
    pipe: Option<File>,
    bytes: Vec<u8>,
}

/// More of a text is of no use on a screen.
const LONGEST: usize = 4 << 20;
/// Who was asked to end has so long.
const PATIENCE: Duration = Duration::from_secs(3);

impl Child {
    /// Starts `program` with these words.
    ///
    /// # Errors
    /// The system refuses a pipe or a process.
    pub fn start(program: &Path, words: &[String], machine: &Machine) -> io::Result<Self> {
        let (live, tell) = io::pipe()?;
        let mut command = Command::new(program);
        if machine.measures(words) {
            command.arg(format!("--live-to={}", tell.as_raw_fd()));
        }
        command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (parent, told, all) = (std::process::id(), tell.as_raw_fd(), machine.allowed.clone());
        // SAFETY: this process has one thread, so that its copy is whole; the calls are the system's, on descriptors
        // that both have.
        unsafe {
            command.pre_exec(move || {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
                if libc::getppid() as u32 != parent || libc::fcntl(told, libc::F_SETFD, 0) == -1 {
                    return Err(io::Error::last_os_error());
                }
                cpus::restrict_current_thread(&all)
            });
        }
        let mut process = command.spawn()?;
        let (text, errors) = (process.stdout.take(), process.stderr.take());
        Ok(Self {
            live: Stream::of(Some(live.into()))?,
            text: Stream::of(text.map(Into::into))?,
            errors: Stream::of(errors.map(Into::into))?,
            process,
            ended: None,
        })
    }

    /// What it has told since the last time.
    pub fn lines(&mut self) -> Vec<LiveLine> {
        self.live.read();
        let whole = self.live.bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let lines: Vec<u8> = self.live.bytes.drain(..whole).collect();
        lines.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<Ended> {
        if self.ended.is_none() {
            // What it wrote last is read before it is taken for ended.
            let status = self.process.try_wait().ok().flatten();
            self.text.read();
            self.errors.read();
            self.ended = status.map(of_status);
        }
        self.ended
    }

    /// What it printed.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.text.bytes).into_owned()
    }

    /// What it said on stderr.
    pub fn errors(&self) -> String {
        String::from_utf8_lossy(&self.errors.bytes).into_owned()
    }

    /// Asks it to end, and to keep what was measured.
    pub fn stop(&self) {
        self.signal(Signal::INT);
    }

    /// Ends it at once.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Stops it as the shell would, until somebody lets it go on.
    pub fn pause(&self) {
        self.signal(Signal::TSTP);
    }

    /// Lets it go on, if it was stopped with the screen.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        if self.ended.is_none() {
            // It has not been waited for, so that its number is nobody else's.
            let _ = kill_process(Pid::from_child(&self.process), signal);
        }
    }

    /// What the loop waits at.
    pub fn pipes(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        // Who was started by it, and lives on, may hold them open.
        let all = [&self.live, &self.text, &self.errors].into_iter().filter(|_| self.ended.is_none());
        all.filter_map(|stream| Some(stream.pipe.as_ref()?.as_fd()))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.stop();
        self.resume();
        let until = Instant::now() + PATIENCE;
        while self.ended().is_none() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        if self.ended.is_none() {
            self.kill();
            let _ = self.process.wait();
        }
    }
}

impl Stream {
    fn of(pipe: Option<OwnedFd>) -> io::Result<Self> {
        if let Some(pipe) = &pipe {
            fcntl_setfl(pipe, fcntl_getfl(pipe)? | OFlags::NONBLOCK)?;
        }
        Ok(Self { pipe: pipe.map(Into::into), bytes: Vec::new() })
    }

    /// All that is there; a pipe that has ended is none any more.
    fn read(&mut self) {
        let mut some = [0; 1 << 16];
        while let Some(pipe) = &mut self.pipe {
            match pipe.read(&mut some) {
                Ok(0) => self.pipe = None,
                Ok(length) if self.bytes.len() < LONGEST => self.bytes.extend_from_slice(&some[..length]),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => self.pipe = None,
            }
        }
    }
}

fn of_status(status: ExitStatus) -> Ended {
    match (status.code(), status.signal()) {
        (Some(0), _) => Ended::Done,
        (Some(130), _) => Ended::Stopped,
        (Some(code), _) => Ended::Failed(code),
        (None, signal) => Ended::Killed(signal.unwrap_or(0)),
    }
}
