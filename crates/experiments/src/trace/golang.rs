//! The waits of goroutines for mutexes, channels and other objects, of an unmodified Go program.

use super::evidence::GoProcess;
use super::measure::{Measured, NamedWait, Piece};
use super::warnings::ExportCut;
use blame::golang::{Event, Follower, Probes, Program, Single, StackNumber, Unfit, Waits, is_go};
use blame::names::{Names, PATIENCE, map_of, message};
use blame::purpose::Purpose;
use blame::watchpoints::{Limits, Schedule};
use blame::{AFTER_THE_END, Allowance};
use harness::Observer;
use instruments::clock::{monotonic_raw_ns, thread_cpu_ns};
use instruments::warning::WarningKind;
use serde::Serialize;
use std::collections::HashMap;
use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The goroutines of the traced processes. It passes reports on, and adds the waits of goroutines to them.
pub struct Goroutines<'a> {
    observer: &'a mut dyn Observer<Piece>,
    watches: Vec<Watch>,
    /// Waits of a process that are kept for exports.
    room: usize,
    /// The waits for each lock up to the last line of `--interval`, in seconds.
    waited_s: HashMap<LockKey, f64>,
}

/// A lock by its process, its address and its name.
type LockKey = (u32, String, String);

/// A Go program whose goroutines are followed, by a thread of contend; nothing for another program.
struct Watch {
    pid: u32,
    work: Option<(Arc<Shared>, JoinHandle<()>)>,
}

struct Shared {
    stop: AtomicBool,
    /// Not with the waits: events of the probes would wait for a thread that looks for names.
    names: Mutex<Names>,
    watched: Mutex<Watched>,
}

/// The waits of a part of the trace, and the conditions under which they were seen.
struct Watched {
    follower: Follower,
    began: Instant,
    /// The end of the program or of the trace.
    ended: Option<Instant>,
    /// The begin of the open window within the part, and the sum of those that were closed.
    opened: Option<Instant>,
    closed_s: f64,
    lost: u64,
    /// The reason why there are none.
    refused: Option<UnseenGoroutines>,
}

/// A copy of the waits up to now.
struct Seen {
    stacks: Vec<Vec<u64>>,
    /// The purposes of channels, as those see them that wait at a call path.
    purposes: HashMap<(u64, StackNumber), Purpose>,
    waits: HashMap<(u64, StackNumber), Waits>,
    elapsed_s: f64,
    watched_s: f64,
    lost: u64,
    refused: Option<UnseenGoroutines>,
}

/// The part of one CPU's time that the probes may take, and the time that one takes at most.
const BUDGET: f64 = 0.02;
const COST_NS: f64 = 5_000.0;
/// A window is long compared with most waits.
const LIMITS: Limits = Limits { window_s: 0.25, accesses: 50_000 };
const TICK: Duration = Duration::from_millis(5);
const MAPS_PERIOD: Duration = Duration::from_millis(500);

impl<'a> Goroutines<'a> {
    /// Follows the goroutines of running processes, as far as they are Go programs, from the return of this call on. With
    /// `room` for single waits, it leaves no gaps, whatever that costs.
    pub fn attach(observer: &'a mut dyn Observer<Piece>, pids: &[u32], room: usize) -> Self {
        let (ready, opened) = channel();
        let watches = pids.iter().map(|pid| Watch::begin(*pid, Some(ready.clone()), room)).collect();
        // The channel is closed once each thread has opened its probes, or has ended.
        drop(ready);
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until && observer.wait(Instant::now()).is_continue() {
            if let Err(RecvTimeoutError::Disconnected) = opened.recv_timeout(TICK) {
                break;
            }
        }
        Self { observer, watches, room, waited_s: HashMap::new() }
    }

    /// Follows those of a program that was just started.
    pub fn begin(observer: &'a mut dyn Observer<Piece>, pid: u32, room: usize) -> Self {
        Self { observer, watches: vec![Watch::begin(pid, None, room)], room, waited_s: HashMap::new() }
    }

    /// Ends it, and adds the waits to those of the threads.
    pub fn finish(self, measured: &mut Measured) {
        self.watches.iter().for_each(Watch::stop);
        let until = Instant::now() + AFTER_THE_END;
        self.watches.into_iter().for_each(|watch| watch.finish(measured, until));
    }

