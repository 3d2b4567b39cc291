//! One run of one contestant, in this process or as a program, and the check of its answer.
//!
//! A program is run to its end, or to its time limit. It gets its own process group, which is killed with it, and it
//! dies with the thread that started it. So no process is left, whether it ends, hangs, or is interrupted.

use super::build_dir::Ready;
use super::cell::Cut;
use crate::ring::record::{Failure, Fault};
use harness::{Interruption, Session};
use instruments::cpus::pin_current_thread;
use instruments::neighbour::{Probe, Probed};
use instruments::statistics::order::median;
use instruments::team::on_cpu;
use loops::ring::{BuiltIn, RingResult, RingSpec};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::process::{Pid, PidfdFlags, Signal};
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::panic::catch_unwind;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// What a run that ended well took.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub answer: usize,
    /// From start to end.
    pub total_ns: f64,
    /// The time of the hops alone, where that is known.
    pub hops_ns: Option<f64>,
    pub wasted_polls: Option<u64>,
    pub switches: Switches,
    /// The time of a hop in each part, in ns: the median of the part's pieces; and the use of the core by an SMT
    /// sibling. Empty without probes.
    pub parts: Vec<(f64, Probed)>,
}

/// Switches of the kernel, of all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Switches {
    pub voluntary: u64,
    pub involuntary: u64,
}

/// Why there is no such run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunError {
    Interrupted,
    Failed(Failure),
}

fn failed(fault: Fault, message: impl Into<String>) -> RunError {
    RunError::Failed(Failure { fault, message: message.into() })
}

/// The answer, if it is the number of the thread that must get the last token.
fn judged(answer: usize, threads: usize, hops: u64) -> Result<usize, RunError> {
    let right = (hops % threads as u64) as usize + 1;
    if answer == right {
        return Ok(answer);
    }
    Err(failed(
        Fault::WrongThread,
        format!("{threads} threads, {hops} hops: the answer is {answer}; expected: {right}"),
    ))
}

/// Runs a contestant of this process, on the CPU given or wherever the session's threads may run, in parts and
/// pieces. Its hops look at no flag: a signal leaves it behind.
pub fn built_in(
    built_in: &BuiltIn,
    spec: &RingSpec,
    place: Place,
    cut: Cut,
    session: &Session,
) -> Result<Run, RunError> {
    let (run, own_spec) = (built_in.run, spec.clone());
    let timed = move || timed(run, &own_spec, place, cut);
    let caught = move || catch_unwind(timed);
    let refused = |error: io::Error| failed(Fault::Crashed, refusal(&error, spec));
    let outcome: std::thread::Result<io::Result<_>> =
        session.interruption.unless_requested(caught).map_err(refused)?.ok_or(RunError::Interrupted)?;
    match outcome {
        Ok(Ok((whole, switches))) => whole.judged(spec, switches),
        Ok(Err(error)) => Err(failed(Fault::Crashed, refusal(&error, spec))),
        Err(_) => Err(failed(Fault::Crashed, "it panicked")),
    }
}

fn timed(
    run: fn(&RingSpec) -> io::Result<RingResult>,
    spec: &RingSpec,
    place: Place,
    cut: Cut,
) -> io::Result<(Whole, Switches)> {
    if let Some(cpu) = place.cpu {
        pin_current_thread(cpu)?;
    }
    // A contestant that may move between CPUs, or uses several, has no single core to probe.
    let probe = place.probe.filter(|_| place.cpu.is_some());
    let before = switches_so_far();
    let mut whole = Whole::default();
    let mut pieces = Vec::with_capacity(cut.pieces as usize);
    let mut last = probe.map(|probe| probe.take());
    for _ in 0..cut.parts {
        for _ in 0..cut.pieces {
            let began = Instant::now();
            let piece = run(spec)?;
            whole.add(&piece, began.elapsed());
            pieces.push(piece.hops_ns / spec.hops.max(1) as f64);
        }
        let next = probe.map(|probe| probe.take());
        let probed = last.zip(next).map(|(before, after)| Probed::between(before, after));
        whole.parts.extend(median(&pieces).zip(probed));
        pieces.clear();
        last = next;
    }
    Ok((whole, switches_so_far().since(before)))
}

/// Where a contestant runs, and what looks for others there.
#[derive(Clone, Copy)]
pub struct Place {
    pub cpu: Option<usize>,
    pub probe: Option<Probe>,
}

/// The parts of a run together.
#[derive(Default)]
struct Whole {
    answers: Vec<usize>,
    total_ns: f64,
    hops_ns: f64,
    wasted_polls: Option<u64>,
    parts: Vec<(f64, Probed)>,
}

impl Whole {
    fn add(&mut self, part: &RingResult, took: Duration) {
        self.answers.push(part.answer);
        self.total_ns += took.as_nanos() as f64;
        self.hops_ns += part.hops_ns;
        if let Some(wasted) = part.wasted_polls {
            *self.wasted_polls.get_or_insert(0) += wasted;
        }
    }

