//! Threads on a CPU, sampled by the kernel's clock of each thread (`perf_event_open`), which needs no privilege for threads
//! of the same user up to `kernel.perf_event_paranoid` 2, and no counters of the processor.
//!
//! An open event makes each switch of the machine more expensive, up to a second after it is closed: a Java service was
//! slower by a sixth while there always was one. Therefore few threads are sampled at a time, in short windows, and after
//! the first seconds these are rare. In a window each thread has two clocks, whose samples are in one ring: a fast one with
//! the registers, and a slow one with the top of the stack.

use crate::code::Registers;
use crate::memory::u64_at;
use crate::names::message;
use crate::perf_rings::{redirect, ring};
use crate::stacks::Stack;
use perf_event::events::Software;
use perf_event::{Builder, Counter, ReadFormat, SampleFlag, Sampler};

/// The windows.
#[derive(Default)]
pub struct Clock {
    events: Vec<Event>,
    /// End of the open window, and begin of the next one, in seconds since the start.
    until: f64,
    next: f64,
    /// Why the kernel refuses events.
    refusal: Option<String>,
    pace: Pace,
}

/// How much of the time is sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Pace {
    /// Short windows of few threads, within the budget of all sources.
    #[default]
    Rare,
    /// Nearly all of the time, and many threads.
    Dense,
}

/// A thread whose samples are taken.
struct Event {
    process: u32,
    thread: u32,
    slow: Sampler,
    /// `None` where registers do not show addresses.
    fast: Option<Counter>,
}

/// The samples of a window.
#[derive(Default)]
pub struct Window {
    pub instants: Vec<Instant>,
    /// With the process and the thread.
    pub stacks: Vec<(u32, u32, Stack)>,
    /// Time that the threads ran.
    pub ran_ns: u64,
    /// Samples that found no room.
    pub lost: u64,
    pub period_ns: u64,
}

/// A thread at the time of a fast sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Instant {
    pub process: u32,
    pub thread: u32,
    pub cpu: u32,
    pub at_ns: u64,
    pub registers: Registers,
}

/// Threads that are sampled at a time.
const MOST_THREADS: usize = 8;
const MOST_THREADS_DENSE: usize = 64;
const WINDOW_S: f64 = 0.05;
const PAUSE_S: f64 = 0.15;
const PAUSE_DENSE_S: f64 = 0.01;
/// Time from which on the pauses are longer.
const SETTLED_S: f64 = 3.0;
const SETTLED_PAUSE_S: f64 = 8.0;
/// Time on a CPU between two samples of a thread: not a part of a millisecond, in which programs have their periods. In a
/// virtual machine a sample costs 20 µs and more, and a quarter of the first seconds is sampled.
const FAST_NS: u64 = 703_001;
const FAST_DENSE_NS: u64 = 211_003;
const SLOW_NS: u64 = 2_000_000;
const STACK: u32 = 2_048;
/// The samples of a window are 100 KiB at most.
const LARGEST: usize = 128 << 10;
const SMALLEST: usize = 16 << 10;
const LOST: u32 = 2;
const SAMPLE: u32 = 9;
const MOST_AT_ONCE: usize = 4_096;

impl Pace {
    /// Returns the time on a CPU between two fast samples of a thread.
    pub fn period_ns(self) -> u64 {
        if self == Self::Dense { FAST_DENSE_NS } else { FAST_NS }
    }
}

impl Clock {
    /// Creates one that samples at this pace.
    pub fn with_pace(pace: Pace) -> Self {
        Self { pace, ..Self::default() }
    }

