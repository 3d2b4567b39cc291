//! The measurement: spinners compute and rest, the accounts are read at every change, and every interval has a row.
//!
//! An interval is divided into stretches: between spinning and resting, and between one spinner on each CPU and
//! several.

mod accounts;
mod totals;

use self::accounts::{Delta, ExactAccount, Reader, Snapshot};
use self::totals::Totals;
use super::flags::Priority;
use super::plan::Plan;
use super::record::{AllCpusRow, IntervalRow, TotalRow};
use harness::{Calibrated, Observer, SmtMonitor};
use instruments::cpus::realtime::may_use_realtime;
use instruments::cpus::schedule::reschedule_current_thread;
use instruments::neighbour::WidthsOverTime;
use instruments::warning::{LeftOut, NoRealtimePriority, PriorityRefused, Warning};
use loops::load::{GRIND, Spinners, no_longer_in_time, read_in_time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// The result of the measurement.
#[derive(Serialize, Deserialize)]
pub struct Measured {
    pub intervals: Vec<IntervalRow>,
    pub totals: Vec<TotalRow>,
    pub all_cpus: Option<AllCpusRow>,
    /// The name of the exact account, if there is one.
    pub exact_account: Option<String>,
    pub warnings: Vec<Warning>,
}

/// Measures until the plan's length is over or the observer stops it.
pub fn run_plan(
    plan: &Plan,
    seed: u64,
    calibrated: &Calibrated,
    monitor: &mut SmtMonitor,
    observer: &mut impl Observer<[IntervalRow]>,
) -> io::Result<Measured> {
    let mut warnings = Vec::new();
    let priority = granted(plan.priority, &mut warnings);
    let clock = calibrated.clock();
    let tools = (clock, &calibrated.grind, monitor.probe);
    let spinners = Spinners::start(tools, priority.0, &plan.cpus, plan.grinders)?;
    read_in_time();
    let reader = Reader {
        spinners: spinners.spinners.chunks(plan.grinders).collect(),
        clock,
        exact: ExactAccount::find(),
        realtime: priority.is_realtime(),
    };
    let mut run = Run { plan, reader, spinners: &spinners, rng: fastrand::Rng::with_seed(seed) };
    let usual_ns = GRIND.as_nanos() as f64 + calibrated.quality.now.mean_of_1000_ns;
    let mut totals = Totals::new(plan, priority, usual_ns);
    let intervals = run.intervals(&mut totals, observer);
    no_longer_in_time();
    let intervals = intervals?;
    warnings.extend(run.what_was_missing(plan));
    warnings.extend(totals.warnings());
    let exact_account = run.reader.exact.as_ref().map(|account| account.name().to_owned());
    let rows = with_neighbours(totals.rows(), &spinners, monitor, plan);
    warnings.extend(monitor.warnings());
    Ok(Measured { intervals, totals: rows, all_cpus: totals.all_cpus(), exact_account, warnings })
}

/// Adds the part of each core's width that an SMT sibling took, as its spinners measured it.
fn with_neighbours(
    mut rows: Vec<TotalRow>,
    spinners: &Spinners,
    monitor: &mut SmtMonitor,
    plan: &Plan,
) -> Vec<TotalRow> {
    for row in &mut rows {
        // The sibling would be another spinner.
        if plan.beside_our_own.contains(&row.cpu) {
            continue;
        }
        let mut widths = WidthsOverTime::default();
        spinners.spinners.iter().filter(|spinner| spinner.cpu == row.cpu).for_each(|one| widths.absorb(&one.widths()));
        monitor.learn_widths(row.cpu, &widths.all());
        let taken = monitor.taken(row.cpu, &widths);
        row.core_shared_share = taken.and_then(|taken| taken.shared_share);
        row.core_shared_share_ci = taken.and_then(|taken| taken.shared_share_ci);
        row.width_lost_share = taken.map(|taken| taken.width_lost_share);
    }
    rows
}

/// Returns the requested priority if it is granted; otherwise idle, with a warning, since the load can still be
/// measured.
fn granted(wanted: Priority, warnings: &mut Vec<Warning>) -> Priority {
    let may_not = may_use_realtime().err().filter(|_| wanted.is_realtime());
    let refused = match may_not {
        Some(missing) => Some(Warning::from(NoRealtimePriority { missing })),
        // A limit may allow some real-time priorities and not this one.
        None => {
            let attempt = std::thread::spawn(move || reschedule_current_thread(wanted.0)).join();
            let refused = attempt.unwrap_or_else(|_| Err(io::Error::other("the attempt panicked"))).err();
            refused
                .map(|error| Warning::from(PriorityRefused { wanted: wanted.to_string(), reason: error.to_string() }))
        }
    };
    match refused {
        None => wanted,
        Some(warning) => {
            warnings.push(warning);
            Priority::IDLE
        }
    }
}

/// A run in progress.
struct Run<'a> {
    plan: &'a Plan,
    reader: Reader<'a>,
    spinners: &'a Spinners,
    rng: fastrand::Rng,
}

