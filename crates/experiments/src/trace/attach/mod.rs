//! A process from outside: the kernel's trace of its futex calls, with their stacks, of its wake-ups, and of the threads
//! that ran. Nothing is put into the process, and it never stops for it.
//!
//! The process already runs, or contend starts it: a program that cannot load contend's library, because it is linked
//! statically or with another C library, is traced in the same way from its first instruction on.

mod events;
mod follow;
mod rows;

use super::diagnosis::Evidence;
use super::flags::Level;
use super::golang::Watch as Goroutines;
use super::measure::{Measured, Piece, Running};
use super::plan::Parameters;
use super::record::Row;
use super::stuck::StuckThreads;
use super::warnings::{NoFutexCalls, NoLibrary, unnamed_code};
use super::watchpoint::Watch as WordWatch;
use super::words::IDLE;
use blame::jvm::Machines;
use blame::names::{Names, map_of, message, parse};
use blame::sampling::{self, profile::Profile};
use blame::stacks::Stacks;
use blame::time::{Nanoseconds, Ticks};
use blame::{Lost, TraceLost};
use events::Rings;
use follow::Follower;
use harness::{Observer, Session, UsageError};
use instruments::warning::Warning;
use rows::Builder;
use rustix::time::{ClockId, clock_gettime};
use std::collections::HashMap;
use std::fs::{File, read_to_string, write};
use std::io::{self, Read};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The plan.
pub struct Plan {
    pub target: Target,
    pub budget: Option<Duration>,
    pub interval: Option<Duration>,
    /// A wait that is longer is a hang.
    pub deadline: Duration,
    /// Whether the terminal prints all tables.
    pub all: bool,
}

/// Periods at which the rings are read, and the process's map.
const TICK: Duration = Duration::from_millis(10);
const MAPS_PERIOD: Duration = Duration::from_millis(100);
/// Threads of the whole system whose names are remembered.
const MOST_RUNNERS: usize = 65_536;
/// Period at which the map is read where a call comes from an unknown file.
const MAPS_PERIOD_OF_STRANGERS: Duration = Duration::from_millis(2);

/// Traces a running process until it ends, the time is over, or a signal asks contend to end.
pub fn run(plan: &Plan, session: &Session, observer: &mut dyn Observer<Piece>) -> anyhow::Result<Measured> {
    let _first = FirstToEnd::begin();
    let (rings, no_calls) = match Rings::open(&instruments::cpus::allowed()?, plan.target.pid) {
        Ok(rings) => (Some(rings), None),
        // Reading the states of the threads of the user's own process needs no privilege.
        Err(error) if sampling::shows_states(plan.target.pid) => (None, Some(NoFutexCalls { reason: message(&error) })),
        Err(error) => return Err(refused(error)),
    };
    let mut watch = Watch::new(plan.target.clone(), rings, now(), plan.all, plan.deadline);
    watch.watch(plan.budget, plan.interval, session, observer);
    let mut measured = watch.finish(session.cpus.len())?;
    measured.warnings.extend(no_calls.map(Warning::from));
    Ok(measured)
}

/// Starts a program that cannot load contend's library, and traces it until it ends.
pub fn launch(
    plan: &super::plan::Plan,
    why: &'static str,
    session: &Session,
    observer: &mut dyn Observer<Piece>,
) -> anyhow::Result<Measured> {
    let program_sha256 = instruments::sha256::of_file(&plan.program.path).ok();
    // Before it runs: its first calls are among those that count.
    let rings = Rings::open(&instruments::cpus::allowed()?, 0);
    let began = now();
    let child = Running::start(plan, None, &session.interruption)?;
    let (rings, reason) = match rings {
        Ok(mut rings) => {
            rings.follow(child.pid());
            (Some(rings), None)
        }
        Err(error) => (None, Some(message(&error))),
    };
    let watched = WordWatch::of_started(child.pid(), &plan.words);
    let goroutines = Goroutines::begin(child.pid());
    let words = plan.program.words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let target = Target { pid: child.pid(), words, program_sha256, started: String::new() };
    let mut watch = Watch::new(target, rings, began, plan.all, plan.deadline);
    watch.child = Some(child);
    watch.watch(plan.budget, plan.interval, session, observer);
    if let Some(child) = &mut watch.child {
        child.end(None, plan.patience(session), &session.interruption);
    }
    let mut measured = watch.finish(session.cpus.len())?;
    measured.add(watched.finish());
    goroutines.finish(&mut measured);
    measured.warnings.push(NoLibrary { why, reason }.into());
    Ok(measured)
}

