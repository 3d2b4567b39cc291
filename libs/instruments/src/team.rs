//! Threads, or processes, that start together, work for a while, and end together.
//!
//! Each member is pinned, prepares itself, and calls [`StartGate::ready`]. When the last one is ready, a start time
//! in the near future is announced, and all members wait for it. A barrier would release them one after the other,
//! and the first would run uncontended. A member that fails cancels the start, so no other member waits for it. A
//! team whose members run third-party code waits for none of them forever.

use crate::clock::Clock;
use crate::cpus::pin_current_thread;
use crate::shared_memory::SharedArray;
use crossbeam_utils::CachePadded;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, waitpid};
use rustix::thread::futex;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::Builder;
use std::time::{Duration, Instant};
use thiserror::Error;

/// A reason why a team did not work.
#[derive(Debug, Error)]
pub enum TeamError {
    /// The system refused a thread.
    #[error("cannot start more than {started} threads; raise `ulimit -u` or the cgroup's pids.max")]
    Spawn {
        /// Number of threads that were started.
        started: usize,
        /// Error of the system.
        source: io::Error,
    },
    /// A member could not be pinned.
    #[error("cannot pin a thread to CPU {cpu}")]
    Pin {
        /// The CPU.
        cpu: usize,
        /// Error of the system.
        source: io::Error,
    },
    /// A process of the team did not end by itself.
    #[error("worker process {member} {how}; the other workers were stopped")]
    Died {
        /// Number of the member, from 0.
        member: usize,
        /// How the process ended.
        how: String,
    },
    /// Processes of the team did not end long after they should have.
    #[error("{members} worker processes were still running one minute after their end time; they were killed")]
    Stuck {
        /// Number of processes.
        members: usize,
    },
    /// Threads of the team did not return and were abandoned.
    #[error("{members} worker threads did not return")]
    LeftBehind {
        /// Number of threads.
        members: usize,
    },
}

/// One thread or process of a team.
pub struct Member<'a> {
    /// CPU to which the member is pinned; `None` lets the scheduler choose.
    pub cpu: Option<usize>,
    /// Work of the member. It must call [`StartGate::ready`] once and end soon after [`StartGate::stop`].
    pub job: Box<dyn FnOnce(&StartGate) + Send + 'a>,
}

/// The synchronisation of the start and end of a team.
pub struct StartGate {
    clock: Clock,
    /// End of the window, in ticks. On a separate cache line: the members read it in every iteration.
    stop: CachePadded<AtomicU64>,
    /// Start, in ticks; 0 until it is announced.
    start: AtomicU64,
    members: usize,
    ready: AtomicUsize,
    /// 1 once the start is announced, or cancelled: members sleep on it.
    is_decided: AtomicU32,
    length_ticks: u64,
}

/// Time between the announcement and the start, and the part of it for each member: sufficient to wake.
const HEAD_START: Duration = Duration::from_micros(400);
const WAKING: Duration = Duration::from_micros(10);

impl StartGate {
    fn new(clock: Clock, members: usize, length: Duration) -> Self {
        Self {
            clock,
            stop: CachePadded::new(AtomicU64::new(0)),
            start: AtomicU64::new(0),
            members,
            ready: AtomicUsize::new(0),
            is_decided: AtomicU32::new(0),
            length_ticks: clock.ticks_in(length),
        }
    }

    /// Returns a gate that is open and stays open, for work that a member does before the team starts.
    pub fn endless(clock: Clock) -> Self {
        let gate = Self::new(clock, 0, Duration::ZERO);
        gate.stop.store(u64::MAX, Ordering::Relaxed);
        gate
    }

    /// Reports that this member is prepared, and waits for the start.
    ///
    /// Returns the start in ticks, or `None` if the team does not work.
    pub fn ready(&self) -> Option<u64> {
        if self.ready.fetch_add(1, Ordering::AcqRel) + 1 == self.members {
            let waking = WAKING * self.members as u32;
            let start = self.clock.now() + self.clock.ticks_in(HEAD_START + waking);
            self.stop.store(start + self.length_ticks, Ordering::Relaxed);
            self.start.store(start, Ordering::Relaxed);
            self.decide();
        }
        // Members may share a CPU with others that still prepare, so a waiting member sleeps. It may be in another
        // process.
        while self.is_decided.load(Ordering::Acquire) == 0 {
            let _ = futex::wait(&self.is_decided, futex::Flags::empty(), 0, None);
        }
        let start = self.start.load(Ordering::Relaxed);
        if start == 0 {
            return None;
        }
        while self.clock.now() < start {
            std::thread::yield_now();
        }
        Some(start)
    }

