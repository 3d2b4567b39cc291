//! The measurement: the program runs, and the notes of its threads are read while it does. It prints nothing.

mod circles;
mod class;
mod cost;
pub mod cycles;
pub mod deadlocks;
mod lives;
pub mod orders;
pub mod preempted;
pub mod processes;
mod rows;

pub use rows::NamedWait;

pub use self::processes::{OtherUsers, Outliving, has_library, signal_if};
use super::aggregate::{Longest, Snapshot as Counts, Totals, Window};
use super::busy_cpus::BusyCpus;
use super::evidence::{Evidence, Sources, Span};
use super::flags::Level;
use super::labels;
use super::observed::Observed;
use super::parts::Parts;
use super::plan::{Parameters, Plan, Snapshots};
use super::python_locks;
use super::record::{Row, RowKind};
use super::stuck::StuckThreads;
use super::warnings::{
    CyclesCut, DamagedMemory, ExportCut, FoldedLocks, LateLockCalls, ManyLabels, NoLockCalls, NoSwitches,
    OutlivedProgram, RecordingLowered, RestartedProcess, UnloadedProgram, WatchedScript, unnamed_code,
};
use super::watchpoint::Watch as WordWatch;
use blame::jvm::Machines;
use blame::names::{Names, map_of, message, parse};
use blame::namespace::own_number;
use blame::places;
use blame::preempted::Preempted;
use blame::sampling::profile::Profile;
use blame::switches::{Live, Switches};
use blame::time::{Ticks, Time};
use blame::waits::Waits;
use blame::{AFTER_THE_END, Allowance, Lost};
use cost::{PERIOD, Recording, Sums};
use deadlocks::Hangs;
use harness::{Observer, Session};
use instruments::clock::Calibration;
use instruments::warning::Warning;
use interpose::{Header, MAPS, Memory, Region, Thread};
use preempted::Counted;
pub use processes::Running;
use rows::{Built, of_hangs};
use rustix::time::{ClockId, clock_gettime};
use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant};

/// A report to the observer while the program runs.
pub enum Piece {
    /// The time since the last report: its length, the waits in it, and the lock that was waited for most; whether the waits
    /// are those for futex words, whatever they are for.
    Interval { at_s: f64, span_s: f64, waited_s: f64, most: Option<(String, f64)>, of_words: bool },
    /// The evidence of the part so far.
    Snapshot(Box<Evidence>),
    /// Threads that wait longer than the deadline.
    Hang(Vec<Row>),
    /// Threads of the program hang.
    StandsStill(Box<hang::Explanation>),
    /// The program has ended, and these processes of it go on.
    Outlived(OutlivedProgram),
    /// Processes ended, and others run in their place.
    Restarted(RestartedProcess),
    /// A part of the trace is over.
    Part(Box<Measured>),
}

/// The result of the measurement.
#[derive(Clone)]
pub struct Measured {
    pub seen: Observed,
    /// Waits with their names, for charts.
    pub waits: Vec<NamedWait>,
    /// The begin of the trace on the clock of the kernel's records, in ns.
    pub began_raw_ns: u64,
    /// The program's exit status, as a shell gives it.
    pub status: Option<u8>,
    /// The preempted holders, if the plan wants them.
    pub preempted: Counted,
}

/// Period at which the threads' notes are read.
const TICK: Duration = Duration::from_millis(10);
/// The number of samples from which a program without a call of the C library's locks is diagnosed by them.
const FEWEST_SAMPLES: u64 = 20;
/// The number by which the names know the program before it loads the library, or if it does not. Those of processes that
/// use no lock are below.
const WITHOUT_LIBRARY: u32 = u32::MAX;
/// Processes that use no lock and are sampled at one time, and those whose functions have names.
const MOST_WITHOUT_LOCKS: usize = 32;
const MOST_NAMED_WITHOUT_LOCKS: usize = 512;
/// Waits that an export has at most: contend's memory is bounded.
const MOST_EXPORTED: usize = 500_000;

/// Returns the number of waits to keep: none without exports.
pub fn room_for<T>(exports: &[T]) -> usize {
    if exports.is_empty() { 0 } else { MOST_EXPORTED }
}
/// The time in which a program that is to be watched from inside calls a lock for the first time, mostly; and the period of
/// the looks for that.
const FIRST_CALLS: Duration = Duration::from_millis(100);
const LOOK: Duration = Duration::from_millis(2);
/// Notes that begin sooner after the start of the program are those of all of it.
const LATE_S: f64 = 1.0;
/// Period at which processes' maps are read.
const MAPS_PERIOD: Duration = Duration::from_millis(100);

