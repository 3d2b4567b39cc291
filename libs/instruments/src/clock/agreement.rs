//! Comparison of the counters of two CPUs.
//!
//! A thread on the first CPU reads its counter, sets a flag, and waits. A thread on the second CPU sees the flag,
//! reads its counter, and answers; the first thread reads again. The second CPU's value was read between the other
//! two, so each exchange bounds the offset between the counters from both sides, and the bounds of many exchanges are
//! intersected. The remaining uncertainty is about the time that a cache line takes from one CPU to the other. An
//! empty intersection means that the offset changed.

use super::Clock;
use crate::cpus::pin_current_thread;
use crossbeam_utils::CachePadded;
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// The offset of one CPU's counter relative to another's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Agreement {
    /// CPU that is compared.
    pub cpu: usize,
    /// CPU with which it is compared.
    pub reference_cpu: usize,
    /// Lower bound of the offset, in nanoseconds.
    pub low_ns: f64,
    /// Upper bound of the offset, in nanoseconds.
    pub high_ns: f64,
    /// Number of exchanges.
    pub exchanges: u64,
    /// Number of exchanges in which the answering value was not between the other two: time ran backwards between the
    /// CPUs.
    pub out_of_order: u64,
}

const EXCHANGES: u64 = 20_000;
/// Value that the answering thread publishes before the first exchange; no counter starts there.
const UNANSWERED: u64 = 0;

/// Compares the counters of two CPUs in 20,000 exchanges (about 5 ms on an idle machine).
///
/// # Errors
///
/// Returns an error if the calling thread may not run on one of the CPUs.
pub fn agreement(clock: Clock, reference_cpu: usize, cpu: usize) -> io::Result<Agreement> {
    let padded = |value| CachePadded::new(AtomicU64::new(value));
    let (request, answer) = (padded(0), padded(UNANSWERED));
    let before = crate::cpus::allowed()?;
    let bounds = std::thread::scope(|scope| -> io::Result<Bounds> {
        let answering = std::thread::Builder::new().spawn_scoped(scope, || {
            let pinned = pin_current_thread(cpu);
            // The thread answers even if it could not be pinned, so that the first thread never waits forever.
            (1..=EXCHANGES).for_each(|exchange| {
                wait_until(|| request.load(Ordering::Acquire) == exchange);
                answer.store(clock.stamp(), Ordering::Release);
            });
            pinned
        })?;
        // The caller's own thread is the first one, pinned for that time: if it were a second new thread and could
        // not be started, the other would wait forever.
        let pinned = pin_current_thread(reference_cpu);
        let bounds = exchange_all(clock, &request, &answer);
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

fn exchange_all(clock: Clock, request: &AtomicU64, answer: &AtomicU64) -> Bounds {
    let mut bounds = Bounds { low: i64::MIN, high: i64::MAX, out_of_order: 0 };
    for exchange in 1..=EXCHANGES {
        let before = clock.stamp();
        request.store(exchange, Ordering::Release);
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

/// Spins until `ready` returns true, and yields occasionally in case both threads share one CPU.
fn wait_until(ready: impl Fn() -> bool) {
    let mut iterations = 0_u32;
    while !ready() {
        iterations += 1;
        if iterations.is_multiple_of(10_000) {
            std::thread::yield_now();
        }
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod measured {
    use super::*;
    use std::time::Duration;

    #[test]
    #[ignore = "measured: needs two CPUs"]
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
    #[ignore = "measured: needs two CPUs"]
    fn a_cpu_that_does_not_exist_is_an_error() {
        let clock = Clock::calibrate(Duration::from_millis(1)).clock;
        let here = crate::cpus::allowed().unwrap().iter().next().unwrap();
        assert!(agreement(clock, here, 100_000).is_err());
    }
}
