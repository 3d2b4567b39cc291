//! The waits of goroutines for mutexes, channels and other objects, of an unmodified Go program.

mod rows;

use super::diagnosis::UNSEEN_GOROUTINES;
use super::measure::Measured;
use blame::golang::{Event, Follower, Probes, Program};
use blame::names::{Elf, Names, map_of, message, open_regular, parse};
use blame::watchpoints::{Limits, Schedule};
use instruments::clock::monotonic_raw_ns;
use instruments::warning::{Warning, WarningKind};
use rows::Builder;
use serde::Serialize;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A Go program whose goroutines are followed, by a thread of contend; nothing for another program.
pub struct Watch {
    pid: u32,
    work: Option<(Arc<AtomicBool>, JoinHandle<Watched>)>,
}

/// The waits, and the conditions under which they were seen.
struct Watched {
    names: Names,
    follower: Follower,
    elapsed_s: f64,
    watched_s: f64,
    lost: u64,
    /// The reason why there are none.
    refused: Option<UnseenGoroutines>,
}

/// The part of one CPU's time that the probes may take, and the time that one takes at most.
const BUDGET: f64 = 0.02;
const COST_NS: f64 = 4_000.0;
/// A window is long compared with most waits.
const LIMITS: Limits = Limits { window_s: 0.25, accesses: 50_000 };
const TICK: Duration = Duration::from_millis(5);
const MAPS_PERIOD: Duration = Duration::from_millis(500);
/// The sections that every Go program has, and other programs do not.
const MARKS: [&str; 3] = [".note.go.buildid", ".go.buildinfo", ".gopclntab"];
/// Bytes of the file's headers that are read.
const ROOM: u64 = 1 << 20;
/// Windows that cover more of the run are not worth a warning.
const NEARLY_ALL: f64 = 0.95;

impl Watch {
    /// Follows the goroutines of a running process, if it is a Go program, from the return of this call on.
    pub fn attach(pid: u32) -> Self {
        let (ready, opened) = channel();
        let watch = Self::start(pid, Some(ready));
        // A thread that has ended has closed the channel.
        let _ = opened.recv();
        watch
    }

    /// Follows those of a program that was just started.
    pub fn begin(pid: u32) -> Self {
        Self::start(pid, None)
    }

    fn start(pid: u32, ready: Option<Sender<()>>) -> Self {
        if !is_go(pid) {
            return Self { pid, work: None };
        }
        let stop = Arc::new(AtomicBool::new(false));
        let is_stopped = Arc::clone(&stop);
        Self { pid, work: Some((stop, std::thread::spawn(move || watch(pid, ready, &is_stopped)))) }
    }

    /// Ends it, and adds the waits to the result: the rows, the verdict, and the findings.
    pub fn finish(mut self, measured: &mut Measured) {
        let Some((stop, thread)) = self.work.take() else { return };
        stop.store(true, Relaxed);
        let Ok(mut watched) = thread.join() else { return };
        // The waits are those of the whole trace.
        let parts = || UnseenGoroutines { reason: "not with --every".into(), need: Need::WholeTrace };
        let refused = measured.parameters.part.is_some().then(parts);
        if let Some(refused) = watched.refused.take().or(refused) {
            let reason = measured.parameters.verdict_reason.as_mut();
            let is_permitted = refused.need != Need::Permission;
            let reason = reason.filter(|reason| !is_permitted && *reason == UNSEEN_GOROUTINES);
            reason.into_iter().for_each(|reason| reason.push_str(BY_PERMISSION));
            measured.warnings.push(refused.into());
            return;
        }
        let share = (watched.watched_s / watched.elapsed_s.max(f64::MIN_POSITIVE)).min(1.0);
        let lost = watched.lost;
        let warning = GoroutineWindows { watched_share: share, lost_events: lost };
        measured.warnings.extend((share < NEARLY_ALL || lost > 0).then(|| Warning::from(warning)));
        let (elapsed_s, scale) = (measured.parameters.elapsed_s, watched.scale(measured.parameters.elapsed_s));
        Builder { process: self.pid, names: &mut watched.names, follower: &watched.follower, elapsed_s, scale }
            .add_to(measured);
    }
}

