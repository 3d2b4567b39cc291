//! Timing of your own calls: a lock/unlock pair, or any function, in ten lines and with a confidence interval.
//!
//! The calls are made in batches between two timestamps, so that the clock's cost and step do not matter. Batches of
//! a loop that calls nothing are interleaved, and their duration is subtracted. A window contains a few batches of
//! either kind, and its value is the difference of their medians: an interruption affects a batch, but not a median.
//! The result is the median of the windows with its 95 % confidence interval (order statistics, no distribution
//! assumed). The interval therefore includes phases of the machine that last longer than a window.
//!
//! [`of_each`] interleaves the functions that are compared, window by window. A ratio of two functions that were
//! timed one after the other would include a change of the machine's phase.
//!
//! ```
//! use instruments::{clock::Clock, timing};
//! use std::sync::Mutex;
//! use std::time::Duration;
//!
//! let clock = Clock::calibrate(Duration::from_millis(20)).clock;
//! let counter = Mutex::new(0_u64);
//! let found = timing::of(clock, Duration::from_millis(50), || *counter.lock().unwrap() += 1);
//! let ends = found.ns.interval.expect("there are slices enough");
//! println!("a lock and an unlock take {:.1} ns ({:.1} to {:.1})", found.ns.value, ends.low, ends.high);
//! ```
//!
//! # Limits
//!
//! The module cannot:
//!
//! - show single calls: a distribution needs a timestamp for each;
//! - time threads that contend: see [`crate::team`];
//! - prevent the compiler from moving code that it proves to have no effect: pass results to
//!   [`std::hint::black_box`].

use crate::clock::Clock;
use crate::statistics::comparison::Estimate;
use crate::statistics::order::{median, sample_quantile_interval};
use crate::statistics::summary::CONFIDENCE;
use std::time::Duration;

/// Duration of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// Duration of one call in nanoseconds, without the loop around it. A value near 0 may be negative; it is not
    /// clipped.
    pub ns: Estimate,
    /// Duration of a pass of the empty loop in nanoseconds.
    pub empty_ns: f64,
    /// Number of calls between two timestamps.
    pub batch: u64,
    /// Number of windows that determine the interval.
    pub slices: usize,
}

/// Number of windows: sufficient for an interval, and for phases of some length.
const SLICES: u32 = 25;
/// Least number of batches of either kind in a window.
const LEAST_BATCHES: usize = 3;
/// Duration of a batch in nanoseconds: far more than the clock's step, far less than a time slice of the scheduler.
const BATCH_NS: f64 = 20_000.0;
const MOST_CALLS: u64 = 1 << 20;

/// Times a function for about `length`.
///
/// The thread should be pinned ([`crate::cpus::pin_current_thread`]) and have its CPU for itself.
pub fn of(clock: Clock, length: Duration, mut call: impl FnMut()) -> Timing {
    of_each(clock, length, &mut [&mut call])[0]
}

/// Times several functions for about `length` in total, interleaved; returns the results in the order of `calls`.
pub fn of_each(clock: Clock, length: Duration, calls: &mut [&mut dyn FnMut()]) -> Vec<Timing> {
    let mut subjects: Vec<Subject> = calls.iter_mut().map(|call| Subject::new(clock, *call)).collect();
    let slice_ticks = clock.ticks_in(length) / u64::from(SLICES) / calls.len().max(1) as u64;
    for _ in 0..SLICES {
        for (subject, call) in subjects.iter_mut().zip(calls.iter_mut()) {
            subject.slice(clock, slice_ticks, *call);
        }
    }
    subjects.into_iter().map(|subject| subject.timing(clock)).collect()
}

/// One function, and its windows so far, in ticks per call.
struct Subject {
    batch: u64,
    net: Vec<f64>,
    empty: Vec<f64>,
}

impl Subject {
    /// Determines the number of calls in a batch. The first calls warm up and are not counted.
    fn new(clock: Clock, call: &mut dyn FnMut()) -> Self {
        let enough = clock.to_ticks(BATCH_NS);
        let mut batch = 1;
        while batch < MOST_CALLS && ticks_of(clock, batch, call) < enough {
            batch *= 2;
        }
        Self { batch, net: Vec::new(), empty: Vec::new() }
    }

    fn slice(&mut self, clock: Clock, ticks: u64, call: &mut dyn FnMut()) {
        let (mut with, mut without) = (Vec::new(), Vec::new());
        let until = clock.now() + ticks;
        while with.len() < LEAST_BATCHES || clock.now() < until {
            without.push(ticks_of(clock, self.batch, &mut || {}) as f64);
            with.push(ticks_of(clock, self.batch, call) as f64);
        }
        let a_call = |batches: &[f64]| median(batches).unwrap_or(0.0) / self.batch as f64;
        let (with, without) = (a_call(&with), a_call(&without));
        self.net.push(with - without);
        self.empty.push(without);
    }

    fn timing(self, clock: Clock) -> Timing {
        let ns = |ticks: f64| ticks * clock.ns_per_tick();
        let interval =
            sample_quantile_interval(&self.net, 0.5, CONFIDENCE).map(|ends| ends.scaled(clock.ns_per_tick()));
        Timing {
            ns: Estimate::new(ns(median(&self.net).unwrap_or(0.0)), interval),
            empty_ns: ns(median(&self.empty).unwrap_or(0.0)),
            batch: self.batch,
            slices: self.net.len(),
        }
    }
}

/// Never inlined, and the function is behind a pointer: the empty loop is the same machine code.
#[inline(never)]
fn ticks_of(clock: Clock, calls: u64, call: &mut dyn FnMut()) -> u64 {
    let began = clock.stamp();
    for _ in 0..calls {
        call();
    }
    clock.stamp() - began
}
