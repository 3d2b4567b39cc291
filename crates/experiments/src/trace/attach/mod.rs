//! A process from outside: the kernel's trace of its futex calls, with their stacks, of its wake-ups, and of the threads
//! that ran. Nothing is put into the process, and it never stops for it.
//!
//! The process already runs, or contend starts it: a program that cannot load contend's library, because it is linked
//! statically or with another C library, is traced in the same way from its first instruction on. So is one that loads it
//! and calls none of the locks that it watches, like most programs in Rust: until it or a child of it calls one.

mod containers;
mod rows;
mod targets;
mod windows;

pub use targets::{Target, Targets};

use super::aggregate::Window;
use super::busy_cpus::BusyCpus;
use super::evidence::{Evidence, Sources, Span};
use super::flags::Level;
use super::measure::preempted::Counted;
use super::measure::{Begun, Measured, OtherUsers, Outliving, Piece, Running, has_library, room_for};
use super::observed::Observed;
use super::parts::Parts;
use super::plan::{Parameters, Snapshots};
use super::record::Row;
use super::stuck::StuckThreads;
use super::warnings::{
    ExportCut, FoldedWords, FutexWindows, NoFull, NoFutexCalls, NoLibrary, NoLockCalls, OutlivedProgram, Process,
    ProcessesLeftOut, RestartedProcess, WatchedScript, unnamed_code,
};
use super::watchpoint::Watch as WordWatch;
use blame::futexes::events::{Event, Rings, What};
use blame::futexes::follow::{Follower, Found, Need, Waited, Word};
use blame::jvm::Machines;
use blame::names::{Names, map_of, message, parse};
use blame::sampling::{self, profile::Profile};
use blame::stacks::Stacks;
use blame::time::{Nanoseconds, Ticks};
use blame::{AFTER_THE_END, Allowance, Lost, TraceLost};
use harness::{Observer, Session, UsageError};
use instruments::clock::{monotonic_raw_ns, thread_cpu_ns};
use instruments::warning::Warning;
use rows::Builder;
use rustix::process::Signal;
use std::collections::{HashMap, HashSet};
use std::fs::{read_to_string, write};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use windows::Windows;

/// The plan.
pub struct Plan {
    pub targets: Targets,
    /// Waits that are kept for exports.
    pub room: usize,
    /// Whether each futex call is recorded, whatever that costs.
    pub full: bool,
    pub budget: Option<Duration>,
    pub interval: Option<Duration>,
    /// The period of the records, if there are several.
    pub every: Option<Duration>,
    /// A wait that is longer is a hang.
    pub deadline: Duration,
    /// Whether the terminal prints all tables.
    pub all: bool,
    /// Whether words are watched as well, which have results without futex calls.
    pub watches_words: bool,
}

/// Periods at which the rings are read where there are many calls, and where there are few or none.
const TICK: Duration = Duration::from_millis(10);
const SLOW_TICK: Duration = Duration::from_millis(30);
const FEW_EVENTS: usize = 100;
/// Time from which on a running process is looked at less often, and by how much: by then there are hundreds of samples of
/// its threads' states, and each takes a CPU from it for a moment.
const SETTLED: Duration = Duration::from_secs(3);
const LESS_OFTEN: u32 = 4;
/// Period at which the process's map is read.
const MAPS_PERIOD: Duration = Duration::from_millis(100);
/// Threads that are looked for in futex calls when a window of the record begins.
const MOST_FOUND: usize = 2_048;
/// Processes whose unwinders are kept after they have ended.
const MOST_UNWINDERS: usize = 64;
/// Period at which the map is read where a call comes from an unknown file.
const MAPS_PERIOD_OF_STRANGERS: Duration = Duration::from_millis(2);
/// A program that runs for less is short.
const SHORT: Duration = Duration::from_secs(1);

