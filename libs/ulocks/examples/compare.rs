//! Compares `Adaptive` with other locks: throughput, fairness and longest wait, for each number of children and mix.
//!
//! Each child repeats: work outside the lock, lock, work inside it, unlock. Each piece of work is drawn uniformly
//! from 0.5 to 1.5 times its mean. The locks of one configuration run one after the other in each round, so that a
//! disturbance of the machine affects all of them. The example prints medians over the rounds.
//!
//! ```sh
//! cargo run --release --example compare -- --seconds 1 --rounds 3 --children 2,4,8,100 --mixes 0+1,0+10,7+3,9+1
//! ```

use std::{
    collections::BTreeMap,
    env,
    hint::{black_box, spin_loop},
    sync::{
        Barrier,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};
use ulocks::lock_api::{RawMutex, RawMutexFair};

/// The operations of a lock that the comparison uses.
trait Lock: Sync {
    fn with(&self, work: &mut dyn FnMut());
}

struct Raw<R>(R);
impl<R: RawMutex + Sync> Lock for Raw<R> {
    fn with(&self, work: &mut dyn FnMut()) {
        let guard = self.0.lock();
        work();
        // SAFETY: this thread acquired the lock with this guard.
        unsafe { self.0.unlock(guard) };
    }
}

struct Fair<R>(R);
impl<R: RawMutexFair + Sync> Lock for Fair<R> {
    fn with(&self, work: &mut dyn FnMut()) {
        let guard = self.0.lock();
        work();
        // SAFETY: this thread acquired the lock with this guard.
        unsafe { self.0.unlock_fair(guard) };
    }
}

impl Lock for std::sync::Mutex<()> {
    fn with(&self, work: &mut dyn FnMut()) {
        let _guard = self.lock().expect("no child panics");
        work();
    }
}

type Maker = (&'static str, fn() -> Box<dyn Lock>);

const LOCKS: &[Maker] = &[
    ("adaptive", || Box::new(Raw(ulocks::Adaptive::<ulocks::Private>::INIT))),
    ("biased", || Box::new(Raw(ulocks::Biased::<ulocks::NoCount>::INIT))),
    ("std", || Box::new(std::sync::Mutex::new(()))),
    ("parking_lot", || Box::new(Raw(parking_lot::RawMutex::INIT))),
    ("parking_lot-fair", || Box::new(Fair(parking_lot::RawMutex::INIT))),
    ("calock", || Box::new(Raw(ulocks::Calock::<ulocks::Private>::INIT))),
    ("calock-spin", || Box::new(Raw(ulocks::CalockSpin::<ulocks::Private>::INIT))),
    ("usema", || Box::new(Raw(ulocks::Usema::<ulocks::Private>::INIT))),
    ("usema-spin", || Box::new(Raw(ulocks::UsemaSpin::<ulocks::Private>::INIT))),
    ("pi", || Box::new(Raw(ulocks::Pi::<ulocks::Private>::INIT))),
    ("robust", || Box::new(Raw(ulocks::Robust::<ulocks::Private>::INIT))),
    ("ticket", || Box::new(Raw(ulocks::Ticket::<ulocks::NoCount>::INIT))),
    ("mcs", || Box::new(Raw(ulocks::Mcs::<ulocks::NoCount>::INIT))),
];

/// Result of one run of one lock.
struct Outcome {
    per_second: f64,
    cov: f64,
    longest_wait: Duration,
}

struct Plan {
    children: Vec<usize>,
    mixes: Vec<(f64, f64)>,
    locks: Vec<Maker>,
    seconds: f64,
    rounds: usize,
}

fn main() {
    let plan = plan_from_arguments();
    let per_microsecond = calibrate();
    println!("work: {per_microsecond:.0} rounds a microsecond");
    uncontended();
    println!("{:>8} {:>7}  {:<17} {:>12} {:>6} {:>10}", "children", "mix", "lock", "per second", "COV", "longest");
    for &children in &plan.children {
        for &mix in &plan.mixes {
            cell(&plan, children, mix, per_microsecond);
        }
    }
}

fn plan_from_arguments() -> Plan {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let given: BTreeMap<&str, &str> =
        arguments.chunks(2).filter_map(|p| Some((p.first()?.as_str(), p.get(1)?.as_str()))).collect();
    let value = |name: &str, default: &'static str| given.get(name).copied().unwrap_or(default).to_owned();
    let selected = value("--locks", "adaptive,biased,std,parking_lot,parking_lot-fair,calock-spin");
    Plan {
        children: list(&value("--children", "2,4,8,100")),
        mixes: value("--mixes", "0+1,0+10,7+3,9+1")
            .split(',')
            .map(|mix| mix.split_once('+').expect("a mix is NONHOLD+HOLD, in microseconds"))
            .map(|(non_hold, hold)| (number(non_hold), number(hold)))
            .collect(),
        locks: LOCKS.iter().copied().filter(|(name, _)| selected.split(',').any(|w| w == *name)).collect(),
        seconds: number(&value("--seconds", "1")),
        rounds: number(&value("--rounds", "3")) as usize,
    }
}

fn number(text: &str) -> f64 {
    text.parse().unwrap_or_else(|_| panic!("{text} is not a number"))
}

fn list(text: &str) -> Vec<usize> {
    text.split(',').map(|item| number(item) as usize).collect()
}

/// Does a piece of work that takes CPU time, not wall time: an interruption makes it longer.
fn work(rounds: u64) {
    for round in 0..rounds {
        black_box(round);
    }
}

fn calibrate() -> f64 {
    let once = || {
        let start = Instant::now();
        work(1_000_000);
        1_000_000.0 / start.elapsed().as_secs_f64() / 1e6
    };
    (0..20).map(|_| once()).fold(0.0, f64::max)
}

/// Returns a value from 0.5 to 1.5 times `mean` by xorshift64*, which is sufficient to spread the work.
fn uniform(state: &mut u64, mean: f64) -> u64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    let unit = (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1u64 << 53) as f64;
    (mean * (0.5 + unit)) as u64
}

/// Measures inlined lock/unlock pairs with an addition inside, interleaved over the locks.
fn uncontended() {
    const TIMES: u32 = 5_000_000;
    const REPETITIONS: usize = 7;
    macro_rules! pairs {
        ($($name:literal: $type:ty, $lock:expr;)*) => {[$(($name, {
            static LOCK: $type = <$type>::new(0);
            fn repetition() -> f64 {
                let start = Instant::now();
                (0..TIMES).for_each(|_| *$lock(&LOCK) += 1);
                start.elapsed().as_secs_f64() * 1e9 / f64::from(TIMES)
            }
            repetition as fn() -> f64
        })),*]};
    }
    let pairs = pairs! {
        "biased": ulocks::lock_api::Mutex<ulocks::Biased, u64>, ulocks::lock_api::Mutex::lock;
        "adaptive": ulocks::lock_api::Mutex<ulocks::Adaptive, u64>, ulocks::lock_api::Mutex::lock;
        "calock": ulocks::lock_api::Mutex<ulocks::Calock, u64>, ulocks::lock_api::Mutex::lock;
        "std": std::sync::Mutex<u64>, |lock: &'static std::sync::Mutex<u64>| lock.lock().unwrap();
        "parking_lot": parking_lot::Mutex<u64>, parking_lot::Mutex::lock;
    };
    let repetitions: Vec<Vec<f64>> =
        (0..REPETITIONS).map(|_| pairs.iter().map(|(_, repetition)| repetition()).collect()).collect();
    for (index, (name, _)) in pairs.iter().enumerate() {
        let mut times: Vec<f64> = repetitions.iter().map(|repetition| repetition[index]).collect();
        times.sort_by(f64::total_cmp);
        println!("uncontended, ns a pair: {name:<12} {:6.2}, at best {:6.2}", times[REPETITIONS / 2], times[0]);
    }
}

fn cell(plan: &Plan, children: usize, mix: (f64, f64), per_microsecond: f64) {
    let mut outcomes: Vec<Vec<Outcome>> = plan.locks.iter().map(|_| Vec::new()).collect();
    for _ in 0..plan.rounds {
        for (outcomes, (_, make)) in outcomes.iter_mut().zip(&plan.locks) {
            outcomes.push(run(&*make(), children, mix, per_microsecond, plan.seconds));
        }
    }
    for ((name, _), outcomes) in plan.locks.iter().zip(&outcomes) {
        println!(
            "{children:>8} {:>3}+{:<3}  {name:<17} {:>12.0} {:>6.2} {:>7.1} ms",
            mix.0,
            mix.1,
            median(outcomes.iter().map(|o| o.per_second)),
            median(outcomes.iter().map(|o| o.cov)),
            outcomes.iter().map(|o| o.longest_wait.as_secs_f64() * 1e3).fold(0.0, f64::max),
        );
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn run(lock: &dyn Lock, children: usize, mix: (f64, f64), per_microsecond: f64, seconds: f64) -> Outcome {
    let stop = AtomicBool::new(false);
    let go = AtomicBool::new(false);
    let ready = Barrier::new(children + 1);
    let (loops, waits): (Vec<u64>, Vec<Duration>) = thread::scope(|scope| {
        let child = |seed: u64| {
            let (stop, go, ready) = (&stop, &go, &ready);
            move || {
                ready.wait();
                while !go.load(Relaxed) {
                    spin_loop();
                    thread::yield_now();
                }
                child_loop(lock, stop, mix, per_microsecond, seed)
            }
        };
        let handles: Vec<_> = (0..children).map(|seed| scope.spawn(child(seed as u64 + 1))).collect();
        ready.wait();
        go.store(true, Relaxed);
        thread::sleep(Duration::from_secs_f64(seconds));
        stop.store(true, Relaxed);
        handles.into_iter().map(|handle| handle.join().expect("no child panics")).unzip()
    });
    let mean = loops.iter().sum::<u64>() as f64 / children as f64;
    let variance = loops.iter().map(|&l| (l as f64 - mean).powi(2)).sum::<f64>() / children as f64;
    Outcome {
        per_second: mean * children as f64 / seconds,
        cov: variance.sqrt() / mean.max(1.0),
        longest_wait: waits.into_iter().max().unwrap_or_default(),
    }
}

fn child_loop(lock: &dyn Lock, stop: &AtomicBool, mix: (f64, f64), per_microsecond: f64, seed: u64) -> (u64, Duration) {
    let (mut loops, mut longest, mut random) = (0, Duration::ZERO, seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    while !stop.load(Relaxed) {
        work(uniform(&mut random, mix.0 * per_microsecond));
        let requested = Instant::now();
        let mut waited = Duration::ZERO;
        let hold = uniform(&mut random, mix.1 * per_microsecond);
        lock.with(&mut || {
            waited = requested.elapsed();
            work(hold);
        });
        longest = longest.max(waited);
        loops += 1;
    }
    (loops, longest)
}
