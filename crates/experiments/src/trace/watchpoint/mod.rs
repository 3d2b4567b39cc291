//! Words of a process that are watched by hardware watchpoints in short windows: acquisitions, holds and spinning of locks
//! that make no call.

use super::aggregate::bins;
use super::record::{Row, RowKind};
use super::watched_word::{WatchedWord, WordSite};
use super::words_to_watch::Request;
use anyhow::anyhow;
use blame::durations::Times;
use blame::frames::Frames;
use blame::names::{Names, map_of, message, parse};
use blame::sampling;
use blame::time::Nanoseconds;
use blame::watchpoints::{self, Cost, Follower, Limits, Schedule, Usage, Watchpoints, Word};
use blame::{AFTER_THE_END, Allowance, join_within};
use harness::{Interrupted, Interruption, LOOK, UsageError};
use instruments::clock::monotonic_raw_ns;
use instruments::warning::{Warning, WarningKind};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A word and its name.
struct Named {
    word: Word,
    name: String,
}

/// The thread that watches.
type Work = JoinHandle<anyhow::Result<Vec<Row>>>;

/// Words that are being watched, by a thread of contend.
pub struct Watch {
    request: Request,
    work: Option<(Arc<AtomicBool>, Work)>,
}

/// Mean period at which the words are read while they are not watched.
const TICK: Duration = Duration::from_millis(1);
/// Period at which the memory map is read.
const MAPS_PERIOD: Duration = Duration::from_millis(200);
/// Time after its start in which a program maps the file that has the symbol.
const PATIENCE: Duration = Duration::from_secs(2);
const MOST_SITES: usize = 12;
const LIMITS: Limits = Limits { window_s: 0.02, accesses: 4_096 };
/// Holds below this multiple of the cost's spread are not printed.
const LEAST_HOLD: f64 = 3.0;

impl Watch {
    /// Watches words of a running process.
    ///
    /// # Errors
    /// A name is unknown, or the kernel refuses the watchpoints.
    pub fn attach(pid: u32, request: &Request, interruption: &Interruption) -> anyhow::Result<Self> {
        let (ready, opened) = channel();
        let watch = Self::begin(pid, request, (Duration::ZERO, interruption), Some(ready));
        // A thread that has ended has closed the channel, and has the reason.
        let opened = loop {
            match opened.recv_timeout(LOOK) {
                Err(RecvTimeoutError::Timeout) if interruption.is_requested() => return Err(Interrupted.into()),
                Err(RecvTimeoutError::Timeout) => {}
                opened => break opened,
            }
        };
        match (watch.work.is_some(), opened) {
            (true, Err(_)) => Err(watch.end().err().unwrap_or_else(|| anyhow!("--word: not watched"))),
            _ => Ok(watch),
        }
    }

    /// Watches words of a program that has just been started, once they are there.
    pub fn of_started(pid: u32, request: &Request, interruption: &Interruption) -> Self {
        Self::begin(pid, request, (PATIENCE, interruption), None)
    }

    fn begin(
        pid: u32,
        request: &Request,
        (patience, interruption): (Duration, &Interruption),
        ready: Option<Sender<()>>,
    ) -> Self {
        if request.words.is_empty() {
            return Self { request: request.clone(), work: None };
        }
        let stop = Arc::new(AtomicBool::new(false));
        let (is_stopped, wanted) = (Arc::clone(&stop), request.clone());
        let names = Names::within(&Allowance::of_run(interruption.shared_flag()));
        let thread = std::thread::spawn(move || watch(pid, names, &wanted, patience, ready, &is_stopped));
        Self { request: request.clone(), work: Some((stop, thread)) }
    }

    fn end(mut self) -> anyhow::Result<Vec<Row>> {
        let Some((stop, thread)) = self.work.take() else { return Ok(Vec::new()) };
        stop.store(true, Relaxed);
        let ended = join_within(thread, AFTER_THE_END).ok_or_else(|| anyhow!("--word: the names took too long"))?;
        ended.map_err(|_| anyhow!("--word: the watching thread panicked"))?
    }

