//! Measures the cost of revoking the bias of a `Biased` lock.
//!
//! For each next thread, it prints the duration of the first `lock`, compared with the first `lock` of an `Adaptive`
//! lock that the same threads have used. It also prints the duration of the owner's pair before and after.
//!
//! ```sh
//! cargo run --release --example revocation
//! ```

use std::{
    hint::{black_box, spin_loop},
    sync::{
        Barrier,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc,
    },
    thread,
    time::Instant,
};
use ulocks::{Adaptive, Biased, NoCount, Private, lock_api::RawMutex};

const LOCKS: usize = 2_000;
/// Number of threads: the first one is the owner, four more revoke the bias, the last of these permanently, and one
/// finds the lock unbiased.
const THREADS: usize = 6;
const PAIRS: u32 = 1_000;

/// Whether another processor runs this program while a thread arrives: the fence must interrupt that processor.
#[derive(Clone, Copy, PartialEq)]
enum OtherProcessor {
    Idle,
    Runs,
}

fn pair<R: RawMutex>(lock: &R) {
    let guard = lock.lock();
    // SAFETY: this thread acquired the lock with this guard.
    unsafe { lock.unlock(guard) };
}

/// Returns the duration of `work` in nanoseconds.
fn timed(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64() * 1e9
}

/// Returns the durations of one thread's first pair with each lock, and of its later pairs.
fn visit<R: RawMutex>(locks: &[R]) -> (Vec<f64>, f64) {
    let firsts = locks.iter().map(|lock| timed(|| pair(black_box(lock)))).collect();
    let lock = black_box(&locks[0]);
    (firsts, timed(|| (0..PAIRS).for_each(|_| pair(lock))) / f64::from(PAIRS))
}

/// Lets one thread after another visit all locks, and returns the durations of each.
///
/// Each thread stays until the last has finished, because a later thread could otherwise have the same thread
/// pointer.
fn visits<R: RawMutex + Sync + Send>(other: OtherProcessor) -> Vec<(Vec<f64>, f64)> {
    let locks: Vec<R> = (0..LOCKS).map(|_| R::INIT).collect();
    let (end, last) = (AtomicBool::new(other == OtherProcessor::Idle), Barrier::new(THREADS + 1));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !end.load(Relaxed) {
                spin_loop();
            }
        });
        let mut durations = Vec::new();
        for _ in 0..THREADS {
            let (sender, receiver) = mpsc::channel();
            let (locks, last) = (&locks, &last);
            scope.spawn(move || {
                sender.send(visit(locks)).expect("it is waited for");
                last.wait();
            });
            durations.push(receiver.recv().expect("no visitor panics"));
        }
        last.wait();
        end.store(true, Relaxed);
        durations
    })
}

/// Returns the value below which this share of all values is.
fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * share) as usize]
}

fn main() {
    let mut clock: Vec<f64> = (0..LOCKS).map(|_| timed(|| ())).collect();
    println!(
        "the clock itself: {:.0} ns; first pairs with {LOCKS} locks, median, p90, p99 in ns",
        quantile(&mut clock, 0.5)
    );
    for (other, state) in [(OtherProcessor::Idle, "idle"), (OtherProcessor::Runs, "runs")] {
        let both = [visits::<Biased<NoCount>>(other), visits::<Adaptive<Private>>(other)];
        for (name, visits) in ["biased", "adaptive"].iter().zip(both) {
            for (number, (mut firsts, later)) in visits.into_iter().enumerate() {
                let [median, p90, p99] = [0.5, 0.9, 0.99].map(|share| quantile(&mut firsts, share));
                let thread = format!("other {state}, {name}, thread {}", number + 1);
                println!("{thread:<32} {median:>8.0} {p90:>8.0} {p99:>8.0}, later {later:.1} a pair");
            }
        }
    }
}
