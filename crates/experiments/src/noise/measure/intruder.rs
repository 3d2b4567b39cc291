//! Who takes the CPU from the reader, on purpose: a competitor, the rescheduler.

use instruments::clock::Clock;
use instruments::cpus::schedule::{Schedule, reschedule_current_thread};
use instruments::team::{Member, StartGate};
use rustix::thread::{Timespec, nanosleep, set_name};
use rustix::time::{ClockId, clock_gettime};
use std::ffi::CStr;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What a competitor or the rescheduler used of the CPU between start and end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Used {
    pub cpu_ns: f64,
    pub wall_ns: f64,
    /// Rounds of work, or wake-ups.
    pub rounds: u64,
}

impl Used {
    pub fn add(&mut self, other: Self) {
        self.cpu_ns += other.cpu_ns;
        self.wall_ns += other.wall_ns;
        self.rounds += other.rounds;
    }
}

/// Somebody on the reader's CPU, by its name and how it is scheduled, who repeats `round` and stays until the reader's
/// turn is `over`.
pub fn intruder<'a>(
    (clock, cpu): (Clock, usize),
    over: &'a AtomicBool,
    used: &'a mut io::Result<Used>,
    (name, schedule): (&'static CStr, Schedule),
    round: impl Fn() + Send + 'a,
) -> Member<'a> {
    let job = move |gate: &StartGate| {
        let _stays = StayUntil(over);
        *used = intrude(clock, gate, name, schedule, round);
    };
    Member { cpu: Some(cpu), job: Box::new(job) }
}

/// Keeps an intruder asleep but alive until then: whoever is gone cannot be asked for its name.
struct StayUntil<'a>(&'a AtomicBool);

impl Drop for StayUntil<'_> {
    fn drop(&mut self) {
        while !self.0.load(Ordering::Acquire) {
            sleep(Duration::from_millis(1));
        }
    }
}

/// Names the calling thread, for the kernel's record, and schedules it as planned.
pub fn take_rank(name: &CStr, schedule: Schedule) -> io::Result<()> {
    set_name(name)?;
    reschedule_current_thread(schedule)
}

/// Repeats `round` from the start to the end at the given rank.
fn intrude(clock: Clock, gate: &StartGate, name: &CStr, schedule: Schedule, round: impl Fn()) -> io::Result<Used> {
    let ranked = take_rank(name, schedule);
    let start = gate.ready();
    ranked.inspect_err(|_| gate.stop_at(clock.now()))?;
    let Some(start) = start else { return Ok(Used::default()) };
    let before = cpu_ns();
    let mut rounds = 0;
    while clock.now() < gate.stop() {
        round();
        rounds += 1;
    }
    Ok(Used { cpu_ns: cpu_ns() - before, wall_ns: clock.to_ns(clock.now() - start), rounds })
}

/// CPU time of the calling thread.
fn cpu_ns() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// One system call, and no more of it when a signal cuts it short.
pub fn sleep(length: Duration) {
    let wanted = Timespec { tv_sec: length.as_secs() as i64, tv_nsec: i64::from(length.subsec_nanos()) };
    let _ = nanosleep(&wanted);
}