/// A program that contend has started, and that has not been watched yet, or only from outside.
pub struct Begun {
    pub running: Running,
    pub parts: Parts,
    /// Its samples so far.
    pub profile: Profile,
    pub inside: Inside,
}

/// The conditions under which the library in a program notes its locks.
pub struct Inside {
    pub began: Instant,
    pub program_sha256: Option<String>,
    pub words: WordWatch,
    memory: Memory,
    time: Time,
    /// `None` before they are recorded.
    switches: Option<io::Result<Switches>>,
}

/// Runs the program and watches it.
pub fn run_plan(
    plan: &Plan,
    session: &Session,
    calibration: &Calibration,
    observer: &mut dyn Observer<Piece>,
) -> anyhow::Result<Measured> {
    Begun::start(plan, session, calibration, Some(switches(plan)))?.watch(plan, session, observer)
}

/// Begins the record of switches.
pub fn switches(plan: &Plan) -> io::Result<Switches> {
    let mut switches = Switches::open(&instruments::cpus::allowed()?)?;
    if plan.preempted {
        switches.record_competitors();
    }
    Ok(switches)
}

impl Begun {
    /// Starts the program.
    pub fn start(
        plan: &Plan,
        session: &Session,
        calibration: &Calibration,
        switches: Option<io::Result<Switches>>,
    ) -> anyhow::Result<Self> {
        let level = match plan.level {
            Level::Sampled | Level::FutexCalls => interpose::Level::Sampled,
            Level::Full => interpose::Level::Full,
        };
        let memory = Memory::new(level, calibration.fallback.as_deref())?;
        memory.region().header.keeps_long_holds.store(plan.preempted.into(), Relaxed);
        let time = Time::begin(calibration.clock);
        // Before it runs: a program can put another file in its place.
        let program_sha256 = instruments::sha256::of_file(&plan.program.path).ok();
        let running = Running::start(plan, Some(&memory), &session.interruption)?;
        let inside = Inside {
            began: Instant::now(),
            program_sha256,
            words: WordWatch::of_started(running.pid(), &plan.words, &session.interruption),
            memory,
            time,
            switches,
        };
        Ok(Self { running, parts: Parts::begin(plan.every), profile: Profile::default(), inside })
    }

    /// Waits for the first call of a lock. Returns whether there is none in the time in which programs start their threads, so
    /// that the program is to be watched from outside; one that has started processes by then is watched from inside.
    pub fn is_without_calls(&mut self, session: &Session) -> bool {
        let until = Instant::now() + FIRST_CALLS;
        while !self.inside.is_noted() {
            if self.running.has_ended() || session.interruption.is_requested() {
                return false;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let pid = self.running.pid();
                let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
                return children.is_ok_and(|children| children.trim().is_empty());
            }
            self.running.wait(left.min(LOOK));
        }
        false
    }

    /// Ends the record of switches, which would fill its rings while the program is watched from outside.
    pub fn end_switches(&mut self) {
        self.inside.switches = None;
    }

    /// Watches the program until it ends.
    pub fn watch(self, plan: &Plan, session: &Session, observer: &mut dyn Observer<Piece>) -> anyhow::Result<Measured> {
        let Self { running, parts, profile, inside } = self;
        let (is_late, is_noted) = (inside.switches.is_none(), inside.is_noted());
        let (switches, no_switches) = match inside.switches.unwrap_or_else(|| switches(plan)) {
            Ok(switches) => (Some(switches), None),
            Err(error) => (None, Some(NoSwitches { reason: message(&error) })),
        };
        let allowance = Allowance::of_run(session.interruption.shared_flag());
        let mut watch = Watch {
            plan,
            program_sha256: inside.program_sha256,
            session,
            memory: &inside.memory,
            running,
            switches,
            time: inside.time,
            waits: Waits::with_room(room_for(&plan.exports)),
            names: Names::within(&allowance),
            maps: HashMap::new(),
            without_library: None,
            without_locks: HashMap::new(),
            without_locks_seen: 0,
            hangs: Hangs::default(),
            stuck: StuckThreads::new(plan.deadline, &allowance),
            noted: None,
            other_users: OtherUsers::default(),
            apart: HashSet::new(),
            profile,
            java: Machines::default(),
            own: HashSet::new(),
            sampled: Vec::new(),
            recording: Recording::default(),
            began: inside.began,
            parts,
            before: Marks::default(),
            busy_cpus: BusyCpus::begin(),
            outliving: Outliving::default(),
            no_switches,
            late_s: None,
        };
        if is_late {
            let now = watch.time.now();
            watch.before.at_ns = now;
            watch.before.open_ns = watch.switches.as_ref().map_or(0.0, |switches| switches.open_ns(now));
            watch.late_s = Some(watch.began.elapsed().as_secs_f64()).filter(|late_s| is_noted && *late_s >= LATE_S);
        }
        watch.waits.preempted = plan.preempted.then(Preempted::default);
        watch.watch(observer);
        let mut measured = watch.finish()?;
        measured.seen.add_words(inside.words.finish());
        Ok(measured)
    }
}

