//! Threads that use all CPU time that they get, and count what they could do with it.
//!
//! A spinner runs a calibrated busy loop (a *grind*): 20 µs of work at a time, until it is ordered to rest. It is read
//! from outside, so it publishes only the values that no other thread can know. These are the number of loops done, and
//! the usual length of one: a median that is followed as values arrive, in one word of memory. Spinners are threads of
//! this process: no way to end it, SIGKILL included, leaves one behind.

mod thread_clock;

use crossbeam_utils::CachePadded;
use instruments::clock::Clock;
use instruments::cpus::schedule::{Schedule, bound_realtime, reschedule_current_thread};
use instruments::cpus::{CpuSet, allowed, pin_current_thread, restrict_current_thread};
use instruments::grind::{Grind, Work};
use instruments::neighbour::{Probe, WidthsOverTime};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
pub use thread_clock::ThreadClock;

/// The length of a busy loop: short, so that the count is fine; long, so that reading the clock costs a thousandth.
pub const GRIND: Duration = Duration::from_micros(20);

/// The number of busy loops between two probes of the core: every 10 ms, for a few microseconds.
const LOOK_AFTER: u64 = 500;

/// The length of a real-time spinner's demand for the CPU …
const DEMAND: Duration = Duration::from_millis(1);
/// … and of its sleep after that.
const SLEEP: Duration = Duration::from_millis(9);

/// The shortest time slice that the scheduler grants.
const TURN: Duration = Duration::from_micros(100);

/// The longest time that the kernel lets a real-time thread of this process run without sleeping before it ends the
/// process.
const REALTIME_LIMIT: Duration = Duration::from_millis(500);

/// The orders to all spinners of a run.
#[derive(Default)]
struct Orders {
    /// The number of spinners that are active on each CPU; the others rest.
    active: AtomicUsize,
    end: AtomicBool,
}

/// The values that a spinner publishes.
///
/// They need separate cache lines, since they are written every 20 µs.
#[derive(Default)]
struct Published {
    grinds: AtomicU64,
    usual_ticks: AtomicU64,
    demands: Mutex<Demands>,
    widths: Mutex<WidthsOverTime>,
}

/// The periods in which a real-time spinner demanded the CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demands {
    /// Their length, in ticks.
    pub wanted_ticks: u64,
    /// The CPU time that it got in them, in nanoseconds.
    pub got_ns: u64,
    /// The number of busy loops done in them.
    pub grinds: u64,
}

/// One spinner, seen from outside.
pub struct Spinner {
    /// The CPU that it is pinned to.
    pub cpu: usize,
    published: Arc<CachePadded<Published>>,
    clock: ThreadClock,
    thread: JoinHandle<()>,
}

impl Spinner {
    /// Returns its CPU time so far, in nanoseconds, as the scheduler measures it.
    pub fn exact_ns(&self) -> io::Result<u64> {
        self.clock.exact_ns()
    }

    /// Returns its CPU time so far, in nanoseconds, as the tick attributes it.
    pub fn by_tick_ns(&self) -> io::Result<u64> {
        self.clock.by_tick_ns()
    }

    /// Returns the number of busy loops that it has done.
    pub fn grinds(&self) -> u64 {
        self.published.grinds.load(Ordering::Relaxed)
    }

    /// Returns the recent length of a busy loop, in ticks: the median.
    pub fn usual_ticks(&self) -> u64 {
        self.published.usual_ticks.load(Ordering::Relaxed)
    }