    fn are_none(&self) -> bool {
        self.watches.iter().all(|watch| watch.work.is_none())
    }

    /// Returns a line of `--interval` with the waits of goroutines for locks. The futex words of a Go program are those of
    /// its scheduler (`of_words`), so its goroutines' waits take their place.
    fn interval(
        &mut self,
        (at_s, span_s): (f64, f64),
        of_threads: (f64, Option<(String, f64)>),
        of_words: bool,
    ) -> Piece {
        let (mut new, mut are_seen): (Vec<(LockKey, f64)>, bool) = (Vec::new(), true);
        for watch in &self.watches {
            let seen = watch.seen(false);
            are_seen &= seen.as_ref().is_some_and(|seen| seen.refusal.is_none() && seen.watched_s > 0.0);
            for row in seen.map(|seen| seen.locks()).unwrap_or_default() {
                let key = (row.process, row.address, row.lock);
                let before = self.waited_s.insert(key.clone(), row.wait_total_s).unwrap_or(0.0);
                new.push((key, (row.wait_total_s - before).max(0.0)));
            }
        }
        let (mut waited_s, mut most) = if of_words && are_seen { (0.0, None) } else { of_threads };
        for ((_, _, lock), s) in new {
            waited_s += s;
            if s > most.as_ref().map_or(0.0, |(_, most_s)| *most_s) {
                most = Some((lock, s));
            }
        }
        Piece::Interval { at_s, span_s, waited_s, most, of_words }
    }
}

impl Observer<Piece> for Goroutines<'_> {
    fn note(&self, what: &str) {
        self.observer.note(what);
    }

    fn piece(&mut self, piece: &Piece) -> ControlFlow<()> {
        match piece {
            Piece::Restarted(restarted) => {
                let successors = restarted.restarts.iter().map(|(_, new)| Watch::begin(new.pid, None, self.room));
                self.watches.extend(successors);
                self.observer.piece(piece)
            }
            _ if self.are_none() => self.observer.piece(piece),
            Piece::Interval { at_s, span_s, waited_s, most, of_words } => {
                let piece = self.interval((*at_s, *span_s), (*waited_s, most.clone()), *of_words);
                self.observer.piece(&piece)
            }
            Piece::Snapshot(snapshot) => {
                let mut snapshot = snapshot.clone();
                snapshot.goroutines.extend(self.watches.iter().filter_map(|watch| watch.seen(false)));
                self.observer.piece(&Piece::Snapshot(snapshot))
            }
            Piece::Part(measured) => {
                let mut measured = measured.clone();
                let of_part = self.watches.iter().filter_map(|watch| watch.seen(true));
                measured.seen.evidence.goroutines.extend(of_part);
                self.waited_s.clear();
                self.observer.piece(&Piece::Part(measured))
            }
            Piece::Hang(_) | Piece::StandsStill(_) | Piece::Outlived(_) => self.observer.piece(piece),
        }
    }

    fn wait(&mut self, until: Instant) -> ControlFlow<()> {
        self.observer.wait(until)
    }
}