impl Inside {
    /// Returns whether a process of the program has called a lock of the C library, or has labelled a request: the library
    /// notes both.
    pub fn is_noted(&self) -> bool {
        let region = self.memory.region();
        region.pairs().next().is_some() || region.labels.iter().any(|label| label.length.load(Relaxed) > 0)
    }
}

/// The sums since the program began, at the begin or the end of a part of the trace.
#[derive(Default)]
struct Marks {
    /// `None` when the program begins.
    counts: Option<Counts>,
    labels: labels::Snapshot,
    lost: Lost,
    thread_time_s: f64,
    /// Threads that had ended by then.
    threads: u32,
    at_ns: f64,
    open_ns: f64,
}

impl Marks {
    /// Returns the part of the trace from these sums to later ones.
    fn window<'a>(&'a self, after: &'a Self) -> Window<'a> {
        Window { before: self.counts.as_ref(), after: after.counts.as_ref() }
    }

    fn thread_time_since(&self, before: &Self) -> f64 {
        (self.thread_time_s - before.thread_time_s).max(0.0)
    }
}

/// A program that is watched.
struct Watch<'a> {
    plan: &'a Plan,
    program_sha256: Option<String>,
    session: &'a Session,
    memory: &'a Memory,
    running: Running,
    switches: Option<Switches>,
    time: Time,
    waits: Waits,
    names: Names,
    /// The latest memory maps of each process: as it noted it, and as the kernel had it.
    maps: HashMap<usize, [Option<Vec<u8>>; 2]>,
    /// The last map of a program that did not load the library.
    without_library: Option<Vec<u8>>,
    /// The numbers of processes that use no lock, and their last maps.
    without_locks: HashMap<u32, (u32, Vec<u8>)>,
    /// How many there were.
    without_locks_seen: u32,
    hangs: Hangs,
    /// The program's first process as it is seen from outside, which shows waits that the library does not note.
    stuck: StuckThreads,
    /// Hangs by the notes of the library, and since when they wait for a look from outside.
    noted: Option<(Instant, Vec<Row>)>,
    other_users: OtherUsers,
    /// The places of processes in other PID namespaces.
    apart: HashSet<u32>,
    profile: Profile,
    java: Machines,
    /// The slots of processes that are known to be the program's, and the processes whose threads are sampled.
    own: HashSet<usize>,
    sampled: Vec<u32>,
    recording: Recording,
    began: Instant,
    parts: Parts,
    before: Marks,
    busy_cpus: BusyCpus,
    outliving: Outliving,
    no_switches: Option<NoSwitches>,
    /// When the notes of the library began to count, of a program that was watched from outside before.
    late_s: Option<f64>,
}

