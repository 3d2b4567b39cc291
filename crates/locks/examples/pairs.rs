//! Measures a lock/unlock pair of every lock, uncontended, by a loop that shares nothing with contend's own: the
//! standard library's clock around a million pairs, the locks interleaved, the median of nine repetitions. For
//! comparison with a ranking.
//!
//! `cargo run --release -p contend-locks --example pairs`

use locks::{Builder, Lock, Reach};
use std::hint::black_box;
use std::io;
use std::time::Instant;

const PAIRS: u32 = 1_000_000;
const TURNS: usize = 9;

struct Pairs;

impl Builder for Pairs {
    type Output = f64;

    fn build<L: Lock>(self) -> io::Result<f64> {
        let mut lock = Box::new(L::create()?);
        lock.settle()?;
        let began = Instant::now();
        for _ in 0..PAIRS {
            drop(black_box(&*lock).lock());
        }
        Ok(began.elapsed().as_secs_f64() * 1e9 / f64::from(PAIRS))
    }
}

fn main() -> io::Result<()> {
    // The C library's mutexes use no atomic instruction as long as there is one thread.
    std::thread::spawn(std::thread::park);
    let names: Vec<&str> = locks::ENTRIES.iter().map(|entry| entry.name).filter(|name| *name != locks::NONE).collect();
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); names.len()];
    for _ in 0..TURNS {
        for (name, times) in names.iter().zip(&mut times) {
            times.extend(locks::build(name, Reach::Threads, Pairs).transpose()?);
        }
    }
    for (name, mut times) in names.iter().zip(times) {
        times.sort_by(f64::total_cmp);
        println!("{name},{:.3}", times[times.len() / 2]);
    }
    Ok(())
}
