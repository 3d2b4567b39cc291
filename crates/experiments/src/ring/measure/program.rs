//! Contestants that are programs: building them, and running a program to its end or to its time limit.
//!
//! A program gets its own process group, which is killed with it, and it dies with the thread that started it. So no
//! process is left, whether it ends, hangs, or is interrupted.

use crate::ring::contestants::{Contestant, Recipe, Runs, Source, filled, find_toolchain};
use crate::ring::plan::Absent;
use anyhow::Context;
use harness::{Interruption, Progress};
use instruments::helper;
use instruments::team::on_cpu;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::process::{Pid, PidfdFlags, Signal};
use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The context switches of all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Switches {
    pub voluntary: u64,
    pub involuntary: u64,
}

impl Switches {
    pub fn of(usage: &libc::rusage) -> Self {
        Self { voluntary: usage.ru_nvcsw as u64, involuntary: usage.ru_nivcsw as u64 }
    }

    pub fn since(self, before: Self) -> Self {
        Self {
            voluntary: self.voluntary.saturating_sub(before.voluntary),
            involuntary: self.involuntary.saturating_sub(before.involuntary),
        }
    }
}

/// The program to run, and its environment.
pub struct ProcessSpec<'a> {
    pub words: &'a [String],
    /// The variables, `NAME=value` each.
    pub environment: &'a [String],
    pub folder: &'a Path,
    /// The only CPU that it may run on; otherwise it stays on the caller's.
    pub cpu: Option<usize>,
    pub timeout: Duration,
    /// Whether it receives a signal at the end of this process, instead of being killed.
    pub is_guard: bool,
}

/// The result of a program that ended by itself.
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
    /// Describes how it ended, with its first line on standard error.
    pub fn last_words(&self) -> String {
        let first_line = self.stderr.lines().map(str::trim).find(|line| !line.is_empty());
        let ended = match (self.status.code(), self.status.signal()) {
            (_, Some(signal)) => format!("killed by signal {signal}"),
            (code, _) => format!("exit status {}", code.unwrap_or(-1)),
        };
        first_line.map_or_else(|| ended.clone(), |line| format!("{ended}: {line}"))
    }
}

/// The reasons why a program did not end by itself.
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

/// Runs it, and regularly calls `watch` (once per [`POLL_INTERVAL`] unless it requests a shorter time) with its process
/// ID.
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
    let (mut stdout_bytes, mut stderr_bytes) = (Vec::new(), Vec::new());
    let pidfd = rustix::process::pidfd_open(running.pid, PidfdFlags::empty()).map_err(io::Error::from)?;
    loop {
        let ended =
            wait_for_news(pidfd.as_fd(), &[stdout.as_ref().map(AsFd::as_fd), stderr.as_ref().map(AsFd::as_fd)], every)?;
        let wall = began.elapsed();
        read_what_is_there(&mut stdout, &mut stdout_bytes)?;
        read_what_is_there(&mut stderr, &mut stderr_bytes)?;
        if ended {
            let (status, usage) = running.reap()?;
            let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
            return Ok(Ended {
                wall,
                status,
                stdout: text(stdout_bytes),
                stderr: text(stderr_bytes),
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

/// Waits for the end of the process, for output, or for the time; returns whether the process has ended.
fn wait_for_news(process: BorrowedFd<'_>, outputs: &[Option<BorrowedFd<'_>>], longest: Duration) -> io::Result<bool> {
    let watched = std::iter::once(process).chain(outputs.iter().copied().flatten());
    let mut watched: Vec<_> = watched.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
    let longest = Timespec { tv_sec: 0, tv_nsec: longest.as_nanos().min(999_999_999) as _ };
    match poll(&mut watched, Some(&longest)) {
        Ok(_) => Ok(!watched[0].revents().is_empty()),
        // A signal: the caller checks the flag.
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Reads the available data without waiting, and closes a pipe that has ended, which `poll` would report again and
/// again.
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

/// A process that has not been waited for.
///
/// Dropping kills it and its group.
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
        // A compiler searches it for the assembler.
        command.env("PATH", helper::path());
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

    /// Ends the rest of the group, then reads the process's account.
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
            // Its process ID is not reused before it is waited for.
            let _ = self.reap();
        }
    }
}

/// A temporary directory in which the contestants that are programs are built and run; dropping it removes it.
///
/// Every build has a separate copy of its sources: the files of one compiler might affect another.
pub struct BuildDir<'a> {
    /// The directory; a read-only root may have none, and programs that need no build run anyway.
    folder: Option<TempDir>,
    sources: &'a [Source],
    copies: AtomicUsize,
}

/// A program that can be run: the words before THREADS and HOPS.
#[derive(Clone, Debug, PartialEq)]
pub struct Ready {
    pub words: Vec<String>,
    pub environment: Vec<String>,
    pub folder: PathBuf,
}

/// The state of a contestant that is a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Readiness {
    Ready(Ready),
    /// Its toolchain is missing: these packages contain it.
    Absent(String),
    NotBuilt(String),
    /// The time of the run was up first.
    NoTime,
}