impl Run<'_> {
    fn intervals(
        &mut self,
        totals: &mut Totals,
        observer: &mut impl Observer<[IntervalRow]>,
    ) -> io::Result<Vec<IntervalRow>> {
        let mut kept = Vec::new();
        self.spinners.let_grind(1);
        let mut snapshot = self.reader.take()?;
        let mut tick = self.reader.tick()?;
        let began = Instant::now();
        let end = self.plan.length.map(|length| began + length);
        let mut start = began;
        let mut flow = ControlFlow::Continue(());
        while flow.is_continue() && end.is_none_or(|end| start < end) {
            let mut planned = end.map_or(self.plan.interval, |end| (end - start).min(self.plan.interval));
            // A remainder that is too short to be meaningful belongs to the interval before it.
            if let Some(left) = end.map(|end| end - start - planned).filter(|&left| left < self.plan.interval / 4) {
                planned += left;
            }
            flow = self.interval(start, planned, &mut snapshot, totals, observer)?;
            start += planned;
            let now = self.reader.tick()?;
            let rows =
                totals.end_interval(began.elapsed(), &now.shares_since(&tick, self.reader.clock), flow.is_continue());
            tick = now;
            if !rows.is_empty() && observer.piece(&rows).is_break() {
                flow = ControlFlow::Break(());
            }
            if self.plan.keep_intervals {
                kept.extend(rows);
            }
        }
        Ok(kept)
    }

    /// Measures one interval, stretch by stretch, from the last snapshot on.
    fn interval(
        &mut self,
        start: Instant,
        length: Duration,
        snapshot: &mut Snapshot,
        totals: &mut Totals,
        observer: &mut impl Observer<[IntervalRow]>,
    ) -> io::Result<ControlFlow<()>> {
        let parts = stretches(length, self.plan.grinders, self.reader.exact.is_some(), &mut self.rng);
        let mut until = start;
        for Stretch { active, length } in parts {
            self.spinners.let_grind(active);
            until += length;
            if active == 0 {
                // A rest that began late, because other threads had the CPU, must not be short: its delta would be
                // useless.
                until = until.max(Instant::now() + length);
            }
            let flow = observer.wait(until);
            if active == 0 {
                // The next snapshot is taken while a spinner runs; waking up belongs to the rest.
                self.spinners.let_grind(1);
            }
            let next = self.reader.take()?;
            let deltas: Vec<Delta> = self.reader.deltas(snapshot, &next);
            totals.add(active, &deltas);
            *snapshot = next;
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn what_was_missing(&self, plan: &Plan) -> Vec<Warning> {
        let no_account = self.reader.exact.is_none().then(|| {
            Warning::from(LeftOut {
                what: "the effect of the spinner on the load".into(),
                reason:
                    "no exact per-CPU accounting is available; mount the whole cpuacct hierarchy of cgroup v1, or use a \
                     kernel with /proc/schedstat (CONFIG_SCHEDSTATS)"
                        .into(),
            })
        });
        let spared = plan.spared.map(|cpu| {
            Warning::from(LeftOut {
                what: format!("CPU {cpu}"),
                reason: "real-time threads must leave one CPU to other tasks; choose it with --cpus".into(),
            })
        });
        no_account.into_iter().chain(spared).collect()
    }
}

/// A part of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The number of active spinners on each CPU; with 0 they rest.
    pub active: usize,
    pub length: Duration,
}

/// The number of rests that would fill an interval.
const REST: u32 = 16;
/// The length of a pair of compared stretches, short enough that the machine's drift affects both.
const PAIR: Duration = Duration::from_millis(200);

