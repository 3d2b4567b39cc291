//! The checks: what each tries, the experiments that it affects, and the command that grants it.

use super::{Check, State, latency, met, of_warning};
use crate::commands::archived::recall_cores;
use archive::Location;
use experiments::SliceExtension;
use instruments::clock::Clock;
use instruments::cpus::realtime::may_use_realtime;
use instruments::cpus::{self, CpuSet};
use instruments::environment::Environment;
use instruments::evidence::{
    NoInterruptEvidence, Source, WeakerEvidence, may_record_cpus, may_record_own_thread, may_record_tracepoint,
};
use instruments::helper;
use instruments::warning::{self, Autogroup, ClockFallback, CpuQuota, MemoryNotLocked, NiceRefused, WarningKind};
use rustix::mm::{MapFlags, ProtFlags, mlock, mmap_anonymous, munmap};
use rustix::process::{Resource, geteuid, getppid, getrlimit, setpriority_process};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::time::Duration;
use std::{fs, thread};
use terminal::without_error_numbers;

const EVENTS: &str = "kernel events";
const PROCESSES: &str = "traced programs";
const SCHEDULING: &str = "scheduling";
const LIMITS: &str = "limits";
const MACHINE: &str = "machine";
const TOOLS: &str = "tools";

/// The memory that the recorder of a run locks, at most.
const LOCKED: usize = 16 << 20;
/// Events per CPU that `contend noise` and `contend trace --pid` open.
const FILES_PER_CPU: u64 = 40;
const CLOCK_SPAN: Duration = Duration::from_millis(20);

/// Runs all checks, in the order in which they are shown. The archive in this directory knows which CPUs were found to
/// share a core.
///
/// # Errors
/// The kernel does not report which CPUs this process may use.
pub fn all(archive: Option<&Path>) -> io::Result<Vec<Check>> {
    let allowed = cpus::allowed()?;
    let mut environment = Environment::probe();
    recall_cores(&mut environment, archive);
    let cpu = allowed.first().unwrap_or(0);
    Ok(events(&allowed, cpu)
        .into_iter()
        .chain(processes(cpu))
        .chain(scheduling(&environment))
        .chain(limits(&environment, &allowed))
        .chain([machine()])
        .chain(latency::checks(Path::new("/"), &environment, &allowed))
        .chain(tools())
        .collect())
}

fn setting(path: &str) -> Option<String> {
    latency::text(Path::new("/"), path)
}

/// Creates the check of a trial.
fn tried(
    (group, name): (&'static str, &'static str),
    trial: io::Result<()>,
    words: &str,
    affects: &'static [&'static str],
    remedy: impl FnOnce(&str) -> String,
) -> Check {
    match trial {
        Ok(()) => met(group, name, words),
        Err(error) => {
            let reason = without_error_numbers(&error.to_string()).into_owned();
            met(group, name, reason.as_str()).missing(affects, remedy(&reason))
        }
    }
}