    /// Returns the end of the window, in ticks. The call is cheap enough for every iteration.
    #[inline(always)]
    pub fn stop(&self) -> u64 {
        self.stop.load(Ordering::Relaxed)
    }

    /// Ends the window at `ticks` for all members, unless it ends before.
    pub fn stop_at(&self, ticks: u64) {
        self.stop.fetch_min(ticks, Ordering::Relaxed);
    }

    /// Returns the time left in the window; zero before the start is announced.
    fn left(&self) -> Duration {
        let ticks = self.stop().saturating_sub(self.clock.now());
        Duration::from_nanos(self.clock.to_ns(ticks) as u64)
    }

    /// Returns the number of prepared members.
    fn ready_members(&self) -> usize {
        self.ready.load(Ordering::Relaxed)
    }

    fn cancel(&self) {
        self.decide();
    }

    fn decide(&self) {
        self.is_decided.store(1, Ordering::Release);
        let _ = futex::wake(&self.is_decided, futex::Flags::empty(), i32::MAX as u32);
    }
}

/// Runs `work` on a separate thread that is pinned to `cpu`, so that the caller's affinity does not change.
///
/// # Errors
///
/// Returns an error if the system refuses the thread, or if it may not run on that CPU.
///
/// # Panics
///
/// Panics if `work` panics.
pub fn on_cpu<T: Send>(cpu: usize, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let pinned = move || pin_current_thread(cpu).map(|()| work());
        let thread = std::thread::Builder::new().spawn_scoped(scope, pinned)?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Cancels the start when a member panics, so that the others do not wait for it.
struct CancelOnPanic<'a>(&'a StartGate);

impl Drop for CancelOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.cancel();
            self.0.stop_at(0);
        }
    }
}

/// Lets all members work for `length` from a common start, and waits until all have ended.
///
/// # Errors
///
/// Returns an error if the system refuses a thread, or if a member may not run on its CPU. No member has worked then.
///
/// # Panics
///
/// Panics if a member panics, once the others have ended.
pub fn work_together(clock: Clock, length: Duration, members: Vec<Member<'_>>) -> Result<(), TeamError> {
    let gate = StartGate::new(clock, members.len(), length);
    std::thread::scope(|scope| {
        let mut threads = Vec::with_capacity(members.len());
        for member in members {
            let gate = &gate;
            match std::thread::Builder::new().spawn_scoped(scope, move || serve(gate, member)) {
                Ok(thread) => threads.push(thread),
                Err(source) => {
                    gate.cancel();
                    return Err(TeamError::Spawn { started: threads.len(), source });
                }
            }
        }
        let mut outcome = Ok(());
        for thread in threads {
            match thread.join() {
                Ok(served) => outcome = outcome.and(served),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        outcome
    })
}

fn serve(gate: &StartGate, member: Member<'_>) -> Result<(), TeamError> {
    let _guard = CancelOnPanic(gate);
    if let Some(cpu) = member.cpu
        && let Err(source) = pin_current_thread(cpu)
    {
        gate.cancel();
        return Err(TeamError::Pin { cpu, source });
    }
    (member.job)(gate);
    Ok(())
}

// A team of processes: forked, supervised, and never abandoned.

/// Time after the end of the window after which a running child counts as stuck, and is killed.
const PATIENCE: Duration = Duration::from_secs(60);
const PIN_FAILED: i32 = 101;
const PANICKED: i32 = 102;

/// Lets all members work for `length` from a common start, each in a separate process, and waits until all have
/// ended.
///
/// Results that the members write must be in a [`SharedArray`], or they are lost with the child. Children die with
/// the calling thread, whatever ends it. The caller must have no other threads. A forked child has only a copy of the
/// calling thread, and a lock that another thread held at that moment, the allocator's for instance, would stay
/// locked in it.
///
/// While it waits, it checks `is_cut`: once that returns true, the window ends for all members. That is necessary,
/// for example, for a signal that only the caller receives.
///
/// # Errors
///
/// Returns an error if the system refuses a process, if a member may not run on its CPU, or if a child died or was
/// killed because it did not end. No child remains in any case.
pub fn work_together_as_processes(
    clock: Clock,
    length: Duration,
    members: Vec<Member<'_>>,
    is_cut: impl Fn() -> bool,
) -> Result<(), TeamError> {
    let count = members.len();
    let gate = SharedArray::from_fn(1, |_| Ok(StartGate::new(clock, count, length)))
        .map_err(|source| TeamError::Spawn { started: 0, source })?;
    let mut children = Children { running: Vec::with_capacity(count) };
    for (place, member) in members.into_iter().enumerate() {
        match fork_member(&gate[0], member) {
            Ok(pid) => children.running.push((pid, place)),
            Err(source) => {
                gate[0].cancel();
                return Err(TeamError::Spawn { started: place, source });
            }
        }
    }
    children.wait(length, || {
        if is_cut() {
            gate[0].stop_at(clock.now());
        }
    })
}

fn fork_member(gate: &StartGate, member: Member<'_>) -> io::Result<Pid> {
    let parent = std::process::id();
    // SAFETY: the caller is the only thread (see `work_together_as_processes`), so the child's copy of the process is
    // consistent. The child runs the member and exits by `_exit`, so it drops no value of the parent a second time.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let status = live_and_die(parent, gate, member);
            // SAFETY: `_exit` ends the process and accesses no memory.
            unsafe { libc::_exit(status) }
        }
        pid => Pid::from_raw(pid).ok_or_else(|| io::Error::other("fork returned no process id")),
    }
}

