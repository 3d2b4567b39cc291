//! Warnings for the reader of a trace.

use super::plan::Lowered;
use blame::names::Names;
use instruments::warning::{Severity, Warning, WarningKind};
use interpose::{Kind, LABELS, Region};
use launch::Program;
use serde::Serialize;
use std::sync::atomic::Ordering::Relaxed;

/// The remedy for a superuser to whom the kernel refuses its tracepoints.
const TRACEPOINTS: &str = "mount tracefs (`mount -t tracefs nodev /sys/kernel/tracing`), and allow perf events in this container \
                           (CAP_PERFMON, seccomp), to see each wait and the thread that ended it";

/// Returns the remedy for a user, or the one for the superuser.
pub fn by_user(user: &'static str, root: &'static str) -> &'static str {
    if rustix::process::geteuid().is_root() { root } else { user }
}

/// Whether holders ran is not known.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NoSwitches {
    /// The system's words.
    pub reason: String,
}

impl WarningKind for NoSwitches {
    const CODE: &'static str = "no_switches";

    fn message(&self) -> String {
        format!(
            "context switches were not recorded ({}): whether holders ran while others waited is unknown",
            self.reason
        )
    }

    fn remedy(&self) -> &'static str {
        "run `sudo sysctl kernel.perf_event_paranoid=2`, or `sudo setcap cap_perfmon+ep $(command -v contend)`"
    }
}

/// No call of the C library's locks was seen: all results come from outside of the program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NoLockCalls {
    /// Whether the program loaded contend's library.
    pub is_loaded: bool,
    /// Whether its futex calls were traced.
    pub has_futex_calls: bool,
}

impl WarningKind for NoLockCalls {
    const CODE: &'static str = "no_lock_calls";

    fn message(&self) -> String {
        let why = if self.is_loaded {
            "the program used none of the C library's locks"
        } else {
            "the program did not load contend's library (it is static, privileged, or its loader ignores LD_PRELOAD)"
        };
        if self.has_futex_calls {
            format!("{why}: its waits in the kernel were traced instead")
        } else {
            format!("{why}: all values come from samples of its threads' states")
        }
    }

    fn remedy(&self) -> &'static str {
        if self.has_futex_calls {
            "expect no acquisitions without a wait, and no hold times: only waits are seen"
        } else {
            by_user(
                "for single waits and who ended them, run contend as root, or attach as root: `contend trace --pid PID`",
                "attach while it runs for single waits and who ended them: `contend trace --pid PID`",
            )
        }
    }

    fn severity(&self) -> Severity {
        if self.has_futex_calls { Severity::Advice } else { Severity::LimitsConclusion }
    }
}

/// A program that was traced from outside called a lock of the C library.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LateLockCalls {
    /// When, in seconds since it was started.
    pub since_s: f64,
}

impl WarningKind for LateLockCalls {
    const CODE: &'static str = "late_lock_calls";
    const SEVERITY: Severity = Severity::Advice;

    fn message(&self) -> String {
        format!(
            "the program first called a lock of the C library at second {:.1}: its calls count since then, and of other \
             locks, and of the time before, only samples",
            self.since_s
        )
    }

    fn remedy(&self) -> &'static str {
        by_user(
            "for single waits for other locks, attach as root while it runs: `contend trace --pid PID`",
            "for single waits for other locks, attach while it runs: `contend trace --pid PID`",
        )
    }
}

/// The program cannot load contend's library, so it was traced from outside.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NoLibrary {
    /// The reason why it cannot.
    pub why: &'static str,
    /// The system's words where its futex calls could not be traced either.
    pub reason: Option<String>,
}

impl WarningKind for NoLibrary {
    const CODE: &'static str = "no_library";

    fn message(&self) -> String {
        let why = self.why.split("; ").next().unwrap_or(self.why);
        match &self.reason {
            None => format!("the program is {why}: only its waits in the kernel were traced"),
            Some(reason) => {
                format!(
                    "the program is {why}, and its futex calls were not traced ({reason}): all values come from \
                         samples of its threads' states"
                )
            }
        }
    }