fn events(allowed: &CpuSet, cpu: usize) -> Vec<Check> {
    let weaker =
        |reason: &str| WeakerEvidence { source: Source::ThreadRecord, reason: reason.to_owned() }.remedy().to_owned();
    let interrupts = |reason: &str| NoInterruptEvidence { reason: reason.to_owned() }.remedy().to_owned();
    // A tracepoint is opened by the number that tracefs has for it.
    let tracepoints = |reason: &str| format!("{}; tracefs is needed as well: {}", weaker(reason), interrupts(reason));
    let both = ["sched/sched_waking", "syscalls/sys_enter_futex"];
    let futex = both.iter().try_for_each(|name| may_record_tracepoint(name, cpu));
    let level: Option<i32> = setting("proc/sys/kernel/perf_event_paranoid").and_then(|text| text.parse().ok());
    let paranoid = match level {
        None => Check {
            state: State::Missing,
            affects: &["noise", "latency", "trace", "top", "preempted"],
            remedy: Some(
                "boot a kernel with CONFIG_PERF_EVENTS, or start the container with a view of /proc/sys".into(),
            ),
            ..met(EVENTS, "perf_event_paranoid", "cannot be read: perf events may be absent")
        },
        Some(level) if level <= 2 => {
            met(EVENTS, "perf_event_paranoid", format!("{level}: own threads without a privilege"))
        }
        Some(level) if may_record_own_thread().is_ok() => {
            met(EVENTS, "perf_event_paranoid", format!("{level}: this user has the privilege"))
        }
        Some(level) => met(EVENTS, "perf_event_paranoid", format!("{level}: nothing without a privilege"))
            .missing(&["trace", "lines", "preempted", "noise"], "sudo sysctl kernel.perf_event_paranoid=2"),
    };
    vec![
        paranoid,
        tried(
            (EVENTS, "own switches"),
            may_record_own_thread(),
            "the times at which an own thread lost its CPU",
            &["trace", "preempted", "noise", "latency"],
            |_| "sudo sysctl kernel.perf_event_paranoid=2".to_owned(),
        ),
        tried(
            (EVENTS, "all switches"),
            may_record_cpus(allowed),
            "the names of the tasks that take a CPU",
            &["noise", "latency", "trace", "preempted"],
            weaker,
        ),
        tried(
            (EVENTS, "sched_switch"),
            may_record_tracepoint("sched/sched_switch", cpu),
            "tracepoints of the scheduler, with their data",
            &["trace --pid", "top --pid", "preempted --pid"],
            tracepoints,
        ),
        tried(
            (EVENTS, "interrupts"),
            may_record_tracepoint("irq/irq_handler_entry", cpu),
            "the names of interrupts and softirqs",
            &["noise", "latency"],
            interrupts,
        ),
        tried(
            (EVENTS, "futex calls"),
            futex,
            "each wait of a running process, and the thread that ended it",
            &["trace --pid", "top --pid", "preempted --pid", "trace of static programs"],
            tracepoints,
        ),
        Check {
            state: State::NotNeeded,
            ..met(EVENTS, "kptr_restrict", {
                let level = setting("proc/sys/kernel/kptr_restrict").unwrap_or_else(|| "unreadable".into());
                format!("{level}; contend reads no addresses of the kernel")
            })
        },
        Check {
            state: State::NotNeeded,
            ..met(
                EVENTS,
                "BTF",
                match Path::new("/sys/kernel/btf/vmlinux").is_file() {
                    true => "this kernel has it; the BPF program of contend needs none",
                    false => "this kernel has none; the BPF program of contend needs none",
                },
            )
        },
        Check {
            state: State::NotNeeded,
            ..met(
                EVENTS,
                "pressure (PSI)",
                match setting("proc/pressure/cpu").is_some() {
                    true => "this kernel has it; contend measures waits itself",
                    false => "this kernel has none; contend measures waits itself",
                },
            )
        },
    ]
}

fn processes(cpu: usize) -> Vec<Check> {
    let scope = setting("proc/sys/kernel/yama/ptrace_scope");
    let scope = scope.map_or_else(String::new, |scope| format!(" (ptrace_scope {scope})"));
    let setcap = "sudo setcap cap_perfmon,cap_sys_ptrace+ep $(command -v contend)";
    vec![
        tried(
            (PROCESSES, "other processes"),
            open_memory_of_another(),
            &format!("the memory of running processes{scope}"),
            &["trace --pid", "top --pid", "trace --word"],
            |_| format!("sudo sysctl kernel.yama.ptrace_scope=0, for processes of other users: {setcap}"),
        ),
        tried(
            (PROCESSES, "uprobes"),
            blame::golang::may_probe(cpu),
            "probes on functions of Go's runtime",
            &["trace of Go programs"],
            |_| {
                "sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep $(command -v contend); a kernel without \
                 CONFIG_UPROBE_EVENTS and CONFIG_BPF_SYSCALL has none"
                    .to_owned()
            },
        ),
        tried(
            (PROCESSES, "watchpoints"),
            blame::watchpoints::may_watch(cpu),
            "debug registers for words of a process",
            &["trace --word"],
            |_| "sudo sysctl kernel.perf_event_paranoid=2; some virtual machines have no debug registers".to_owned(),
        ),
    ]
}