/// Returns the stretches of one interval, in an order and at times that nothing periodic can follow.
///
/// One spinner computes all the time, except for a rest at a random moment. Several alternate with one alone, pair by
/// pair, each pair in random order.
pub fn stretches(interval: Duration, grinders: usize, rests: bool, rng: &mut fastrand::Rng) -> Vec<Stretch> {
    let rest = if rests { interval / REST } else { Duration::ZERO };
    let spinner_time = interval - rest;
    let mut parts =
        if grinders == 1 { around_a_moment(spinner_time, rng) } else { in_pairs(spinner_time, grinders, rng) };
    if rests {
        let place = if grinders == 1 { 1 } else { rng.usize(..=parts.len()) };
        parts.insert(place, Stretch { active: 0, length: rest });
    }
    parts
}

fn around_a_moment(spinner_time: Duration, rng: &mut fastrand::Rng) -> Vec<Stretch> {
    let before = spinner_time.mul_f64(rng.f64());
    [before, spinner_time - before].map(|length| Stretch { active: 1, length }).to_vec()
}

fn in_pairs(spinner_time: Duration, grinders: usize, rng: &mut fastrand::Rng) -> Vec<Stretch> {
    let pairs = (spinner_time.as_nanos() / PAIR.as_nanos()).max(1) as u32;
    let length = spinner_time / (2 * pairs);
    let mut parts = Vec::with_capacity(2 * pairs as usize + 1);
    for _ in 0..pairs {
        let mut pair = [1, grinders];
        rng.shuffle(&mut pair);
        parts.extend(pair.map(|active| Stretch { active, length }));
    }
    parts
}

/// A message of the child, an object per line.
#[derive(Serialize, Deserialize)]
enum Message {
    Interval(Vec<IntervalRow>),
    Measured(Box<Measured>),
    Failed(String),
}

/// How often the observer is polled for a stop, and the child's messages are read.
const LOOK: Duration = Duration::from_millis(50);

/// The time in which the child sends its sums after the request to stop.
const ANSWERS: Duration = Duration::from_secs(3);

/// Measures in a child until the plan's length is over or the observer stops it.
///
/// The child has its own session: the scheduler's autogroups divide the CPU between sessions first and only then by
/// priority. An idle thread of one session takes half of a CPU from a busy thread of another. So spinners that are to
/// take only unused time are put into a separate session, whose group then gets the smallest weight, 15 against 1,024.
/// That cannot be done for a thread, and would take this process from its terminal. Spinners of another priority stay
/// in the user's session, as would the program whose share is measured.
///
/// The child dies with its parent, however that ends.
///
/// The caller must have no other threads: a forked child has only a copy of the calling one.
pub fn run_in_child(
    plan: &Plan,
    seed: u64,
    calibrated: &Calibrated,
    monitor: &mut SmtMonitor,
    observer: &mut impl Observer<[IntervalRow]>,
) -> io::Result<Measured> {
    let (parent_end, child_end) = UnixStream::pair()?;
    let parent = std::process::id();
    // SAFETY: the caller is the only thread, so the child's copy of the process is complete; it measures and leaves
    // with `_exit`, so nothing of the parent's is dropped twice.
    let child = match unsafe { libc::fork() } {
        -1 => return Err(io::Error::last_os_error()),
        0 => {
            drop(parent_end);
            let served = catch_unwind(AssertUnwindSafe(|| serve(parent, child_end, (plan, seed), calibrated, monitor)));
            // SAFETY: `_exit` ends the process and accesses no memory.
            unsafe { libc::_exit(i32::from(!matches!(served, Ok(Ok(()))))) }
        }
        pid => Child(Pid::from_raw(pid).ok_or_else(|| io::Error::other("fork returned no process id"))?),
    };
    drop(child_end);
    let measured = listen(parent_end, observer);
    drop(child);
    measured
}

/// A child that has not been waited for.
///
/// Dropping it ends it, unless it has ended by itself.
struct Child(Pid);

impl Drop for Child {
    fn drop(&mut self) {
        // It has sent all its messages, or never will. Its process ID is not reused before it is waited for. Idle-priority
        // threads on busy CPUs take long to end, and do so without this process, too.
        let _ = kill_process(self.0, Signal::KILL);
        let until = Instant::now() + LOOK * 10;
        while Instant::now() < until && matches!(waitpid(Some(self.0), WaitOptions::NOHANG), Ok(None)) {
            std::thread::sleep(LOOK / 10);
        }
    }
}

