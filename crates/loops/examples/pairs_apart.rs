//! A lock and an unlock of every free lock, by three loops that take turns in one process: one that shares nothing with
//! contend's own, contend's own, and one in which fences keep each operation apart from the next, less the same without
//! a lock. To hold a ranking, and the means of single operations, against.
//!
//! `cargo run --release -p contend-loops --example pairs_apart`

use instruments::clock::Clock;
use locks::{Builder, Lock, Reach};
use std::hint::black_box;
use std::io;
use std::time::{Duration, Instant};

const PAIRS: u32 = 100_000;
const TURNS: usize = 15;

/// Nanoseconds that a pass of a loop takes.
fn timed(mut pass: impl FnMut()) -> f64 {
    let began = Instant::now();
    (0..PAIRS).for_each(|_| pass());
    began.elapsed().as_secs_f64() * 1e9 / f64::from(PAIRS)
}

/// Nanoseconds of a pair in a loop, and of one between fences.
struct Pairs(Clock);

impl Builder for Pairs {
    type Output = [f64; 2];

    fn build<L: Lock>(self) -> io::Result<[f64; 2]> {
        let Self(clock) = self;
        let mut lock = Box::new(L::create()?);
        lock.settle()?;
        let pair = timed(|| drop(black_box(&*lock).lock()));
        let apart = timed(|| {
            black_box(clock.stamp());
            let guard = black_box(&*lock).lock();
            black_box(clock.stamp());
            drop(guard);
        });
        Ok([pair, apart])
    }
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() -> io::Result<()> {
    let clock = Clock::calibrate(Duration::from_millis(200)).clock;
    // The C library's mutexes take no atomic as long as there is one thread.
    std::thread::spawn(std::thread::park);
    let names: Vec<&str> = locks::ENTRIES.iter().map(|entry| entry.name).collect();
    let mut times = vec![[const { Vec::new() }; 3]; names.len()];
    for _ in 0..TURNS {
        for (name, times) in names.iter().zip(&mut times) {
            let Some([pair, apart]) = locks::build(name, Reach::Threads, Pairs(clock)).transpose()? else { continue };
            let own = loops::latency::make(name).transpose()?.map_or(0.0, |lock| lock.bare_pair(clock));
            for (times, time) in times.iter_mut().zip([pair, own * clock.ns_per_tick(), apart]) {
                times.push(time);
            }
        }
    }
    let medians: Vec<[f64; 3]> =
        times.iter_mut().map(|of_lock| of_lock.each_mut().map(|times| median(times))).collect();
    let none = names.iter().position(|name| *name == locks::NONE).expect("it is in the registry");
    println!("lock,pair_ns,contend_pair_ns,apart_ns");
    for (name, [pair, own, apart]) in names.iter().zip(&medians).filter(|(name, _)| **name != locks::NONE) {
        println!("{name},{pair:.3},{own:.3},{:.3}", apart - medians[none][2]);
    }
    Ok(())
}