fn scheduling(environment: &Environment) -> Vec<Check> {
    let realtime = match may_use_realtime() {
        Ok(()) => met(SCHEDULING, "real-time priority", "granted"),
        Err(missing) => met(SCHEDULING, "real-time priority", missing.to_string()).missing(
            &[
                "noise --wake --policy fifo:N",
                "noise --scenario rescheduler",
                "noise --remedies",
                "load --priority fifo",
            ],
            missing.remedy(),
        ),
    };
    let throttling = match warning::realtime_throttling(environment, 1.0) {
        None => met(SCHEDULING, "real-time throttling", "none"),
        Some(warning) => {
            met(SCHEDULING, "real-time throttling", warning.message()).missing(&["noise", "load"], warning.remedy())
        }
    };
    let nice = tried(
        (SCHEDULING, "nice values below 0"),
        lower_nice(),
        "granted",
        &["noise --scenario competitor", "load"],
        |_| NiceRefused { wanted: -20, granted: 0 }.remedy().to_owned(),
    );
    let autogroup = match environment.kernel.autogroup {
        Some(true) => of_warning((SCHEDULING, "autogroup"), &Autogroup.into(), &["noise", "load", "latency"]),
        _ => met(SCHEDULING, "autogroup", "off"),
    };
    let extension = SliceExtension::find();
    let slice = met(SCHEDULING, "slice extension", extension.words());
    let slice = match extension {
        SliceExtension::Available => slice,
        SliceExtension::Unknown => Check { state: State::Unknown, ..slice },
        SliceExtension::Disabled => {
            slice.missing(&["preempted"], "use a kernel with CONFIG_RSEQ_SLICE_EXTENSION, and enable it at boot")
        }
        SliceExtension::NeedsLinux7 => slice.missing(&["preempted"], "boot Linux 7.0 or later"),
    };
    vec![realtime, throttling, nice, autogroup, slice]
}

fn limits(environment: &Environment, allowed: &CpuSet) -> Vec<Check> {
    let memory = tried(
        (LIMITS, "locked memory"),
        lock_memory(LOCKED),
        "enough for the recorder",
        &["latency", "noise"],
        |reason| MemoryNotLocked { reason: reason.to_owned() }.remedy().to_owned(),
    );
    let needed = 256 + FILES_PER_CPU * allowed.len() as u64;
    let files = match most_files() {
        Some(most) if most < needed => met(LIMITS, "open files", format!("at most {most}; {needed} are needed"))
            .missing(&["noise", "trace", "top"], format!("ulimit -Hn {needed} as root, or LimitNOFILE={needed}")),
        Some(most) => met(LIMITS, "open files", format!("up to {most}")),
        None => met(LIMITS, "open files", "without limit"),
    };
    let quota = match environment.limits.cpu_quota_cpus {
        Some(cpus) if cpus < allowed.len() as f64 => {
            of_warning((LIMITS, "cgroup CPU time"), &CpuQuota { cpus }.into(), &["all measurements"])
        }
        _ => met(LIMITS, "cgroup CPU time", "no limit below the number of CPUs"),
    };
    let online = environment.cpu.online.clone().unwrap_or_else(|| allowed.clone());
    let barred: CpuSet = online.iter().filter(|cpu| !allowed.contains(*cpu)).collect();
    let cpus = met(LIMITS, "CPUs", format!("{allowed} of {online}"));
    let cpus = match (barred.is_empty(), allowed.len()) {
        (false, _) => cpus.missing(
            &["all measurements"],
            format!(
                "taskset --cpu-list {online} contend …, or widen the cpuset of the container (--cpuset-cpus {online})"
            ),
        ),
        (true, 1) => cpus.missing(
            &["latency --placement spread", "throughput", "core"],
            "use a machine with two CPUs or more: placements on several CPUs cannot be measured",
        ),
        (true, _) => cpus,
    };
    vec![memory, files, quota, cpus]
}

fn machine() -> Check {
    match Clock::calibrate(CLOCK_SPAN).fallback {
        None => met(MACHINE, "time-stamp counter", "constant, and read by contend"),
        Some(reason) => of_warning(
            (MACHINE, "time-stamp counter"),
            &ClockFallback { reason }.into(),
            &["clock", "latency", "noise"],
        ),
    }
}