impl Watch {
    fn begin(pid: u32, ready: Option<Sender<()>>, room: usize) -> Self {
        if Allowance::default().patiently(PATIENCE, move |_| is_go(pid)) != Ok(true) {
            return Self { pid, work: None };
        }
        let (stop, names) = (AtomicBool::new(false), Mutex::new(Names::default()));
        let shared = Arc::new(Shared { stop, names, watched: Mutex::new(Watched::begin(room)) });
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            if let Err(refused) = follow(pid, ready, room, &of_thread) {
                locked(&of_thread.watched).refused = Some(refused);
            }
        });
        Self { pid, work: Some((shared, thread)) }
    }

    /// Returns what was seen by now, and begins the next part if this one ends; `None` if it is not a Go program, or one that
    /// had ended before.
    fn seen(&self, ends_part: bool) -> Option<GoProcess> {
        let (shared, _) = self.work.as_ref()?;
        let mut watched = locked(&shared.watched);
        if ends_part {
            watched.follower.count_open_waits(monotonic_raw_ns());
        }
        let seen = watched.seen();
        if ends_part {
            watched.begin_part();
        }
        drop(watched);
        Some(seen?.named(self.pid, &mut locked(&shared.names)))
    }

    fn stop(&self) {
        self.work.iter().for_each(|(shared, _)| shared.stop.store(true, Relaxed));
    }

    /// Ends it, and adds the waits to those of the threads. The kernel can keep the
    /// thread waiting for a file system of the program's own, and ends it with contend if it does so longer than `until`.
    fn finish(mut self, measured: &mut Measured, until: Instant) {
        self.stop();
        let Some((shared, thread)) = self.work.take() else { return };
        let is_done = || thread.is_finished() || locked(&shared.watched).ended.is_some();
        while !is_done() && Instant::now() < until {
            std::thread::sleep(TICK);
        }
        if !is_done() {
            return measured.seen.warnings.push(unseen("the system did not answer in time").into());
        }
        let is_joined = !thread.is_finished() || thread.join().is_ok();
        let mut watched = locked(&shared.watched);
        if let Some(seen) = watched.seen().filter(|_| is_joined) {
            let (kept, is_full) = watched.follower.take_kept();
            let process = seen.named(self.pid, &mut locked(&shared.names));
            let (waits, count) = single(&process, &kept, measured.began_raw_ns);
            let cut = ExportCut { waits: count, exported: waits.len() as u64 };
            measured.waits.extend(waits);
            measured.seen.warnings.extend((is_full && cut.exported < count).then(|| cut.into()));
            measured.seen.evidence.goroutines.push(process);
        }
    }
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watched {
    /// Begins now, with room for as many single waits.
    fn begin(room: usize) -> Self {
        Self {
            follower: Follower::with_room(room),
            began: Instant::now(),
            ended: None,
            opened: None,
            closed_s: 0.0,
            lost: 0,
            refused: None,
        }
    }

    /// Returns the time of the windows.
    fn watched_s(&self) -> f64 {
        self.closed_s + self.opened.map_or(0.0, |opened| opened.elapsed().as_secs_f64())
    }

    /// Returns a copy; `None` if the program had ended before the part began.
    fn seen(&self) -> Option<Seen> {
        let until = self.ended.unwrap_or_else(Instant::now);
        let purpose = |place: &(u64, StackNumber)| Some((*place, self.follower.purpose(place.0, place.1)?));
        Some(Seen {
            purposes: self.follower.waits.keys().filter_map(purpose).collect(),
            stacks: self.follower.stacks.clone(),
            waits: self.follower.waits.clone(),
            elapsed_s: until.checked_duration_since(self.began)?.as_secs_f64(),
            watched_s: self.watched_s(),
            lost: self.lost,
            refused: self.refused.clone(),
        })
    }

    /// Ends a window.
    fn close(&mut self, now_ns: u64) {
        self.closed_s = self.watched_s();
        self.opened = None;
        self.follower.forget_goroutines(now_ns);
    }

    fn begin_part(&mut self) {
        let now = Instant::now();
        self.follower.begin_part();
        (self.began, self.closed_s, self.lost) = (now, 0.0, 0);
        self.opened = self.opened.map(|_| now);
    }
}

impl Seen {
    fn named(self, process: u32, names: &mut Names) -> GoProcess {
        let Self { stacks, purposes, waits, elapsed_s, watched_s, lost, refused } = self;
        let refusal = refused.map(|refused| (refused.clone().into(), refused.need == Need::Permission));
        let process = GoProcess { process, elapsed_s, watched_s, lost, refusal, ..GoProcess::default() };
        process.name(names, &stacks, &waits, &purposes)
    }
}

