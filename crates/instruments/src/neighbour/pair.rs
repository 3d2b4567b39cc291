//! Two CPUs of one's own: whether they are hardware threads of one core, whatever the topology says.
//!
//! A guest is often told that each of its CPUs is a core. So one of the two works and rests in turns, and the other one
//! probes: if its core gets narrower when the first works, it is the same core.

use super::loops;
use super::probe::Probe;
use crate::clock::Clock;
use crate::cpus::pin_current_thread;
use crate::statistics::order::{median, sample_quantile};
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// What two CPUs are to each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// How many times as long the loop of width takes on the one while the other works. 1 for two cores.
    pub narrowing: f64,
    /// How long a cache line takes from one to the other, in nanoseconds: the less, the nearer the cache that both use.
    pub line_ns: f64,
}

/// What shares a core loses a third at least.
const SHARES_FROM: f64 = 1.2;

impl Pair {
    /// Whether they are threads of one core.
    pub fn shares_core(&self) -> bool {
        self.narrowing >= SHARES_FROM
    }
}

const REST: u32 = 0;
const WORK: u32 = 1;
const ANSWER: u32 = 2;
const END: u32 = 3;

/// What one thread asks of the other.
#[derive(Default)]
struct Partner {
    task: AtomicU32,
    /// Grows while it works.
    progress: AtomicU64,
    question: AtomicU64,
    answer: AtomicU64,
}

const TURN: Duration = Duration::from_millis(4);
const ROUND_TRIPS: u64 = 200;
const BATCHES: usize = 25;

/// Finds out in about `span`, and in eight turns at least. `None` if one of the two had no time of its CPU.
///
/// # Errors
/// A CPU that may not be used, a thread that the system refuses.
pub fn pair(clock: Clock, probe: Probe, one: usize, other: usize, span: Duration) -> io::Result<Option<Pair>> {
    let partner = Partner::default();
    std::thread::scope(|scope| {
        let serving =
            std::thread::Builder::new().spawn_scoped(scope, || pin_current_thread(other).map(|()| partner.serve()))?;
        let asking = std::thread::Builder::new().spawn_scoped(scope, || {
            let asked = pin_current_thread(one).map(|()| partner.ask(clock, probe, span));
            partner.task.store(END, Ordering::Release);
            asked
        });
        if asking.is_err() {
            partner.task.store(END, Ordering::Release);
        }
        let asked = asking?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        serving.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        asked
    })
}

impl Partner {
    fn serve(&self) {
        loop {
            match self.task.load(Ordering::Acquire) {
                REST => std::thread::sleep(Duration::from_micros(200)),
                WORK => {
                    loops::width(2_000);
                    self.progress.fetch_add(1, Ordering::Relaxed);
                }
                ANSWER => {
                    let question = self.question.load(Ordering::Acquire);
                    self.answer.store(question, Ordering::Release);
                }
                _ => return,
            }
        }
    }

    fn ask(&self, clock: Clock, probe: Probe, span: Duration) -> Option<Pair> {
        let turns = (span.as_secs_f64() / TURN.as_secs_f64()).max(8.0) as usize;
        let (mut resting, mut working) = (Vec::new(), Vec::new());
        for turn in 0..turns {
            let task = if turn % 2 == 0 { REST } else { WORK };
            self.task.store(task, Ordering::Release);
            // It sees the task within its sleep, or its loop.
            std::thread::sleep(Duration::from_micros(500));
            let progress = self.progress.load(Ordering::Relaxed);
            let cycles = self.probe_for(clock, probe);
            let has_worked = self.progress.load(Ordering::Relaxed) > progress;
            match task {
                REST => resting.extend(cycles),
                _ if has_worked => working.extend(cycles),
                _ => {}
            }
        }
        // The low ones: others may share either core meanwhile.
        let low = |cycles: &[f64]| sample_quantile(cycles, 0.1);
        let narrowing = low(&working)? / low(&resting)?;
        Some(Pair { narrowing, line_ns: self.line_ns(clock)? })
    }

    /// A turn's median: who came in its midst does not count.
    fn probe_for(&self, clock: Clock, probe: Probe) -> Option<f64> {
        let until = clock.now() + clock.ticks_in(TURN);
        let mut cycles = Vec::new();
        while clock.now() < until {
            cycles.push(f64::from(probe.take().cycles));
        }
        median(&cycles)
    }

    /// Half of a question and its answer.
    fn line_ns(&self, clock: Clock) -> Option<f64> {
        self.task.store(ANSWER, Ordering::Release);
        let give_up = clock.now() + clock.ticks_in(Duration::from_millis(200));
        let mut batches = Vec::new();
        for batch in 0..BATCHES as u64 {
            let began = clock.stamp();
            for trip in 1..=ROUND_TRIPS {
                let question = batch * ROUND_TRIPS + trip;
                self.question.store(question, Ordering::Release);
                while self.answer.load(Ordering::Acquire) != question {
                    if clock.now() > give_up {
                        return None;
                    }
                    std::hint::spin_loop();
                }
            }
            batches.push(clock.to_ns(clock.stamp() - began) / (2 * ROUND_TRIPS) as f64);
        }
        median(&batches)
    }
}