/// Runs the member in the child, and returns its exit status.
fn live_and_die(parent: u32, gate: &StartGate, member: Member<'_>) -> i32 {
    let dies_with_parent = rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).is_ok();
    if !dies_with_parent || std::os::unix::process::parent_id() != parent {
        return 0;
    }
    if let Some(cpu) = member.cpu
        && pin_current_thread(cpu).is_err()
    {
        gate.cancel();
        return PIN_FAILED;
    }
    match catch_unwind(AssertUnwindSafe(|| (member.job)(gate))) {
        Ok(()) => 0,
        Err(_) => {
            gate.cancel();
            gate.stop_at(0);
            PANICKED
        }
    }
}

/// Children that have not been waited for. Dropping kills them.
struct Children {
    running: Vec<(Pid, usize)>,
}

impl Children {
    /// Waits for all children; calls `look` periodically.
    fn wait(mut self, length: Duration, look: impl Fn()) -> Result<(), TeamError> {
        let began = Instant::now();
        let mut misfortunes = Vec::new();
        while !self.running.is_empty() {
            let before = self.running.len();
            self.running.retain(|&(pid, place)| match waitpid(Some(pid), WaitOptions::NOHANG) {
                Ok(None) => true,
                Ok(Some((_, status))) => {
                    misfortunes.extend(misfortune(place, status));
                    false
                }
                Err(_) => false,
            });
            if let Some(error) = misfortunes.pop() {
                // The others may wait for the lock or the arrival of this child, and would wait forever, so they are
                // killed.
                return Err(error);
            }
            if began.elapsed() > length + PATIENCE {
                return Err(TeamError::Stuck { members: self.running.len() });
            }
            if self.running.len() == before {
                look();
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(())
    }
}

fn misfortune(place: usize, status: WaitStatus) -> Option<TeamError> {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(0), _) => None,
        (_, Some(signal)) => Some(TeamError::Died { member: place, how: format!("was killed by signal {signal}") }),
        (Some(PIN_FAILED), _) => Some(TeamError::Died { member: place, how: "could not be pinned to its CPU".into() }),
        (code, _) => Some(TeamError::Died { member: place, how: format!("ended with status {}", code.unwrap_or(-1)) }),
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for &(pid, _) in &self.running {
            // The child may have ended in the meantime; its number is not reused before it is waited for.
            let _ = kill_process(pid, Signal::KILL);
            let _ = waitpid(Some(pid), WaitOptions::empty());
        }
    }
}

// A team of threads that may never return, since they run third-party code.

