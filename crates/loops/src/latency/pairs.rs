//! The time of a lock and an unlock together, in loops that record no single ones; and a lock that takes a known time
//! ([`KnownTime`]).

use instruments::clock::Clock;
use locks::{Lock, NoLock};
use std::io;

/// The number of pairs between two timestamps.
pub const PAIRS: u32 = 500;
/// The minimum time for which pairs are timed, and the minimum number of batches.
const PAIRS_FOR_NS: f64 = 100_000.0;
const LEAST_BATCHES: usize = 3;

/// Returns the time of a lock and an unlock in a loop with nothing else, in ticks: the median of batches of 500.
///
/// This is the value of an uncontended lock. It can differ from that of single timestamps in either direction: without
/// timestamps in between, the end of one pair and the beginning of the next overlap in the CPU; and an atomic waits for
/// the store before it. The first batch does not count: in it a new thread requests its ID, the linker binds, and
/// caches warm up.
pub fn bare_pair<L: Lock>(lock: &L, clock: Clock) -> f64 {
    median_of_batches(clock, || batch_of_pairs(lock, clock) as f64)
}

/// Returns their time with a timestamp behind each, in ticks, less the time of the timestamps without a lock.
///
/// Nothing overlaps, as in the recorded iterations. Only the ends of 500 are read, so it contains no single reading, no
/// recording, no baseline of another moment and no choice of iterations.
pub fn fenced_pair<L: Lock>(lock: &L, clock: Clock) -> f64 {
    median_of_batches(clock, || {
        batch_of_fenced_pairs(lock, clock) as f64 - batch_of_fenced_pairs(&NoLock, clock) as f64
    })
}

/// Returns the time of the lock of known time, in ticks: of 500 in one chain.
pub fn known_time(clock: Clock) -> f64 {
    median_of_batches(clock, || batch_in_a_chain(clock) as f64)
}

fn median_of_batches(clock: Clock, batch: impl Fn() -> f64) -> f64 {
    batch();
    let until = clock.now() + clock.to_ticks(PAIRS_FOR_NS);
    let mut batches: Vec<f64> = Vec::new();
    while batches.len() < LEAST_BATCHES || clock.now() < until {
        batches.push(batch());
    }
    batches.sort_by(f64::total_cmp);
    batches[batches.len() / 2] / f64::from(PAIRS)
}

#[inline(never)]
fn batch_of_pairs<L: Lock>(lock: &L, clock: Clock) -> u64 {
    let began = clock.stamp();
    for _ in 0..PAIRS {
        drop(lock.lock());
    }
    clock.stamp() - began
}

#[inline(never)]
fn batch_of_fenced_pairs<L: Lock>(lock: &L, clock: Clock) -> u64 {
    let began = clock.stamp();
    for _ in 0..PAIRS {
        let guard = lock.lock();
        clock.stamp();
        drop(guard);
        clock.stamp();
    }
    clock.stamp() - began
}

#[inline(never)]
fn batch_in_a_chain(clock: Clock) -> u64 {
    let began = clock.stamp();
    std::hint::black_box((0..PAIRS).fold(3, |number, _| multiply(number)));
    clock.stamp() - began
}

/// The number of multiplications that takes about as long as a fast lock.
const MULTIPLICATIONS: usize = 16;

/// A lock that takes a known time: a chain of multiplications, each of which waits for the one before it.
///
/// It does not exclude other threads.
///
/// The time of one multiplication is known from a chain that is as long as a measurement, without a timestamp in it. So
/// the correct reading of the iterations is known, and it is not zero, as it is without a lock.
pub struct KnownTime;

impl Lock for KnownTime {
    type Guard<'a> = ();

    fn create() -> io::Result<Self> {
        Ok(Self)
    }

    #[inline(always)]
    fn lock(&self) {
        multiply(3);
    }
}

/// Multiplies in a way that the compiler can neither predict nor omit.
#[inline(always)]
fn multiply(mut number: u64) -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction multiplies a register, and changes nothing else but the flags.
    unsafe {
        std::arch::asm!(".rept {times}", "imul {0}, {0}", ".endr", inout(reg) number, times = const MULTIPLICATIONS,
                        options(nomem, nostack));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the instruction multiplies a register, and changes nothing else.
    unsafe {
        std::arch::asm!(".rept {times}", "mul {0}, {0}, {0}", ".endr", inout(reg) number, times = const MULTIPLICATIONS,
                        options(nomem, nostack));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    for _ in 0..MULTIPLICATIONS {
        number = std::hint::black_box(number.wrapping_mul(number));
    }
    number
}

#[cfg(test)]
mod measured {
    use super::*;
    use instruments::clock::ordered_read_cost_ns;
    use instruments::grind::Work;
    use std::io;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    fn clock() -> Clock {
        Clock::calibrate(Duration::from_millis(10)).clock
    }

    /// A lock that is slow the first time, like one that requests its thread's ID from the kernel.
    struct SlowAtFirst(AtomicBool);

    impl Lock for SlowAtFirst {
        type Guard<'a> = ();

        fn create() -> io::Result<Self> {
            Ok(Self(AtomicBool::new(true)))
        }

        fn lock(&self) {
            if self.0.swap(false, Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(100));
            }
        }
    }

    #[test]
    #[ignore = "measured: needs a CPU"]
    fn pairs_exclude_the_first_lock_of_a_thread() {
        let clock = clock();
        let pair_ns = clock.to_ns(bare_pair(&SlowAtFirst::create().unwrap(), clock) as u64);
        assert!(pair_ns < 0.5 * 100e6 / f64::from(PAIRS), "{pair_ns}");
    }

    /// A lock that takes as long as a chain of this many loads, and an unlock that takes as long again.
    struct Loads<const N: u64>;

    struct Release<const N: u64>;

    impl<const N: u64> Drop for Release<N> {
        fn drop(&mut self) {
            Work::of_loads(N).run();
        }
    }

    impl<const N: u64> Lock for Loads<N> {
        type Guard<'a> = Release<N>;

        fn create() -> io::Result<Self> {
            Ok(Self)
        }

        fn lock(&self) -> Release<N> {
            Work::of_loads(N).run();
            Release
        }
    }

    /// Returns the median of nine, interleaved: another thread on the CPU disturbs some.
    fn middle(of: impl Fn() -> f64) -> f64 {
        let mut all = [(); 9].map(|()| of());
        all.sort_by(f64::total_cmp);
        all[4]
    }

    #[test]
    #[ignore = "measured: needs a CPU"]
    fn fenced_pair_has_both_operations_and_no_timestamp() {
        let clock = clock();
        let short = || fenced_pair(&Loads::<640>, clock);
        // Twice the loads; a fence costs about ten of them, as would half a pair. Other programs can disturb one try.
        let tries = [(); 5].map(|()| {
            let longer = middle(|| fenced_pair(&Loads::<1_280>, clock) / short());
            [longer, middle(|| short() / bare_pair(&Loads::<640>, clock))]
        });
        let is_so = |[longer, fenced]: &[f64; 2]| (1.6..2.5).contains(longer) && (0.7..1.5).contains(fenced);
        assert!(tries.iter().any(is_so), "{tries:?}");
    }

    #[test]
    #[ignore = "measured: needs a CPU"]
    fn fenced_pair_without_a_lock_is_zero() {
        let clock = clock();
        let left_ns = middle(|| fenced_pair(&NoLock, clock) * clock.ns_per_tick());
        assert!(left_ns.abs() < 0.5 * ordered_read_cost_ns(clock), "{left_ns}");
    }
}
