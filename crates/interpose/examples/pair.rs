//! Measures the time that the library adds to an uncontended lock/unlock pair:
//! `cargo run --release -p interpose --example pair`.
//!
//! The program runs itself repeatedly, without the library and with it at each level, and prints for each the median
//! over the repetitions of the fastest of ten batches of a repetition, and the difference to the value without the
//! library. The repetitions are interleaved, so that other activity of the machine affects all variants alike.

use interpose::{Level, Memory, PLACE};
use std::process::Command;
use std::time::Instant;

const ROUNDS: usize = 11;
const BATCHES: usize = 10;
const PAIRS: u32 = 1_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    match std::env::args().nth(1).as_deref() {
        Some("one") => println!("{}", turn()),
        Some("several") => {
            // The C library acquires locks another way once there was another thread.
            std::thread::spawn(|| ()).join().expect("the thread does nothing");
            println!("{}", turn());
        }
        _ => ["one", "several"].into_iter().try_for_each(compare)?,
    }
    Ok(())
}

fn compare(threads: &str) -> Result<(), Box<dyn std::error::Error>> {
    let cells = [
        ("without", None),
        ("library alone", Some(Level::Nothing)),
        ("sampled", Some(Level::Sampled)),
        ("full", Some(Level::Full)),
    ];
    let (_library, library) = Memory::library()?;
    let mut found = vec![Vec::new(); cells.len()];
    for _ in 0..ROUNDS {
        for (place, (_, level)) in cells.iter().enumerate() {
            let mut command = Command::new(std::env::current_exe()?);
            command.arg(threads);
            let memory = level.map(|level| Memory::new(level, None)).transpose()?;
            if let Some(memory) = &memory {
                command.env("LD_PRELOAD", &library).env(PLACE, memory.path());
            }
            let said = String::from_utf8(command.output()?.stdout)?;
            found[place].push(said.trim().parse::<f64>()?);
        }
    }
    let medians: Vec<f64> = found.iter_mut().map(|values| median(values)).collect();
    println!("In a program with {threads} {}:", if threads == "one" { "thread" } else { "threads" });
    for ((name, _), median) in cells.iter().zip(&medians) {
        println!("  {name:<14} {median:>6.2} ns per lock/unlock pair, {:>+6.2} ns", median - medians[0]);
    }
    Ok(())
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Returns the time of a pair in ns: the fastest of some batches.
fn turn() -> f64 {
    let mut mutex = libc::PTHREAD_MUTEX_INITIALIZER;
    let batch = |_| {
        let began = Instant::now();
        for _ in 0..PAIRS {
            // SAFETY: the mutex is initialised, is not moved, and is released by the thread that acquired it.
            unsafe {
                libc::pthread_mutex_lock(&raw mut mutex);
                libc::pthread_mutex_unlock(&raw mut mutex);
            }
        }
        began.elapsed().as_secs_f64() * 1e9 / f64::from(PAIRS)
    };
    (0..BATCHES).map(batch).fold(f64::INFINITY, f64::min)
}