    fn remedy(&self) -> &'static str {
        match (&self.reason, self.why.split_once("; ")) {
            (Some(_), _) => by_user(
                "run contend as root, or with CAP_PERFMON and a readable tracefs, for every single wait",
                TRACEPOINTS,
            ),
            (None, Some(_)) => "link the program dynamically for acquisitions, hold times, and holders by call site",
            (None, None) => "expect no acquisitions without a wait, and no hold times: only waits are seen",
        }
    }

    /// Waits in the kernel are all that decides; samples alone do not show who ended them.
    fn severity(&self) -> Severity {
        if self.reason.is_some() { Severity::LimitsConclusion } else { Severity::Advice }
    }
}

/// The futex calls of a process that contend attached to were not traced.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NoFutexCalls {
    /// The system's words.
    pub reason: String,
}

impl WarningKind for NoFutexCalls {
    const CODE: &'static str = "no_futex_calls";

    fn message(&self) -> String {
        format!("futex calls were not traced ({}): all values come from samples of the threads' states", self.reason)
    }

    fn remedy(&self) -> &'static str {
        by_user(
            "run contend with sudo, or grant CAP_PERFMON and a readable tracefs, to see each wait and the thread that ended it",
            TRACEPOINTS,
        )
    }
}

/// The program is a script.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WatchedScript {
    /// The program that the kernel starts for it.
    pub interpreter: String,
}

impl WatchedScript {
    /// Returns the warning if the program is a script.
    pub fn of(program: &Program) -> Option<Warning> {
        let interpreter = program.interpreter.as_ref()?;
        Some(Self { interpreter: interpreter.display().to_string() }.into())
    }
}

impl WarningKind for WatchedScript {
    const CODE: &'static str = "watched_script";
    const SEVERITY: Severity = Severity::Advice;

    fn message(&self) -> String {
        format!("the program is a script: {} and the programs that it starts are traced", self.interpreter)
    }

    fn remedy(&self) -> &'static str {
        "name the program itself to trace it alone"
    }
}

/// Files whose code has no names.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnnamedCode {
    pub files: Vec<UnnamedFile>,
}

/// A file, by the path at which it was mapped.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnnamedFile {
    pub path: String,
    pub reason: String,
}

/// Files that are named in one warning.
const MOST_FILES: usize = 8;

/// Returns a warning, if names were wanted from files that contend could not use.
pub fn unnamed_code(names: &Names) -> Option<Warning> {
    let file = |(path, reason): (std::path::PathBuf, blame::names::Refusal)| UnnamedFile {
        path: path.display().to_string(),
        reason: reason.to_string(),
    };
    let files: Vec<UnnamedFile> = names.unnamed().into_iter().take(MOST_FILES).map(file).collect();
    (!files.is_empty()).then(|| UnnamedCode { files }.into())
}

impl WarningKind for UnnamedCode {
    const CODE: &'static str = "unnamed_code";

    fn message(&self) -> String {
        let files = self.files.iter().map(|file| format!("{} ({})", file.path, file.reason));
        format!("no symbols could be read from these files: {}", files.collect::<Vec<String>>().join(", "))
    }

    fn remedy(&self) -> &'static str {
        by_user(
            "keep programs and libraries unchanged until contend ends; as root, contend also reads replaced files",
            "keep programs and libraries unchanged until contend ends",
        )
    }
}

/// Not all orders of locks were searched for cycles.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CyclesCut {
    pub reason: String,
}

impl WarningKind for CyclesCut {
    const CODE: &'static str = "cycles_cut";

    fn message(&self) -> String {
        format!("the orders of locks were not all searched for possible deadlocks ({})", self.reason)
    }

    fn remedy(&self) -> &'static str {
        "trace a part of the program that uses fewer locks, and let the trace end by itself"
    }
}

/// An export does not have all waits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExportCut {
    pub waits: u64,
    pub exported: u64,
}

impl WarningKind for ExportCut {
    const CODE: &'static str = "export_cut";

    fn message(&self) -> String {
        format!(
            "--export: the first {} of {} waits were exported",
            terminal::count(self.exported),
            terminal::count(self.waits)
        )
    }

    fn remedy(&self) -> &'static str {
        "trace for a shorter time (--seconds); the record and its tables have all waits"
    }
}