impl Watch<'_> {
    /// Reads the notes until the program ends, or must end.
    fn watch(&mut self, observer: &mut dyn Observer<Piece>) {
        let mut next_maps = self.began;
        // It may have been watched from outside until now.
        let mut next_line =
            self.plan.interval.map(|span| self.began + span * (self.began.elapsed().div_duration_f64(span) as u32 + 1));
        let (mut before, mut snapshots) = (Totals::default(), Snapshots::of(self.session));
        let (mut next_read, mut next_sample, mut known) = (self.began, self.began, 0);
        let mut next_cost = self.began;
        while !self.is_over(observer) {
            let now = Instant::now();
            // A new process is known by its names from its first samples on.
            let processes = self.memory.region().header.processes.load(Relaxed);
            if now >= next_maps || processes != std::mem::replace(&mut known, processes) {
                self.other_users.look(self.running.pid());
                self.read_maps();
                next_maps = now + MAPS_PERIOD;
                self.look_for_hangs(observer);
            }
            if now >= next_read {
                self.read();
                next_read = now + TICK;
            }
            self.profile.end_window((now - self.began).as_secs_f64());
            if now >= next_sample {
                next_sample = now + self.sample();
            }
            if now >= next_cost && self.may_lower() {
                self.recording.look(self.sums(), self.session.cpus.len());
                next_cost = now + PERIOD;
            }
            let skips = !self.recording.is_on(self.began.elapsed().as_secs_f64());
            self.memory.region().header.skips_events.store(skips.into(), Relaxed);
            if let (Some(at), Some(span)) = (next_line, self.plan.interval)
                && now >= at
            {
                next_line = Some(at + span);
                self.tell_interval(span, &mut before, observer);
            }
            if snapshots.is_due(now) {
                let piece = self.snapshot(now);
                let _ = observer.piece(&piece);
            }
            if self.parts.is_over(now) {
                let (measured, after) = self.measured(now);
                let _ = observer.piece(&Piece::Part(Box::new(measured)));
                self.begin_part(now, after);
            }
            let is_over = self.plan.budget.is_some_and(|budget| self.began.elapsed() >= budget);
            if is_over || self.session.interruption.is_requested() {
                return self.end();
            }
            let pause = next_read.min(next_sample).saturating_duration_since(Instant::now());
            if self.running.has_ended() { std::thread::sleep(pause) } else { self.running.wait(pause) }
        }
    }

    /// Returns whether the program has ended, and all its processes.
    fn is_over(&mut self, observer: &mut dyn Observer<Piece>) -> bool {
        if !self.running.has_ended() {
            return false;
        }
        let (is_over, new) = self.outliving.look(self.running.pid(), self.running.library());
        if !new.is_empty() {
            let _ = observer.piece(&Piece::Outlived(OutlivedProgram { processes: new }));
        }
        is_over
    }

    /// Begins the next part of the trace, at the end of the one before.
    fn begin_part(&mut self, now: Instant, before: Marks) {
        self.waits.begin_part(before.at_ns);
        self.profile.begin_part();
        let sums = self.sums();
        self.recording.rebase(sums);
        self.java.begin_part();
        self.stuck.begin_part();
        self.hangs = Hangs::default();
        (self.before, self.busy_cpus) = (before, BusyCpus::begin());
        self.parts.begin_next(now);
    }

    /// Returns the sums up to now.
    fn marks(&self, longest: Longest) -> Marks {
        let (region, now) = (self.memory.region(), self.time.now());
        let alive = region.threads().filter(|thread| thread.tid.load(Relaxed) != 0).count();
        Marks {
            counts: Some(Counts::now(region, longest)),
            labels: labels::Snapshot::now(region, longest),
            lost: self.lost(),
            thread_time_s: rows::thread_time_s(region, &self.time),
            threads: region.header.comers.load(Relaxed).saturating_sub(alive as u32),
            at_ns: now,
            open_ns: self.switches.as_ref().map_or(0.0, |switches| switches.open_ns(now)),
        }
    }

    /// Returns the number of threads that used locks in the part.
    fn threads(&self) -> u32 {
        self.memory.region().header.comers.load(Relaxed).saturating_sub(self.before.threads)
    }

    /// Returns the losses since the program began, without those of samples.
    fn lost(&self) -> Lost {
        let switches = self.switches.as_ref().map_or(0, |switches| switches.lost);
        Lost { switches, ..Lost::of(self.memory.region()) }
    }

    /// Samples the states of the program's threads; returns the time until the next sample.
    fn sample(&mut self) -> Duration {
        let now_s = self.began.elapsed().as_secs_f64();
        let (profile, region) = (&mut self.profile, self.memory.region());
        profile.sample(&self.sampled, Some(region), now_s) * self.recording.pause_factor()
    }

    /// Returns whether the user wants less than every single wait and hold.
    fn may_lower(&self) -> bool {
        self.plan.level == Level::Sampled && self.plan.exports.is_empty()
    }

    /// Returns the CPU time of the program and of its recording so far.
    fn sums(&self) -> Sums {
        let region = self.memory.region();
        let calls: u64 = region.pairs().map(|(place, _)| region.acquisitions(place)).fold(0, u64::saturating_add);
        // Events without room cost the same, but for their writing.
        let events_of = |thread: &Thread| thread.head.load(Relaxed).saturating_add(thread.lost.load(Relaxed));
        let events = region.threads().map(events_of).fold(0, u64::saturating_add);
        let ticks = |cost: &AtomicU32| f64::from(cost.load(Relaxed)) / f64::from(Header::ROUNDS);
        let ticks = calls as f64 * ticks(&region.header.pairs_cost) + events as f64 * ticks(&region.header.waits_cost);
        let own = clock_gettime(ClockId::ProcessCPUTime);
        Sums {
            at_s: self.began.elapsed().as_secs_f64(),
            program_s: self.profile.ran_s(),
            own_s: own.tv_sec as f64 + own.tv_nsec as f64 / 1e9,
            library_s: self.time.span_ns(1_000_000) / 1e15 * ticks,
        }
    }

    fn end(&mut self) {
        self.read_maps();
        self.hangs.note_new(self.memory.region(), &self.time, self.plan.deadline);
        if !self.running.has_ended() {
            self.stuck.finish(&self.sampled);
            self.drop_noted_rows();
        }
        let patience = self.plan.patience(self.session);
        if self.running.has_ended() {
            self.outliving.end(self.running.pid(), self.running.library(), patience);
        } else {
            self.running.end(Some(self.memory.region()), patience, &self.session.interruption);
        }
        self.names.allowance().end_within(AFTER_THE_END);
    }

    fn read(&mut self) {
        self.time.renew();
        self.waits.read(self.memory.region(), &self.time);
        if let Some(switches) = &mut self.switches {
            switches.drain(&self.time);
            switches.pace(&self.time, &live(self.memory.region(), &self.time, &self.apart));
        }
        self.waits.judge(self.memory.region(), self.switches.as_ref());
    }

    /// Gives the processes in other PID namespaces, which noted their numbers there, the numbers that they have here.
    fn number_processes(&mut self) {
        const FIRST: usize = 32;
        let (region, inode) = (self.memory.region(), self.memory.inode());
        let children = self.outliving.alive().chain(self.other_users.started().iter().copied());
        let apart: Vec<u32> = children.filter(|pid| own_number(*pid, *pid).is_some_and(|own| own != *pid)).collect();
        for (place, process) in region.processes().enumerate() {
            let own = process.pid.load(Relaxed);
            if apart.is_empty() || self.own.contains(&place) || apart.contains(&own) {
                continue;
            }
            // Several namespaces have a process 1; the addresses of their maps differ.
            let noted: Vec<u8> = process.maps[..FIRST].iter().map(|byte| byte.load(Relaxed)).collect();
            let is_it = |map: &Vec<u8>| (noted[0] == 0 || map.starts_with(&noted)) && has_memory(map, inode);
            let is_free = |pid: u32| region.processes().all(|other| other.pid.load(Relaxed) != pid);
            let found = apart.iter().copied().find(|pid| {
                own_number(*pid, *pid) == Some(own) && is_free(*pid) && map_of(*pid).as_ref().is_some_and(is_it)
            });
            if let Some(pid) = found {
                process.pid.store(pid, Relaxed);
                self.apart.insert(place as u32);
            }
        }
    }

    /// Learns the memory maps of the processes: as they noted them, and as they are now.
    fn read_maps(&mut self) {
        self.number_processes();
        let region = self.memory.region();
        self.sampled.clear();
        self.sampled.push(self.running.pid());
        self.java.read();
        for (place, process) in region.processes().enumerate() {
            let length = (process.maps_length.load(Acquire) as usize).min(MAPS);
            let noted: Vec<u8> = process.maps[..length].iter().map(|byte| byte.load(Relaxed)).collect();
            // A program that it has become by `exec` has another slot, and other things at these addresses.
            let pid = process.pid.load(Relaxed);
            let is_the_last = region.processes().skip(place + 1).all(|later| later.pid.load(Relaxed) != pid);
            let now = is_the_last.then(|| map_of(pid)).flatten();
            let maps = [Some(noted), now];
            // Reading them is expensive, and the program pays for it, since it shares its CPUs.
            if self.maps.get(&place) != Some(&maps) {
                let [noted, now] = &maps;
                noted.iter().for_each(|map| self.names.learn(place as u32, None, map));
                // The number is that of the process's own PID namespace, so it may be another process's here.
                let now = now.as_ref().filter(|map| has_memory(map, self.memory.inode()));
                self.own.remove(&place);
                if let Some(map) = now {
                    self.own.insert(place);
                    self.names.learn(place as u32, Some(pid), map);
                    self.profile.learn(pid, &parse(map));
                    self.java.learn(pid, map);
                }
                self.maps.insert(place, maps);
            }
            if self.own.contains(&place) && !self.sampled.contains(&pid) {
                self.sampled.push(pid);
            }
        }
        let pid = self.running.pid();
        let is_noted = region.processes().any(|process| process.pid.load(Relaxed) == pid);
        if let Some(map) = map_of(pid).filter(|map| !is_noted && self.without_library.as_ref() != Some(map)) {
            self.names.learn(WITHOUT_LIBRARY, Some(pid), &map);
            self.profile.learn(pid, &parse(&map));
            self.without_library = Some(map);
        }
        // A process that has not used a lock yet noted nothing.
        let unnoted: Vec<u32> = self.outliving.alive().chain(self.other_users.started().iter().copied()).collect();
        for pid in unnoted {
            if !self.sampled.contains(&pid)
                && let Some(map) = map_of(pid)
            {
                self.learn_without_locks(pid, map);
            }
        }
        self.profile.learn_locks(self.memory.region());
    }

    /// Learns the memory map of a process that uses no lock, which is sampled.
    fn learn_without_locks(&mut self, pid: u32, map: Vec<u8>) {
        let is_sampled = |other: &&u32| self.without_locks.contains_key(other);
        if self.sampled.iter().filter(is_sampled).count() >= MOST_WITHOUT_LOCKS {
            return;
        }
        self.sampled.push(pid);
        let known = self.without_locks.get(&pid);
        if known.is_some_and(|(_, before)| *before == map) {
            return;
        }
        let next = WITHOUT_LIBRARY - 1 - self.without_locks_seen;
        let number = known.map_or(next, |(number, _)| *number);
        self.without_locks_seen += u32::from(known.is_none());
        self.names.learn(number, Some(pid), &map);
        self.profile.learn(pid, &parse(&map));
        self.without_locks.insert(pid, (number, map));
        // The functions of one that has ended keep their names until there are very many.
        let ended = self.without_locks.iter().filter(|(pid, _)| !self.sampled.contains(pid));
        let oldest = ended.max_by_key(|(_, (number, _))| *number).map(|(pid, _)| *pid);
        if self.without_locks.len() > MOST_NAMED_WITHOUT_LOCKS
            && let Some(oldest) = oldest
        {
            self.without_locks.remove(&oldest);
        }
    }

    fn look_for_hangs(&mut self, observer: &mut dyn Observer<Piece>) {
        /// The time in which a look from outside explains what the notes of the library show.
        const PATIENCE: Duration = Duration::from_secs(2);
        let new = self.hangs.note_new(self.memory.region(), &self.time, self.plan.deadline);
        if !new.is_empty() {
            let rows = of_hangs(self.memory.region(), &mut self.names, &new);
            self.noted.get_or_insert_with(|| (Instant::now(), Vec::new())).1.extend(rows);
            self.stuck.hurry();
        }
        // From outside: a wait for a condition may be one to get its mutex back, and not all waits are for locks.
        let found = self.stuck.look(&self.sampled);
        let is_late = self.noted.as_ref().is_some_and(|(since, _)| since.elapsed() >= PATIENCE);
        if let Some(found) = &found {
            self.drop_noted_rows();
            let _ = observer.piece(&Piece::StandsStill(Box::new(found.clone())));
        }
        if let Some((_, mut rows)) = self.noted.take_if(|_| found.is_some() || is_late) {
            // Only the notes say where the locks of a deadlock were acquired.
            rows.retain(|row| row.kind == RowKind::Deadlock || !self.stuck.has_reported(row));
            let _ = observer.piece(&Piece::Hang(rows));
        }
    }

    /// Drops the rows of deadlocks whose rows the notes of the library make better.
    fn drop_noted_rows(&mut self) {
        let known = self.hangs.threads();
        self.stuck.rows.retain(|row| row.steps.iter().any(|step| !known.contains(&step.thread)));
    }

    fn tell_interval(&mut self, span: Duration, before: &mut Totals, observer: &mut dyn Observer<Piece>) {
        // A name is kept once it is found, so the memory map must be known before.
        self.read_maps();
        let now = Totals::of(self.memory.region());
        let most = now.most_since(before);
        let to_s = |ticks: u64| self.time.span_ns(ticks) / 1e9;
        let piece = Piece::Interval {
            at_s: self.began.elapsed().as_secs_f64(),
            span_s: span.as_secs_f64(),
            waited_s: to_s(now.waited().saturating_sub(before.waited())),
            most: most
                .map(|(lock, ticks)| (places::lock_name(self.memory.region(), &mut self.names, lock), to_s(ticks))),
            of_words: false,
        };
        let _ = observer.piece(&piece);
        *before = now;
    }

    fn finish(mut self) -> anyhow::Result<Measured> {
        let unseen = if self.parts.has_earlier() { None } else { self.check_seen(self.memory.region())? };
        let (mut measured, _) = self.measured(Instant::now());
        measured.seen.warnings.extend(unseen);
        Ok(measured)
    }

    /// Returns the rows of the part up to now. The record of the part is the same without it.
    fn snapshot(&mut self, now: Instant) -> Piece {
        // A name is kept once it is found, so the memory map must be known before.
        self.read_maps();
        let after = self.marks(Longest::Kept);
        let (_, evidence) = self.evidence(&after, self.parts.elapsed_s(now));
        Piece::Snapshot(Box::new(Evidence { stuck: self.stuck.rows.clone(), ..evidence }))
    }

    /// Returns the program and its arguments.
    fn words(&self) -> Vec<String> {
        self.plan.program.words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    /// Returns the evidence of the part up to `after`, which takes the rows and the slots of what is built.
    fn evidence(&mut self, after: &Marks, elapsed_s: f64) -> (Built, Evidence) {
        let (region, before, program, threads) = (self.memory.region(), &self.before, self.words(), self.threads());
        let window = self.before.window(after);
        let thread_time_s = after.thread_time_since(before);
        let labels = labels::of(region, &before.labels, &after.labels, &self.time, &self.waits);
        let is_whole = self.recording.lowered.is_empty();
        let noted = region.processes().enumerate().map(|(place, process)| (process.pid.load(Relaxed), place as u32));
        let unnoted = self.without_locks.iter().map(|(pid, (number, _))| (*pid, *number));
        let known_as = std::iter::once((self.running.pid(), WITHOUT_LIBRARY)).chain(unnoted).chain(noted);
        let known_as: HashMap<u32, u32> = known_as.collect();
        let is_folded = |slot| places::is_folded(region, slot);
        let python = python_locks::places(&self.profile, &mut self.names, &known_as, is_folded);
        let counted = rows::Span { region, window, labels, thread_time_s, is_whole, python: &python };
        let mut built = rows::build(counted, &mut self.names, &self.waits, &self.hangs, &self.time);
        rows::mark_reached(&mut built.rows, &self.stuck.rows);
        let sources = Sources {
            profile: &self.profile,
            names: &mut self.names,
            known_as,
            region: Some(region),
            window,
            java: &self.java,
            uses: None,
        };
        let (cpus, busy_cpus_s) = (self.session.cpus.len(), self.busy_cpus.since_s());
        let processes = region.processes().count() as u32;
        let span = Span { program, cpus, elapsed_s, processes, busy_cpus_s, thread_time_s, threads, has_calls: false };
        let (rows, slots) = (std::mem::take(&mut built.rows), std::mem::take(&mut built.slots));
        (built, sources.evidence(span, rows, slots))
    }

    /// Returns the record of the part, and the sums at its end.
    fn measured(&mut self, ended: Instant) -> (Measured, Marks) {
        let (elapsed_s, part) = (self.parts.elapsed_s(ended), self.parts.place(ended));
        // Twice, since the notes of one time are judged by the next.
        self.read();
        self.read();
        self.read_maps();
        let region = self.memory.region();
        // A thread that died while it waited still waits.
        self.hangs.note_new(region, &self.time, self.plan.deadline);
        let after = self.marks(Longest::Reset);
        let (built, mut evidence) = self.evidence(&after, elapsed_s);
        evidence.hang = self.stuck.found.take();
        evidence.stuck = std::mem::take(&mut self.stuck.rows);
        let before = &self.before;
        let window = before.window(&after);
        let lost = Lost { samples: self.profile.lost, ..after.lost.since(&before.lost) };
        let mut warnings: Vec<Warning> = WatchedScript::of(&self.plan.program).into_iter().collect();
        warnings.extend(lost.warning());
        warnings.extend(self.recording.lowered.iter().map(|lowered| RecordingLowered { lowered: *lowered }.into()));
        let folded = FoldedLocks::found_in(region, |pair| window.counts(pair).acquisitions);
        warnings.extend(folded.map(Warning::from));
        warnings.extend(self.outliving.warning());
        warnings.extend(self.no_switches.clone().map(Warning::from));
        warnings.extend(self.late_s.map(|since_s| LateLockCalls { since_s }.into()));
        let (waits, exported) = (self.waits.count, self.waits.kept.len() as u64);
        let is_cut = !self.plan.exports.is_empty() && exported < waits;
        warnings.extend(is_cut.then(|| ExportCut { waits, exported }.into()));
        warnings.extend(unnamed_code(&self.names));
        warnings.extend(built.cycles_cut.map(|reason| CyclesCut { reason: reason.to_string() }.into()));
        let without_room = after.labels.without_room_since(&before.labels);
        warnings.extend((without_room > 0).then(|| ManyLabels { requests: without_room }.into()));
        warnings.extend(DamagedMemory::found_in(region).map(Warning::from));
        warnings.extend(self.other_users.warnings(false));
        warnings.extend(UnloadedProgram::of(region).map(Warning::from));
        let parameters = Parameters {
            program: self.words(),
            program_sha256: self.program_sha256.clone(),
            level: self.plan.level,
            attached_pid: None,
            attached_pids: Vec::new(),
            exit_status: self.running.exit_status(),
            exit_signal: self.running.exit_signal(),
            elapsed_s,
            deadline_s: self.plan.deadline.as_secs_f64(),
            processes: region.processes().count() as u32,
            threads: self.threads(),
            thread_time_s: after.thread_time_since(before),
            switches: self.switches.as_ref().map(|_| "perf".to_owned()),
            switches_share: self.switches.as_ref().map(|_| switches_share(before, &after)),
            switches_left_out: self.switches.as_ref().map_or(0, |switches| switches.left_out() as u32),
            lost,
            locks_left_out: built.locks_left_out,
            sites_left_out: built.sites_left_out,
            verdict: None,
            verdict_reason: None,
            hang: None,
            samples: self.profile.samples,
            lowered: self.recording.lowered.clone(),
            part,
            all: self.plan.all,
            confirmation: None,
        };
        let (switches, time) = (self.switches.as_ref(), &self.time);
        let preempted = self.waits.preempted.as_ref();
        let preempted = preempted
            .map(|preempted| Counted::of((region, window), &mut self.names, preempted, switches, time, elapsed_s))
            .unwrap_or_default();
        let status = self.running.shell_status();
        let (waits, began_raw_ns) = (built.waits, self.time.began_raw_ns());
        let seen = Observed { parameters, warnings, evidence, words: Vec::new() };
        let measured = Measured { seen, waits, began_raw_ns, status, preempted };
        (measured, after)
    }

    /// Checks that something was seen; returns a warning about missing data.
    fn check_seen(&self, region: &Region) -> anyhow::Result<Option<Warning>> {
        let program = self.plan.program.path.display();
        let end = match (self.running.exit_status(), self.running.exit_signal()) {
            (Some(status), _) => format!("it ended with status {status}"),
            (None, Some(signal)) => format!("it was killed by signal {signal}"),
            (None, None) => "it is still running".to_owned(),
        };
        let has_samples = self.profile.samples >= FEWEST_SAMPLES && self.profile.has_lives();
        let is_loaded = region.processes().count() > 0;
        if region.pairs().count() > 0 {
            return Ok(None);
        }
        if is_loaded && let Some((pid, other)) = self.other_users.found().next() {
            anyhow::bail!(
                "{program}: no lock was traced: {}, so it cannot load contend's library; {end}; run contend as that \
                 user, or attach as root with `contend trace --pid PID`",
                other.words(pid)
            );
        }
        anyhow::ensure!(
            is_loaded || has_samples,
            "{program}: did not load contend's library, so no lock was traced; {end}; the program is privileged, or \
             its loader ignores LD_PRELOAD"
        );
        Ok(Some(NoLockCalls { is_loaded, has_futex_calls: false }.into()))
    }
}

