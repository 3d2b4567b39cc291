//! Measures whether a thread that knows the time of the next tick can avoid being preempted while it holds a lock.
//!
//! ```sh
//! cargo run --release --example tick_dodge -- phase|table|variants|cells [turns] [seconds per turn]
//! ```
//!
//! `phase` compares the tick that the coarse clock shows with the gaps of a spinning thread. `table` and `variants` run
//! a thread that holds a lock again and again, against one competitor of equal weight on the same CPU: *plain*; with
//! yields at random moments, as many as the yielding thread made (*random*); with a yield before each hold that would
//! straddle the tick (*yield*); with a wait for the tick before such a hold (*wait*). `cells` runs several threads on
//! all CPUs with an `Adaptive` lock. Turns are interleaved. With six turns, the smallest and the largest of their values
//! are a 97 % interval of the median.

mod cells;
mod solo;
mod tick;

use tick::{Tick, now};

/// The way in which a thread comes to its hold.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Plain,
    Random,
    Yield,
    Wait,
}

const MODES: [Mode; 4] = [Mode::Plain, Mode::Random, Mode::Yield, Mode::Wait];

/// Lets the calling thread run on this CPU only.
fn pin(cpu: usize) {
    // SAFETY: a `cpu_set_t` of zeros is an empty set, and the call reads the set only.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
    }
}

/// Returns how often the kernel took the CPU from the calling thread, by the kernel's own account, and the thread's CPU
/// time in seconds.
fn account() -> (i64, f64) {
    // SAFETY: a `rusage` of zeros is valid, and the call writes a whole one.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        (usage.ru_nivcsw, seconds(usage.ru_utime) + seconds(usage.ru_stime))
    }
}

/// A sequence of numbers in 0..1 (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Returns the median of the values, with the smallest and the largest.
fn summary(values: &[f64], digits: usize) -> String {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (first, last) = (sorted[0], sorted[sorted.len() - 1]);
    let median = (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0;
    format!("{median:.digits$} ({first:.digits$} to {last:.digits$})")
}

/// Prints how many gaps of a spinning thread begin at the tick that the coarse clock shows, on each CPU.
fn phase(tick: &Tick) {
    const NEAR_NS: u64 = 40_000;
    for cpu in 0..std::thread::available_parallelism().map_or(1, usize::from) {
        pin(cpu);
        let (mut gaps, mut near) = (0_u64, 0_u64);
        let (until, mut before, mut left) = (now() + 2_000_000_000, now(), tick.left());
        while before < until {
            let (at, left_then) = (now(), left);
            left = tick.left();
            if at - before > 3_000 {
                gaps += 1;
                near += u64::from(left_then.min(tick.period_ns.saturating_sub(left_then)) < NEAR_NS);
            }
            before = at;
        }
        println!("CPU {cpu}: {near} of {gaps} gaps within {} µs of a tick, of 500 ticks", NEAR_NS / 1000);
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |place: usize, otherwise: f64| words.get(place).and_then(|word| word.parse().ok()).unwrap_or(otherwise);
    let (turns, seconds) = (number(1, 6.0) as usize, number(2, 1.0));
    let tick = Tick::learn();
    println!("tick every {} µs", tick.period_ns / 1000);
    match words.first().map(String::as_str) {
        Some("phase") => phase(&tick),
        Some("table") => solo::table(&tick, turns, seconds),
        Some("variants") => solo::variants(&tick, turns, seconds),
        Some("cells") => cells::cells(&tick, turns, seconds),
        _ => eprintln!("usage: tick_dodge phase|table|variants|cells [turns] [seconds per turn]"),
    }
}
