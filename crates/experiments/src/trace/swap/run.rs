//! One run of the program.

use super::only::Found;
use super::plan::Plan;
use super::shell::shell;
use anyhow::Context;
use exchange::{CHOICE, COUNTS, Counts, ONLY};
use harness::{Interrupted, Interruption};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::time::Timespec;
use std::ffi::OsString;
use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What a run brought.
pub struct Took {
    pub wall_s: f64,
    /// Of the program and of what it started and waited for, in user and kernel mode.
    pub cpu_s: f64,
    /// What it printed.
    pub output: String,
}

/// How it ended that did not end well.
pub struct Failed {
    pub how: String,
    pub output: String,
}

/// What the program loads.
pub struct Library<'a> {
    pub path: &'a str,
    pub lock: &'a str,
    pub only: &'a Found,
    pub counts: &'a Counts,
}

/// How often is looked whether somebody wants it to end.
const LOOK: Duration = Duration::from_millis(100);
/// More of a program's output than this is not searched.
const MOST_OUTPUT: u64 = 64 << 20;

/// Runs the program once, for so long at most.
///
/// # Errors
/// It cannot be started; a signal asks to end.
pub fn run(
    plan: &Plan,
    library: Option<&Library<'_>>,
    at_most: Option<Duration>,
    interruption: &Interruption,
) -> anyhow::Result<Result<Took, Failed>> {
    // A signal of the terminal's reaches these commands too.
    let or_interrupted = |error: anyhow::Error| if interruption.is_requested() { Interrupted.into() } else { error };
    shell("--prepare", plan.prepare.as_deref()).map_err(or_interrupted)?;
    let took = run_alone(plan, library, at_most, interruption);
    shell("--cleanup", plan.cleanup.as_deref()).map_err(or_interrupted)?;
    took
}

fn run_alone(
    plan: &Plan,
    library: Option<&Library<'_>>,
    at_most: Option<Duration>,
    interruption: &Interruption,
) -> anyhow::Result<Result<Took, Failed>> {
    let mut printed = tempfile::tempfile().context("a file for what the program prints")?;
    let mut command = Command::new(&plan.program.path);
    command.arg0(&plan.program.words[0]).args(&plan.program.words[1..]).stdin(Stdio::null());
    command.stdout(printed.try_clone()?).stderr(printed.try_clone()?);
    if let Some(library) = library {
        command.env("LD_PRELOAD", preload(library.path)).env(CHOICE, library.lock);
        command.env(COUNTS, library.counts.path());
        if !library.only.is_empty() {
            command.env(ONLY, ranges(library.only));
        }
    }
    own_group(&mut command);
    let began = Instant::now();
    let child = command.spawn().with_context(|| format!("{} cannot be started", plan.program.path.display()))?;
    let pid = child.id();
    let end = wait(pid, began, at_most, interruption)?;
    let wall_s = began.elapsed().as_secs_f64();
    let (status, cpu_s) = reap(pid)?;
    // What it left running would take the CPU from the others.
    signal(pid, libc::SIGKILL);
    let mut bytes = Vec::new();
    printed.rewind()?;
    printed.take(MOST_OUTPUT).read_to_end(&mut bytes)?;
    let output = String::from_utf8_lossy(&bytes).into_owned();
    let how = match end {
        End::Interrupted => return Err(Interrupted.into()),
        End::Late(after) => format!("did not end within {:.0} s", after.as_secs_f64()),
        End::Itself => match (libc::WIFEXITED(status), libc::WEXITSTATUS(status)) {
            (true, 0) => return Ok(Ok(Took { wall_s, cpu_s, output })),
            (true, status) => format!("ended with status {status}"),
            (false, _) => format!("was ended by signal {}", libc::WTERMSIG(status)),
        },
    };
    Ok(Err(Failed { how, output }))
}

/// As the library reads it.
fn ranges(only: &Found) -> String {
    let range = |(_, range): &(String, std::ops::Range<u64>)| format!("{:x}-{:x}", range.start, range.end);
    only.iter().map(range).collect::<Vec<String>>().join(",")
}

fn preload(path: &str) -> OsString {
    let mut list = OsString::from(path);
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        list.push(":");
        list.push(others);
    }
    list
}

/// It and all that it starts can be ended at once, and it does not outlive contend.
fn own_group(command: &mut Command) {
    let parent = std::process::id();
    command.process_group(0);
    // SAFETY: between fork and exec only these two system calls are made, which take no pointers.
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if libc::getppid() as u32 == parent { Ok(()) } else { Err(std::io::Error::other("contend has ended")) }
        });
    }
}

enum End {
    Itself,
    Late(Duration),
    Interrupted,
}

/// Until the program has ended, by itself or because it is made to.
fn wait(pid: u32, began: Instant, at_most: Option<Duration>, interruption: &Interruption) -> anyhow::Result<End> {
    let process = pidfd_open(Pid::from_raw(pid as i32).context("a process has a number")?, PidfdFlags::empty())?;
    let look = Timespec { tv_sec: 0, tv_nsec: LOOK.as_nanos() as i64 };
    loop {
        let mut descriptors = [PollFd::new(&process, PollFlags::IN)];
        match poll(&mut descriptors, Some(&look)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(End::Itself),
            Err(error) => return Err(error.into()),
        }
        let end = match at_most {
            _ if interruption.is_requested() => End::Interrupted,
            Some(at_most) if began.elapsed() > at_most => End::Late(at_most),
            _ => continue,
        };
        signal(pid, libc::SIGKILL);
        return Ok(end);
    }
}

fn signal(group: u32, signal: i32) {
    // SAFETY: the call takes no pointers.
    unsafe { libc::kill(-(group as i32), signal) };
}

/// The end's status, and the CPU time of it and of those that it waited for.
fn reap(pid: u32) -> anyhow::Result<(i32, f64)> {
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointers are to a number and to room for what the call writes.
    while unsafe { libc::wait4(pid as i32, &raw mut status, 0, usage.as_mut_ptr()) } < 0 {
        let error = std::io::Error::last_os_error();
        anyhow::ensure!(error.kind() == std::io::ErrorKind::Interrupted, "wait4: {error}");
    }
    // SAFETY: the call succeeded, and all zeros would be a value too.
    let usage = unsafe { usage.assume_init() };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok((status, seconds(usage.ru_utime) + seconds(usage.ru_stime)))
}