/// Returns the share of a part in which switches were recorded.
fn switches_share(before: &Marks, after: &Marks) -> f64 {
    let (open, all) = (after.open_ns - before.open_ns, after.at_ns - before.at_ns);
    if all > 0.0 { (open / all).clamp(0.0, 1.0) } else { 1.0 }
}

/// Returns whether contend's memory is in a map.
fn has_memory(map: &[u8], inode: u64) -> bool {
    has_file(map, inode, "/memfd:contend-trace")
}

/// Returns whether a file in memory is in a map.
pub fn has_file(map: &[u8], inode: u64, path: &str) -> bool {
    parse(map).iter().any(|piece| piece.file.inode == inode && piece.path.starts_with(path))
}

/// Returns whether a process has the library with this inode.
fn has_library_file(pid: u32, inode: u64) -> bool {
    map_of(pid).is_some_and(|map| has_file(&map, inode, "/memfd:contend-interpose"))
}

/// Returns the threads that use locks, without those of the processes in other PID namespaces: they noted their numbers
/// there, by which the kernel's events do not know them.
fn live(region: &Region, time: &Time, apart: &HashSet<u32>) -> Vec<Live> {
    let threads = region
        .threads()
        .filter(|thread| !apart.contains(&thread.process.load(Relaxed)))
        .map(|thread| Live { thread: thread.tid.load(Acquire), since: time.of_ticks(thread.started.load(Relaxed)) });
    threads.filter(|live| live.thread != 0).collect()
}