/// Runs the parent's part: passes the child's rows to the observer, and the observer's request to stop to the child.
fn listen(mut child: UnixStream, observer: &mut impl Observer<[IntervalRow]>) -> io::Result<Measured> {
    child.set_nonblocking(true)?;
    let mut lines = Lines::default();
    let mut stopping: Option<Instant> = None;
    loop {
        let mut stop = observer.wait(Instant::now() + LOOK).is_break();
        let open = lines.read_from(&mut child)?;
        while let Some(message) = lines.next() {
            match serde_json::from_slice(&message)? {
                Message::Interval(rows) => stop |= observer.piece(&rows).is_break(),
                Message::Measured(measured) => return Ok(*measured),
                Message::Failed(reason) => return Err(io::Error::other(reason)),
            }
        }
        if !open {
            return Err(io::Error::other("the measuring process was killed"));
        }
        if stop && stopping.is_none() {
            stopping = Some(Instant::now());
            // A child that has ended has sent a message.
            let _ = child.write_all(b"stop");
        }
        if let Some(since) = stopping {
            if since.elapsed() > ANSWERS {
                return Err(io::Error::other("the spinners got too little CPU time to end; use fewer --grinders"));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// The complete lines of the received data.
#[derive(Default)]
struct Lines(Vec<u8>);

impl Lines {
    /// Reads the available data; returns whether more may come.
    fn read_from(&mut self, stream: &mut UnixStream) -> io::Result<bool> {
        let mut piece = [0; 4096];
        loop {
            match stream.read(&mut piece) {
                Ok(0) => return Ok(false),
                Ok(length) => self.0.extend_from_slice(&piece[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The child ended before it read the request to stop.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(false),
                Err(error) => return Err(error),
            }
        }
    }

    fn next(&mut self) -> Option<Vec<u8>> {
        let end = self.0.iter().position(|&byte| byte == b'\n')?;
        Some(self.0.drain(..=end).collect())
    }
}

/// Runs the child to its end.
fn serve(
    parent: u32,
    stream: UnixStream,
    (plan, seed): (&Plan, u64),
    calibrated: &Calibrated,
    monitor: &mut SmtMonitor,
) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if std::os::unix::process::parent_id() != parent {
        return Ok(());
    }
    if plan.priority == Priority::IDLE {
        leave_the_session();
    }
    let mut parent = Parent(stream);
    let message = match run_plan(plan, seed, calibrated, monitor, &mut parent) {
        Ok(measured) => Message::Measured(Box::new(measured)),
        Err(error) => Message::Failed(error.to_string()),
    };
    parent.send(&message)
}

/// Moves to a session whose group, if the kernel groups by session, has the least weight.
///
/// If that is refused, the spinners have more weight than intended, which is measured and reported.
fn leave_the_session() {
    if rustix::process::setsid().is_err() {
        return;
    }
    // The kernel allows this to all unprivileged users together ten times per second.
    for _ in 0..20 {
        match std::fs::write("/proc/self/autogroup", "19") {
            Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => std::thread::sleep(LOOK),
            _ => return,
        }
    }
}

/// The observer of the child: its parent, at the other end of the stream.
struct Parent(UnixStream);

impl Parent {
    fn send(&mut self, message: &Message) -> io::Result<()> {
        let line = serde_json::to_string(message)? + "\n";
        self.0.write_all(line.as_bytes())
    }
}

impl Observer<[IntervalRow]> for Parent {
    fn wait(&mut self, until: Instant) -> ControlFlow<()> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
            // The parent sends only the request to stop, or closes the stream.
            let mut parent = [PollFd::new(&self.0, PollFlags::IN)];
            match poll(&mut parent, Some(&timeout)) {
                Ok(0) => return ControlFlow::Continue(()),
                Err(rustix::io::Errno::INTR) => {}
                _ => return ControlFlow::Break(()),
            }
        }
    }

    fn note(&self, _: &str) {}

    fn piece(&mut self, rows: &[IntervalRow]) -> ControlFlow<()> {
        match self.send(&Message::Interval(rows.to_vec())) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stretches_fill_the_interval() {
        let mut rng = fastrand::Rng::with_seed(8);
        for _ in 0..1_000 {
            let (interval, grinders, rests) =
                (Duration::from_millis(rng.u64(100..60_000)), rng.usize(1..5), rng.bool());
            let parts = stretches(interval, grinders, rests, &mut rng);
            let sum: Duration = parts.iter().map(|part| part.length).sum();
            assert!(interval - sum < Duration::from_micros(1), "{interval:?} is not {sum:?}");
            let count = |active| parts.iter().filter(|part| part.active == active).count();
            assert_eq!(count(0), usize::from(rests));
            assert!(grinders == 1 || count(1) == count(grinders), "{parts:?}");
        }
    }
}