    /// Ends the watching; returns the rows, or a warning: words of a program that contend started may have been
    /// impossible to watch.
    pub fn finish(self) -> (Vec<Row>, Option<Warning>) {
        let words = self.request.words.join(", ");
        match self.end() {
            Ok(rows) => (rows, None),
            Err(error) => (Vec::new(), Some(WordsUnwatched { words, reason: format!("{error}") }.into())),
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.work.take() {
            stop.store(true, Relaxed);
            // The measurement has failed for another reason.
            let _ = join_within(thread, AFTER_THE_END);
        }
    }
}

/// Words that the user named were not watched.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WordsUnwatched {
    pub words: String,
    pub reason: String,
}

impl WarningKind for WordsUnwatched {
    const CODE: &'static str = "words_unwatched";

    fn message(&self) -> String {
        format!("{} not watched: {}", self.words, self.reason)
    }

    fn remedy(&self) -> &'static str {
        "start the program by itself, and attach with `contend trace --pid PID --word NAME`"
    }
}

fn watch(
    pid: u32,
    mut names: Names,
    request: &Request,
    patience: Duration,
    ready: Option<Sender<()>>,
    stop: &AtomicBool,
) -> anyhow::Result<Vec<Row>> {
    let words = find(&mut names, pid, &request.words, patience, stop)?;
    let cpus: Vec<usize> = instruments::cpus::online()?.iter().collect();
    let refused = |error: io::Error| refusal(&error, pid);
    make_room(pid, words.len(), cpus.len())?;
    let cost = watchpoints::calibrate(&cpus).map_err(refused)?;
    let addresses: Vec<Word> = words.iter().map(|named| named.word).collect();
    let watchpoints = Watchpoints::open(pid, &addresses, &cpus).map_err(refused)?;
    let began = Instant::now();
    let mut watching = Watching {
        pid,
        names,
        schedule: Schedule::new(request.budget, LIMITS, began),
        follower: Follower::new(words.len(), cost.median_ns),
        watchpoints,
        cost,
        began,
        windows: 0,
        watched_s: 0.0,
        from_ns: 0,
        values: vec![HashMap::new(); words.len()],
        lost: 0,
    };
    watching.learn();
    watching.open_if_due();
    if let Some(ready) = ready {
        // The receiver is gone if the measurement has failed.
        let _ = ready.send(());
    }
    watching.watch(stop);
    Ok(watching.rows(&words, request.budget))
}

/// Raises the limit of contend's open files to what the watchpoints take: one for each thread, word and CPU, and a ring for
/// each CPU.
fn make_room(pid: u32, words: usize, cpus: usize) -> anyhow::Result<()> {
    /// Files that contend opens in the meantime.
    const RESERVE: u64 = 256;
    let threads = sampling::threads(pid).count();
    let taken = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let needed = (threads * words * cpus + 2 * cpus + taken) as u64;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is to a whole limit.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    anyhow::ensure!(
        needed <= limit.rlim_max,
        "--word: {} in {} on {} take {} open files, and the hard limit is {}; run `ulimit -Hn {needed}` as root before \
         contend, or watch fewer words",
        terminal::counted(words, "word"),
        terminal::counted(threads, "thread"),
        terminal::counted(cpus, "CPU"),
        terminal::count(needed),
        terminal::count(limit.rlim_max)
    );
    limit.rlim_cur = limit.rlim_cur.max((needed + RESERVE).min(limit.rlim_max));
    // SAFETY: the pointer is to a whole limit. Where this is refused, opening the watchpoints is.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
    Ok(())
}

/// Returns one clear message, with the command that grants the permission if that is missing.
fn refusal(error: &io::Error, pid: u32) -> anyhow::Error {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => anyhow!(
            "--word: hardware watchpoints in process {pid} are not permitted ({}); run contend as root or as the owner of \
             the process, or run `sudo sysctl kernel.perf_event_paranoid=2` and `sudo setcap \
             cap_perfmon,cap_sys_ptrace+ep $(command -v contend)`",
            message(error)
        ),
        Some(libc::ENOSPC) => anyhow!(
            "--word: the processor's debug registers are in use, by a debugger or another watch of process {pid}; detach \
             it, or watch fewer words"
        ),
        Some(libc::EMFILE | libc::ENFILE) => anyhow!(
            "--word: process {pid} has more threads than contend may open files for ({}); raise the limit with `ulimit -n`",
            message(error)
        ),
        _ => anyhow!(
            "--word: this kernel or virtual machine has no hardware watchpoints that contend can use ({})",
            message(error)
        ),
    }
}