/// Returns single waits with names, and how many there were; but for sleep, I/O, those of the runtime, and those that ended
/// before the trace began.
fn single(process: &GoProcess, waits: &[Single], began_raw_ns: u64) -> (Vec<NamedWait>, u64) {
    let path = |stack: StackNumber| process.paths.get(stack).filter(|path| path.kind.ends_by_others());
    let counts = process.waits.iter().filter(|((_, stack), _)| path(*stack).is_some());
    let count = counts.map(|(_, one)| one.waits.times.count).sum();
    let since = |raw_ns: u64| raw_ns.saturating_sub(began_raw_ns) as f64;
    let mut numbers = HashMap::new();
    let mut named = Vec::new();
    for wait in waits.iter().filter(|wait| wait.until_ns > began_raw_ns) {
        let Some(path) = path(wait.stack) else { continue };
        let mut number = |goroutine: u64| {
            let next = numbers.len() as u32 + 1;
            *numbers.entry(goroutine).or_insert(next)
        };
        let thread = number(wait.goroutine);
        let releaser = wait.end.and_then(|end| end.releaser).map(number);
        named.push(NamedWait {
            process: process.process,
            thread,
            are_goroutines: true,
            began: since(wait.since_ns),
            ended: since(wait.until_ns),
            in_vain: false,
            releaser,
            released: releaser.map(|_| since(wait.until_ns)),
            lock: process.name_of(wait.object, path),
            site: path.site.label.clone(),
            holder: wait.end.map(|end| process.label(end.stack).to_owned()),
        });
    }
    (named, count)
}

impl Drop for Watch {
    fn drop(&mut self) {
        // The measurement has failed for another reason. The kernel closes the probes with contend.
        self.stop();
    }
}

/// The end of the following of a program.
enum End {
    /// The process or the trace ended.
    Over,
    /// The process runs another program.
    Replaced,
}

/// Follows the goroutines of a process until it ends, or the trace.
///
/// Without `room` for single waits, the probes are open in windows where they would cost more than [`BUDGET`].
fn follow(pid: u32, mut ready: Option<Sender<()>>, room: usize, shared: &Shared) -> Result<(), UnseenGoroutines> {
    let mut program = find(pid)?.ok_or_else(|| unseen("the process runs another program by now"))?;
    // It ends: each turn is a program that the process has become, and the trace ends it.
    while let End::Replaced = windows(pid, &program, &mut ready, room == 0, shared)? {
        let successor = find(pid);
        if !is_there(pid) {
            break;
        }
        let Some(found) = successor? else { break };
        program = found;
        // The addresses of the program before mean something else now.
        locked(&shared.names).forget_processes();
        *locked(&shared.watched) = Watched::begin(room);
    }
    Ok(())
}

/// Finds the Go program of a process; `None` if it runs another one. Its memory is not complete at once.
fn find(pid: u32) -> Result<Option<Program>, UnseenGoroutines> {
    const TRIES: usize = 3;
    let mut tries = 1;
    loop {
        match Allowance::default().patiently(PATIENCE, move |_| Program::find(pid)) {
            Err(_) => return Err(unseen("its file cannot be read in time")),
            Ok(Err(_)) if tries < TRIES => {
                tries += 1;
                std::thread::sleep(TICK);
            }
            Ok(found) => return Ok(found?),
        }
    }
}

/// Returns whether a process has a program: one that has ended has none, although its parent may not know yet, and
/// neither has one whose first thread has ended.
fn is_there(pid: u32) -> bool {
    std::fs::read_link(format!("/proc/{pid}/exe")).is_ok()
}