/// Traces a running process until it ends, the time is over, or a signal asks contend to end.
pub fn run(plan: Plan, session: &Session, observer: &mut dyn Observer<Piece>) -> anyhow::Result<Measured> {
    let _first = FirstToEnd::begin();
    let (rings, no_calls) = match Rings::open(&instruments::cpus::online()?) {
        Ok(rings) => (Some(rings), None),
        Err(error) if plan.room > 0 => {
            let reason = message(&error);
            return Err(UsageError(format!(
                "--export: single waits are not seen without root, or CAP_PERFMON and a readable tracefs ({reason}); run \
                 contend with sudo, or without --export"
            ))
            .into());
        }
        // Reading the states of the threads of the user's own process needs no privilege.
        Err(error) if sampling::shows_states(plan.targets.first().pid) => {
            (None, Some(NoFutexCalls { reason: message(&error) }))
        }
        Err(error) => return Err(refused(error)),
    };
    let mut watch = Watch::new(plan.targets, rings, (monotonic_raw_ns(), plan.room), plan.all, plan.deadline, session);
    watch.cause = no_calls.map(Warning::from);
    // Single waits are exported without gaps.
    watch.windows = Windows::begin(session.cpus.len(), !plan.full && plan.room == 0, watch.began);
    watch.parts = Parts::begin(plan.every);
    watch.learn_maps();
    watch.begin_window(watch.began_raw);
    watch.watch(plan.budget, plan.interval, session, observer, &mut |_| false);
    watch.finish(session.cpus.len(), plan.watches_words)
}

/// The kernel's record for a program that contend starts, opened before: its first calls are among those that count.
pub struct Record {
    rings: io::Result<Rings>,
    began_raw: u64,
}

impl Record {
    /// Opens it.
    pub fn open() -> Self {
        let open = || {
            let mut rings = Rings::open(&instruments::cpus::online()?)?;
            rings.follow_forks()?;
            Ok(rings)
        };
        Self { rings: open(), began_raw: monotonic_raw_ns() }
    }

    /// Returns the reason why the kernel refuses it.
    pub fn refusal(&self) -> Option<String> {
        self.rings.as_ref().err().map(message)
    }

    /// Begins to watch a program that contend has just started.
    fn watch(
        self,
        child: Running,
        program_sha256: Option<String>,
        plan: &super::plan::Plan,
        session: &Session,
    ) -> Watch {
        let words = plan.program.words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let targets = Targets::of_child(Target::of_child(child.pid(), words, program_sha256));
        let room = room_for(&plan.exports);
        let mut watch = Watch::new(targets, self.rings.ok(), (self.began_raw, room), plan.all, plan.deadline, session);
        watch.child = Some(child);
        let is_whole = watch.rings.is_none() || plan.level == Level::Full || room > 0;
        watch.windows = Windows::of_started(session.cpus.len(), !is_whole, watch.began);
        watch
    }
}

/// A program that contend has started, and that cannot load its library.
pub struct Started {
    child: Running,
    record: Record,
    why: &'static str,
    program_sha256: Option<String>,
    words: WordWatch,
}

impl Started {
    /// Starts the program; `why` says why it cannot load the library.
    pub fn start(plan: &super::plan::Plan, why: &'static str, session: &Session) -> anyhow::Result<Self> {
        let program_sha256 = instruments::sha256::of_file(&plan.program.path).ok();
        let record = Record::open();
        if let Some(reason) = record.refusal().filter(|_| !plan.exports.is_empty()) {
            let program = plan.program.path.display();
            return Err(UsageError(format!(
                "--export: single waits of {program} are not seen without root, or CAP_PERFMON and a readable tracefs \
                 ({reason}), since it is {why}"
            ))
            .into());
        }
        let child = Running::start(plan, None, &session.interruption)?;
        let words = WordWatch::of_started(child.pid(), &plan.words, &session.interruption);
        Ok(Self { child, record, why, program_sha256, words })
    }

    /// Returns its number.
    pub fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// Traces it until it ends.
    pub fn watch(
        self,
        plan: &super::plan::Plan,
        session: &Session,
        observer: &mut dyn Observer<Piece>,
    ) -> anyhow::Result<Measured> {
        let (why, reason) = (self.why, self.record.refusal());
        let has_record = reason.is_none();
        let mut watch = self.record.watch(self.child, self.program_sha256, plan, session);
        watch.cause = Some(NoLibrary { why, reason }.into());
        watch.parts = Parts::begin(plan.every);
        watch.watch(plan.budget, plan.interval, session, observer, &mut |_| false);
        watch.end_child(plan.patience(session), session);
        let mut measured = watch.finish(session.cpus.len(), true)?;
        measured.seen.add_words(self.words.finish());
        measured.seen.warnings.extend((plan.level == Level::Full && has_record).then(|| NoFull { why }.into()));
        measured.seen.warnings.extend(WatchedScript::of(&plan.program));
        Ok(measured)
    }
}

