//! Threads that take all of a CPU's time that they are given, and count what they could do with it.
//!
//! A soaker grinds: 20 µs of work at a time, until it is told to rest. It is read from outside, so it publishes only
//! what nobody else can know: how many grinds it has done, and how long one usually takes: a median that is followed as
//! values come, in one word of memory. Soakers are threads of this process: no way to end it, SIGKILL included, leaves
//! one behind.

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

/// How long a grind is: short, so that the count is fine; long, so that reading the clock costs a thousandth.
pub const GRIND: Duration = Duration::from_micros(20);

/// After so many grinds a soaker looks whether somebody shares its core: every 10 ms, for a few microseconds.
const LOOK_AFTER: u64 = 500;

/// A real-time soaker wants the CPU for this long …
const DEMAND: Duration = Duration::from_millis(1);
/// … and then sleeps for this long.
const SLEEP: Duration = Duration::from_millis(9);

/// The shortest turn that the scheduler grants.
const TURN: Duration = Duration::from_micros(100);

/// The longest that the kernel lets a real-time thread of ours run without sleeping before it ends this process.
const REALTIME_LIMIT: Duration = Duration::from_millis(500);

/// The orders to all soakers of a run.
#[derive(Default)]
struct Orders {
    /// On each CPU this many grind; the others rest.
    active: AtomicUsize,
    end: AtomicBool,
}

/// What a soaker tells. It belongs on cache lines of its own: it is written every 20 µs.
#[derive(Default)]
struct Published {
    grinds: AtomicU64,
    usual_ticks: AtomicU64,
    demands: Mutex<Demands>,
    widths: Mutex<WidthsOverTime>,
}

/// The stretches in which a real-time soaker wanted the CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demands {
    /// How long they were, in ticks.
    pub wanted_ticks: u64,
    /// What it got of them, in nanoseconds of its CPU time.
    pub got_ns: u64,
    /// Grinds done in them.
    pub grinds: u64,
}

/// One soaker, seen from outside.
pub struct Soaker {
    /// The CPU that it is pinned to.
    pub cpu: usize,
    published: Arc<CachePadded<Published>>,
    clock: ThreadClock,
    thread: JoinHandle<()>,
}

impl Soaker {
    /// Its CPU time so far, in nanoseconds, as the scheduler measures it.
    pub fn exact_ns(&self) -> io::Result<u64> {
        self.clock.exact_ns()
    }

    /// Its CPU time so far, in nanoseconds, as the tick attributes it.
    pub fn by_tick_ns(&self) -> io::Result<u64> {
        self.clock.by_tick_ns()
    }

    /// How many grinds it has done.
    pub fn grinds(&self) -> u64 {
        self.published.grinds.load(Ordering::Relaxed)
    }

    /// How long a grind took of late, in ticks: the median.
    pub fn usual_ticks(&self) -> u64 {
        self.published.usual_ticks.load(Ordering::Relaxed)
    }