/// Opens windows of the probes until the program ends.
fn windows(
    pid: u32,
    program: &Program,
    ready: &mut Option<Sender<()>>,
    saves: bool,
    shared: &Shared,
) -> Result<End, UnseenGoroutines> {
    let cpus: Vec<usize> = instruments::cpus::online().map_err(UnseenGoroutines::from)?.iter().collect();
    let began = Instant::now();
    let mut schedule = Schedule::new(BUDGET, LIMITS, began);
    let (mut probes, mut was_open): (Option<Probes>, bool) = (None, false);
    // The begin of the window: contend can lose the CPU after it has opened the probes, and such events are not of it.
    let mut from_ns = 0;
    let (mut next_maps, mut next_open) = (began, began);
    loop {
        let time = Instant::now();
        let (has_ended, is_stopped) = (!program.is_running() || !is_there(pid), shared.stop.load(Relaxed));
        let is_last = has_ended || is_stopped;
        if time >= next_maps
            && !has_ended
            && let Some(map) = map_of(pid)
        {
            locked(&shared.names).learn(0, Some(pid), &map);
            next_maps = time + MAPS_PERIOD;
        }
        if probes.is_none() && !is_last && schedule.is_due(time) && time >= next_open {
            let cpu_ns = thread_cpu_ns();
            match Probes::open(program, &cpus) {
                Ok(opened) => {
                    (probes, was_open) = (Some(opened), true);
                    let now = Instant::now();
                    schedule.opened(now, (thread_cpu_ns() - cpu_ns) as f64 / 1e9);
                    locked(&shared.watched).opened = Some(now);
                    from_ns = monotonic_raw_ns();
                    *ready = None;
                }
                // A debugger has changed the code for the moment, or the process ends or becomes another program.
                Err(error) if was_open || error.raw_os_error() == Some(libc::ESRCH) => {
                    next_open = time + MAPS_PERIOD;
                }
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(open) = &mut probes {
            let mut watched = locked(&shared.watched);
            let until = monotonic_raw_ns();
            let (hits, lost) = (open.hits, open.lost);
            let events = open.drain(until);
            if open.lost > lost {
                watched.lost += open.lost - lost;
                watched.follower.forget_goroutines(until);
            }
            let within = events.into_iter().filter(|event: &Event| event.at_ns >= from_ns);
            within.for_each(|event| watched.follower.note(event));
            let is_over = saves && schedule.spend(open.hits - hits + open.lost - lost, COST_NS, Instant::now());
            if is_over || is_last {
                watched.close(until);
                // Closing the probes takes some tenths of a second, for which the waits do not wait.
                watched.ended = is_last.then_some(time);
                drop(watched);
                let cpu_ns = thread_cpu_ns();
                let late_hits = probes.take().map_or(0, Probes::close);
                schedule.spend(late_hits, COST_NS, Instant::now());
                schedule.closed(Instant::now(), (thread_cpu_ns() - cpu_ns) as f64 / 1e9);
            }
        }
        if is_last {
            locked(&shared.watched).ended = Some(time);
            return Ok(if is_stopped || !is_there(pid) { End::Over } else { End::Replaced });
        }
        std::thread::sleep(TICK);
    }
}

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
    /// Nothing that contend knows: the program's own profiles have them.
    Profile,
}

fn unseen(reason: &str) -> UnseenGoroutines {
    UnseenGoroutines { reason: reason.to_owned(), need: Need::Profile }
}

impl From<Unfit> for UnseenGoroutines {
    fn from(unfit: Unfit) -> Self {
        match unfit {
            Unfit::Layout => unseen(
                "the functions of its runtime were not found, or begin in an unknown way: contend knows Go 1.21 and later \
                 on x86-64",
            ),
            Unfit::Altered => unseen("the code of its runtime is not that of its file, as under a debugger"),
            Unfit::Unreadable(error) => error.into(),
        }
    }
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
                "run contend as root or `sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep $(command -v contend)`, or use the \
                 program's own profiles (/debug/pprof/mutex and /debug/pprof/block)"
            }
            Need::OpenFiles => "raise the limit of open files with `ulimit -n`, or close other programs' files",
            Need::Kernel => {
                "use a kernel with uprobes and BPF (CONFIG_UPROBE_EVENTS, CONFIG_BPF_SYSCALL), or the program's own profiles (/debug/pprof/mutex and \
                 /debug/pprof/block)"
            }
            Need::Profile => "use the program's own profiles (/debug/pprof/mutex and /debug/pprof/block)",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched() -> Watched {
        Watched { closed_s: 2.0, ..Watched::begin(0) }
    }

    #[test]
    fn a_part_has_the_time_of_its_own_windows() {
        let mut watched = watched();
        watched.opened = Some(watched.began);
        assert!(watched.watched_s() >= 2.0);
        watched.begin_part();
        assert!(watched.opened == Some(watched.began) && watched.closed_s == 0.0);
        watched.close(0);
        watched.begin_part();
        assert_eq!((watched.opened, watched.watched_s()), (None, 0.0));
        watched.ended = Some(Instant::now());
        assert!(watched.seen().is_some());
        std::thread::sleep(Duration::from_millis(1));
        watched.begin_part();
        assert!(watched.seen().is_none(), "it had ended before the part");
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
