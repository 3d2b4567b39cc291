//! A program that runs in its own process group, with everything that it starts: none of it outlives the run.

use anyhow::Context;
use blame::names::message;
use harness::Interruption;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::time::Timespec;
use std::fs;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The time that killed processes may take to end.
const ENDS: Duration = Duration::from_secs(1);

/// A program that was started.
pub struct Running {
    pid: u32,
    process: OwnedFd,
    printed: File,
    pub began: Instant,
    is_reaped: bool,
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
    /// Its output.
    pub output: String,
}

/// The kernel's account of a program and of the processes that it waited for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usage {
    /// CPU time in user mode.
    pub user_s: f64,
    /// CPU time in kernel mode.
    pub system_s: f64,
    /// The largest resident memory of one of these processes. Before a process executes its program it has the memory of
    /// the process that started it, so the value is not below that of contend.
    pub memory_kib: u64,
    /// Context switches: those of a blocked thread, and those of a thread that lost its CPU.
    pub switches: u64,
    /// Page faults: those that read from a device, and those that do not.
    pub faults: u64,
}

impl Usage {
    /// Returns the CPU time in user and kernel mode.
    pub fn cpu_s(&self) -> f64 {
        self.user_s + self.system_s
    }
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
/// More of a program's output than this is not searched.
const MOST_OUTPUT: u64 = 64 << 20;

impl Running {
    /// Starts it, with this file or nothing on its standard input.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(mut command: Command, input: Option<File>) -> anyhow::Result<Self> {
        let printed = tempfile::tempfile().context("cannot create a file for the program's output")?;
        command
            .stdin(input.map_or_else(Stdio::null, Stdio::from))
            .stdout(printed.try_clone()?)
            .stderr(printed.try_clone()?);
        own_group(&mut command);
        let began = Instant::now();
        let name = command.get_program().to_string_lossy().into_owned();
        let child = command.spawn().map_err(|error| anyhow::anyhow!("cannot start {name}: {}", message(&error)))?;
        let pid = Pid::from_raw(child.id() as i32).context("the process has no valid PID")?;
        let process = pidfd_open(pid, PidfdFlags::empty())?;
        Ok(Self { pid: child.id(), process, printed, began, is_reaped: false })
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Requests the end of the process itself, but not of the processes that it has started.
    pub fn ask_to_end(&self) {
        // SAFETY: the call takes no pointers; the process is not waited for yet, so that the number is its.
        unsafe { libc::kill(self.pid as i32, libc::SIGTERM) };
    }

    /// Ends it, if it has not ended, and the processes that it left running, which would take the CPU from others.
    ///
    /// # Errors
    /// The system does not report its end.
    pub fn end(mut self) -> anyhow::Result<Ended> {
        // A process that has ended by itself did leave them behind.
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let has_ended = poll(&mut [PollFd::new(&self.process, PollFlags::IN)], Some(&at_once))? > 0;
        self.kill_group();
        self.is_reaped = true;
        let (status, usage) = reap(self.pid)?;
        if !has_ended {
            self.reap_group();
        }
        let mut bytes = Vec::new();
        self.printed.rewind()?;
        (&self.printed).take(MOST_OUTPUT).read_to_end(&mut bytes)?;
        Ok(Ended { status, usage, output: String::from_utf8_lossy(&bytes).into_owned() })
    }

    fn kill_group(&self) {
        self.signal_group(libc::SIGKILL);
    }

    fn signal_group(&self, signal: i32) {
        // SAFETY: the call takes no pointers; `self` was not reaped yet, so the number is still its group's.
        unsafe { libc::kill(-(self.pid as i32), signal) };
    }

