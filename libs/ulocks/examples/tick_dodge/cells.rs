//! Several threads with one `Adaptive` lock on all CPUs, with a competitor on each CPU or without.

use super::tick::{Learned, Tick, now};
use super::{Mode, Random, account, summary};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use ulocks::Adaptive;

/// A configuration: threads, the time outside the lock and in it in µs, and the competitors.
#[derive(Clone, Copy)]
struct Cell {
    threads: usize,
    non_hold_us: f64,
    hold_us: f64,
    competitors: usize,
}

/// One turn's result.
#[derive(Clone, Copy, Default)]
struct Turn {
    pairs_per_s: f64,
    /// Waits, in µs.
    p999_us: f64,
    longest_us: f64,
    preempted_of_1000: f64,
    competitor_share: f64,
    dodges_per_s: f64,
}

/// Busy time of about this length: 0.5 to 1.5 times of it.
fn work(us: f64, random: &mut Random) -> u64 {
    let (start, ns) = (now(), (us * 1e3 * (0.5 + random.next())) as u64);
    let mut at = start;
    while at - start < ns {
        at = now();
    }
    at - start
}

/// Acquires the lock; a thread that would acquire it so late before the tick that it would hold it then lets the tick
/// pass first. A thread that finds the lock held waits as the lock has it.
fn acquire(lock: &Adaptive, tick: &Tick, mode: Mode, hold_ns: u64, dodges: &AtomicU64) {
    let dodged = match mode {
        Mode::Yield => tick.yield_out(hold_ns),
        Mode::Wait => tick.wait_out(hold_ns),
        _ => false,
    };
    dodges.fetch_add(dodged.into(), Relaxed);
    lock.lock();
}

/// Times are kept from 1 to 2^40 ns in buckets of a quarter of an octave.
struct Buckets([u64; 160]);

impl Buckets {
    fn note(&mut self, ns: u64) {
        self.0[(4.0 * (ns.max(1) as f64).log2()) as usize % 160] += 1;
    }
}

fn turn(tick: &Tick, mode: Mode, cell: Cell, seconds: f64) -> Turn {
    let lock: Adaptive = Adaptive::new();
    let (learned, is_over, dodges, taken) =
        (Learned::new(), AtomicBool::new(false), AtomicU64::new(0), Barrier::new(cell.threads + 1));
    let (buckets, preempted, longest, compete_s) = std::thread::scope(|scope| {
        let competitors: Vec<_> = (0..cell.competitors)
            .map(|_| {
                scope.spawn(|| {
                    while !is_over.load(Relaxed) {
                        std::hint::spin_loop();
                    }
                    account().1
                })
            })
            .collect();
        let workers: Vec<_> = (0..cell.threads)
            .map(|number| {
                let (lock, learned, is_over, dodges, taken) = (&lock, &learned, &is_over, &dodges, &taken);
                scope.spawn(move || {
                    let mut random = Random(0x2545_f491_4f6c_dd1d ^ (number as u64 + 1) << 20);
                    let (mut buckets, mut preempted, mut longest) = (Buckets([0; 160]), 0_u64, 0);
                    taken.wait();
                    while !is_over.load(Relaxed) {
                        if cell.non_hold_us > 0.0 {
                            work(cell.non_hold_us, &mut random);
                        }
                        let began = now();
                        acquire(lock, tick, mode, learned.ns(), dodges);
                        let got = now();
                        let held = work(cell.hold_us, &mut random);
                        // SAFETY: this thread has acquired the lock.
                        unsafe { lock.unlock() };
                        buckets.note(got - began);
                        longest = longest.max(got - began);
                        if held as f64 > cell.hold_us * 1e3 * 1.5 + 100e3 {
                            preempted += 1;
                        } else {
                            learned.note(held);
                        }
                    }
                    (buckets, preempted, longest)
                })
            })
            .collect();
        taken.wait();
        std::thread::sleep(std::time::Duration::from_secs_f64(seconds));
        is_over.store(true, Relaxed);
        let (mut all, mut preempted, mut longest) = (Buckets([0; 160]), 0, 0);
        for worker in workers {
            let (buckets, of_worker, its_longest) = worker.join().expect("a worker does not panic");
            all.0.iter_mut().zip(buckets.0).for_each(|(sum, more)| *sum += more);
            preempted += of_worker;
            longest = longest.max(its_longest);
        }
        let compete_s: f64 = competitors.into_iter().map(|one| one.join().unwrap_or(0.0)).sum();
        (all, preempted, longest, compete_s)
    });
    let pairs: u64 = buckets.0.iter().sum();
    let mut left = pairs.div_ceil(1_000);
    let bucket = (0..160).rev().find(|place| {
        left = left.saturating_sub(buckets.0[*place]);
        left == 0
    });
    Turn {
        pairs_per_s: pairs as f64 / seconds,
        p999_us: bucket.map_or(0.0, |place| 2_f64.powf((place as f64 + 0.5) / 4.0) / 1e3),
        longest_us: longest as f64 / 1e3,
        preempted_of_1000: 1_000.0 * preempted as f64 / pairs.max(1) as f64,
        competitor_share: compete_s / seconds,
        dodges_per_s: dodges.load(Relaxed) as f64 / seconds,
    }
}

const CELL_MODES: [Mode; 3] = [Mode::Plain, Mode::Yield, Mode::Wait];

/// Measures each cell plainly and with dodging, in interleaved turns.
pub fn cells(tick: &Tick, turns: usize, seconds: f64) {
    for competitors in [0, 2] {
        for (threads, non_hold_us, hold_us) in
            [(3, 0.0, 10.0), (3, 50.0, 50.0), (8, 7.0, 3.0), (8, 50.0, 50.0), (100, 9.0, 1.0), (100, 0.0, 10.0)]
        {
            let cell = Cell { threads, non_hold_us, hold_us, competitors };
            let mut results: [Vec<Turn>; 3] = Default::default();
            for round in 0..turns {
                for place in 0..CELL_MODES.len() {
                    let place = (place + round) % CELL_MODES.len();
                    results[place].push(turn(tick, CELL_MODES[place], cell, seconds));
                }
            }
            println!("{threads} threads, {non_hold_us}/{hold_us} µs, {competitors} competitors");
            for (mode, turns) in CELL_MODES.iter().zip(&results) {
                let of =
                    |value: fn(&Turn) -> f64, digits| summary(&turns.iter().map(value).collect::<Vec<f64>>(), digits);
                println!(
                    "  {:6} {:>32} pairs/s  wait p99.9 {:>30} µs  longest {:>30} µs  preempted of 1,000 {:>24}  competitors {:>20} CPUs  dodges/s {}",
                    format!("{mode:?}").to_lowercase(),
                    of(|turn| turn.pairs_per_s, 0),
                    of(|turn| turn.p999_us, 0),
                    of(|turn| turn.longest_us, 0),
                    of(|turn| turn.preempted_of_1000, 3),
                    of(|turn| turn.competitor_share, 2),
                    of(|turn| turn.dodges_per_s, 0),
                );
            }
        }
    }
}