/// The program gave requests more names than are kept apart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ManyLabels {
    /// Requests with further names.
    pub requests: u64,
}

impl WarningKind for ManyLabels {
    const CODE: &'static str = "many_labels";
    const SEVERITY: Severity = Severity::Advice;

    fn message(&self) -> String {
        let requests = terminal::count(self.requests);
        format!(
            "{LABELS} labels have their own rows; {requests} requests with further labels are one row, \"other labels\""
        )
    }

    fn remedy(&self) -> &'static str {
        "label requests by their kind (`GET /users`), not by their content (`GET /users/17`)"
    }
}

/// Single waits were recorded only part of the time, since that cost too much.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordingLowered {
    #[serde(flatten)]
    pub lowered: Lowered,
}

impl WarningKind for RecordingLowered {
    const CODE: &'static str = "recording_lowered";
    const SEVERITY: Severity = Severity::Advice;

    fn message(&self) -> String {
        let Lowered { at_s, from_share, to_share, cost_share } = self.lowered;
        let part = |share: f64| {
            if share < 1.0 { format!("{:.0} % of the time", 100.0 * share) } else { "all of the time".into() }
        };
        format!(
            "recording of single waits was lowered from {} to {}, at second {at_s:.1}, because it would have cost about \
             {:.0} % of the CPU time; counts and sums of waits stay exact",
            part(from_share),
            part(to_share),
            100.0 * cost_share
        )
    }

    fn remedy(&self) -> &'static str {
        "use --full to record everything at that cost"
    }
}

/// Futex calls were recorded in windows, since the events of all programs on the CPUs were too many to record all.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FutexWindows {
    pub watched_share: f64,
}

impl FutexWindows {
    /// Windows of a larger part of the time have nearly all calls.
    const MUCH: f64 = 0.5;
}

impl WarningKind for FutexWindows {
    const CODE: &'static str = "futex_windows";

    fn message(&self) -> String {
        format!(
            "futex calls were recorded for {} of the time, since recording the switches and futex calls of all programs on \
             these CPUs takes too much of them; counts and sums are scaled to all of the time, and a wait that began or \
             ended outside of a window has its part in the window as its length",
            terminal::percent(self.watched_share)
        )
    }

    fn remedy(&self) -> &'static str {
        "use --full to record all of them; that slows the programs"
    }

    fn severity(&self) -> Severity {
        if self.watched_share < Self::MUCH { Severity::LimitsConclusion } else { Severity::Advice }
    }
}

/// `--full` was requested for a program that is traced from outside.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NoFull {
    /// The reason why it is traced from outside.
    pub why: &'static str,
}

impl WarningKind for NoFull {
    const CODE: &'static str = "no_full";

    fn message(&self) -> String {
        let why = self.why.split("; ").next().unwrap_or(self.why);
        format!("--full records each futex call, and no hold: the program is {why}")
    }

    fn remedy(&self) -> &'static str {
        match self.why.contains("; ") {
            true => "link the program dynamically with the GNU C library to time its holds",
            false => "leave --full out: the holds of these locks cannot be timed",
        }
    }
}

/// Functions that matter have no names, since their files were stripped.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NoSymbols {
    pub files: Vec<StrippedFile>,
}

/// A file without symbols.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StrippedFile {
    pub name: String,
    /// The number by which its debugging information is found.
    pub build_id: Option<String>,
}

impl WarningKind for NoSymbols {
    const CODE: &'static str = "no_symbols";

    fn message(&self) -> String {
        let file = |file: &StrippedFile| match &file.build_id {
            Some(id) => format!("{} (build ID {id})", file.name),
            None => file.name.clone(),
        };
        let files = self.files.iter().map(file).collect::<Vec<String>>().join(", ");
        format!("places have addresses instead of names, since these files were stripped: {files}")
    }

    fn remedy(&self) -> &'static str {
        "install their debugging symbols (on Debian and Ubuntu the package NAME-dbgsym), or set DEBUGINFOD_URLS and install \
         debuginfod-find (package debuginfod)"
    }
}

/// The samples show only a part of the time that threads lived.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SparseSamples {
    /// The time of threads that the samples cover.
    pub sampled_s: f64,
    /// The time that threads lived that used locks.
    pub thread_time_s: f64,
}