/// Traces a program that has loaded contend's library from outside, as long as the library notes nothing: until it ends,
/// or calls a lock of the C library, or has too many processes to follow. Then it is to be watched from inside, with the
/// samples up to then. Not if single waits are exported, of which some are known by then.
pub fn watch_until_noted(
    begun: Begun,
    record: Record,
    plan: &super::plan::Plan,
    session: &Session,
    observer: &mut dyn Observer<Piece>,
) -> anyhow::Result<ControlFlow<Measured, Begun>> {
    let Begun { running, parts, profile, inside } = begun;
    let program = running.pid();
    let mut watch = record.watch(running, inside.program_sha256.clone(), plan, session);
    (watch.began, watch.parts, watch.profile) = (inside.began, parts, profile);
    watch.cause = Some(NoLockCalls { is_loaded: true, has_futex_calls: true }.into());
    let mut other_users = OtherUsers::default();
    let (mut is_loaded, stays) = (None, !plan.exports.is_empty());
    let mut goes_inside = |targets: &Targets| {
        other_users.look(program);
        // By then it has loaded the library, unless it cannot. A program that has ended has no memory map.
        if is_loaded.is_none() && inside.began.elapsed() >= MAPS_PERIOD {
            is_loaded = map_of(program).filter(|map| !map.is_empty()).map(|_| has_library(program));
        }
        (inside.is_noted() || targets.left_out > 0) && !stays
    };
    watch.watch(plan.budget, plan.interval, session, observer, &mut goes_inside);
    // A short program may have called one just before it ended.
    let is_short = inside.began.elapsed() < SHORT;
    let goes_inside = watch.targets.left_out > 0 || inside.is_noted() && (is_short || watch.is_running());
    if goes_inside
        && !stays
        && let Some(running) = watch.child.take()
    {
        return Ok(ControlFlow::Continue(Begun { running, parts: watch.parts, profile: watch.profile, inside }));
    }
    let (is_ended, library) = (watch.is_running(), watch.child.as_ref().and_then(Running::library));
    watch.end_child(plan.patience(session), session);
    if is_ended {
        // Events that found no room in a ring may have been those of their starts.
        Outliving::default().end(program, library, plan.patience(session));
    }
    let others: Vec<Warning> = other_users.warnings(true).collect();
    if !others.is_empty() {
        watch.cause = None;
    }
    if is_loaded == Some(false) && watch.cause.is_some() {
        watch.cause = Some(NoLockCalls { is_loaded: false, has_futex_calls: true }.into());
    }
    let mut measured = watch.finish(session.cpus.len(), true)?;
    measured.seen.warnings.extend(others);
    measured.seen.warnings.extend(WatchedScript::of(&plan.program));
    measured.seen.add_words(inside.words.finish());
    Ok(ControlFlow::Break(measured))
}

fn refused(error: io::Error) -> anyhow::Error {
    anyhow::anyhow!(
        "--pid: tracing futex calls needs root, or CAP_PERFMON and a readable tracefs ({}); run contend with sudo",
        message(&error)
    )
}

/// The waits up to a line of `--interval`.
struct Line {
    at: Instant,
    watched: Duration,
    waited: Waited,
}

impl Line {
    fn begin(at: Instant) -> Self {
        Self { at, watched: Duration::ZERO, waited: Waited::new() }
    }
}

struct Watch {
    targets: Targets,
    /// The process, if contend has started it.
    child: Option<Running>,
    all: bool,
    /// `None` where the kernel refuses them.
    rings: Option<Rings>,
    windows: Windows,
    /// Events that were read last, and the time on a CPU that reading all of them took.
    events: usize,
    reading_ns: u64,
    /// That of learning the maps of code from which calls came, once for each.
    learning_ns: u64,
    follower: Follower,
    /// The unwinders of the processes, by their numbers.
    unwinders: HashMap<u32, Stacks>,
    names: Names,
    /// Hashes of the maps that were learned last, by process.
    maps: HashMap<u32, u64>,
    hasher: RandomState,
    learned: Instant,
    began: Instant,
    began_raw: u64,
    thread_time_s: f64,
    /// Time up to which the threads' time was added up.
    counted: Instant,
    threads: u32,
    most_threads: u32,
    profile: Profile,
    java: Machines,
    next_sample: Instant,
    stuck: StuckThreads,
    deadline: Duration,
    /// Whether the time for the measurement ended it.
    is_out_of_time: bool,
    /// The processes that go on after the program, once they were named.
    outlived: Option<OutlivedProgram>,
    parts: Parts,
    /// Records that found no room before the part, and futex calls.
    lost_before: u64,
    calls_before: u64,
    busy_cpus: BusyCpus,
    /// The reason why less is known than of another process.
    cause: Option<Warning>,
}

