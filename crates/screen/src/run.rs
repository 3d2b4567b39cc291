//! A command that was started here, while it runs and after it has ended.
//!
//! A [`Run`] keeps its reports and its state, a [`Child`] is its process and reads its output.
//!
//! The child ends with this process, however that ends. It runs on all CPUs that this process was given, although the
//! interface itself stays on one of them. The browser that opens an HTML report is started here as well.

use crate::command_line;
use crate::feed::Feed;
use crate::machine::Machine;
use crate::matrix::Target;
use crate::processes::descendants;
use harness::LiveLine;
use instruments::cpus::{self, CpuSet};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{self, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A command and its results so far.
pub struct Run {
    pub words: Vec<String>,
    pub child: Child,
    pub feed: Feed,
    pub ended: Option<Ended>,
    /// The part of a matrix that it measures, if a matrix started it.
    pub target: Option<Target>,
    /// The HTML report that it writes, to be opened.
    pub page: Option<PathBuf>,
    began: Instant,
    /// The number of requests to stop.
    stops: u32,
}

impl Run {
    pub fn new(words: Vec<String>, child: Child, target: Option<Target>) -> Self {
        let (feed, began) = (Feed::default(), Instant::now());
        Self { words, child, feed, ended: None, target, page: None, began, stops: 0 }
    }

    /// Reads the output of the child; returns whether there was any.
    pub fn look(&mut self) -> bool {
        let lines = self.child.lines();
        let mut is_new = !lines.is_empty();
        lines.into_iter().for_each(|line| self.feed.add(line));
        if self.ended.is_none() {
            self.ended = self.child.ended();
            if self.ended.is_some() {
                is_new = true;
                // Its last reports may have come since.
                self.child.lines().into_iter().for_each(|line| self.feed.add(line));
            }
        }
        is_new
    }

    /// Requests the child to end and to save its results; the third call kills it.
    pub fn stop(&mut self) {
        self.stops += 1;
        if self.stops > 2 { self.child.kill() } else { self.child.stop() }
    }

    /// Returns whether it was requested to end, and has not yet.
    pub fn is_stopped(&self) -> bool {
        self.stops > 0 && self.is_running()
    }

    pub fn is_running(&self) -> bool {
        self.ended.is_none()
    }

    /// Returns the state, as text.
    pub fn state(&self) -> String {
        let seconds = self.began.elapsed().as_secs();
        match self.ended {
            None if self.stops > 0 => "stopping and saving the results (press it again: stop at once)".to_owned(),
            None => {
                let at = self.feed.begun().map(|place| format!(": {} {}", place.row, place.column));
                format!("{seconds} s{}", at.unwrap_or_default())
            }
            Some(Ended::Done) => "done".to_owned(),
            Some(Ended::Stopped) => "stopped; the results so far were saved".to_owned(),
            Some(Ended::Failed(code)) => format!("failed with status {code}: {}", self.first_error()),
            Some(Ended::Killed(signal)) => format!("killed by signal {signal}; nothing was saved"),
        }
    }

    fn first_error(&self) -> String {
        let errors = self.child.errors();
        let line = errors.lines().find(|line| !line.trim().is_empty()).unwrap_or("no error message");
        terminal::escaped(line).into_owned()
    }

    /// Returns the standard output and the standard error.
    pub fn output(&self) -> (String, String) {
        (self.child.text(), self.child.errors())
    }

    /// Returns the standard output, and below it the standard error.
    pub fn text(&self) -> String {
        let (text, errors) = (self.child.text(), self.child.errors());
        let line = command_line::shown(&self.words);
        let state = self.state();
        let text = if text.is_empty() { format!("$ {line}\n\n{state}\n") } else { text };
        if errors.trim().is_empty() { text } else { format!("{text}\n{errors}") }
    }
}

/// The way in which a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Done,
    /// It was stopped and saved the results so far.
    Stopped,
    /// It failed with this exit status.
    Failed(i32),
    /// It was killed by this signal, without results.
    Killed(i32),
}

/// A child process and its output.
pub struct Child {
    process: process::Child,
    live: Stream,
    text: Stream,
    errors: Stream,
    ended: Option<Ended>,
}

/// The reading end of a pipe, and the bytes that were read.
struct Stream {
    pipe: Option<File>,
    bytes: Vec<u8>,
}

