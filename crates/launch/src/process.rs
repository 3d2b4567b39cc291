//! A program that runs with everything that it starts: none of it outlives the run, nor contend.

use crate::guardian::{Connection, Kind, Message, Request, now_ns};
use crate::usage::Usage;
use anyhow::Context;
use blame::names::message;
use harness::Interruption;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::pipe::fcntl_setpipe_size;
use rustix::time::Timespec;
use std::cell::{Cell, RefCell};
use std::fs;
use std::fs::File;
use std::io::{self, PipeReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The time that a program has to end after SIGTERM, before all of its processes are killed.
const GRACE: Duration = Duration::from_secs(2);

/// A program that was started.
pub struct Running {
    pid: u32,
    guardian: Child,
    connection: Connection,
    output: RefCell<Output>,
    ended: Cell<Option<Message>>,
    /// Whether no more message comes.
    is_silent: Cell<bool>,
    pub began: Instant,
    began_ns: u64,
    is_over: bool,
}

/// The reason why a wait is over.
pub enum End {
    /// The one at this place has ended.
    Itself(usize),
    Late,
    Interrupted,
}

/// A program that has ended.
pub struct Ended {
    status: i32,
    pub usage: Usage,
    /// The time from its start to its end.
    pub wall_s: f64,
    /// Its output.
    pub output: String,
    /// The number of processes that it left, and that were killed.
    pub left: usize,
}

/// A run that ended well.
pub struct FinishedRun {
    /// The program's, or its client's if it has one.
    pub wall_s: f64,
    pub usage: Usage,
    /// The exit status of the program; 128 and the signal's number if a signal killed it. Not 0 only where that is
    /// ignored.
    pub status: i32,
    /// The output of the program, or of its client.
    pub output: String,
}

/// A run that did not end well.
pub struct Failed {
    pub how: String,
    pub output: String,
}

impl Failed {
    /// Adds that the run left processes, which is why it failed: contend waited for the wrong one to listen or to end.
    pub fn left_running(mut self) -> Self {
        self.how.push_str("; its background processes were killed: keep the program in the foreground");
        self
    }

    /// Returns the last line of the output, quoted, since it often says why the run failed.
    pub fn last_line(&self) -> String {
        let last = self.output.lines().rev().find(|line| !line.trim().is_empty());
        last.map_or_else(|| "none".to_owned(), |line| format!("{:?}", line.chars().take(200).collect::<String>()))
    }
}

/// The period at which an interruption is looked for.
const LOOK: Duration = Duration::from_millis(100);
/// More of a program's output than this is read, and not kept.
const MOST_OUTPUT: usize = 64 << 20;
/// The size of the pipe for the output, where the kernel permits it.
const PIPE: usize = 1 << 20;
/// After less than this was read, the pipe is left alone for a while, so that a program that writes single lines does
/// not wake contend for each.
const FEW: usize = 16 << 10;
const QUIET: Duration = Duration::from_millis(1);

/// The output of a program, and its beginning that is kept.
struct Output {
    pipe: Option<PipeReader>,
    kept: Vec<u8>,
    quiet_until: Instant,
}

impl Output {
    /// Reads what is there.
    fn read(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        let (mut buffer, mut read) = ([0; 1 << 16], 0);
        // No more than the pipe has room for: a process that cannot be killed may write on.
        while read < PIPE {
            match pipe.read(&mut buffer) {
                Ok(0) => {
                    self.pipe = None;
                    break;
                }
                Ok(length) => {
                    let room = MOST_OUTPUT.saturating_sub(self.kept.len());
                    self.kept.extend_from_slice(&buffer[..length.min(room)]);
                    read += length;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        self.quiet_until = Instant::now() + if read < FEW { QUIET } else { Duration::ZERO };
    }
}

impl Running {
    /// Starts it, with this file or nothing on its standard input, and in its own process group: the terminal's signals
    /// are for contend.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(command: Command, input: Option<File>) -> anyhow::Result<Self> {
        Self::in_group(command, input, true)
    }

    /// Starts it in its own process group or in contend's, in which it can use the terminal.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn in_group(mut command: Command, input: Option<File>, own_group: bool) -> anyhow::Result<Self> {
        let (reader, writer) = io::pipe().context("cannot create a pipe for the program's output")?;
        let _ = fcntl_setpipe_size(&writer, PIPE);
        rustix::io::ioctl_fionbio(&reader, true)?;
        command.stdin(input.map_or_else(Stdio::null, Stdio::from)).stdout(writer.try_clone()?).stderr(writer);
        let (connection, theirs) = Connection::guard(&mut command, own_group)?;
        let name = command.get_program().to_string_lossy().into_owned();
        let guardian = command.spawn().map_err(|error| anyhow::anyhow!("cannot start {name}: {}", message(&error)))?;
        drop((theirs, command));
        let begun = connection.receive(true)?.filter(|message| message.kind == Kind::Begun);
        let begun = begun.with_context(|| format!("cannot start {name}: its first message is missing"))?;
        let since = Duration::from_nanos(now_ns().saturating_sub(begun.at_ns));
        Ok(Self {
            pid: begun.number as u32,
            guardian,
            connection,
            output: RefCell::new(Output { pipe: Some(reader), kept: Vec::new(), quiet_until: Instant::now() }),
            ended: Cell::new(None),
            is_silent: Cell::new(false),
            began: Instant::now().checked_sub(since).unwrap_or_else(Instant::now),
            began_ns: begun.at_ns,
            is_over: false,
        })
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Requests the end of the process itself, but not of the processes that it has started.
    pub fn ask_to_end(&self) {
        self.connection.request(Request::Terminate);
    }

    /// Ends it, if it has not ended, with SIGTERM and some patience; and kills the processes that it left running, which
    /// would take the CPU from others.
    ///
    /// # Errors
    /// The system does not report its end.
    pub fn end(mut self) -> anyhow::Result<Ended> {
        let left = self.finish(Request::End);
        self.ended(left)
    }

    /// Ends it as [`Self::end`] does, but lets the processes live that it left running.
    ///
    /// # Errors
    /// As there.
    pub fn release(mut self) -> anyhow::Result<Ended> {
        let left = self.finish(Request::Release);
        self.ended(left)
    }

    fn ended(&self, left: usize) -> anyhow::Result<Ended> {
        let ended = self.ended.get().context("the process that started the program was killed")?;
        let output = String::from_utf8_lossy(&self.output.borrow().kept).into_owned();
        let wall_s = ended.at_ns.saturating_sub(self.began_ns) as f64 / 1e9;
        Ok(Ended { status: ended.number, usage: ended.usage, wall_s, output, left })
    }

    /// Ends the run, and returns the number of processes that were left.
    fn finish(&mut self, request: Request) -> usize {
        self.is_over = true;
        if !self.has_ended() {
            self.ask_to_end();
            let _ = wait(&[self], Some(Instant::now() + GRACE), &Interruption::default());
        }
        // Processes are left to live only by a program that ended by itself.
        self.connection.request(if self.ended.get().is_some() { request } else { Request::End });
        let mut left = 0;
        while let Ok(Some(message)) = self.connection.receive(true) {
            match message.kind {
                Kind::Ended => self.ended.set(Some(message)),
                Kind::Left => left = message.number.max(0) as usize,
                Kind::Begun => {}
            }
        }
        let _ = self.guardian.wait();
        self.output.borrow_mut().read();
        left
    }

    fn has_ended(&self) -> bool {
        while let (None, false) = (self.ended.get(), self.is_silent.get()) {
            match self.connection.receive(false) {
                Ok(Some(message)) if message.kind == Kind::Ended => self.ended.set(Some(message)),
                Ok(Some(_)) => {}
                Ok(None) => self.is_silent.set(true),
                Err(_) => break,
            }
        }
        self.ended.get().is_some() || self.is_silent.get()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.is_over {
            self.finish(Request::End);
        }
    }
}

impl Ended {
    /// Returns the exit status as a shell gives it: 128 and the signal's number if a signal killed it.
    pub fn status(&self) -> i32 {
        if libc::WIFEXITED(self.status) { libc::WEXITSTATUS(self.status) } else { 128 + libc::WTERMSIG(self.status) }
    }

    /// Returns how it ended, if not with status 0.
    pub fn fault(&self) -> Option<String> {
        match (libc::WIFEXITED(self.status), libc::WEXITSTATUS(self.status)) {
            (true, 0) => None,
            (true, status) => Some(format!("ended with status {status}")),
            (false, _) => Some(format!("was killed by signal {}", libc::WTERMSIG(self.status))),
        }
    }

    /// Returns how it ended after SIGTERM, if not with status 0, by that signal, or with the status of a program that
    /// handles it.
    pub fn fault_when_asked(&self) -> Option<String> {
        let is_signal = libc::WIFSIGNALED(self.status) && libc::WTERMSIG(self.status) == libc::SIGTERM;
        let of_signals = [128 + libc::SIGTERM, 128 + libc::SIGINT];
        let is_told = libc::WIFEXITED(self.status) && of_signals.contains(&libc::WEXITSTATUS(self.status));
        self.fault().filter(|_| !is_signal && !is_told)
    }
}

/// Waits until one of them has ended, the first of them first, but not longer than until then. Reads their output in
/// that time.
///
/// # Errors
/// The system does not tell of them.
pub fn wait(of: &[&Running], until: Option<Instant>, interruption: &Interruption) -> anyhow::Result<End> {
    loop {
        if let Some(ended) = of.iter().position(|one| one.has_ended()) {
            return Ok(End::Itself(ended));
        }
        if interruption.is_requested() {
            return Ok(End::Interrupted);
        }
        let now = Instant::now();
        if until.is_some_and(|until| now >= until) {
            return Ok(End::Late);
        }
        let mut look = until.map_or(LOOK, |until| until.saturating_duration_since(now).min(LOOK));
        let outputs: Vec<_> = of.iter().map(|one| one.output.borrow()).collect();
        let mut descriptors: Vec<_> =
            of.iter().map(|one| PollFd::new(one.connection.descriptor(), PollFlags::IN)).collect();
        for output in &outputs {
            match &output.pipe {
                Some(pipe) if now >= output.quiet_until => descriptors.push(PollFd::new(pipe, PollFlags::IN)),
                Some(_) => look = look.min(QUIET),
                None => {}
            }
        }
        let look = Timespec { tv_sec: 0, tv_nsec: look.as_nanos() as i64 };
        match poll(&mut descriptors, Some(&look)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        drop(descriptors);
        drop(outputs);
        of.iter()
            .map(|one| one.output.borrow_mut())
            .filter(|output| Instant::now() >= output.quiet_until)
            .for_each(|mut output| output.read());
    }
}

/// A time in which a program and all that it started are stopped, as Ctrl-Z does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pause {
    /// Time since the start.
    pub after: Duration,
    pub length: Duration,
}

/// Lets these programs run, stops them, and lets them go on. Returns how they ended if that was before.
///
/// # Errors
/// The system does not tell of them.
pub fn pause(of: &[&Running], pause: Pause, interruption: &Interruption) -> anyhow::Result<Option<End>> {
    let stops_at = Instant::now() + pause.after;
    let end = wait(of, Some(stops_at), interruption)?;
    if !matches!(end, End::Late) {
        return Ok(Some(end));
    }
    of.iter().for_each(|one| one.connection.request(Request::Stop));
    // A stopped program can still be killed by others.
    let end = wait(of, Some(Instant::now() + pause.length), interruption);
    of.iter().for_each(|one| one.connection.request(Request::Continue));
    Ok(Some(end?).filter(|end| !matches!(end, End::Late)))
}

/// Returns a process, its parent and its group.
pub fn relatives(pid: u32) -> Option<(u32, u32, u32)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses, and may contain any letter.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(1);
    Some((pid, fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}