impl SparseSamples {
    /// Samples that cover less than this part of the time are few.
    const FEW: f64 = 0.75;
    /// A run is too short for samples below this time.
    const SHORT_S: f64 = 0.1;

    /// Returns the warning if the samples cover too little of the time.
    pub fn of(sampled_s: f64, thread_time_s: f64) -> Option<Self> {
        let are_few = thread_time_s >= Self::SHORT_S && sampled_s < Self::FEW * thread_time_s;
        are_few.then_some(Self { sampled_s, thread_time_s })
    }
}

impl WarningKind for SparseSamples {
    const CODE: &'static str = "sparse_samples";

    fn message(&self) -> String {
        let [sampled, all] = [self.sampled_s, self.thread_time_s].map(|seconds| terminal::nanoseconds(seconds * 1e9));
        format!("samples cover {sampled} of the {all} that threads lived; shares of thread time are of the former")
    }

    fn remedy(&self) -> &'static str {
        "trace a longer run, on a machine with an idle CPU; threads that end within milliseconds are hardly sampled"
    }
}

/// The watched program wrote into the memory that its library records into.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DamagedMemory {
    /// Entries that name a lock, a process or a kind of lock that cannot be.
    pub entries: usize,
}

impl DamagedMemory {
    /// Looks for entries that the library cannot have written.
    pub fn found_in(region: &Region) -> Option<Self> {
        let pairs = region.pairs().filter(|(_, pair)| {
            let lock = region.locks.get(pair.lock.load(Relaxed) as usize);
            let process = lock.map_or(usize::MAX, |lock| lock.process.load(Relaxed) as usize);
            let is_process = |place: usize| place < region.processes.len();
            let is_known = is_process(process) && is_process(pair.process.load(Relaxed) as usize);
            !is_known || Kind::of(pair.kind.load(Relaxed)).is_none()
        });
        let entries = pairs.count();
        (entries > 0).then_some(Self { entries })
    }
}

impl WarningKind for DamagedMemory {
    const CODE: &'static str = "damaged_memory";
    const SEVERITY: Severity = Severity::ChangesFigure;

    fn message(&self) -> String {
        format!("the program overwrote memory that contend reads: {} of its entries are impossible", self.entries)
    }

    fn remedy(&self) -> &'static str {
        "do not rely on this record; look for writes through wild pointers in the program, for example with valgrind"
    }
}

/// There were more locks than have separate places.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FoldedLocks {
    /// Acquisitions that were counted by call site only.
    pub acquisitions: u64,
}

impl FoldedLocks {
    /// Returns the warning, if locks share a place; `acquisitions` are those of a pair.
    pub fn found_in(region: &Region, acquisitions: impl Fn(u32) -> u64) -> Option<Self> {
        let is_folded = |pair: &interpose::Pair| {
            region.locks.get(pair.lock.load(Relaxed) as usize).is_some_and(interpose::Lock::is_folded)
        };
        let folded = region.pairs().filter(|(_, pair)| is_folded(pair));
        let acquisitions = folded.fold(0_u64, |sum, (place, _)| sum.saturating_add(acquisitions(place)));
        (acquisitions > 0).then_some(Self { acquisitions })
    }
}

impl WarningKind for FoldedLocks {
    const CODE: &'static str = "folded_locks";
    /// Where these locks have much of the wait, the verdict says so.
    const SEVERITY: Severity = Severity::Advice;

    fn message(&self) -> String {
        format!(
            "the program used more locks than contend keeps apart: {} acquisitions are counted by call site only, and \
             the holders of these locks are unknown",
            terminal::count(self.acquisitions)
        )
    }

    fn remedy(&self) -> &'static str {
        "trace a shorter run of the program to learn the holders of these locks"
    }
}

/// A process, with the name that it gave itself.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Process {
    pub pid: u32,
    pub name: String,
}

/// Processes of the program went on after it had ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutlivedProgram {
    pub processes: Vec<Process>,
}

impl WarningKind for OutlivedProgram {
    const CODE: &'static str = "outlived_program";
    const SEVERITY: Severity = Severity::Advice;

