//! One thread with a lock, and one competitor of equal weight, on one CPU.

use super::tick::{Learned, Tick, now};
use super::{MODES, Mode, Random, account, pin, summary};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// The length of the holds.
#[derive(Clone, Copy)]
enum Holds {
    /// Each has this length, in ns.
    Fixed(u64),
    /// Log-normal around this length. The thread knows the lengths of past holds only.
    Varying(u64),
}

/// The other thread on the CPU.
#[derive(Clone, Copy, PartialEq)]
enum Competitor {
    None,
    Spins,
    /// It sleeps and runs for random times, so that it often preempts when it wakes.
    Wakes,
}

/// One turn's result.
#[derive(Clone, Copy, Default)]
struct Turn {
    holds_per_s: f64,
    /// Preempted holds of 1,000: by the kernel's account, and by the thread's own clock.
    by_kernel: f64,
    by_clock: f64,
    /// The share of the time in which the thread was not running and had the lock.
    kept_share: f64,
    dodges_per_hold: f64,
    competitor_share: f64,
}

/// A gap of the clock from which on another thread ran.
const GAP_NS: u64 = 100_000;
const CPU: usize = 1;

fn compete(kind: Competitor, is_over: &AtomicBool) -> f64 {
    pin(CPU);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    while kind != Competitor::None && !is_over.load(Relaxed) {
        match kind {
            Competitor::Wakes => {
                std::thread::sleep(Duration::from_micros((200.0 + 1_800.0 * random.next()) as u64));
                let until = now() + (100_000.0 + 900_000.0 * random.next()) as u64;
                while now() < until {}
            }
            _ => std::hint::spin_loop(),
        }
    }
    account().1
}

fn turn(tick: &Tick, mode: Mode, holds: Holds, kind: Competitor, seconds: f64, ratio: f64) -> Turn {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let competitor = scope.spawn(|| compete(kind, &is_over));
        pin(CPU);
        let mut result = hold_again_and_again(tick, mode, holds, seconds, ratio);
        is_over.store(true, Relaxed);
        result.competitor_share = competitor.join().unwrap_or(0.0) / seconds;
        result
    })
}

fn hold_again_and_again(tick: &Tick, mode: Mode, holds: Holds, seconds: f64, ratio: f64) -> Turn {
    let mut random = Random(88_172_645_463_325_252);
    let learned = Learned::new();
    let (began, mut turn) = (now(), Turn::default());
    let until = began + (seconds * 1e9) as u64;
    let (mut count, mut yields, mut kept_ns) = (0_u64, 0, 0);
    loop {
        let hold_ns = match holds {
            Holds::Fixed(ns) => ns,
            Holds::Varying(ns) => {
                let normal = (0..12).map(|_| random.next()).sum::<f64>() - 6.0;
                (ns as f64 * (0.7 * normal).exp()) as u64
            }
        };
        let expected_ns = if let Holds::Fixed(ns) = holds { ns } else { learned.ns() };
        match mode {
            Mode::Plain => {}
            Mode::Random => {
                if random.next() < ratio {
                    std::thread::yield_now();
                    yields += 1;
                }
            }
            Mode::Yield => yields += u64::from(tick.yield_out(expected_ns)),
            Mode::Wait => yields += u64::from(tick.wait_out(expected_ns)),
        }
        let switches = account().0;
        let start = now();
        if start >= until {
            break;
        }
        let (mut before, mut lost) = (start, 0);
        while before - start < hold_ns + lost {
            let at = now();
            if at - before > GAP_NS {
                lost += at - before;
            }
            before = at;
        }
        let preempted = account().0 - switches;
        count += 1;
        turn.by_kernel += f64::from(u8::from(preempted > 0));
        turn.by_clock += f64::from(u8::from(lost > 0));
        kept_ns += lost;
        if lost == 0 {
            learned.note(before - start);
        }
    }
    let (span_s, holds) = ((now() - began) as f64 / 1e9, count.max(1) as f64);
    turn.by_kernel *= 1_000.0 / holds;
    turn.by_clock *= 1_000.0 / holds;
    turn.holds_per_s = count as f64 / span_s;
    turn.kept_share = kept_ns as f64 / 1e9 / span_s;
    turn.dodges_per_hold = yields as f64 / holds;
    turn
}

/// Measures the modes in interleaved turns, and prints a line for each.
fn compare(tick: &Tick, name: &str, holds: Holds, kind: Competitor, turns: usize, seconds: f64) {
    let mut results: [Vec<Turn>; 4] = Default::default();
    // The random thread yields as often as the yielding one did.
    let mut ratio = turn(tick, Mode::Yield, holds, kind, seconds, 0.0).dodges_per_hold;
    for round in 0..turns {
        for place in 0..MODES.len() {
            let place = (place + round) % MODES.len();
            let result = turn(tick, MODES[place], holds, kind, seconds, ratio);
            if MODES[place] == Mode::Yield {
                ratio = result.dodges_per_hold;
            }
            results[place].push(result);
        }
    }
    println!("{name}");
    for (mode, turns) in MODES.iter().zip(&results) {
        let of = |value: fn(&Turn) -> f64, digits| summary(&turns.iter().map(value).collect::<Vec<f64>>(), digits);
        println!(
            "  {:7} {:>30} holds/s  preempted of 1,000: {:>26} kernel, {:>26} clock  kept {:>24} %  yields or waits a hold \
             {:>24}  competitor {:>24} %",
            format!("{mode:?}").to_lowercase(),
            of(|turn| turn.holds_per_s, 0),
            of(|turn| turn.by_kernel, 2),
            of(|turn| turn.by_clock, 2),
            of(|turn| 100.0 * turn.kept_share, 2),
            of(|turn| turn.dodges_per_hold, 4),
            of(|turn| 100.0 * turn.competitor_share, 1),
        );
    }
}

/// Holds of 50 and of 400 µs against a competitor that spins.
pub fn table(tick: &Tick, turns: usize, seconds: f64) {
    for hold_us in [50, 400] {
        let name = format!("holds of {hold_us} µs");
        compare(tick, &name, Holds::Fixed(hold_us * 1000), Competitor::Spins, turns, seconds);
    }
}

/// Holds that vary, a competitor that wakes, and none.
pub fn variants(tick: &Tick, turns: usize, seconds: f64) {
    compare(tick, "holds around 50 µs", Holds::Varying(50_000), Competitor::Spins, turns, seconds);
    compare(tick, "competitor that wakes, 50 µs", Holds::Fixed(50_000), Competitor::Wakes, turns, seconds);
    compare(tick, "no competitor, 50 µs", Holds::Fixed(50_000), Competitor::None, turns, seconds);
}