    /// Returns the demands of a real-time spinner and the time that it got.
    pub fn demands(&self) -> Demands {
        *self.published.demands.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the widths of its core while it was active.
    pub fn widths(&self) -> WidthsOverTime {
        self.published.widths.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// All spinners of a run.
///
/// They rest until they get another order, and end when this is dropped.
pub struct Spinners {
    /// The spinners in the order of their CPUs; those of one CPU are adjacent.
    pub spinners: Vec<Spinner>,
    orders: Arc<Orders>,
}

impl Spinners {
    /// Starts `each` spinners on every one of the CPUs, which probe their cores by `probe`.
    pub fn start(
        (clock, grind, probe): (Clock, &Grind, Option<Probe>),
        schedule: Schedule,
        cpus: &[usize],
        each: usize,
    ) -> io::Result<Self> {
        if matches!(schedule, Schedule::Fifo { .. } | Schedule::RoundRobin { .. }) {
            bound_realtime(REALTIME_LIMIT)?;
        }
        let mut started = Self { spinners: Vec::new(), orders: Arc::default() };
        for &cpu in cpus {
            for rank in 0..each {
                // Until a value is known, the calibrated length is assumed: the first loop may be interrupted.
                let usual_ticks = AtomicU64::new(clock.ticks_in(GRIND));
                let published = Arc::new(CachePadded::new(Published { usual_ticks, ..Published::default() }));
                let work = grind.work(GRIND.as_nanos() as f64);
                let hand =
                    Hand { clock, work, probe, rank, orders: started.orders.clone(), published: published.clone() };
                let (sender, receiver) = mpsc::channel();
                let serve = move || hand.serve(cpu, schedule, &sender);
                let thread = std::thread::Builder::new().name(format!("soaker-{cpu}")).spawn(serve)?;
                let outcome = receiver.recv().unwrap_or_else(|_| Err(io::Error::other("a soaker ended at once")));
                started.spinners.push(Spinner { cpu, published, clock: outcome?, thread });
            }
        }
        Ok(started)
    }

    /// Lets `active` spinners on each CPU run from now on, and the others rest.
    pub fn let_grind(&self, active: usize) {
        self.orders.active.store(active, Ordering::Relaxed);
        self.spinners.iter().for_each(|spinner| spinner.thread.thread().unpark());
    }
}

impl Drop for Spinners {
    fn drop(&mut self) {
        self.orders.end.store(true, Ordering::Relaxed);
        for spinner in &self.spinners {
            // One that gets no CPU would not end while others use it.
            spinner.clock.give_usual_share();
            spinner.thread.thread().unpark();
        }
        for spinner in self.spinners.drain(..) {
            // A spinner that panicked has ended as well.
            let _ = spinner.thread.join();
        }
    }
}

/// Lets the calling thread, which only reads the spinners' accounts and sleeps, run on time among the competitors for
/// the CPU.
///
/// It gets real-time priority where that is allowed, otherwise short time slices, for which a group of little weight
/// waits less long. Call it after the spinners have started, which would inherit it.
pub fn read_in_time() {
    let realtime =
        bound_realtime(REALTIME_LIMIT).and_then(|()| reschedule_current_thread(Schedule::Fifo { priority: 1 }));
    if realtime.is_err() {
        // An older kernel leaves the time slices as they are; then the reader is late, and reports the time of its
        // reading.
        let _ = reschedule_current_thread(Schedule::Fair { nice: 0, slice: Some(TURN) });
    }
}

/// Reverts [`read_in_time`]: the work after the reading may take long, which a real-time thread must not.
pub fn no_longer_in_time() {
    // Lowering needs no privilege; a thread that was never raised stays as it is.
    let _ = reschedule_current_thread(Schedule::Fair { nice: 0, slice: None });
}

/// The data of a spinner's thread.
struct Hand {
    clock: Clock,
    work: Work,
    probe: Option<Probe>,
    /// The rank on its CPU; the first has 0.
    rank: usize,
    orders: Arc<Orders>,
    published: Arc<CachePadded<Published>>,
}

/// Gives the calling thread the usual share of a CPU, and all its earlier CPUs, when it ends.
///
/// While a thread exits the kernel frees its entries of `/proc`, and a `waitpid` of the parent that meets one of them
/// waits without sleeping. A thread that gets no CPU because of that delays both for minutes.
struct UsualShare(Option<CpuSet>);

impl Drop for UsualShare {
    fn drop(&mut self) {
        // Without the privilege to leave `SCHED_IDLE`, other CPUs have to suffice.
        let _ = reschedule_current_thread(Schedule::Fair { nice: 0, slice: None });
        self.0.iter().for_each(|cpus| drop(restrict_current_thread(cpus)));
    }
}

impl Hand {
    fn serve(self, cpu: usize, schedule: Schedule, sender: &Sender<io::Result<ThreadClock>>) {
        if schedule == Schedule::Idle {
            // Short time slices, which its group also inherits: otherwise a thread that wakes up in another group may
            // have to wait for the end of a time slice. A kernel without this feature leaves the time slices as they
            // are.
            let _ = reschedule_current_thread(Schedule::Fair { nice: 0, slice: Some(TURN) });
        }
        let before = allowed();
        // A thread that lowers itself needs no privilege, and may then not run for long.
        let is_late = schedule == Schedule::Idle;
        let lowered = || if is_late { Ok(()) } else { reschedule_current_thread(schedule) };
        let ready = pin_current_thread(cpu).and_then(|()| lowered());
        let failed = ready.is_err();
        let _ = sender.send(ready.map(|()| ThreadClock::of_current_thread()));
        if failed {
            return;
        }
        let _ended = UsualShare(before.ok());
        if is_late && reschedule_current_thread(schedule).is_err() {
            return;
        }
        let realtime = matches!(schedule, Schedule::Fifo { .. } | Schedule::RoundRobin { .. });
        while !self.orders.end.load(Ordering::Relaxed) {
            if !self.wanted() {
                std::thread::park();
            } else if realtime {
                self.grind_now_and_then();
            } else {
                self.grind_while(|_| true);
            }
        }
    }

    fn wanted(&self) -> bool {
        self.rank < self.orders.active.load(Ordering::Relaxed) && !self.orders.end.load(Ordering::Relaxed)
    }

    /// Runs busy loops as long as the orders and `longer`, which receives the time in ticks, allow.
    fn grind_while(&self, longer: impl Fn(u64) -> bool) {
        let Published { grinds, usual_ticks, .. } = &**self.published;
        let mut usual = usual_ticks.load(Ordering::Relaxed);
        let mut last = self.clock.now();
        while self.wanted() && longer(last) {
            self.work.run();
            let now = self.clock.now();
            usual = follow_median(usual, now - last);
            last = now;
            usual_ticks.store(usual, Ordering::Relaxed);
            // This thread is the only writer, so no read-modify-write is needed.
            let ground = grinds.load(Ordering::Relaxed) + 1;
            grinds.store(ground, Ordering::Relaxed);
            if ground.is_multiple_of(LOOK_AFTER) {
                self.look();
                last = self.clock.now();
            }
        }
    }

    fn look(&self) {
        if let Some(probe) = self.probe {
            let cycles = probe.take().cycles;
            self.published.widths.lock().unwrap_or_else(PoisonError::into_inner).add(cycles);
        }
    }

    /// Runs one demand of a real-time spinner, and the sleep that keeps it from delaying others for longer.
    fn grind_now_and_then(&self) {
        let clock = ThreadClock::of_current_thread();
        let (got_before, grinds_before) =
            (clock.exact_ns().unwrap_or(0), self.published.grinds.load(Ordering::Relaxed));
        let start = self.clock.now();
        let end = start + self.clock.ticks_in(DEMAND);
        self.grind_while(|now| now < end);
        let wanted = self.clock.now() - start;
        let got = clock.exact_ns().unwrap_or(0).saturating_sub(got_before);
        let mut demands = self.published.demands.lock().unwrap_or_else(PoisonError::into_inner);
        demands.wanted_ticks += wanted;
        demands.got_ns += got;
        demands.grinds += self.published.grinds.load(Ordering::Relaxed) - grinds_before;
        drop(demands);
        std::thread::sleep(SLEEP);
    }
}

/// Moves one step towards the median: at rest as many values are above it as below.
///
/// A value that is twice as long, because the loop was interrupted, moves it no further than one that is a nanosecond
/// longer.
fn follow_median(median: u64, value: u64) -> u64 {
    match value.cmp(&median) {
        std::cmp::Ordering::Greater => median + (median >> STEP).max(1),
        std::cmp::Ordering::Less => median - (median >> STEP).max(1),
        std::cmp::Ordering::Equal => median,
    }
}

/// A step is 1/8,192 of the median.
///
/// A core that changes its speed by a tenth is followed within 20 ms. Interrupted loops, which are few, shift it by
/// less than is printed.
const STEP: u32 = 13;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_is_followed_in_spite_of_outliers() {
        let mut rng = fastrand::Rng::with_seed(3);
        let mut median = 55_000;
        for speed in [60_000_u64, 50_000] {
            for _ in 0..5_000 {
                let interrupted = rng.u32(..100) < 5;
                let value = speed + rng.u64(..40) + if interrupted { 30_000 } else { 0 };
                median = follow_median(median, value);
            }
            let away = median.abs_diff(speed + 21);
            assert!(away < speed / 1_000, "{median} is not the median of about {speed}");
        }
    }
}

#[cfg(test)]
mod measured {
    use super::*;

    #[test]
    #[ignore = "measured: needs a CPU that is idle at times"]
    fn spinners_run_and_rest_on_order_and_end_when_dropped() {
        let clock = Clock::calibrate(Duration::from_millis(10)).clock;
        let grind = Grind { ns_per_load: 1.0, overhead_ns: 0.0, cycles_per_load: None, search: Vec::new() };
        let cpu = instruments::cpus::allowed().unwrap().first().unwrap();
        let spinners = Spinners::start((clock, &grind, None), Schedule::Idle, &[cpu], 2).unwrap();
        let [first, second] = &spinners.spinners[..] else { panic!("two spinners") };
        assert_eq!(first.grinds() + second.grinds(), 0);
        spinners.let_grind(1);
        let patience = std::time::Instant::now();
        while first.grinds() == 0 && patience.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(first.grinds() > 0 && first.exact_ns().unwrap() > 0);
        assert_eq!(second.grinds(), 0, "the second one runs no busy loop");
        let ended_clock = first.clock;
        drop(spinners);
        // A thread is joined a moment before the kernel has released it.
        let patience = std::time::Instant::now();
        while ended_clock.exact_ns().is_ok() {
            assert!(patience.elapsed() < Duration::from_secs(60), "its thread still lives");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