    fn judged(self, spec: &RingSpec, switches: Switches) -> Result<Run, RunError> {
        let judged = self.answers.iter().map(|&answer| judged(answer, spec.threads, spec.hops));
        let answers: Vec<usize> = judged.collect::<Result<_, _>>()?;
        Ok(Run {
            answer: answers.last().copied().unwrap_or_default(),
            total_ns: self.total_ns,
            hops_ns: Some(self.hops_ns),
            wasted_polls: self.wasted_polls,
            switches,
            parts: self.parts,
        })
    }
}

fn refusal(error: &io::Error, spec: &RingSpec) -> String {
    let threads = spec.threads;
    match error.kind() {
        io::ErrorKind::WouldBlock => {
            format!("cannot start {threads} threads: {error}; use fewer --threads or raise `ulimit -u`")
        }
        _ => format!("{threads} threads: {error}"),
    }
}

impl Switches {
    fn of(usage: &libc::rusage) -> Self {
        Self { voluntary: usage.ru_nvcsw as u64, involuntary: usage.ru_nivcsw as u64 }
    }

    fn since(self, before: Self) -> Self {
        Self {
            voluntary: self.voluntary.saturating_sub(before.voluntary),
            involuntary: self.involuntary.saturating_sub(before.involuntary),
        }
    }
}

/// Switches of all threads of this process, ended ones included.
fn switches_so_far() -> Switches {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to memory of the right size; all zeros is a valid value, should the call fail.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    Switches::of(&usage)
}

/// The run that a program is to do.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    pub threads: usize,
    pub hops: u64,
    pub cpu: Option<usize>,
    pub timeout: Duration,
}

/// Runs a program; `watch` gets its process id every so often.
pub fn program(
    ready: &Ready,
    order: &Order,
    session: &Session,
    every: Option<Duration>,
    watch: impl FnMut(u32) + Send,
) -> Result<Run, RunError> {
    let &Order { threads, hops, cpu, timeout } = order;
    let mut words = ready.words.clone();
    words.extend([threads.to_string(), hops.to_string()]);
    let (environment, folder) = (ready.environment.as_slice(), ready.folder.as_path());
    let spec = ProcessSpec { words: &words, environment, folder, cpu, timeout, is_guard: false };
    let ended = run(&spec, &session.interruption, every, watch).map_err(|stopped| match stopped {
        Stopped::Interrupted => RunError::Interrupted,
        Stopped::TimedOut => failed(
            Fault::Hung,
            format!("{threads} threads, {hops} hops: not finished after {} s (--timeout)", timeout.as_secs_f64()),
        ),
        Stopped::Refused(error) => failed(Fault::Crashed, format!("{}: {error}", words[0])),
    })?;
    let ring = format!("{threads} threads, {hops} hops");
    if !ended.status.success() {
        return Err(failed(Fault::Crashed, format!("{ring}: {}", ended.last_words())));
    }
    let answer = ended.stdout.trim_end().parse().map_err(|_| {
        let printed: String = ended.stdout.chars().take(40).collect();
        failed(Fault::Garbage, format!("{ring}: the output {printed:?} is not a thread number"))
    })?;
    Ok(Run {
        answer: judged(answer, threads, hops)?,
        total_ns: ended.wall.as_nanos() as f64,
        hops_ns: None,
        wasted_polls: None,
        switches: ended.switches,
        parts: Vec::new(),
    })
}

/// What to run, and how.
pub struct ProcessSpec<'a> {
    pub words: &'a [String],
    /// `NAME=value` each.
    pub environment: &'a [String],
    pub folder: &'a Path,
    /// The one CPU that it may run on; otherwise it stays on the caller's.
    pub cpu: Option<usize>,
    pub timeout: Duration,
    /// Whether it hears of the end of this process, instead of being killed.
    pub is_guard: bool,
}

/// How a program ended by itself.
#[derive(Debug)]
pub struct Ended {
    pub wall: Duration,
    pub status: ExitStatus,
    /// Its output, up to [`KEPT`] bytes each.
    pub stdout: String,
    pub stderr: String,
    pub switches: Switches,
}

impl Ended {
    /// How it ended, and its first line on standard error.
    pub fn last_words(&self) -> String {
        let said = self.stderr.lines().map(str::trim).find(|line| !line.is_empty());
        let ended = match (self.status.code(), self.status.signal()) {
            (_, Some(signal)) => format!("killed by signal {signal}"),
            (code, _) => format!("exit status {}", code.unwrap_or(-1)),
        };
        said.map_or_else(|| ended.clone(), |said| format!("{ended}: {said}"))
    }
}

/// Why a program did not end by itself.
#[derive(Debug)]
pub enum Stopped {
    Interrupted,
    TimedOut,
    /// It could not be started or waited for.
    Refused(io::Error),
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Self::Refused(error)
    }
}