    fn message(&self) -> String {
        let count = self.processes.len();
        let named = self.processes.iter().map(|process| format!("{} (process {})", process.name, process.pid));
        let [are, go] = if count == 1 { ["process", "goes"] } else { ["processes", "go"] };
        format!("the program ended, and {count} {are} of it {go} on: {}", named.collect::<Vec<String>>().join(", "))
    }

    fn remedy(&self) -> &'static str {
        "contend traces them until they end; --seconds or Ctrl-C ends them and the trace"
    }
}

/// Processes ended while they were traced, and others run in their place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RestartedProcess {
    /// The process that ended, and its successor.
    pub restarts: Vec<(Process, Process)>,
}

impl WarningKind for RestartedProcess {
    const CODE: &'static str = "restarted_process";

    fn message(&self) -> String {
        let first = |(old, new): &(Process, Process)| {
            format!("process {} ({}) ended, and process {} runs in its place", old.pid, old.name, new.pid)
        };
        let named = self.restarts.iter().take(MOST_FILES).map(first).collect::<Vec<String>>().join("; ");
        let more = self.restarts.len().saturating_sub(MOST_FILES);
        if more > 0 { format!("{named}; and {more} more") } else { named }
    }

    fn remedy(&self) -> &'static str {
        "the values are sums over these processes; use --every for a record of each period"
    }
}

/// There were more processes than contend traces.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProcessesLeftOut {
    pub left_out: u32,
}

impl WarningKind for ProcessesLeftOut {
    const CODE: &'static str = "processes_left_out";

    fn message(&self) -> String {
        format!("{} were not traced, since there were too many", terminal::counted(self.left_out as usize, "process"))
    }

    fn remedy(&self) -> &'static str {
        "name the processes of interest with --pid"
    }
}

/// Threads waited for more futex words than have separate sums.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FoldedWords {
    pub words: u64,
}

impl WarningKind for FoldedWords {
    const CODE: &'static str = "folded_words";
    const SEVERITY: Severity = Severity::Advice;

    fn message(&self) -> String {
        let words = terminal::count(self.words);
        format!("the threads waited for very many futex words: the waits for {words} of them are summed by call site")
    }

    fn remedy(&self) -> &'static str {
        "use --every for shorter periods, in which fewer words are summed"
    }
}

/// Programs that the traced one started ran without contend's library.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnloadedProgram {
    /// The first of them.
    pub name: String,
    pub count: u32,
}

impl UnloadedProgram {
    /// Returns those that the library has noted.
    pub fn of(region: &Region) -> Option<Self> {
        let header = &region.header;
        let count = Some(header.left_out.load(Relaxed)).filter(|count| *count > 0)?;
        let name: Vec<u8> =
            header.left_out_name.iter().map(|byte| byte.load(Relaxed)).take_while(|&byte| byte != 0).collect();
        Some(Self { name: String::from_utf8_lossy(&name).into_owned(), count })
    }
}

impl WarningKind for UnloadedProgram {
    const CODE: &'static str = "unloaded_program";

    fn message(&self) -> String {
        let others = match self.count - 1 {
            0 => String::new(),
            1 => " and another program".into(),
            others => format!(" and {others} other programs"),
        };
        format!("{}{others} cannot load contend's library, so their locks are not traced", self.name)
    }

    fn remedy(&self) -> &'static str {
        "run programs for this machine and the GNU C library, as contend's user and with its /proc; or attach to the \
         process as root: `contend trace --pid PID`"
    }
}

/// A process ran without contend's library since it is another user's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnwatchedUser {
    pub process: String,
    /// Whether its futex calls were traced.
    pub has_futex_calls: bool,
}

impl WarningKind for UnwatchedUser {
    const CODE: &'static str = "unwatched_user";

    fn message(&self) -> String {
        let seen =
            if self.has_futex_calls { "only its waits in the kernel were traced" } else { "its locks are not traced" };
        format!("{}, so it cannot load contend's library; {seen}", self.process)
    }

    fn remedy(&self) -> &'static str {
        if self.has_futex_calls {
            "run contend there for acquisitions, hold times, and holders by call site: as that user, or in that namespace"
        } else {
            "run contend there (as that user, or in that namespace), or attach to the process as root: `contend trace --pid PID`"
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