impl Watch {
    fn new(
        targets: Targets,
        rings: Option<Rings>,
        (began_raw, room): (u64, usize),
        all: bool,
        deadline: Duration,
        session: &Session,
    ) -> Self {
        let began = Instant::now();
        let allowance = Allowance::of_run(session.interruption.shared_flag());
        let mut watch = Self {
            rings,
            windows: Windows::begin(1, false, began),
            events: 0,
            reading_ns: 0,
            learning_ns: 0,
            child: None,
            all,
            follower: Follower::new(began_raw, room),
            targets,
            unwinders: HashMap::new(),
            names: Names::within(&allowance),
            is_out_of_time: false,
            maps: HashMap::new(),
            hasher: RandomState::new(),
            learned: began,
            began,
            began_raw,
            thread_time_s: 0.0,
            counted: began,
            threads: 0,
            most_threads: 0,
            profile: Profile::default(),
            java: Machines::default(),
            next_sample: began,
            stuck: StuckThreads::new(deadline, &allowance),
            deadline,
            outlived: None,
            parts: Parts::begin(None),
            lost_before: 0,
            calls_before: 0,
            busy_cpus: BusyCpus::begin(),
            cause: None,
        };
        watch.follow();
        watch
    }

    /// Follows the processes: also those that ended, whose last events have not been read yet.
    fn follow(&mut self) {
        let pids: Vec<u32> = self.targets.all().map(|(_, target)| target.pid).collect();
        self.rings.iter_mut().for_each(|rings| rings.follow(pids.iter().copied()));
        self.follower.follow(pids.iter().copied());
        let alive: Vec<u32> = self.targets.alive().map(|(_, target)| target.pid).collect();
        if self.unwinders.len() > MOST_UNWINDERS {
            self.unwinders.retain(|pid, _| alive.contains(pid));
            self.maps.retain(|pid, _| alive.contains(pid));
        }
    }