impl Watched {
    /// Returns the ratio of the trace's time to that of the windows. The probes stay until the trace has its other rows,
    /// which takes longer where contend gets no CPU: sums are still those of the trace.
    fn scale(&self, of_trace_s: f64) -> f64 {
        of_trace_s / self.watched_s.max(f64::MIN_POSITIVE)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.work.take() {
            stop.store(true, Relaxed);
            // The measurement has failed for another reason.
            let _ = thread.join();
        }
    }
}

fn is_go(pid: u32) -> bool {
    let file = open_regular(format!("/proc/{pid}/exe").as_ref()).ok();
    let elf = file.and_then(|file| Elf::open(file, ROOM));
    elf.is_some_and(|elf| MARKS.iter().any(|mark| elf.section(mark).is_some()))
}

fn watch(pid: u32, ready: Option<Sender<()>>, stop: &AtomicBool) -> Watched {
    let mut watched = Watched {
        names: Names::default(),
        follower: Follower::default(),
        elapsed_s: 0.0,
        watched_s: 0.0,
        lost: 0,
        refused: None,
    };
    if let Err(refused) = follow(pid, ready, stop, &mut watched) {
        watched.refused = Some(refused);
    }
    watched
}

fn follow(
    pid: u32,
    mut ready: Option<Sender<()>>,
    stop: &AtomicBool,
    watched: &mut Watched,
) -> Result<(), UnseenGoroutines> {
    let unknown = |reason: &str| UnseenGoroutines { reason: reason.to_owned(), need: Need::Profile };
    let map = map_of(pid).ok_or_else(|| unknown("the memory map of the process cannot be read"))?;
    watched.names.learn(0, Some(pid), &map);
    let program = Program::find(&mut watched.names, 0, pid, &parse(&map));
    let program = program.and_then(Result::ok).ok_or_else(|| {
        unknown(
            "the functions of its runtime were not found, or begin in an unknown way: contend knows Go 1.21 and later on \
             x86-64",
        )
    })?;
    let cpus: Vec<usize> = instruments::cpus::online().map_err(UnseenGoroutines::from)?.iter().collect();
    let began = Instant::now();
    let mut schedule = Schedule::new(BUDGET, LIMITS, began);
    let mut probes: Option<Probes> = None;
    // The begin of the window: contend can lose the CPU after it has opened the probes, and such events are not of it.
    let mut from_ns = 0;
    let mut next_maps = began + MAPS_PERIOD;
    loop {
        // A process that has ended has no program, although its parent may not know yet.
        let has_ended = std::fs::read_link(format!("/proc/{pid}/exe")).is_err();
        let (is_last, time) = (has_ended || stop.load(Relaxed), Instant::now());
        if probes.is_none() && !is_last && schedule.is_due(time) {
            match Probes::open(&program, &cpus) {
                Ok(opened) => probes = Some(opened),
                Err(error) if watched.watched_s == 0.0 => return Err(error.into()),
                // The process may have ended just now; the waits of the windows before count.
                Err(_) => {
                    watched.elapsed_s = began.elapsed().as_secs_f64();
                    return Ok(());
                }
            }
            schedule.opened(Instant::now(), 0.0);
            from_ns = monotonic_raw_ns();
            // The receiver of a program that was just started does not wait.
            let _ = ready.take().map(|ready| ready.send(()).is_ok());
        }
        if let Some(open) = &mut probes {
            let until = monotonic_raw_ns();
            let lost = open.lost;
            let events = open.drain(until);
            if open.lost > lost {
                watched.lost += open.lost - lost;
                watched.follower.forget_goroutines(until);
            }
            let count = events.len() as u64;
            let within = events.into_iter().filter(|event: &Event| event.at_ns >= from_ns);
            within.for_each(|event| watched.follower.note(event));
            if schedule.spend(count, COST_NS, Instant::now()) || is_last {
                watched.watched_s += schedule.closed(Instant::now(), 0.0);
                probes = None;
                watched.follower.forget_goroutines(until);
            }
        }
        if is_last {
            watched.elapsed_s = began.elapsed().as_secs_f64();
            return Ok(());
        }
        if time >= next_maps {
            if let Some(map) = map_of(pid) {
                watched.names.learn(0, Some(pid), &map);
            }
            next_maps = time + MAPS_PERIOD;
        }
        std::thread::sleep(TICK);
    }
}