const KEPT: usize = 64 * 1024;
/// How often the request to end is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Runs it, and calls `watch` every so often (once a [`POLL_INTERVAL`] without a shorter wish) with its process id.
pub fn run(
    spec: &ProcessSpec<'_>,
    interruption: &Interruption,
    every: Option<Duration>,
    mut watch: impl FnMut(u32) + Send,
) -> Result<Ended, Stopped> {
    let mut attend = || attend(spec, interruption, every.unwrap_or(POLL_INTERVAL), &mut watch);
    match spec.cpu {
        Some(cpu) => on_cpu(cpu, attend)?,
        None => attend(),
    }
}

fn attend(
    spec: &ProcessSpec<'_>,
    interruption: &Interruption,
    every: Duration,
    watch: &mut dyn FnMut(u32),
) -> Result<Ended, Stopped> {
    let began = Instant::now();
    let mut running = Running::start(spec)?;
    let (mut stdout, mut stderr) = (running.child.stdout.take(), running.child.stderr.take());
    let (mut said, mut complained) = (Vec::new(), Vec::new());
    let pidfd = rustix::process::pidfd_open(running.pid, PidfdFlags::empty()).map_err(io::Error::from)?;
    loop {
        let ended =
            wait_for_news(pidfd.as_fd(), &[stdout.as_ref().map(AsFd::as_fd), stderr.as_ref().map(AsFd::as_fd)], every)?;
        let wall = began.elapsed();
        read_what_is_there(&mut stdout, &mut said)?;
        read_what_is_there(&mut stderr, &mut complained)?;
        if ended {
            let (status, usage) = running.reap()?;
            let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
            return Ok(Ended {
                wall,
                status,
                stdout: text(said),
                stderr: text(complained),
                switches: Switches::of(&usage),
            });
        }
        if interruption.is_requested() {
            return Err(Stopped::Interrupted);
        }
        if wall > spec.timeout {
            return Err(Stopped::TimedOut);
        }
        watch(running.pid.as_raw_pid() as u32);
    }
}

/// Whether the process has ended; waits for that, for output, or for the time.
fn wait_for_news(process: BorrowedFd<'_>, outputs: &[Option<BorrowedFd<'_>>], longest: Duration) -> io::Result<bool> {
    let watched = std::iter::once(process).chain(outputs.iter().copied().flatten());
    let mut watched: Vec<_> = watched.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
    let longest = Timespec { tv_sec: 0, tv_nsec: longest.as_nanos().min(999_999_999) as _ };
    match poll(&mut watched, Some(&longest)) {
        Ok(_) => Ok(!watched[0].revents().is_empty()),
        // A signal: the caller looks at the flag.
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Reads without waiting, and closes a pipe that has ended, which `poll` would report again and again.
fn read_what_is_there<P: Read>(pipe: &mut Option<P>, kept: &mut Vec<u8>) -> io::Result<()> {
    let mut buffer = [0; 4096];
    while let Some(open) = pipe {
        match open.read(&mut buffer) {
            Ok(0) => *pipe = None,
            Ok(length) => {
                let room = KEPT.saturating_sub(kept.len());
                kept.extend_from_slice(&buffer[..length.min(room)]);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A process that has not been waited for. Dropping kills it and its group.
struct Running {
    child: Child,
    pid: Pid,
    reaped: bool,
}

impl Running {
    fn start(spec: &ProcessSpec<'_>) -> io::Result<Self> {
        let Some((program, arguments)) = spec.words.split_first() else {
            return Err(io::Error::other("an empty command"));
        };
        let mut command = Command::new(program);
        command.args(arguments).current_dir(spec.folder).process_group(0);
        command.envs(spec.environment.iter().filter_map(|word| word.split_once('=')));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let signal = if spec.is_guard { Signal::TERM } else { Signal::KILL };
        let die_with_parent = move || Ok(rustix::process::set_parent_process_death_signal(Some(signal))?);
        // SAFETY: between fork and exec the closure makes one system call; it allocates nothing and takes no lock.
        unsafe { command.pre_exec(die_with_parent) };
        let child = command.spawn()?;
        let pid = Pid::from_child(&child);
        let running = Self { child, pid, reaped: false };
        let pipes = [running.child.stdout.as_ref().map(AsFd::as_fd), running.child.stderr.as_ref().map(AsFd::as_fd)];
        for pipe in pipes.into_iter().flatten() {
            rustix::io::ioctl_fionbio(pipe, true)?;
        }
        Ok(running)
    }

    /// Ends whatever is left of the group, then takes the process's account.
    fn reap(&mut self) -> io::Result<(ExitStatus, libc::rusage)> {
        let _ = rustix::process::kill_process_group(self.pid, Signal::KILL);
        let mut status = 0;
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        loop {
            // SAFETY: both pointers are to memory of the right size that outlives the call.
            if unsafe { libc::wait4(self.pid.as_raw_pid(), &mut status, 0, usage.as_mut_ptr()) } >= 0 {
                break;
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        self.reaped = true;
        // SAFETY: all zeros is a valid value, and the call has filled it.
        Ok((ExitStatus::from_raw(status), unsafe { usage.assume_init() }))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.reaped {
            // Its number is not given to another process before it is waited for.
            let _ = self.reap();
        }
    }
}
