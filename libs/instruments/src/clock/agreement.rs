//! Do the counters of two CPUs agree?
//!
//! A thread on the first CPU stamps, sets a flag, and waits; a thread on the second sees the flag, stamps, and answers;
//! the first stamps again. The second CPU's stamp was taken between the other two, so each exchange bounds the offset
//! between the counters from both sides, and many exchanges are intersected. The bound that is left is about the time
//! a cache line takes from one CPU to the other. An empty intersection means that the offset moved.

use super::Clock;
use crate::cpus::pin_current_thread;
use crossbeam_utils::CachePadded;
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// The offset of one CPU's counter against another's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Agreement {
    /// The CPU that is compared.
    pub cpu: usize,
    /// The CPU that it is compared with.
    pub reference_cpu: usize,
    /// The offset is at least this, in nanoseconds.
    pub low_ns: f64,
    /// The offset is at most this, in nanoseconds.
    pub high_ns: f64,
    /// Exchanges made.
    pub exchanges: u64,
    /// Exchanges in which the answer's stamp was not between the asker's two: time ran backwards between CPUs.
    pub out_of_order: u64,
}

impl Agreement {
    /// The largest offset that the exchanges leave possible, in nanoseconds.
    pub fn bound_ns(&self) -> f64 {
        self.low_ns.abs().max(self.high_ns.abs())
    }
}

const EXCHANGES: u64 = 20_000;
/// What the answering thread publishes before the first exchange; no counter starts there.
const UNANSWERED: u64 = 0;

/// Compares the counters of two CPUs in 20,000 exchanges (about 5 ms on an idle machine).
///
/// # Errors
/// A CPU that the calling thread may not run on.
pub fn agreement(clock: Clock, reference_cpu: usize, cpu: usize) -> io::Result<Agreement> {
    let padded = |value| CachePadded::new(AtomicU64::new(value));
    let (ask, answer) = (padded(0), padded(UNANSWERED));
    let before = crate::cpus::allowed()?;
    let bounds = std::thread::scope(|scope| -> io::Result<Bounds> {
        let answering = std::thread::Builder::new().spawn_scoped(scope, || {
            let pinned = pin_current_thread(cpu);
            // Answered even when the pin failed, so that the asker never waits for nobody.
            (1..=EXCHANGES).for_each(|exchange| {
                wait_until(|| ask.load(Ordering::Acquire) == exchange);
                answer.store(clock.stamp(), Ordering::Release);
            });
            pinned
        })?;
        // The caller's own thread asks, pinned for as long as that takes: a second thread that could not be started
        // would leave the first one waiting.
        let pinned = pin_current_thread(reference_cpu);
        let bounds = exchange_all(clock, &ask, &answer);
        crate::cpus::restrict_current_thread(&before)?;
        answering.join().expect("the answering thread does not panic")?;
        pinned.map(|()| bounds)
    })?;
    Ok(Agreement {
        cpu,
        reference_cpu,
        low_ns: bounds.low as f64 * clock.ns_per_tick(),
        high_ns: bounds.high as f64 * clock.ns_per_tick(),
        exchanges: EXCHANGES,
        out_of_order: bounds.out_of_order,
    })
}

struct Bounds {
    low: i64,
    high: i64,
    out_of_order: u64,
}

fn exchange_all(clock: Clock, ask: &AtomicU64, answer: &AtomicU64) -> Bounds {
    let mut bounds = Bounds { low: i64::MIN, high: i64::MAX, out_of_order: 0 };
    for exchange in 1..=EXCHANGES {
        let before = clock.stamp();
        ask.store(exchange, Ordering::Release);
        wait_until(|| answer.load(Ordering::Acquire) != UNANSWERED);
        let after = clock.stamp();
        let other = answer.load(Ordering::Relaxed);
        answer.store(UNANSWERED, Ordering::Relaxed);
        bounds.low = bounds.low.max(other.wrapping_sub(after) as i64);
        bounds.high = bounds.high.min(other.wrapping_sub(before) as i64);
        bounds.out_of_order += u64::from(other < before || after < other);
    }
    bounds
}

/// Spins, and yields once in a while in case both threads share one CPU.
fn wait_until(ready: impl Fn() -> bool) {
    let mut turns = 0_u32;
    while !ready() {
        turns += 1;
        if turns.is_multiple_of(10_000) {
            std::thread::yield_now();
        }
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_cpu_agrees_with_another_within_its_bounds() {
        let clock = Clock::calibrate(Duration::from_millis(20)).clock;
        let allowed = crate::cpus::allowed().unwrap();
        let cpus: Vec<usize> = allowed.iter().collect();
        if cpus.len() < 2 {
            return eprintln!("skipped: needs two CPUs");
        }
        let agreement = agreement(clock, cpus[0], cpus[1]).unwrap();
        assert_eq!(agreement.exchanges, EXCHANGES);
        assert!(agreement.low_ns <= agreement.high_ns, "{agreement:?}");
        assert_eq!(agreement.out_of_order, 0, "{agreement:?}");
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_an_error() {
        let clock = Clock::calibrate(Duration::from_millis(1)).clock;
        let here = crate::cpus::allowed().unwrap().iter().next().unwrap();
        assert!(agreement(clock, here, 100_000).is_err());
    }
}