/// The words that follow the verdict where only a permission is missing.
const BY_PERMISSION: &str = " So does contend as root, or with CAP_PERFMON.";

/// The waits of goroutines were not seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnseenGoroutines {
    /// The reason, in the system's words.
    pub reason: String,
    #[serde(skip)]
    need: Need,
}

/// The change that makes them visible.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Need {
    Permission,
    OpenFiles,
    Kernel,
    WholeTrace,
    /// Nothing that contend knows: the program's own profiles have them.
    Profile,
}

impl From<io::Error> for UnseenGoroutines {
    fn from(error: io::Error) -> Self {
        let need = match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => Need::Permission,
            Some(libc::EMFILE | libc::ENFILE) => Need::OpenFiles,
            // The process may have ended.
            Some(libc::ENOENT) if blame::golang::has_probes() => Need::Profile,
            // Without the file of the probes' kind, or with one of another kind.
            Some(libc::ENOENT | libc::EINVAL | libc::ENOSYS | libc::ENODEV | libc::EOPNOTSUPP) => Need::Kernel,
            _ => Need::Profile,
        };
        Self { reason: message(&error), need }
    }
}

impl WarningKind for UnseenGoroutines {
    const CODE: &'static str = "unseen_goroutines";

    fn message(&self) -> String {
        format!("waits of goroutines for mutexes and channels were not seen ({})", self.reason)
    }

    fn remedy(&self) -> &'static str {
        match self.need {
            Need::Permission => {
                "run contend as root or `sudo setcap cap_perfmon,cap_sys_ptrace+ep $(command -v contend)`, or use the \
                 program's own profiles (/debug/pprof/mutex and /debug/pprof/block)"
            }
            Need::OpenFiles => "raise the limit of open files with `ulimit -n`, or close other programs' files",
            Need::Kernel => {
                "use a kernel with uprobes (CONFIG_UPROBE_EVENTS), or the program's own profiles (/debug/pprof/mutex and \
                 /debug/pprof/block)"
            }
            Need::WholeTrace => "trace the program without --every",
            Need::Profile => "use the program's own profiles (/debug/pprof/mutex and /debug/pprof/block)",
        }
    }
}

/// The waits of goroutines were seen in windows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GoroutineWindows {
    pub watched_share: f64,
    pub lost_events: u64,
}

impl WarningKind for GoroutineWindows {
    const CODE: &'static str = "goroutine_windows";

    fn message(&self) -> String {
        let lost =
            if self.lost_events > 0 { format!(", and {} events were lost", self.lost_events) } else { String::new() };
        format!(
            "goroutines were followed in windows, {} of the time{lost}: counts and quantiles are those of the windows, and \
             sums are extrapolated",
            terminal::percent(self.watched_share)
        )
    }

    fn remedy(&self) -> &'static str {
        "trace for longer; a wait that is longer than a window is counted as several"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_trace_although_the_probes_stay() {
        let watched = Watched {
            names: Names::default(),
            follower: Follower::default(),
            elapsed_s: 4.0,
            watched_s: 2.0,
            lost: 0,
            refused: None,
        };
        assert_eq!(watched.scale(3.0), 1.5);
    }

    #[test]
    fn remedy_follows_the_systems_error() {
        // A file is missing: that of the probes' kind, or else that of a process that ended.
        let missing = if blame::golang::has_probes() { "own profiles" } else { "CONFIG_UPROBE_EVENTS" };
        for (error, part) in [
            (libc::EACCES, "setcap"),
            (libc::EMFILE, "ulimit -n"),
            (libc::EINVAL, "CONFIG_UPROBE_EVENTS"),
            (libc::ENOENT, missing),
            (libc::EIO, "own profiles"),
        ] {
            let refused = UnseenGoroutines::from(io::Error::from_raw_os_error(error));
            assert!(refused.remedy().contains(part), "{error}: {}", refused.remedy());
        }
        let layout = UnseenGoroutines { reason: String::new(), need: Need::Profile };
        assert!(!layout.remedy().contains("root"));
    }
}