/// The time limit of a build, long enough for a slow compiler on a busy machine.
const BUILD_TIMEOUT: Duration = Duration::from_secs(300);

impl<'a> BuildDir<'a> {
    pub fn open(sources: &'a [Source]) -> anyhow::Result<Self> {
        // The mode does not depend on the umask, since programs are built and run here.
        let private = Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().prefix("contend-ring-").permissions(private).tempdir();
        let folder = match folder {
            Err(error) if std::env::var_os("TMPDIR").is_some() => {
                return Err(error).context("no writable directory for building contestants; set TMPDIR to one");
            }
            found => found.ok(),
        };
        Ok(Self { folder, sources, copies: AtomicUsize::new(0) })
    }

    /// Makes a new copy of a contestant's directory.
    fn copy(&self, of: &str) -> io::Result<PathBuf> {
        let copy = self.path().join(self.copies.fetch_add(1, Ordering::Relaxed).to_string());
        std::fs::create_dir(&copy)?;
        for source in self.sources.iter().filter(|source| source.folder == of) {
            std::fs::write(copy.join(&source.name), &source.content)?;
        }
        Ok(copy)
    }

    /// Returns the directory, for contestants that have none.
    pub fn path(&self) -> &Path {
        self.folder.as_ref().map_or(Path::new("/"), TempDir::path)
    }

    /// Finds toolchains, and builds unless only `looking`; directories in parallel on several `workers`.
    ///
    /// The check of a toolchain has `timeout`, as a run of its contestant has. When interrupted, the result lacks the
    /// rest.
    pub fn prepare(
        &self,
        contestants: &[&Contestant],
        looking: bool,
        timeout: Duration,
        workers: usize,
        (interruption, until): (&Interruption, Option<Instant>),
        progress: &Progress,
    ) -> BTreeMap<String, Readiness> {
        let mut folders: BTreeMap<&str, Vec<&Recipe>> = BTreeMap::new();
        for contestant in contestants {
            if let Runs::Program(recipe) = &contestant.runs {
                folders.entry(&recipe.folder).or_default().push(recipe);
            }
        }
        let folders: Vec<_> = folders.into_values().collect();
        let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
        let work = || {
            while let Some(recipes) = folders.get(next.fetch_add(1, Ordering::Relaxed)) {
                let mut folder_build = FolderBuild {
                    build_dir: self,
                    interruption,
                    until,
                    looking,
                    timeout,
                    built: BTreeMap::new(),
                    checked: BTreeMap::new(),
                };
                for recipe in recipes.iter().take_while(|_| !interruption.is_requested()) {
                    progress.note(&format!("building {}", recipe.name));
                    let is_late = || until.is_some_and(|until| Instant::now() >= until);
                    let readiness = if is_late() { Ok(None) } else { folder_build.prepare(recipe) };
                    // What ended because the time was up did not fail.
                    let readiness = if is_late() { Ok(Some(Readiness::NoTime)) } else { readiness };
                    let readiness = readiness.unwrap_or_else(|error| {
                        Some(Readiness::NotBuilt(format!("{}: {error}", self.path().display())))
                    });
                    let mut done = done.lock().expect("no thread panics with it");
                    done.extend(readiness.map(|readiness| (recipe.name.clone(), readiness)));
                }
            }
        };
        std::thread::scope(|scope| (0..workers.max(1)).for_each(|_| drop(scope.spawn(work))));
        done.into_inner().expect("no thread panics with it")
    }
}

/// Returns the words behind a guard.
///
/// Killing a compiler does not end its children; the guard receives a signal when this process ends, and kills its
/// whole group.
fn guarded(words: &[String]) -> Vec<String> {
    const GUARD: [&str; 4] = ["/bin/sh", "-c", "trap 'kill -9 0' TERM; \"$@\" & wait $!", "guard"];
    GUARD.into_iter().map(str::to_owned).chain(words.iter().cloned()).collect()
}