fn tools() -> Vec<Check> {
    let git = match helper::command("git").and_then(|mut git| git.arg("--version").output()) {
        Ok(output) => met(TOOLS, "git", String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        Err(_) => met(TOOLS, "git", "not found: records are not saved")
            .missing(&["history", "compare", "baseline"], "sudo apt-get install git, or the package of your system"),
    };
    let archive = match Location::of(None).folder() {
        Ok(folder) if is_writable(&folder) => met(TOOLS, "archive", folder.display().to_string()),
        Ok(folder) => met(TOOLS, "archive", format!("{} cannot be written", folder.display()))
            .missing(&["history", "compare", "baseline"], "name a directory that you own: export CONTEND_ARCHIVE=DIR"),
        Err(error) => met(TOOLS, "archive", error.to_string())
            .missing(&["history", "compare", "baseline"], "name a directory: export CONTEND_ARCHIVE=DIR"),
    };
    let compiler = match helper::find("cc") {
        Some(path) => met(TOOLS, "C compiler", path.display().to_string()),
        None => met(TOOLS, "C compiler", "cc was not found").missing(
            &["ring (contestants in C)"],
            "sudo apt-get install gcc libc6-dev, or the packages of your system",
        ),
    };
    let servers = std::env::var("DEBUGINFOD_URLS").ok().filter(|servers| !servers.is_empty());
    let symbols = match (servers, helper::find("debuginfod-find")) {
        (Some(servers), Some(_)) => met(TOOLS, "debug symbols", format!("fetched from {servers}")),
        _ if Path::new("/usr/lib/debug/.build-id").is_dir() => met(TOOLS, "debug symbols", "of installed packages"),
        (None, Some(_)) => met(TOOLS, "debug symbols", "DEBUGINFOD_URLS is not set").missing(
            &["trace (lines of system libraries)"],
            "export DEBUGINFOD_URLS=https://debuginfod.elfutils.org, or the server of your distribution",
        ),
        (_, None) => met(TOOLS, "debug symbols", "debuginfod-find was not found").missing(
            &["trace (lines of system libraries)"],
            "sudo apt-get install debuginfod, and set DEBUGINFOD_URLS",
        ),
    };
    let browser = match screen::browser() {
        Some(program) => met(TOOLS, "browser", program.to_string_lossy()),
        None => met(TOOLS, "browser", "no desktop, and $BROWSER is not set")
            .missing(&["screen (opens reports)"], "export BROWSER=firefox, or copy the report to another machine"),
    };
    vec![git, archive, compiler, symbols, browser]
}

/// Locks this amount of memory, and releases it.
fn lock_memory(bytes: usize) -> io::Result<()> {
    // SAFETY: the mapping is new, so it overlaps no other memory.
    let memory = unsafe { mmap_anonymous(null_mut(), bytes, ProtFlags::READ, MapFlags::PRIVATE) }?;
    // SAFETY: the range is the mapping, which nothing else refers to.
    let locked = unsafe { mlock(memory, bytes) };
    // SAFETY: the range is the mapping, and no reference to it exists.
    unsafe { munmap(memory, bytes) }?;
    Ok(locked?)
}

/// Gives a thread a lower nice value, and ends it.
fn lower_nice() -> io::Result<()> {
    // For the kernel, the current "process" of this call is the calling thread.
    let trial = thread::Builder::new().name("nice-probe".into()).spawn(|| setpriority_process(None, -20))?;
    Ok(trial.join().map_err(|_| io::Error::other("the trial panicked"))??)
}

/// Opens the memory of the process that started this one, as a trace of a running process does; of another process of
/// this user where that one is of another.
fn open_memory_of_another() -> io::Result<()> {
    let own = geteuid().as_raw();
    let is_own = |folder: &PathBuf| fs::metadata(folder).is_ok_and(|metadata| metadata.uid() == own);
    let parent = getppid().map(|parent| PathBuf::from(format!("/proc/{}", parent.as_raw_nonzero())));
    let is_other = |folder: &PathBuf| {
        let number = folder.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse::<u32>().ok());
        number.is_some_and(|number| number != std::process::id())
    };
    let others = || fs::read_dir("/proc").into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let other = parent.filter(is_own).or_else(|| others().filter(is_other).find(is_own));
    let other = other.ok_or_else(|| io::Error::other("there is no other process of this user"))?;
    File::open(other.join("mem")).map(drop)
}

/// Returns the highest number of open files that this process may set for itself; `None` is without limit.
fn most_files() -> Option<u64> {
    getrlimit(Resource::Nofile).maximum
}

/// Returns whether files can be created in this directory, or in the next one above that exists.
fn is_writable(folder: &Path) -> bool {
    let Ok(folder) = std::path::absolute(folder) else { return false };
    let existing = folder.ancestors().find(|folder| folder.exists());
    existing.is_some_and(|folder| rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok())
}