/// Finds the words, of a program that was just started once its files are mapped.
fn find(
    names: &mut Names,
    pid: u32,
    words: &[String],
    patience: Duration,
    stop: &AtomicBool,
) -> Result<Vec<Named>, UsageError> {
    let until = Instant::now() + patience;
    loop {
        if let Some(map) = map_of(pid) {
            names.learn(0, Some(pid), &map);
        }
        let found = words.iter().map(|word| resolve(names, pid, word)).collect::<Result<Vec<Named>, UsageError>>();
        if found.is_ok() || Instant::now() >= until || stop.load(Relaxed) {
            return found;
        }
        std::thread::sleep(TICK * 10);
    }
}

fn resolve(names: &mut Names, pid: u32, text: &str) -> Result<Named, UsageError> {
    let refuse = |why: String| UsageError(format!("--word {text}: {why}"));
    let hexadecimal = |text: &str| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    let (address, size) = if let Some(address) = hexadecimal(text) {
        (address, 8)
    } else {
        let parts = text.rsplit_once('+').and_then(|(name, offset)| Some((name, hexadecimal(offset)?)));
        let (name, offset) = parts.unwrap_or((text, 0));
        match names.named(0, name)[..] {
            [(address, size)] if offset < size => (address + offset, size - offset),
            [(_, size)] => return Err(refuse(format!("the offset is beyond its {size} bytes"))),
            [] => {
                return Err(refuse(format!(
                    "no variable of this name in process {pid}; allowed: a global or static variable, with its full name, \
                     or an address such as 0x7f12"
                )));
            }
            ref several => {
                let list: Vec<String> = several.iter().map(|(address, _)| format!("{address:#x}")).collect();
                return Err(refuse(format!("several variables of this name; use an address: {}", list.join(", "))));
            }
        }
    };
    // Locks are in the first bytes of their variable, and most have four.
    let bytes = [4, 2, 1].into_iter().find(|bytes| size >= *bytes && address % bytes == 0).unwrap_or(1);
    let word = Word { address, bytes };
    if watchpoints::value(pid, word).is_none() {
        return Err(refuse(format!("no readable memory of process {pid} at {address:#x}")));
    }
    let name = if text.starts_with("0x") { names.variable(0, address) } else { None };
    Ok(Named { word, name: name.unwrap_or_else(|| text.to_owned()) })
}

/// The state of the watching.
struct Watching {
    pid: u32,
    names: Names,
    watchpoints: Watchpoints,
    schedule: Schedule,
    follower: Follower,
    cost: Cost,
    began: Instant,
    windows: u64,
    watched_s: f64,
    /// Begin of the open window, on the clock of the events.
    from_ns: u64,
    /// Values that were read outside windows, with their counts.
    values: Vec<HashMap<u64, u64>>,
    lost: u64,
}

impl Watching {
    fn watch(&mut self, stop: &AtomicBool) {
        let mut next_maps = self.began + MAPS_PERIOD;
        while !stop.load(Relaxed) {
            self.open_if_due();
            // At random times, so that no period of the program is in step with the reads.
            let tick = if self.schedule.is_open() { self.cost.drain_period() } else { TICK };
            std::thread::sleep(tick.mul_f64(0.5 + fastrand::f64()));
            if self.schedule.is_open() {
                self.read_window(false);
            } else {
                self.read_values();
                if Instant::now() >= next_maps {
                    self.learn();
                    next_maps = Instant::now() + MAPS_PERIOD;
                }
            }
        }
        if self.schedule.is_open() {
            self.read_window(true);
        }
    }

    fn learn(&mut self) {
        if let Some(map) = map_of(self.pid) {
            self.names.learn(0, Some(self.pid), &map);
            self.watchpoints.learn(&parse(&map));
        }
    }

