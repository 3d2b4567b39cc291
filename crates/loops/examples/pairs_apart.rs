//! A lock and an unlock of every uncontended lock, by five loops that are interleaved in one process.
//!
//! It is a reference for a ranking and for the means of single operations:
//!
//! - `pair`: one after the other, by a loop that shares nothing with contend's own;
//! - `contend`: the same by contend's own;
//! - `stored`: the same, with a store before each lock, which an atomic waits for until it is in the cache;
//! - `apart`: fences keep each operation from the next, as in `contend latency`, less the same without a lock;
//! - `apart_stored`: the same, with a store before the first fence that no operation waited for.
//!
//! `cargo run --release -p contend-loops --example pairs_apart`

use instruments::clock::Clock;
use instruments::cpus::{allowed, pin_current_thread};
use locks::{Builder, Lock, Reach};
use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::time::{Duration, Instant};

const PAIRS: u32 = 100_000;
const TURNS: usize = 15;
const LOOPS: [&str; 5] = ["pair", "contend", "stored", "apart", "apart_stored"];

/// Returns the nanoseconds of one pass of a loop.
fn timed(mut pass: impl FnMut()) -> f64 {
    let began = Instant::now();
    (0..PAIRS).for_each(|_| pass());
    began.elapsed().as_secs_f64() * 1e9 / f64::from(PAIRS)
}

/// Nanoseconds of a pair by the loops of this file.
struct Pairs(Clock);

impl Builder for Pairs {
    type Output = [f64; 4];

    fn build<L: Lock>(self) -> io::Result<[f64; 4]> {
        let Self(clock) = self;
        let mut lock = Box::new(L::create()?);
        lock.settle()?;
        // Hidden from the compiler once: in the loop, the pointer would be stored there.
        let lock = black_box(&*lock);
        let word = AtomicU32::new(0);
        // Otherwise the compiler knows that the word is never read, and omits the store.
        let word = black_box(&word);
        let apart = || {
            clock.stamp();
            let guard = lock.lock();
            clock.stamp();
            drop(guard);
        };
        Ok([
            timed(|| drop(lock.lock())),
            timed(|| {
                word.store(1, Ordering::Relaxed);
                drop(lock.lock());
            }),
            timed(|| {
                word.store(1, Ordering::Relaxed);
                fence(Ordering::SeqCst);
                apart();
            }),
            timed(|| {
                word.store(1, Ordering::Relaxed);
                apart();
            }),
        ])
    }
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    pin_current_thread(allowed()?.first().ok_or("no CPU")?)?;
    let clock = Clock::calibrate(Duration::from_millis(200)).clock;
    // The C library's mutexes use no atomic operation as long as there is only one thread.
    std::thread::spawn(std::thread::park);
    let names: Vec<&str> = locks::ENTRIES.iter().map(|entry| entry.name).collect();
    let mut times = vec![[const { Vec::new() }; LOOPS.len()]; names.len()];
    for _ in 0..TURNS {
        for (name, times) in names.iter().zip(&mut times) {
            let Some(measured) = locks::build(name, Reach::Threads, Pairs(clock)).transpose()? else { continue };
            let [pair, stored, apart, apart_stored] = measured;
            let own = loops::latency::make(name).transpose()?.map_or(0.0, |lock| lock.bare_pair(clock));
            let all = [pair, own * clock.ns_per_tick(), stored, apart, apart_stored];
            times.iter_mut().zip(all).for_each(|(times, time)| times.push(time));
        }
    }
    let medians: Vec<[f64; LOOPS.len()]> =
        times.iter_mut().map(|lock_times| lock_times.each_mut().map(|times| median(times))).collect();
    let none = medians[names.iter().position(|name| *name == locks::NONE).ok_or("no lock without a lock")?];
    println!("lock,{}", LOOPS.map(|name| format!("{name}_ns")).join(","));
    for (name, [pair, own, stored, apart, apart_stored]) in names.iter().zip(&medians) {
        let net = [*pair, *own, *stored, apart - none[3], apart_stored - none[4]];
        println!("{name},{}", net.map(|ns| format!("{ns:.3}")).join(","));
    }
    Ok(())
}