    fn is_running(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| !child.has_ended())
    }

    /// Looks for processes that ended and that came; returns whether any runs, or may come.
    fn is_alive(&mut self, observer: &mut dyn Observer<Piece>) -> bool {
        let before: Vec<u32> = self.targets.alive().map(|(_, target)| target.pid).collect();
        let restarts = self.targets.look();
        if before != self.targets.alive().map(|(_, target)| target.pid).collect::<Vec<u32>>() {
            self.follow();
            self.learn_maps();
        }
        if !restarts.is_empty() {
            let _ = observer.piece(&Piece::Restarted(RestartedProcess { restarts }));
        }
        let has_ended = self.child.as_mut().is_some_and(Running::has_ended);
        if has_ended && self.outlived.is_none() && self.targets.alive().next().is_some() {
            let name = |pid: u32| sampling::name_of(pid, pid).unwrap_or_default();
            let processes = self.targets.alive().map(|(_, target)| Process { pid: target.pid, name: name(target.pid) });
            let outlived = OutlivedProgram { processes: processes.collect() };
            let _ = observer.piece(&Piece::Outlived(outlived.clone()));
            self.outlived = Some(outlived);
        }
        !self.targets.are_over()
    }

    /// Ends the program, and its processes that outlive it.
    fn end_child(&mut self, patience: Duration, session: &Session) {
        let Some(child) = &mut self.child else { return };
        child.end(None, patience, &session.interruption);
        for (signal, patience) in [(Signal::TERM, patience), (Signal::KILL, Duration::from_secs(1))] {
            let until = Instant::now() + patience;
            let mut requested = HashSet::new();
            loop {
                // The events have the processes that were started in the meantime.
                self.read();
                let left: Vec<&Target> =
                    self.targets.alive().map(|(_, target)| target).filter(|target| target.is_alive()).collect();
                if left.is_empty() {
                    return;
                }
                left.iter().filter(|target| requested.insert(target.pid)).for_each(|target| target.signal(signal));
                if Instant::now() >= until {
                    break;
                }
                std::thread::sleep(TICK);
            }
        }
    }

    /// Watches the processes until they end, or the time, a signal or `is_over` ends it.
    fn watch(
        &mut self,
        budget: Option<Duration>,
        interval: Option<Duration>,
        session: &Session,
        observer: &mut dyn Observer<Piece>,
        is_over: &mut dyn FnMut(&Targets) -> bool,
    ) {
        let mut next_maps = self.began;
        let (mut next_line, mut before) = (interval.map(|span| self.began + span), Line::begin(self.began));
        let mut snapshots = Snapshots::of(session);
        while self.is_alive(observer) && !session.interruption.is_requested() && !is_over(&self.targets) {
            let now = Instant::now();
            if now >= next_maps {
                self.learn();
                next_maps = now + if self.is_settled(now) { MAPS_PERIOD * LESS_OFTEN } else { MAPS_PERIOD };
            } else if self.child.is_some() && now - self.began < MAPS_PERIOD * LESS_OFTEN {
                // The threads that it starts live from then on.
                self.learn_threads(now);
            }
            // First, so that a window does not go on while what it recorded is read.
            self.pause_or_resume(now);
            self.read();
            self.sample(now);
            self.profile.end_window((now - self.began).as_secs_f64());
            self.look_for_hangs(observer);
            if let (Some(at), Some(span)) = (next_line, interval)
                && now >= at
            {
                next_line = Some(at + span);
                let line = Line { at: now, watched: self.windows.watched(now), waited: self.follower.waited() };
                // A line covers the pauses before it as well.
                if line.watched > before.watched {
                    let piece = self.interval(&before, &line);
                    before = line;
                    let _ = observer.piece(&piece);
                }
            }
            if snapshots.is_due(now) {
                let _ = observer.piece(&self.snapshot(session.cpus.len(), now));
            }
            if self.parts.is_over(now) {
                let measured = self.measured(session.cpus.len(), now);
                let _ = observer.piece(&Piece::Part(Box::new(measured)));
                self.begin_part(now);
                before = Line::begin(now);
            }
            if budget.is_some_and(|budget| self.began.elapsed() >= budget) {
                self.is_out_of_time = true;
                break;
            }
            let left = self.tick(now).saturating_sub(now.elapsed());
            let has_ended = self.child.as_mut().is_none_or(Running::has_ended);
            match &mut self.child {
                Some(child) if !has_ended => child.wait(left),
                _ => std::thread::sleep(left),
            }
        }
        if self.targets.alive().next().is_some() {
            self.stuck.finish(&self.targets.alive().map(|(_, target)| target.pid).collect::<Vec<u32>>());
        }
    }

    /// Returns the time waited between two lines, and the lock that was waited for most.
    fn interval(&mut self, before: &Line, line: &Line) -> Piece {
        let since =
            |(word, (ns, _)): (&Word, &(u64, usize))| ns.saturating_sub(before.waited.get(word).map_or(0, |old| old.0));
        let span = line.at - before.at;
        let scale = span.div_duration_f64(line.watched - before.watched).max(1.0);
        let to_s = |ns: u64| Nanoseconds.span_ns(ns) / 1e9 * scale;
        // Folded words bring their waits of the past with them; the sum over all words is as before.
        let own = line.waited.iter().filter(|(word, _)| !matches!(word, Word::Folded { .. }));
        let most = own.max_by_key(|one| since(*one)).filter(|one| since(*one) > 0);
        let total = |waited: &Waited| waited.values().map(|(ns, _)| ns).sum::<u64>();
        let most = most.map(|one| (self.builder().word_name(*one.0, one.1.1), to_s(since(one))));
        Piece::Interval {
            at_s: self.began.elapsed().as_secs_f64(),
            span_s: span.as_secs_f64(),
            waited_s: to_s(total(&line.waited).saturating_sub(total(&before.waited))),
            most,
            of_words: true,
        }
    }

    /// Returns the time until the next look at the process: a program that contend has started may end at any time, and a
    /// ring has room for a few thousand calls.
    fn tick(&self, now: Instant) -> Duration {
        if self.child.is_some() || self.events > FEW_EVENTS {
            return TICK;
        }
        let due = self.windows.paused_until().into_iter().chain([self.next_sample]).min();
        due.map_or(TICK, |due| due.saturating_duration_since(now)).clamp(TICK, SLOW_TICK)
    }

    /// Pauses the record if it costs too much, or continues it.
    fn pause_or_resume(&mut self, now: Instant) {
        let Some(rings) = &mut self.rings else { return };
        if self.windows.ends(now, rings.cost_ns + self.reading_ns) {
            self.end_window();
        } else if self.windows.is_slice_over(now) {
            self.follower.end_slice(monotonic_raw_ns());
        } else if self.windows.is_due(now) {
            match rings.resume() {
                Ok(()) => {
                    self.windows.begin_next(Instant::now(), rings.cost_ns + self.reading_ns);
                    self.begin_window(monotonic_raw_ns());
                }
                Err(_) => self.windows.postpone(now),
            }
        }
    }

    fn end_window(&mut self) {
        let Some(rings) = &mut self.rings else { return };
        let (at, ended, before) = (monotonic_raw_ns(), Instant::now(), thread_cpu_ns());
        // If the kernel refuses it, the record goes on, and the next look tries again.
        if rings.pause().is_err() {
            return;
        }
        self.note_until(at);
        if let Some(rings) = &mut self.rings {
            rings.skip(monotonic_raw_ns());
        }
        self.follower.end_window(at);
        self.note_turns();
        self.profile.end_turns();
        self.reading_ns += thread_cpu_ns() - before;
        let cost_ns = self.rings.as_ref().map_or(0, |rings| rings.cost_ns) + self.reading_ns;
        self.windows.pause(ended, cost_ns);
    }

    /// Looks for the threads that wait since before the window, which began then.
    fn begin_window(&mut self, at: u64) {
        let before = thread_cpu_ns();
        let Some(rings) = &mut self.rings else { return };
        // Calls that were recorded before are not of the window: contend may have lost the CPU since the record goes on.
        rings.skip(at);
        let pids: Vec<u32> = self.targets.alive().map(|(_, target)| target.pid).collect();
        let found: Vec<_> = sampling::blocked_in(&pids).take(MOST_FOUND).collect();
        // All at once: a thread is known to have moved only after the last one.
        let now = monotonic_raw_ns();
        // It ends: the events until `now` are in rings of a fixed size.
        let events: Vec<Event> = std::iter::from_fn(|| rings.next(now)).flatten().collect();
        // Threads that moved were found before or after their first call in the window, whose event has the call.
        let is_call = |event: &&Event| matches!(event.what, What::Call { .. } | What::Return { .. });
        let moved: HashSet<u32> = events.iter().filter(is_call).map(|event| event.thread).collect();
        let found = found.into_iter().filter(|(_, thread, _)| !moved.contains(thread));
        let found = found.map(|(process, thread, blocked)| Found { process, thread, blocked }).collect();
        self.follower.begin_window(at, found, &mut self.unwinders);
        self.note(events);
        self.reading_ns += thread_cpu_ns() - before;
    }

    /// Gives the profile which threads had the words in the waits that have ended.
    fn note_turns(&mut self) {
        self.follower.take_turns().iter().for_each(|turn| self.profile.held(turn));
    }

    fn builder(&mut self) -> Builder<'_> {
        self.follower.settle();
        self.note_turns();
        let scale = self.scale();
        Builder {
            targets: &self.targets,
            follower: &self.follower,
            names: &mut self.names,
            began: self.began_raw,
            thread_time_s: self.thread_time_s,
            scale,
            parked: self.profile.parking_locks(),
        }
    }

    /// Samples the states of the threads, if that is due.
    fn sample(&mut self, now: Instant) {
        if now >= self.next_sample {
            let pids: Vec<u32> = self.targets.alive().map(|(_, target)| target.pid).collect();
            let now_s = (now - self.began).as_secs_f64();
            // Who has a word is known only while the calls are recorded.
            self.profile.follows_words = self.rings.is_some() && self.windows.is_open();
            let pause = self.profile.sample(&pids, None, now_s);
            self.next_sample = now + if self.is_settled(now) { pause * LESS_OFTEN } else { pause };
        }
    }

    fn is_settled(&self, now: Instant) -> bool {
        self.child.is_none() && now - self.began > SETTLED
    }

    fn look_for_hangs(&mut self, observer: &mut dyn Observer<Piece>) {
        let pids: Vec<u32> = self.targets.alive().map(|(_, target)| target.pid).collect();
        if let Some(found) = self.stuck.look(&pids) {
            let _ = observer.piece(&Piece::StandsStill(Box::new(found)));
        }
    }

    /// Reads the current memory maps of the processes, and the number of their threads.
    fn learn(&mut self) {
        self.learn_maps();
        self.learn_threads(Instant::now());
    }

    fn learn_threads(&mut self, now: Instant) {
        self.count_threads(now);
        self.threads = self.targets.threads();
        self.most_threads = self.most_threads.max(self.threads);
    }

    /// Adds up the time of the threads that were there when they were last counted.
    fn count_threads(&mut self, now: Instant) {
        self.thread_time_s += f64::from(self.threads) * now.saturating_duration_since(self.counted).as_secs_f64();
        self.counted = now;
    }

    fn learn_maps(&mut self) {
        for (slot, target) in self.targets.alive() {
            let Some(map) = map_of(target.pid) else { continue };
            // That of a virtual machine has a thousand lines, and is the same for minutes.
            let hash = RandomState::hash_one(&self.hasher, (slot, &map));
            if self.maps.insert(target.pid, hash) == Some(hash) {
                continue;
            }
            self.names.learn(slot, Some(target.pid), &map);
            let mappings = parse(&map);
            let unwinder = self.unwinders.entry(target.pid);
            let unwinder = unwinder.or_insert_with(|| Stacks::within(self.names.allowance()));
            unwinder.learn(target.pid, &mappings);
            self.profile.learn(target.pid, &mappings);
            self.java.learn(target.pid, &map);
        }
        self.java.read();
        self.learned = Instant::now();
    }

    /// Returns the ratio of the part's time to that of its windows.
    fn scale(&self) -> f64 {
        let now = Instant::now();
        let watched_s = self.windows.watched(now).as_secs_f64();
        if self.windows.pauses > 0 && watched_s > 0.0 { (self.parts.elapsed_s(now) / watched_s).max(1.0) } else { 1.0 }
    }

    fn read(&mut self) {
        let (before, learned) = (thread_cpu_ns(), self.learning_ns);
        self.events = 0;
        self.note_until(monotonic_raw_ns());
        self.reading_ns += (thread_cpu_ns() - before).saturating_sub(self.learning_ns - learned);
    }

    fn note_until(&mut self, now: u64) {
        // It ends: the events until `now` are in rings of a fixed size.
        while let Some(events) = self.rings.as_mut().and_then(|rings| rings.next(now)) {
            self.note(events);
        }
        self.note_turns();
    }

    fn note(&mut self, events: Vec<Event>) {
        self.events += events.len();
        let mut events = events.into_iter();
        loop {
            let learns = self.learned.elapsed() > MAPS_PERIOD_OF_STRANGERS;
            match self.follower.note_until(&mut events, &mut self.unwinders, learns) {
                Some(Need::Maps) => {
                    let before = thread_cpu_ns();
                    self.learn_maps();
                    self.learning_ns += thread_cpu_ns() - before;
                }
                Some(Need::Adoption { child }) => {
                    self.targets.adopt(child);
                    self.follow();
                }
                None => break,
            }
        }
    }

    /// Begins the next part of the trace.
    fn begin_part(&mut self, now: Instant) {
        self.follower.begin_part();
        self.windows.begin_part(now);
        self.profile.begin_part();
        self.java.begin_part();
        self.stuck.begin_part();
        (self.thread_time_s, self.counted, self.most_threads) = (0.0, now, self.threads);
        (self.lost_before, self.calls_before) = self.rings.as_ref().map_or((0, 0), |rings| (rings.lost, rings.calls));
        self.busy_cpus = BusyCpus::begin();
        self.parts.begin_next(now);
    }

    /// Returns the last record; `may_be_empty` says whether it is one without any wait and any sample.
    fn finish(mut self, cpus: usize, may_be_empty: bool) -> anyhow::Result<Measured> {
        if self.is_out_of_time {
            self.names.allowance().end_within(AFTER_THE_END);
        }
        let measured = self.measured(cpus, Instant::now());
        let evidence = &measured.seen.evidence;
        let is_known = !evidence.samples.is_empty() || may_be_empty || self.parts.has_earlier();
        let is_seen = !(evidence.rows.is_empty() && evidence.stuck.is_empty());
        let first = self.targets.first();
        let name = first.words.first().map_or("it", String::as_str);
        anyhow::ensure!(
            is_known || is_seen,
            "--pid {}: no thread of {name} waited in a futex call within {:.1} s; trace it for longer, or under load",
            first.pid,
            evidence.elapsed_s
        );
        Ok(measured)
    }

    /// Returns the rows of the part up to now.
    fn snapshot(&mut self, cpus: usize, now: Instant) -> Piece {
        let mut builder = self.builder();
        let places = builder.places();
        let rows = builder.rows(&places);
        let evidence = self.evidence(rows, cpus, self.parts.elapsed_s(now));
        Piece::Snapshot(Box::new(Evidence { stuck: self.stuck.rows.clone(), ..evidence }))
    }

    /// Returns the evidence that these rows and the samples are.
    fn evidence(&mut self, rows: Vec<Row>, cpus: usize, elapsed_s: f64) -> Evidence {
        let sources = Sources {
            profile: &self.profile,
            names: &mut self.names,
            known_as: self.targets.all().map(|(slot, target)| (target.pid, slot)).collect(),
            region: None,
            window: Window::default(),
            java: &self.java,
            uses: Some(self.follower.uses()),
        };
        let (program, busy_cpus_s) = (self.targets.first().words.clone(), self.busy_cpus.since_s());
        let (processes, has_calls) = (self.targets.all().count() as u32, self.rings.is_some());
        let thread_time_s = self.thread_time_s;
        let threads = self.most_threads;
        let span = Span { program, cpus, elapsed_s, processes, busy_cpus_s, thread_time_s, threads, has_calls };
        sources.evidence(span, rows, Vec::new())
    }

    /// Returns the record of the part.
    fn measured(&mut self, cpus: usize, ended: Instant) -> Measured {
        let (elapsed_s, part) = (self.parts.elapsed_s(ended), self.parts.place(ended));
        self.read();
        self.count_threads(ended);
        if self.windows.pauses > 0 && self.windows.is_open() {
            self.end_window();
        }
        self.java.read();
        let has_rings = self.rings.is_some();
        let mut builder = self.builder();
        let places = builder.places();
        let (rows, waits) = (builder.rows(&places), builder.waits(&places));
        let preempted = if has_rings { builder.preempted(elapsed_s, &rows, &places) } else { Counted::default() };
        self.profile.end_turns();
        let mut evidence = self.evidence(rows, cpus, elapsed_s);
        evidence.hang = self.stuck.found.take();
        evidence.stuck = std::mem::take(&mut self.stuck.rows);
        let target = self.targets.first();
        let lost = Lost {
            switches: self.rings.as_ref().map_or(0, |rings| rings.lost - self.lost_before),
            samples: self.profile.lost,
            ..Lost::default()
        };
        let records = Some(format!("{} kernel trace events", terminal::count(lost.switches)));
        let records = records.filter(|_| lost.switches > 0);
        let samples = Some(format!("{} samples of waits", terminal::count(lost.samples))).filter(|_| lost.samples > 0);
        let what = records.into_iter().chain(samples).collect::<Vec<String>>().join(", ");
        let are_counts_complete = lost.switches == 0;
        let lost_events = Some(what).filter(|what| !what.is_empty());
        let lost_events = lost_events.map(|what| TraceLost { what, are_counts_complete }.into());
        let mut warnings: Vec<Warning> = lost_events.into_iter().collect();
        warnings.extend(unnamed_code(&self.names));
        warnings.extend(self.cause.clone());
        let is_in_windows = self.windows.pauses > 0;
        let watched_s = self.windows.watched(ended).as_secs_f64();
        let watched_share = if is_in_windows { watched_s / elapsed_s.max(f64::MIN_POSITIVE) } else { 1.0 };
        // Without a futex call nothing is scaled.
        let has_calls = self.rings.as_ref().is_some_and(|rings| rings.calls > self.calls_before);
        warnings.extend((is_in_windows && has_calls).then(|| FutexWindows { watched_share }.into()));
        let words = self.follower.folded_words;
        warnings.extend((words > 0).then(|| FoldedWords { words }.into()));
        warnings.extend(self.outlived.clone().map(Warning::from));
        let restarts = self.targets.restarts.clone();
        warnings.extend((!restarts.is_empty()).then(|| RestartedProcess { restarts }.into()));
        let left_out = self.targets.left_out;
        warnings.extend((left_out > 0).then(|| ProcessesLeftOut { left_out }.into()));
        let (count, exported) = (self.follower.count, waits.len() as u64);
        let is_cut = exported > 0 && exported < count;
        warnings.extend(is_cut.then(|| ExportCut { waits: count, exported }.into()));
        let parameters = Parameters {
            program: target.words.clone(),
            program_sha256: target.program_sha256.clone(),
            level: Level::FutexCalls,
            attached_pid: Some(target.pid).filter(|_| self.child.is_none()),
            attached_pids: if self.child.is_none() && self.targets.all().count() > 1 {
                self.targets.all().map(|(_, target)| target.pid).collect()
            } else {
                Vec::new()
            },
            exit_status: self.child.as_ref().and_then(Running::exit_status),
            exit_signal: self.child.as_ref().and_then(Running::exit_signal),
            elapsed_s,
            deadline_s: self.deadline.as_secs_f64(),
            processes: self.targets.all().count() as u32,
            threads: self.most_threads,
            thread_time_s: self.thread_time_s,
            switches: self.rings.as_ref().map(|_| "perf".to_owned()),
            switches_share: self.rings.as_ref().map(|_| watched_share.min(1.0)),
            switches_left_out: 0,
            lost,
            locks_left_out: 0,
            sites_left_out: 0,
            verdict: None,
            verdict_reason: None,
            hang: None,
            samples: self.profile.samples,
            lowered: Vec::new(),
            part,
            all: self.all,
            confirmation: None,
        };
        let status = self.child.as_ref().and_then(Running::shell_status);
        let seen = Observed { parameters, warnings, evidence, words: Vec::new() };
        Measured { seen, waits, began_raw_ns: self.began_raw, status, preempted }
    }
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