    fn open_if_due(&mut self) {
        let now = Instant::now();
        if !self.schedule.is_due(now) {
            return;
        }
        self.watchpoints.begin();
        self.from_ns = monotonic_raw_ns();
        let opened = Instant::now();
        self.schedule.opened(opened, (opened - now).as_secs_f64());
        self.windows += 1;
    }

    /// Notes the accesses of the open window, and closes it if it must end.
    fn read_window(&mut self, must_end: bool) {
        let seen = self.note(monotonic_raw_ns());
        let now = Instant::now();
        if !self.schedule.spend(seen, self.cost.median_ns, now) && !must_end {
            return;
        }
        let until_ns = monotonic_raw_ns();
        self.watchpoints.end();
        let rest = self.note(until_ns);
        let closed = Instant::now();
        self.schedule.spend(rest, self.cost.median_ns, closed);
        self.watched_s += self.schedule.closed(now, (closed - now).as_secs_f64());
        // Accesses while the window was being closed count for nothing, since other threads were watched no more.
        self.watchpoints.drain(u64::MAX);
        self.follower.forget_threads();
    }

    /// Notes the accesses until a time; returns their number.
    fn note(&mut self, until_ns: u64) -> u64 {
        let accesses = self.watchpoints.drain(until_ns);
        if std::mem::replace(&mut self.lost, self.watchpoints.lost) != self.watchpoints.lost {
            self.follower.forget_threads();
        }
        let within = accesses.into_iter().filter(|access| access.at_ns >= self.from_ns);
        within.map(|access| self.follower.note(access)).count() as u64
    }

    fn read_values(&mut self) {
        const MOST_VALUES: usize = 256;
        for (word, values) in self.values.iter_mut().enumerate() {
            if let Some(value) = self.watchpoints.value(word)
                && (values.len() < MOST_VALUES || values.contains_key(&value))
            {
                *values.entry(value).or_default() += 1;
            }
        }
    }

    fn rows(mut self, words: &[Named], budget: f64) -> Vec<Row> {
        let elapsed_s = self.began.elapsed().as_secs_f64();
        words.iter().enumerate().map(|(number, named)| self.row(number, named, budget, elapsed_s)).collect()
    }

    fn row(&mut self, number: usize, named: &Named, budget: f64, elapsed_s: f64) -> Row {
        let usage = self.follower.usage(number).clone();
        let sites = self.sites(&usage);
        let holds = Holds::of(&usage, self.cost);
        let held_share = usage.free_value().and_then(|free| share_not(free, &self.values[number]));
        let per_s = usage.acquisitions as f64 / self.watched_s.max(f64::MIN_POSITIVE);
        let word = WatchedWord {
            windows: self.windows,
            watched_s: self.watched_s,
            elapsed_s,
            budget_share: budget.min(1.0),
            accesses: usage.accesses,
            lost_accesses: self.watchpoints.lost,
            other_accesses: usage.other,
            failed_attempts: usage.failed,
            spin_reads: usage.reads,
            holds_cut: usage.cut,
            access_cost_ns: self.cost.median_ns,
            access_cost_spread_ns: self.cost.spread_ns,
            held_share,
            reads: self.values[number].values().sum(),
            acquisitions_extrapolated: per_s * elapsed_s.max(self.watched_s),
            sites: sites.into_iter().map(|site| holds.timed(site)).collect(),
        };
        let mut times = Times::default();
        let timed = holds.mean_ns.map(|_| usage.holds_ns.iter()).into_iter().flatten();
        timed.for_each(|ns| times.note(ns.max(0.0) as u64));
        Row {
            address: format!("{:#x}", named.word.address),
            lock_type: "word".into(),
            acquisitions: usage.acquisitions,
            contended: usage.contended,
            hold_total_s: holds.mean_ns.map(|_| usage.held_ns / 1e9),
            hold_p50_ns: holds.p50_ns,
            hold_p99_ns: holds.p99_ns,
            hold_max_ns: holds.max_ns,
            holds_timed: usage.holds,
            holds: bins(&times, &Nanoseconds),
            word: Some(word),
            ..Row::new(RowKind::Word, self.pid, named.name.clone())
        }
    }