/// The bytes that are kept of a text: its last ones, since the results come after what a traced program printed.
const LONGEST: usize = 4 << 20;
/// The time that a child has to end before it is killed.
const GRACE: Duration = Duration::from_secs(10);

impl Child {
    /// Starts `program` with these words.
    pub fn start(program: &Path, words: &[String], machine: &Machine) -> io::Result<Self> {
        let (live, report_end) = io::pipe()?;
        let mut command = Command::new(program);
        if Machine::measures(words) {
            command.arg(format!("--live-to={}", report_end.as_raw_fd()));
        }
        command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (parent, pipe, all) = (process::id(), report_end.as_raw_fd(), machine.allowed.clone());
        // SAFETY: this process has one thread, so that the copy of its memory is consistent. The calls are system
        // calls, on descriptors that both processes have.
        unsafe {
            command.pre_exec(move || {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
                if libc::getppid() as u32 != parent || libc::fcntl(pipe, libc::F_SETFD, 0) == -1 {
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

    /// Returns the reports since the last call.
    fn lines(&mut self) -> Vec<LiveLine> {
        self.live.read();
        let complete = self.live.bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let lines: Vec<u8> = self.live.bytes.drain(..complete).collect();
        lines.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }

    /// Returns how it ended, if it has.
    fn ended(&mut self) -> Option<Ended> {
        if self.ended.is_none() {
            // Its last output is read before it counts as ended.
            let status = self.process.try_wait().ok().flatten();
            self.text.read();
            self.errors.read();
            self.ended = status.map(of_status);
        }
        self.ended
    }

    /// Returns the standard output so far.
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.text.bytes).into_owned()
    }

    /// Returns the standard error so far.
    fn errors(&self) -> String {
        String::from_utf8_lossy(&self.errors.bytes).into_owned()
    }

    /// Requests it to end and to save its results.
    fn stop(&self) {
        self.signal(Signal::INT);
    }

    /// Ends it at once, and all that it started.
    fn kill(&self) {
        if self.ended.is_some() {
            return;
        }
        let started = descendants(self.process.id());
        self.signal(Signal::KILL);
        for pid in started.into_iter().filter_map(|pid| Pid::from_raw(pid as i32)) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }

    /// Suspends it as the shell would, until it is continued.
    pub fn pause(&self) {
        self.signal(Signal::TSTP);
    }

    /// Continues it if it was suspended with the interface.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        if self.ended.is_none() {
            // It has not been waited for, so its process ID is not reused.
            let _ = kill_process(Pid::from_child(&self.process), signal);
        }
    }

    /// Returns the pipes that the event loop waits for.
    pub fn pipes(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        // Processes that the child started may outlive it and hold them open.
        let all = [&self.live, &self.text, &self.errors].into_iter().filter(|_| self.ended.is_none());
        all.filter_map(|stream| Some(stream.pipe.as_ref()?.as_fd()))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.stop();
        self.resume();
        let until = Instant::now() + GRACE;
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

    /// Reads all bytes that are there; a pipe at its end is dropped.
    fn read(&mut self) {
        let mut some = [0; 1 << 16];
        while let Some(pipe) = &mut self.pipe {
            match pipe.read(&mut some) {
                Ok(0) => self.pipe = None,
                Ok(length) => {
                    self.bytes.extend_from_slice(&some[..length]);
                    if self.bytes.len() > 2 * LONGEST {
                        self.bytes.drain(..self.bytes.len() - LONGEST);
                    }
                }
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

/// Returns the program that opens an HTML report, if the user named one or has a desktop.
pub fn browser() -> Option<OsString> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let has_desktop = ["DISPLAY", "WAYLAND_DISPLAY"].into_iter().any(|name| set(name).is_some());
    set("BROWSER").or_else(|| has_desktop.then(|| "xdg-open".into()))
}

/// Opens an HTML report in the user's browser, on all CPUs of this process; `None` where no browser is known.
///
/// Text browsers are not tried: the interface uses the terminal.
pub fn open_page(path: &Path, all: &CpuSet) -> io::Result<Option<process::Child>> {
    let Some(program) = browser() else { return Ok(None) };
    let mut command = Command::new(program);
    command.arg(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let all = all.clone();
    // SAFETY: this process has one thread, so no lock is held in the copy of its memory, and allocating in it is safe.
    unsafe { command.pre_exec(move || cpus::restrict_current_thread(&all)) };
    // A separate process group, so that the browser is neither ended nor suspended with the interface.
    command.process_group(0).spawn().map(Some)
}