    /// Waits for those of its group that lost their parents, and so became contend's: they end now, and do not count as
    /// left in the background. Where contend is not the subreaper, there are none. Another user's process cannot be
    /// killed, and stays.
    fn reap_group(&self) {
        let until = Instant::now() + ENDS;
        loop {
            // SAFETY: the call writes nothing.
            match unsafe { libc::waitpid(-(self.pid as i32), std::ptr::null_mut(), libc::WNOHANG) } {
                0 if Instant::now() < until => std::thread::sleep(Duration::from_millis(1)),
                0 => break,
                -1 if std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted => break,
                _ => {}
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.is_reaped {
            self.kill_group();
            let _ = reap(self.pid);
            self.reap_group();
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

/// Waits until one of them has ended, the first of them first, but not longer than until then.
///
/// # Errors
/// The system does not tell of them.
pub fn wait(of: &[&Running], until: Option<Instant>, interruption: &Interruption) -> anyhow::Result<End> {
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let look = left.map_or(LOOK, |left| left.min(LOOK));
        let look = Timespec { tv_sec: 0, tv_nsec: look.as_nanos() as i64 };
        let mut descriptors: Vec<_> = of.iter().map(|one| PollFd::new(&one.process, PollFlags::IN)).collect();
        match poll(&mut descriptors, Some(&look)) {
            Ok(0) => reap_but(&of.iter().map(|one| one.pid).collect::<Vec<_>>()),
            Err(rustix::io::Errno::INTR) => {}
            Ok(_) => {
                let ended = descriptors.iter().position(|one| !one.revents().is_empty());
                return Ok(End::Itself(ended.unwrap_or_default()));
            }
            Err(error) => return Err(error.into()),
        }
        if interruption.is_requested() {
            return Ok(End::Interrupted);
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            return Ok(End::Late);
        }
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
    of.iter().for_each(|one| one.signal_group(libc::SIGSTOP));
    // A stopped program can still be killed by others.
    let end = wait(of, Some(Instant::now() + pause.length), interruption);
    of.iter().for_each(|one| one.signal_group(libc::SIGCONT));
    Ok(Some(end?).filter(|end| !matches!(end, End::Late)))
}

/// Gives the command its own process group, so that it and all that it starts can be ended at once, and it does not
/// outlive contend.
fn own_group(command: &mut Command) {
    let parent = std::process::id();
    command.process_group(0);
    // SAFETY: between fork and exec only these two system calls are made, which take no pointers.
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if libc::getppid() as u32 == parent { Ok(()) } else { Err(std::io::Error::other("contend has exited")) }
        });
    }
}

/// Returns the status with which it ended, and the account of it and of the processes that it waited for.
fn reap(pid: u32) -> anyhow::Result<(i32, Usage)> {
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointers are to a number and to room for what the call writes.
    while unsafe { libc::wait4(pid as i32, &raw mut status, 0, usage.as_mut_ptr()) } < 0 {
        let error = std::io::Error::last_os_error();
        anyhow::ensure!(error.kind() == std::io::ErrorKind::Interrupted, "wait4: {}", message(&error));
    }
    // SAFETY: the call succeeded, and all zeros would be a value too.
    let usage = unsafe { usage.assume_init() };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let (user_s, system_s) = (seconds(usage.ru_utime), seconds(usage.ru_stime));
    let [switches, faults] =
        [usage.ru_nvcsw + usage.ru_nivcsw, usage.ru_minflt + usage.ru_majflt].map(|count| count.max(0) as u64);
    Ok((status, Usage { user_s, system_s, memory_kib: usage.ru_maxrss.max(0) as u64, switches, faults }))
}

/// The processes that a run leaves behind. A server in the background, for example, has its own session, and its parent
/// has exited.
///
/// During a run, contend is the parent of all processes that lose their parent (a subreaper). It kills those that are
/// left at the end of the run: they would take the CPU from the next runs, and occupy their port.
pub struct Orphans {
    /// Children that are contend's own.
    known: Vec<i32>,
}

/// A killed process leaves orphans in turn. No program has this many generations by chance.
const GENERATIONS: usize = 1_000;

impl Orphans {
    /// Begins a run.
    pub fn adopt() -> Self {
        let known = children();
        is_parent_of_orphans(true);
        Self { known }
    }

    /// Kills the processes that the run left, and returns the number of those that still ran.
    ///
    /// Processes that `--prepare` and `--cleanup` leave stay alone.
    pub fn end(mut self) -> usize {
        let mut ended = 0;
        for _ in 0..GENERATIONS {
            let left: Vec<i32> = children().into_iter().filter(|pid| !self.known.contains(pid)).collect();
            if left.is_empty() {
                break;
            }
            for pid in left {
                match end(pid) {
                    Some(ran) => ended += usize::from(ran),
                    // Another user's, which stays.
                    None => self.known.push(pid),
                }
            }
        }
        is_parent_of_orphans(false);
        ended
    }
}

fn is_parent_of_orphans(is_parent: bool) {
    // SAFETY: the call takes no pointers.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, libc::c_ulong::from(is_parent), 0, 0, 0) };
}

/// Kills a child, if the kernel permits, and returns whether it still ran.
fn end(pid: i32) -> Option<bool> {
    let mut status = 0;
    // SAFETY: the pointer is to a number; the process is a child that was not waited for, so the number is still its own.
    let is_ended = unsafe { libc::kill(pid, libc::SIGKILL) == 0 && libc::waitpid(pid, &raw mut status, 0) == pid };
    is_ended.then(|| libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL)
}

/// Reaps the children that have ended, except these. An unreaped process still looks alive to a program that tests
/// whether it exists.
fn reap_but(own: &[u32]) {
    loop {
        let mut ended = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
        let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        // SAFETY: the pointer is to room for what the call writes, and all zeros, which it may leave, are a value too.
        let (is_told, pid) =
            unsafe { (libc::waitid(libc::P_ALL, 0, ended.as_mut_ptr(), flags) == 0, ended.assume_init().si_pid()) };
        if !is_told || pid == 0 || own.contains(&(pid as u32)) {
            break;
        }
        // SAFETY: the call writes nothing.
        unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::WNOHANG) };
    }
}

/// Returns the children of contend, as the kernel lists them by thread; by the parents of all processes where it does
/// not.
fn children() -> Vec<i32> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let listed: Result<Vec<String>, _> =
        threads.map(|thread| fs::read_to_string(thread.path().join("children"))).collect();
    match listed {
        Ok(lists) => lists.iter().flat_map(|list| list.split_whitespace()).filter_map(|pid| pid.parse().ok()).collect(),
        // The kernel has no such list, or a thread has ended.
        Err(_) => children_by_parent(),
    }
}

fn children_by_parent() -> Vec<i32> {
    let own = std::process::id();
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter_map(relatives).filter(|(_, parent, _)| *parent == own).map(|(pid, ..)| pid as i32).collect()
}

/// Returns a process, its parent and its group.
pub fn relatives(pid: u32) -> Option<(u32, u32, u32)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses, and may contain any letter.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(1);
    Some((pid, fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}