/// Pause between two checks of whether the members have ended.
const LOOK: Duration = Duration::from_millis(50);
/// Pause within the window, so that a long one has few checks, and a short one hardly any: the check takes a CPU from
/// the members.
const LOOK_WITHIN: Duration = Duration::from_secs(1);
/// Number of checks without progress after which the wait ends: five seconds, and the time of the checks. A limit in
/// time would count periods in which the whole process was stopped.
const MOST_LOOKS: u32 = 100;

/// Lets all members work as [`work_together`] does, but waits for no member forever.
///
/// If none of the members that should have ended ends for five seconds plus `own`, they are abandoned. `own` is the
/// additional time that a member may need without a defect. That is safe because members own the memory that they
/// access. An abandoned thread remains until the process ends, and may use CPU time. `is_lost` reports members that
/// are known not to return: the wait then ends at once.
///
/// # Errors
///
/// Returns the errors of [`work_together`], and [`TeamError::LeftBehind`] for abandoned members.
///
/// # Panics
///
/// Panics if a member panics, once the others have ended.
pub fn work_together_or_leave(
    clock: Clock,
    length: Duration,
    own: Duration,
    members: Vec<Member<'static>>,
    is_lost: impl Fn() -> bool,
) -> Result<(), TeamError> {
    let most_looks = MOST_LOOKS.saturating_add((own.as_millis() / LOOK.as_millis()) as u32);
    work_together_for(most_looks, clock, length, members, is_lost)
}

/// Does the work of [`work_together_or_leave`] with this number of checks without progress.
fn work_together_for(
    most_looks: u32,
    clock: Clock,
    length: Duration,
    members: Vec<Member<'static>>,
    is_lost: impl Fn() -> bool,
) -> Result<(), TeamError> {
    let gate = Arc::new(StartGate::new(clock, members.len(), length));
    let (sender, ended) = mpsc::channel();
    let (mut left, mut outcome) = (0, Ok(()));
    for member in members {
        let (gate, sender) = (Arc::clone(&gate), sender.clone());
        let work = move || {
            let served = catch_unwind(AssertUnwindSafe(|| serve(&gate, member)));
            // An abandoned thread that returns after all finds no receiver.
            let _ = sender.send(served);
        };
        if let Err(source) = Builder::new().spawn(work) {
            outcome = Err(TeamError::Spawn { started: left, source });
            break;
        }
        left += 1;
    }
    if outcome.is_err() {
        gate.cancel();
    }
    let (mut looks, mut ready, mut panic) = (0, 0, None);
    while left > 0 {
        match ended.recv_timeout(gate.left().clamp(LOOK, LOOK_WITHIN)) {
            Ok(served) => {
                (left, looks) = (left - 1, 0);
                match served {
                    Ok(served) => outcome = outcome.and(served),
                    Err(payload) => panic = Some(payload),
                }
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                let has_come_on = !gate.left().is_zero() || ready != gate.ready_members();
                ready = gate.ready_members();
                looks = if has_come_on { 0 } else { looks + 1 };
                if looks >= most_looks || is_lost() {
                    gate.cancel();
                    gate.stop_at(0);
                    return Err(TeamError::LeftBehind { members: left });
                }
            }
        }
    }
    panic.map_or(outcome, |payload| resume_unwind(payload))
}

/// Returns the result of `work` on a separate thread, which is abandoned if it does not return, as the members of
/// [`work_together_or_leave`] are.
///
/// # Errors
///
/// Returns an error if the system refuses the thread, or if the thread was abandoned.
///
/// # Panics
///
/// Panics if `work` panics.
pub fn work_or_leave<T: Send + 'static>(
    clock: Clock,
    work: impl FnOnce() -> T + Send + 'static,
    is_lost: impl Fn() -> bool,
) -> Result<T, TeamError> {
    let (sender, done) = mpsc::channel();
    let job = move |gate: &StartGate| {
        if gate.ready().is_some() {
            let _ = sender.send(work());
        }
    };
    let member = Member { cpu: None, job: Box::new(job) };
    work_together_or_leave(clock, Duration::ZERO, Duration::ZERO, vec![member], is_lost)?;
    done.recv().map_err(|_| TeamError::LeftBehind { members: 1 })
}

#[cfg(test)]
mod threads_tests {
    use super::*;