/// The build of one directory.
struct FolderBuild<'a> {
    build_dir: &'a BuildDir<'a>,
    interruption: &'a Interruption,
    /// The time at which a command is ended.
    until: Option<Instant>,
    looking: bool,
    /// The time limit of a check.
    timeout: Duration,
    /// The builds by tool and command: several contestants may share one.
    built: BTreeMap<(PathBuf, Option<String>), Built>,
    /// The checks of toolchains by their words, with the reason of those that did not end: several contestants have the same.
    checked: BTreeMap<Vec<String>, Result<(), Option<String>>>,
}

/// The reasons why a command did not succeed.
enum Failed {
    Ended(String),
    TimedOut(String),
}

/// A build that has ended.
#[derive(Clone)]
struct Built {
    out: PathBuf,
    /// Its success, or the reason of its failure.
    outcome: Result<(), String>,
}

impl FolderBuild<'_> {
    /// Prepares a contestant; `None` if it was interrupted.
    fn prepare(&mut self, recipe: &Recipe) -> io::Result<Option<Readiness>> {
        if self.build_dir.folder.is_none() {
            return Ok(Some(Readiness::Absent(Absent::NO_FOLDER.to_owned())));
        }
        let folder = self.build_dir.path();
        let mut hung = None;
        let mut checked = std::mem::take(&mut self.checked);
        let suits = |words: &[String]| {
            let check = || match self.perform(words, folder, self.timeout) {
                Some(Ok(())) => Ok(()),
                Some(Err(Failed::TimedOut(why))) => Err(Some(format!("the check of its toolchain: {why} (--timeout)"))),
                Some(Err(Failed::Ended(_))) | None => Err(None),
            };
            let outcome = checked.entry(words.to_vec()).or_insert_with(check);
            if let Err(Some(why)) = outcome {
                hung.get_or_insert_with(|| why.clone());
            }
            outcome.is_ok()
        };
        let toolchain = find_toolchain(recipe, folder, suits);
        self.checked = checked;
        let Some(toolchain) = toolchain else {
            if let Some(why) = hung {
                // Whether the toolchain is installed is unknown.
                return Ok(Some(Readiness::NotBuilt(why)));
            }
            return Ok((!self.interruption.is_requested()).then(|| Readiness::Absent(recipe.package.clone())));
        };
        let Some(Built { out, outcome }) = self.build(recipe, &toolchain)? else { return Ok(None) };
        if let Err(why) = outcome {
            return Ok(Some(Readiness::NotBuilt(why)));
        }
        Ok(Some(Readiness::Ready(Ready {
            words: filled(&recipe.run, &toolchain, &out),
            environment: recipe.environment.iter().flat_map(|words| words.split(' ')).map(str::to_owned).collect(),
            folder: out,
        })))
    }

    /// Builds a contestant; `None` if it was interrupted.
    fn build(&mut self, recipe: &Recipe, toolchain: &Path) -> io::Result<Option<Built>> {
        let key = (toolchain.to_owned(), recipe.build.clone());
        if let Some(known) = self.built.get(&key) {
            return Ok(Some(known.clone()));
        }
        let out = self.build_dir.copy(&recipe.folder)?;
        let outcome = match recipe.build.as_ref().filter(|_| !self.looking) {
            Some(build) => self.perform(&filled(build, toolchain, &out), &out, BUILD_TIMEOUT),
            None => Some(Ok(())),
        };
        let Some(outcome) = outcome else { return Ok(None) };
        let outcome = outcome.map_err(|(Failed::Ended(why) | Failed::TimedOut(why))| why);
        let built = Built { out, outcome };
        self.built.insert(key, built.clone());
        Ok(Some(built))
    }

    /// Runs the command, and returns its success or the reason of its failure; `None` if it was interrupted.
    fn perform(&self, words: &[String], folder: &Path, timeout: Duration) -> Option<Result<(), Failed>> {
        // Temporary files of a compiler are removed with the directory.
        let environment = [format!("TMPDIR={}", self.build_dir.path().display())];
        let left = self.until.map_or(timeout, |until| until.saturating_duration_since(Instant::now()));
        let spec = ProcessSpec {
            words: &guarded(words),
            environment: &environment,
            folder,
            cpu: None,
            timeout: left.min(timeout),
            is_guard: true,
        };
        Some(match run(&spec, self.interruption, None, |_| ()) {
            Ok(ended) if ended.status.success() => Ok(()),
            Ok(ended) => Err(Failed::Ended(ended.last_words())),
            Err(Stopped::Interrupted) => return None,
            Err(Stopped::TimedOut) => Err(Failed::TimedOut(format!("it took longer than {} s", timeout.as_secs_f64()))),
            Err(Stopped::Refused(error)) => Err(Failed::Ended(error.to_string())),
        })
    }
}