    /// Returns the functions of the call paths, with their accesses.
    fn sites(&mut self, usage: &Usage) -> Vec<WordSite> {
        let mut sites: BTreeMap<String, WordSite> = BTreeMap::new();
        for (stack, tries) in &usage.by_stack {
            // A watchpoint stops a thread behind the instruction.
            let mut path = self.watchpoints.path(*stack).to_vec();
            path.first_mut().into_iter().for_each(|address| *address = address.saturating_sub(1));
            let frames = Frames::of(&mut self.names, 0, &path, &[], |_| None);
            let label = frames.site().map_or_else(|| "an unknown place".to_owned(), |site| site.label.clone());
            let site = sites.entry(label.clone()).or_insert_with(|| WordSite { site: label, ..WordSite::default() });
            site.acquisitions += tries.acquisitions;
            site.failed_attempts += tries.failed;
            site.spin_reads += tries.reads;
            site.hold_total_s = Some(site.hold_total_s.unwrap_or(0.0) + tries.held_ns / 1e9);
        }
        let mut sites: Vec<WordSite> = sites.into_values().collect();
        let is_used = |site: &WordSite| site.acquisitions + site.failed_attempts + site.spin_reads > 0;
        sites.retain(is_used);
        let rank = |site: &WordSite| (site.acquisitions, site.failed_attempts, site.spin_reads);
        sites.sort_by_key(|site| std::cmp::Reverse(rank(site)));
        sites.truncate(MOST_SITES);
        sites
    }
}

/// Returns the part of the values that are others.
fn share_not(free: u64, values: &HashMap<u64, u64>) -> Option<f64> {
    let all: u64 = values.values().sum();
    (all > 0).then(|| (all - values.get(&free).copied().unwrap_or(0)) as f64 / all as f64)
}

/// Hold times; absent where they are too short for the spread of the cost that was subtracted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Holds {
    mean_ns: Option<f64>,
    p50_ns: Option<f64>,
    p99_ns: Option<f64>,
    max_ns: Option<f64>,
}

impl Holds {
    fn of(usage: &Usage, cost: Cost) -> Self {
        let mut sorted = usage.holds_ns.clone();
        sorted.sort_by(f64::total_cmp);
        let least = LEAST_HOLD * cost.spread_ns;
        let quantile = |share: f64| sorted.get(((share * sorted.len() as f64).ceil() as usize).max(1) - 1).copied();
        let known = |value: Option<f64>| value.filter(|ns| *ns >= least);
        let mean_ns = known((usage.holds > 0).then(|| usage.held_ns / usage.holds as f64));
        Self {
            mean_ns: mean_ns.filter(|_| known(quantile(0.5)).is_some()),
            p50_ns: known(quantile(0.5)),
            p99_ns: known(quantile(0.99)),
            max_ns: known(sorted.last().copied()),
        }
    }

    fn timed(self, site: WordSite) -> WordSite {
        WordSite { hold_total_s: site.hold_total_s.filter(|_| self.mean_ns.is_some()), ..site }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(holds_ns: &[f64]) -> Usage {
        Usage {
            holds: holds_ns.len() as u64,
            held_ns: holds_ns.iter().sum(),
            holds_ns: holds_ns.to_vec(),
            ..Usage::default()
        }
    }

    #[test]
    fn holds_below_the_resolution_have_no_times() {
        let cost = Cost { median_ns: 50_000.0, spread_ns: 1_000.0 };
        let long = Holds::of(&usage(&[9_000.0, 10_000.0, 11_000.0]), cost);
        assert_eq!((long.mean_ns, long.p50_ns, long.max_ns), (Some(10_000.0), Some(10_000.0), Some(11_000.0)));
        let short = Holds::of(&usage(&[500.0, 900.0, 90_000.0]), cost);
        assert_eq!((short.mean_ns, short.p50_ns, short.max_ns), (None, None, Some(90_000.0)));
        assert_eq!(Holds::of(&usage(&[]), cost), Holds::default());
    }

    #[test]
    fn held_share_is_that_of_other_values() {
        let values = HashMap::from([(0, 30), (1, 9), (2, 1)]);
        assert_eq!(share_not(0, &values), Some(0.25));
        assert_eq!(share_not(0, &HashMap::new()), None);
    }
}