    /// Returns why the kernel refuses samples.
    pub fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    /// Opens a window for some of the runnable threads, with their processes, if one is due.
    pub fn begin(&mut self, runnable: &[(u32, u32)], now_s: f64) {
        if self.refusal.is_some() || !self.events.is_empty() || now_s < self.next || runnable.is_empty() {
            return;
        }
        let first = (now_s * 1e6) as usize % runnable.len();
        let most = if self.pace == Pace::Dense { MOST_THREADS_DENSE } else { MOST_THREADS };
        let chosen = runnable.iter().cycle().skip(first).take(runnable.len().min(most));
        for &(process, thread) in chosen {
            match open(process, thread, self.pace.period_ns()) {
                Ok(event) => self.events.push(event),
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                Err(error) => {
                    self.refusal = self.events.is_empty().then(|| message(&error));
                    break;
                }
            }
        }
        let pause_s = match self.pace {
            Pace::Dense => PAUSE_DENSE_S,
            Pace::Rare if now_s > SETTLED_S => SETTLED_PAUSE_S,
            Pace::Rare => PAUSE_S,
        };
        (self.until, self.next) = (now_s + WINDOW_S, now_s + WINDOW_S + pause_s);
    }

    /// Closes the window if it is over; returns its samples.
    pub fn end(&mut self, now_s: f64) -> Option<Window> {
        if self.events.is_empty() || now_s < self.until {
            return None;
        }
        let mut window = Window { period_ns: self.pace.period_ns(), ..Window::default() };
        for mut event in std::mem::take(&mut self.events) {
            let fast = event.fast.as_ref().map(Counter::id);
            if let Some(counter) = &mut event.fast {
                let _ = counter.disable();
                window.ran_ns += counter.read().unwrap_or(0);
            }
            let _ = event.slow.as_counter_mut().disable();
            for _ in 0..MOST_AT_ONCE {
                let Some(record) = event.slow.next_record() else { break };
                let body = record.to_contiguous();
                match record.ty() {
                    LOST => window.lost += u64_at(&body, 8).unwrap_or(0),
                    SAMPLE if fast.is_some() && u64_at(&body, 0) == fast => {
                        window.instants.extend(instant(&body, event.process, event.thread));
                    }
                    SAMPLE => {
                        let stack = body.get(16..).and_then(Stack::of_sample);
                        window.stacks.extend(stack.map(|stack| (event.process, event.thread, stack)));
                    }
                    _ => {}
                }
            }
        }
        Some(window)
    }
}

/// Parses `IDENTIFIER | TID | TIME | CPU | REGS_USER`.
fn instant(body: &[u8], process: u32, thread: u32) -> Option<Instant> {
    let (registers, _) = Registers::of_sample(body.get(32..)?)?;
    Some(Instant { process, thread, at_ns: u64_at(body, 16)?, cpu: u64_at(body, 24)? as u32, registers })
}

fn open(process: u32, thread: u32, fast_ns: u64) -> std::io::Result<Event> {
    let builder = |period: u64, flags: SampleFlag| {
        let mut builder = Builder::new(Software::CPU_CLOCK);
        builder.observe_pid(thread as i32).any_cpu().exclude_kernel(true).exclude_hv(true);
        builder.read_format(ReadFormat::empty()).sample(SampleFlag::IDENTIFIER | SampleFlag::TID | flags);
        builder.sample_period(period).wakeup_watermark(u32::MAX as usize).enabled(true);
        builder
    };
    let slow = || {
        let mut slow = builder(SLOW_NS, SampleFlag::REGS_USER | SampleFlag::STACK_USER);
        slow.sample_regs_user(Stack::REGISTERS).sample_stack_user(STACK);
        slow
    };
    let slow = ring(SMALLEST..=LARGEST, slow)?;
    if !cfg!(target_arch = "x86_64") {
        return Ok(Event { process, thread, slow, fast: None });
    }
    let mut fast = builder(fast_ns, SampleFlag::TIME | SampleFlag::CPU | SampleFlag::REGS_USER);
    let fast = fast.sample_regs_user(Registers::MASK).build()?;
    redirect(&fast, &slow)?;
    Ok(Event { process, thread, slow, fast: Some(fast) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fast_sample_is_parsed_and_truncated_ones_are_dropped() {
        let mut words: Vec<u64> = vec![77, 4 << 32 | 3, 900, 1, 2];
        words.extend(100..118);
        let body: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let found = instant(&body, 3, 4).unwrap();
        assert_eq!(
            (found.at_ns, found.cpu, found.registers.general[3], found.registers.instruction),
            (900, 1, 101, 108)
        );
        for length in 0..body.len() {
            assert_eq!(instant(&body[..length], 3, 4), None, "{length}");
        }
    }
}