fn refused(error: io::Error) -> anyhow::Error {
    anyhow::anyhow!(
        "--pid: tracing futex calls needs root, or CAP_PERFMON and a readable tracefs ({}); run contend with sudo",
        message(&error)
    )
}

fn now() -> u64 {
    let time = clock_gettime(ClockId::MonotonicRaw);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

struct Watch {
    target: Target,
    /// The process, if contend has started it.
    child: Option<Running>,
    all: bool,
    /// `None` where the kernel refuses them.
    rings: Option<Rings>,
    follower: Follower,
    unwinder: Stacks,
    names: Names,
    learned: Instant,
    /// Names of threads.
    runners: HashMap<u32, String>,
    began: Instant,
    began_raw: u64,
    thread_time_s: f64,
    most_threads: u32,
    profile: Profile,
    java: Machines,
    next_sample: Instant,
    stuck: StuckThreads,
}

impl Watch {
    fn new(target: Target, rings: Option<Rings>, began_raw: u64, all: bool, deadline: Duration) -> Self {
        Self {
            rings,
            child: None,
            all,
            follower: Follower::new(target.pid, began_raw),
            target,
            unwinder: Stacks::default(),
            names: Names::default(),
            learned: Instant::now(),
            runners: HashMap::new(),
            began: Instant::now(),
            began_raw,
            thread_time_s: 0.0,
            most_threads: 0,
            profile: Profile::default(),
            java: Machines::default(),
            next_sample: Instant::now(),
            stuck: StuckThreads::new(deadline),
        }
    }

    fn is_alive(&mut self) -> bool {
        match &mut self.child {
            Some(child) => !child.has_ended(),
            None => self.target.is_alive(),
        }
    }

    fn watch(
        &mut self,
        budget: Option<Duration>,
        interval: Option<Duration>,
        session: &Session,
        observer: &mut dyn Observer<Piece>,
    ) {
        let mut next_maps = self.began;
        let (mut next_line, mut before) = (interval.map(|span| self.began + span), 0);
        while self.is_alive() && !session.interruption.is_requested() {
            let now = Instant::now();
            if now >= next_maps {
                self.learn();
                next_maps = now + MAPS_PERIOD;
            }
            self.read();
            self.sample(now);
            self.look_for_hangs(observer);
            if let (Some(at), Some(span)) = (next_line, interval)
                && now >= at
            {
                next_line = Some(at + span);
                let waited = self.follower.waited_ns();
                let waited_s = Nanoseconds.span_ns(waited - before) / 1e9;
                before = waited;
                let (at_s, span_s) = (self.began.elapsed().as_secs_f64(), span.as_secs_f64());
                let _ = observer.piece(&Piece::Interval { at_s, span_s, waited_s, most: None });
            }
            if budget.is_some_and(|budget| self.began.elapsed() >= budget) {
                break;
            }
            let left = TICK.saturating_sub(now.elapsed());
            match &mut self.child {
                Some(child) => child.wait(left),
                None => std::thread::sleep(left),
            }
        }
    }

    /// Samples the states of the threads, if that is due.
    fn sample(&mut self, now: Instant) {
        if now >= self.next_sample {
            self.profile.sample(&[self.target.pid], None, (now - self.began).as_secs_f64());
            self.next_sample = now + sampling::pause(now.elapsed());
        }
    }

    fn look_for_hangs(&mut self, observer: &mut dyn Observer<Piece>) {
        let new = self.stuck.look(self.target.pid, 0, &mut self.names, &mut self.unwinder);
        if !new.is_empty() {
            let _ = observer.piece(&Piece::Hang(new));
        }
    }

    /// Reads the current memory map of the process, and the number of its threads.
    fn learn(&mut self) {
        self.learn_map();
        let threads = self.target.threads();
        self.most_threads = self.most_threads.max(threads);
        self.thread_time_s += f64::from(threads) * MAPS_PERIOD.as_secs_f64();
    }

    fn learn_map(&mut self) {
        if let Some(map) = map_of(self.target.pid) {
            self.names.learn(0, Some(self.target.pid), &map);
            let mappings = parse(&map);
            self.unwinder.learn(self.target.pid, &mappings);
            self.profile.learn(self.target.pid, &mappings);
            self.java.learn(self.target.pid, &map);
            self.java.read();
        }
        self.learned = Instant::now();
    }

    fn read(&mut self) {
        let events = self.rings.as_mut().map(|rings| rings.drain(now())).unwrap_or_default();
        for event in events {
            if matches!(event.what, events::What::In) && self.runners.len() < MOST_RUNNERS {
                let name = || name_of(event.process, event.thread);
                self.runners.entry(event.thread).or_insert_with(name);
            }
            if let events::What::Call { stack, .. } = &event.what
                && !self.unwinder.knows(stack.instruction)
                && self.learned.elapsed() > MAPS_PERIOD_OF_STRANGERS
            {
                self.learn_map();
            }
            self.follower.note(event, &mut self.unwinder);
        }
    }

    fn finish(mut self, cpus: usize) -> anyhow::Result<Measured> {
        let elapsed_s = self.began.elapsed().as_secs_f64();
        self.read();
        self.java.read();
        let target = &self.target;
        let mut builder = Builder {
            target,
            follower: &self.follower,
            names: &mut self.names,
            began: self.began_raw,
            thread_time_s: self.thread_time_s,
            runners: self.runners,
        };
        let mut rows = builder.rows();
        let evidence = Evidence {
            profile: &self.profile,
            names: &mut self.names,
            known_as: HashMap::from([(target.pid, 0)]),
            region: None,
            java: &self.java,
            program: &target.words,
            cpus,
            elapsed_s,
            named: HashMap::new(),
        };
        let diagnosis = evidence.diagnose(&mut rows, &[]);
        let name = target.words.first().map_or("it", String::as_str);
        anyhow::ensure!(
            !rows.is_empty() || !self.stuck.rows.is_empty() || diagnosis.verdict.is_some() || self.child.is_some(),
            "--pid {}: no thread of {name} waited in a futex call within {elapsed_s:.1} s; trace it for longer, or \
             under load",
            target.pid
        );
        // Where each futex call was seen, samples of the same words are not reported once more.
        let are_words_seen = self.rings.is_some();
        let is_new = |row: &Row| !are_words_seen || row.address.is_empty();
        let sampled: Vec<Row> = diagnosis.locks.into_iter().filter(is_new).collect();
        let rows = [rows, sampled, self.stuck.rows, diagnosis.budgets, diagnosis.findings].concat();
        let lost = Lost {
            switches: self.rings.as_ref().map_or(0, |rings| rings.lost),
            waits: self.follower.lost_waits,
            ..Lost::default()
        };
        let records = Some(format!("{} kernel trace events", lost.switches)).filter(|_| lost.switches > 0);
        let waits = Some(format!("{} waits at additional addresses", lost.waits)).filter(|_| lost.waits > 0);
        let what = records.into_iter().chain(waits).collect::<Vec<String>>().join(", ");
        let mut warnings: Vec<Warning> =
            Some(what).filter(|what| !what.is_empty()).map(|what| TraceLost { what }.into()).into_iter().collect();
        warnings.extend(unnamed_code(&self.names));
        warnings.extend(diagnosis.no_symbols.map(Warning::from));
        let parameters = Parameters {
            program: target.words.clone(),
            program_sha256: target.program_sha256.clone(),
            level: Level::FutexCalls,
            attached_pid: Some(target.pid).filter(|_| self.child.is_none()),
            exit_status: self.child.as_ref().and_then(Running::exit_status),
            exit_signal: self.child.as_ref().and_then(Running::exit_signal),
            elapsed_s,
            deadline_s: self.stuck.deadline.as_secs_f64(),
            processes: 1,
            threads: self.most_threads,
            thread_time_s: self.thread_time_s,
            switches: self.rings.as_ref().map(|_| "perf".to_owned()),
            switches_share: self.rings.as_ref().map(|_| 1.0),
            switches_left_out: 0,
            lost,
            locks_left_out: 0,
            sites_left_out: 0,
            verdict: diagnosis.verdict,
            verdict_reason: diagnosis.reason,
            samples: self.profile.samples,
            all: self.all,
            confirmation: None,
        };
        let status = self.child.as_ref().and_then(Running::shell_status);
        Ok(Measured { parameters, rows, warnings, waits: Vec::new(), status })
    }
}

/// Returns the system's name of a thread.
fn name_of(process: u32, thread: u32) -> String {
    if thread == 0 {
        return IDLE.into();
    }
    let name = sampling::name_of(process, thread).filter(|name| !name.is_empty());
    name.unwrap_or_else(|| format!("thread {thread}"))
}

/// A process that runs.
#[derive(Clone, Debug)]
pub struct Target {
    pub pid: u32,
    /// The command line of the process.
    pub words: Vec<String>,
    /// The SHA-256 of its program, where that can be read.
    pub program_sha256: Option<String>,
    /// Its start time, which distinguishes it from a later process with the same number.
    started: String,
}

impl Target {
    /// Finds the process.
    pub fn find(pid: u32) -> Result<Self, UsageError> {
        let refuse = |why: String| UsageError(format!("--pid {pid}: {why}"));
        if pid == std::process::id() {
            return Err(refuse("contend cannot trace itself; name another process".into()));
        }
        let folder = PathBuf::from(format!("/proc/{pid}"));
        let Ok(status) = std::fs::read_to_string(folder.join("status")) else {
            return Err(refuse("no such process".into()));
        };
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.map(str::trim).unwrap_or_default().to_owned()
        };
        if field("State").starts_with(['Z', 'X']) {
            return Err(refuse("the process has ended (zombie)".into()));
        }
        let leader = field("Tgid");
        if leader != pid.to_string() {
            return Err(refuse(format!("a thread of process {leader}; use --pid {leader}")));
        }
        if let Err(error) = File::open(folder.join("maps")).and_then(|mut map| map.read(&mut [0])) {
            return Err(refuse(format!(
                "cannot read /proc/{pid}/maps: {}; run contend as root or as the owner of the process",
                message(&error)
            )));
        }
        let called = std::fs::read(folder.join("cmdline")).unwrap_or_default();
        if called.is_empty() && std::fs::read_link(folder.join("exe")).is_err() {
            return Err(refuse("a kernel thread, which makes no futex calls; name a process".into()));
        }
        let words = called.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
        let words: Vec<String> = words.filter(|word| !word.is_empty()).collect();
        let words = if words.is_empty() { vec![field("Name")] } else { words };
        let started = started(pid).ok_or_else(|| refuse("the process has just ended".into()))?;
        let program_sha256 = instruments::sha256::of_file(&folder.join("exe")).ok();
        Ok(Self { pid, words, program_sha256, started })
    }

    /// Returns whether it runs still.
    pub fn is_alive(&self) -> bool {
        started(self.pid).is_some_and(|started| started == self.started)
    }

    /// Returns how many threads it has.
    pub fn threads(&self) -> u32 {
        sampling::threads(self.pid).count() as u32
    }
}

/// Returns when a process began, in the kernel's count; `None` once it has ended, though its parent may not have asked
/// how.
fn started(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?;
    (state != "Z" && state != "X").then(|| fields.nth(18).map(str::to_owned))?
}

/// While this lives, the kernel ends contend first for want of memory, before the process that it watches. A program
/// that contend has started does not need that: it ends with contend.
struct FirstToEnd(Option<String>);

const FILE: &str = "/proc/self/oom_score_adj";
const FIRST: &str = "1000";

impl FirstToEnd {
    /// Makes it so, if the kernel has such a thing: raising it needs no privilege.
    pub fn begin() -> Self {
        let before = read_to_string(FILE).ok();
        Self(before.filter(|_| write(FILE, FIRST).is_ok()))
    }
}

impl Drop for FirstToEnd {
    fn drop(&mut self) {
        // If that is refused, contend stays the first.
        self.0.iter().for_each(|before| drop(write(FILE, before.trim())));
    }
}