    /// What a real-time soaker wanted and got.
    pub fn demands(&self) -> Demands {
        *self.published.demands.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How wide it found its core while it ground.
    pub fn widths(&self) -> WidthsOverTime {
        self.published.widths.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// All soakers of a run. They rest until they are told otherwise, and end when this is dropped.
pub struct Soakers {
    /// In the order of their CPUs; those of one CPU are neighbours.
    pub soakers: Vec<Soaker>,
    orders: Arc<Orders>,
}

impl Soakers {
    /// Starts `each` soakers on every one of the CPUs, which look at their cores by `probe`.
    pub fn start(
        (clock, grind, probe): (Clock, &Grind, Option<Probe>),
        schedule: Schedule,
        cpus: &[usize],
        each: usize,
    ) -> io::Result<Self> {
        if matches!(schedule, Schedule::Fifo { .. } | Schedule::RoundRobin { .. }) {
            bound_realtime(REALTIME_LIMIT)?;
        }
        let mut started = Self { soakers: Vec::new(), orders: Arc::default() };
        for &cpu in cpus {
            for rank in 0..each {
                // Until something is known it takes what it is calibrated for: the first may be interrupted.
                let usual_ticks = AtomicU64::new(clock.ticks_in(GRIND));
                let published = Arc::new(CachePadded::new(Published { usual_ticks, ..Published::default() }));
                let work = grind.work(GRIND.as_nanos() as f64);
                let hand =
                    Hand { clock, work, probe, rank, orders: started.orders.clone(), published: published.clone() };
                let (tell, told) = mpsc::channel();
                let serve = move || hand.serve(cpu, schedule, &tell);
                let thread = std::thread::Builder::new().name(format!("soaker-{cpu}")).spawn(serve)?;
                let outcome = told.recv().unwrap_or_else(|_| Err(io::Error::other("a soaker ended at once")));
                started.soakers.push(Soaker { cpu, published, clock: outcome?, thread });
            }
        }
        Ok(started)
    }

    /// Lets `active` soakers on each CPU grind from now on, and the others rest.
    pub fn let_grind(&self, active: usize) {
        self.orders.active.store(active, Ordering::Relaxed);
        self.soakers.iter().for_each(|soaker| soaker.thread.thread().unpark());
    }
}

impl Drop for Soakers {
    fn drop(&mut self) {
        self.orders.end.store(true, Ordering::Relaxed);
        for soaker in self.soakers.drain(..) {
            soaker.thread.thread().unpark();
            // A soaker that panicked has ended as well.
            let _ = soaker.thread.join();
        }
    }
}

/// Has the calling thread, which only reads the soakers' accounts and sleeps, come in time beside whatever else wants
/// the CPU: at real-time priority where that is allowed, otherwise with short turns, for which a group of little weight
/// waits less long. Call it when the soakers have started, which would inherit it.
pub fn read_in_time() {
    let realtime =
        bound_realtime(REALTIME_LIMIT).and_then(|()| reschedule_current_thread(Schedule::Fifo { priority: 1 }));
    if realtime.is_err() {
        // An older kernel leaves the turns as they are; then the reader is late, and says when it read.
        let _ = reschedule_current_thread(Schedule::Fair { nice: 0, slice: Some(TURN) });
    }
}

/// The opposite: what comes after the reading takes as long as it takes, which a real-time thread must not.
pub fn no_longer_in_time() {
    // It takes no right; a thread that was never raised stays as it is.
    let _ = reschedule_current_thread(Schedule::Fair { nice: 0, slice: None });
}

/// What a soaker's thread works with.
struct Hand {
    clock: Clock,
    work: Work,
    probe: Option<Probe>,
    /// The first on its CPU has 0.
    rank: usize,
    orders: Arc<Orders>,
    published: Arc<CachePadded<Published>>,
}

/// Gives the calling thread the usual share of a CPU, and all CPUs that it had, when it ends: on its way out the kernel
/// frees its entries of `/proc`, and a `waitpid` of the parent that comes upon one of them waits without sleeping. A
/// thread that gets no CPU because of that holds up both for minutes.
struct UsualShare(Option<CpuSet>);

impl Drop for UsualShare {
    fn drop(&mut self) {
        // Without the right to leave `SCHED_IDLE`, other CPUs have to do.
        let _ = reschedule_current_thread(Schedule::Fair { nice: 0, slice: None });
        self.0.iter().for_each(|cpus| drop(restrict_current_thread(cpus)));
    }
}

impl Hand {
    fn serve(self, cpu: usize, schedule: Schedule, tell: &Sender<io::Result<ThreadClock>>) {
        if schedule == Schedule::Idle {
            // Short turns, which also its group inherits: else someone who wakes up in another group may have to wait
            // for the end of a turn. A kernel that has no such thing leaves the turns as they are.
            let _ = reschedule_current_thread(Schedule::Fair { nice: 0, slice: Some(TURN) });
        }
        let before = allowed();
        let ready = pin_current_thread(cpu).and_then(|()| reschedule_current_thread(schedule));
        let failed = ready.is_err();
        let _ = tell.send(ready.map(|()| ThreadClock::of_current_thread()));
        if failed {
            return;
        }
        let _ended = UsualShare(before.ok());
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

    /// Grinds as long as it should, and `longer` says so of the time in ticks.
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
            // The only writer, so no read-modify-write is needed.
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

    /// One demand of a real-time soaker, and the sleep that keeps it from holding up others for longer.
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

/// One step towards the median: as many values lie above it as below when it comes to rest. A value that is twice as
/// long, because something interrupted the grind, moves it no further than one that is a nanosecond longer.
fn follow_median(median: u64, value: u64) -> u64 {
    match value.cmp(&median) {
        std::cmp::Ordering::Greater => median + (median >> STEP).max(1),
        std::cmp::Ordering::Less => median - (median >> STEP).max(1),
        std::cmp::Ordering::Equal => median,
    }
}

/// A step is 1/8,192 of the median: a core that changes its speed by a tenth is followed within 20 ms, and grinds that
/// are interrupted, which are few, shift it by less than is printed.
const STEP: u32 = 13;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soakers_grind_when_told_rest_when_told_and_end_when_dropped() {
        let clock = Clock::calibrate(Duration::from_millis(10)).clock;
        let grind = Grind { ns_per_load: 1.0, overhead_ns: 0.0, ns_per_cycle: None, search: Vec::new() };
        let cpu = instruments::cpus::allowed().unwrap().first().unwrap();
        let soakers = Soakers::start((clock, &grind, None), Schedule::Idle, &[cpu], 2).unwrap();
        let [first, second] = &soakers.soakers[..] else { panic!("two soakers") };
        assert_eq!(first.grinds() + second.grinds(), 0);
        soakers.let_grind(1);
        let patience = std::time::Instant::now();
        while first.grinds() == 0 && patience.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(first.grinds() > 0 && first.exact_ns().unwrap() > 0);
        assert_eq!(second.grinds(), 0, "the second one runs no busy loop");
        let gone = first.clock;
        drop(soakers);
        // Joined is a moment before the kernel has forgotten it.
        let patience = std::time::Instant::now();
        while gone.exact_ns().is_ok() {
            assert!(patience.elapsed() < Duration::from_secs(60), "its thread still lives");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn the_median_is_followed_and_outliers_do_not_count() {
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