    fn clock() -> Clock {
        Clock::calibrate(Duration::from_millis(10)).clock
    }

    #[test]
    fn members_start_and_end_within_the_common_window() {
        let clock = clock();
        let seen = std::sync::Mutex::new(Vec::new());
        let member = || Member {
            cpu: None,
            job: Box::new(|gate: &StartGate| {
                let start = gate.ready().expect("no thread cancels");
                let first = clock.now();
                while clock.now() < gate.stop() {
                    std::thread::yield_now();
                }
                seen.lock().unwrap().push((start, first, clock.now(), gate.stop()));
            }),
        };
        work_together(clock, Duration::from_millis(2), (0..4).map(|_| member()).collect()).unwrap();
        let seen = seen.into_inner().unwrap();
        assert_eq!(seen.len(), 4);
        assert!(seen.iter().all(|&(start, first, last, stop)| start == seen[0].0 && first >= start && last >= stop));
    }

    #[test]
    fn a_member_can_end_the_window_for_all() {
        let clock = clock();
        let hour = Duration::from_secs(3600);
        let member = |ends: bool| Member {
            cpu: None,
            job: Box::new(move |gate: &StartGate| {
                gate.ready();
                if ends {
                    gate.stop_at(clock.now());
                }
                while clock.now() < gate.stop() {
                    std::thread::yield_now();
                }
            }),
        };
        work_together(clock, hour, vec![member(false), member(true)]).unwrap();
    }

    #[test]
    fn a_cpu_that_does_not_exist_cancels_the_team() {
        let member = |cpu| Member { cpu, job: Box::new(|gate: &StartGate| assert!(gate.ready().is_none())) };
        let error = work_together(clock(), Duration::from_secs(1), vec![member(None), member(Some(100_000))]);
        assert!(error.unwrap_err().to_string().contains("CPU 100000"));
    }

    #[test]
    fn a_panic_ends_the_team_and_is_passed_on() {
        let clock = clock();
        let waiting = Member { cpu: None, job: Box::new(|gate: &StartGate| assert!(gate.ready().is_none())) };
        let failing = Member { cpu: None, job: Box::new(|_: &StartGate| panic!("on purpose")) };
        let members = std::panic::AssertUnwindSafe(vec![waiting, failing]);
        let outcome = std::panic::catch_unwind(|| {
            let members = members;
            work_together(clock, Duration::from_secs(1), members.0)
        });
        assert!(outcome.is_err());
    }
}

#[cfg(test)]
mod leavers_tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    fn clock() -> Clock {
        Clock::calibrate(Duration::from_millis(10)).clock
    }

    fn member(job: impl FnOnce(&StartGate) + Send + 'static) -> Member<'static> {
        Member { cpu: None, job: Box::new(job) }
    }

    fn forever() -> ! {
        loop {
            std::thread::park();
        }
    }

    #[test]
    fn known_lost_member_is_abandoned_and_the_others_end() {
        let others = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&others);
        let waits = member(move |gate| {
            assert!(gate.ready().is_some());
            ended.store(true, Ordering::Relaxed);
        });
        let hangs = member(|gate| {
            gate.ready();
            forever()
        });
        // Without the report, the wait would not end.
        let left = work_together_for(u32::MAX, clock(), Duration::from_millis(5), vec![waits, hangs], || {
            others.load(Ordering::Relaxed)
        });
        // The thread of the other member may not have returned yet.
        assert!(matches!(left, Err(TeamError::LeftBehind { members: 1 | 2 })), "{left:?}");
    }

    #[test]
    fn member_hanging_before_the_start_is_abandoned() {
        let waits = member(|gate| assert!(gate.ready().is_none()));
        let members = vec![waits, member(|_| forever())];
        let left = work_together_for(3, clock(), Duration::from_millis(5), members, || false);
        assert!(matches!(left, Err(TeamError::LeftBehind { .. })), "{left:?}");
    }

    #[test]
    fn returning_work_passes_its_result_on() {
        assert_eq!(work_or_leave(clock(), || 7, || false).unwrap(), 7);
    }

    #[test]
    fn a_panic_is_passed_on() {
        let outcome = std::panic::catch_unwind(|| work_or_leave(clock(), || panic!("on purpose"), || false));
        assert!(outcome.is_err());
    }
}
