//! The share of time that probes take, measured around each of them.
//!
//! The work between them fills the second-level cache, and there is one probe every 1.5 ms, as in the experiments.
//!
//! `cargo run --release -p instruments --example probe_cost [SECONDS] [CPU]`

use instruments::clock::Clock;
use instruments::cpus::pin_current_thread;
use instruments::neighbour::Probe;
use std::hint::black_box;
use std::time::{Duration, Instant};

const BETWEEN: Duration = Duration::from_micros(1_500);
/// Number of words in half of a second-level cache of 1 MiB.
const WORDS: usize = 1 << 16;

fn main() {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse().expect("a number"));
    let seconds = numbers.next().unwrap_or(3);
    if let Some(cpu) = numbers.next() {
        pin_current_thread(cpu as usize).expect("a CPU that this process may use");
    }
    let clock = Clock::calibrate(Duration::from_millis(50)).clock;
    let probe = Probe::calibrate(clock).expect("loops for this architecture");
    let mut words = vec![1_u64; WORDS];
    let mut took = Vec::new();
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(seconds) {
        work(&mut words);
        let before = Instant::now();
        black_box(probe.take());
        took.push(before.elapsed());
    }
    let (whole, probing) = (began.elapsed(), took.iter().sum::<Duration>());
    took.sort_unstable();
    let us = |time: Duration| time.as_secs_f64() * 1e6;
    println!("calibrated: {:.2} us, one after the other", probe.cost_ns() / 1e3);
    println!(
        "interleaved with work: median {:.2} us, mean {:.2} us, of {}",
        us(took[took.len() / 2]),
        us(probing) / took.len() as f64,
        took.len()
    );
    println!("of all time: {:.3} %", 100.0 * probing.as_secs_f64() / whole.as_secs_f64());
}

/// Reads all words repeatedly.
fn work(words: &mut [u64]) {
    let until = Instant::now() + BETWEEN;
    while Instant::now() < until {
        words.iter_mut().for_each(|word| *word = word.wrapping_mul(3));
        black_box(&mut *words);
    }
}
