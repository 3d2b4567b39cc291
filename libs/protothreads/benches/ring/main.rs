//! The cost of a hop, compared with C, C++, tokio and the machine's limit: `cargo bench -p protothreads`.
//!
//! All contestants run on one CPU, interleaved round after round, so that a disturbance of the machine affects all of
//! them. A ratio is computed within each round; its median is printed with its quartiles. `-- 100` runs 100 rounds.

#[path = "../../examples/ring/asynchronous.rs"]
mod asynchronous;
#[path = "../../examples/ring/hand_written.rs"]
mod hand_written;
#[path = "../../examples/ring/neighbour.rs"]
mod neighbour;
#[path = "../../examples/ring/ordinary.rs"]
mod ordinary;
mod shuffled;
mod tokio_ring;

use protothreads::{Bitmap, Fifo, InOrder, Random, Reverse, RunNext, Scheduler};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::cell::Cell;
use std::env;
use std::hint::black_box;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

const THREADS: usize = 503;
const MILLION: usize = 1_000_000;

/// The number of the thread that got the last token, and the duration.
pub struct Outcome {
    answer: usize,
    ns: f64,
}

type Run<'r> = Box<dyn Fn(u32) -> Outcome + 'r>;

/// A contestant and its nanoseconds per hop in each round.
struct Contestant<'r> {
    name: &'static str,
    hops: u32,
    run: Run<'r>,
    ns: Vec<f64>,
}

/// Returns a timed run. The compiler does not know the number of threads, as a C compiler does not.
fn timed<'r>(run: impl Fn(usize, u32) -> usize + 'r) -> Run<'r> {
    Box::new(move |hops| {
        let start = Instant::now();
        let answer = run(black_box(THREADS), black_box(hops));
        Outcome { answer, ns: start.elapsed().as_nanos() as f64 }
    })
}

fn contestant<'r>(name: &'static str, hops: u32, run: Run<'r>) -> Contestant<'r> {
    Contestant { name, hops, run, ns: Vec::new() }
}

/// Returns hand-written threads under a scheduler, a new one for each run.
fn hand_written<const BACKWARD: bool, S: Scheduler>(
    name: &'static str,
    hops: u32,
    scheduler: impl Fn() -> S + 'static,
) -> Contestant<'static> {
    let ring = move |threads, hops| hand_written::ring::<BACKWARD>(threads, hops, scheduler()).0;
    contestant(name, hops, timed(ring))
}

fn contestants<'r>(chase: &'r Chase, c: Option<&'r Program>, cpp: Option<&'r Program>) -> Vec<Contestant<'r>> {
    let chased = Box::new(|hops| Outcome { answer: answer(hops), ns: chase.run(hops) });
    let mut all = vec![contestant("pointer chase", 4_000_000, chased)];
    all.extend(of_this_crate());
    all.push(contestant("tokio's Notify, real wakers", 300_000, timed(tokio_ring::on_protothreads)));
    all.push(contestant("tokio: Notify", 200_000, timed(tokio_ring::on_tokio)));
    all.extend(c.into_iter().flat_map(in_c));
    all.extend(cpp.into_iter().flat_map(in_cpp));
    all
}

fn of_this_crate() -> Vec<Contestant<'static>> {
    let bitmap = || Bitmap::new([const { Cell::new(0) }; THREADS.div_ceil(64)]);
    let asynchronous = |threads, hops| asynchronous::ring(threads, hops, Fifo::new()).0;
    let asynchronous_run_next = |threads, hops| asynchronous::ring(threads, hops, RunNext::new()).0;
    let ordinary = |threads, hops| ordinary::ring(threads, hops, Fifo::new()).0;
    vec![
        hand_written::<false, _>("run-next", 2_000_000, RunNext::new),
        hand_written::<false, _>("fifo", 2_000_000, Fifo::new),
        hand_written::<true, _>("fifo, placed backward", 2_000_000, Fifo::new),
        hand_written::<true, _>("run-next, placed backward", 2_000_000, RunNext::new),
        hand_written::<false, _>("bitmap", 1_000_000, bitmap),
        hand_written::<false, _>("polled in order", 2_000_000, InOrder::new),
        hand_written::<false, _>("polled in random order", 5_000, || Random::seeded(1)),
        hand_written::<false, _>("polled in reverse", 10_000, Reverse::new),
        contestant("async, fifo", 1_000_000, timed(asynchronous)),
        contestant("async, run-next", 1_000_000, timed(asynchronous_run_next)),
        contestant("ordinary futures, real wakers", 1_000_000, timed(ordinary)),
    ]
}

fn in_c(c: &Program) -> [Contestant<'_>; 6] {
    let program = |name, scheduler, called, hops| {
        contestant(name, hops, Box::new(move |hops| c.run(&[scheduler, called], THREADS, hops)))
    };
    [
        program("C: queue, inlined", "queue", "0", 2_000_000),
        program("C: queue, called", "queue", "1", 2_000_000),
        program("C: optimum, inlined", "optimum", "0", 2_000_000),
        program("C: optimum, called", "optimum", "1", 2_000_000),
        program("C: pessimum, inlined", "pessimum", "0", 10_000),
        program("C: pessimum, called", "pessimum", "1", 10_000),
    ]
}

fn in_cpp(cpp: &Program) -> [Contestant<'_>; 2] {
    let program =
        |name, how, hops| contestant(name, hops, Box::new(move |hops| cpp.run(&[how], THREADS, hops)) as Run<'_>);
    [program("C++20: queue", "queue", 1_000_000), program("C++20: symmetric transfer", "direct", 1_000_000)]
}

fn answer(hops: u32) -> usize {
    hops as usize % THREADS + 1
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// Prints a ratio and its target: `numerator` takes at most, or at least, this number of times as long as
/// `denominator`.
fn print_ratio(all: &[Contestant], numerator: &str, denominator: &str, (sign, bound): (char, f64)) {
    let of = |name| all.iter().find(|contestant| contestant.name == name).map(|contestant| &contestant.ns);
    let (Some(above), Some(below)) = (of(numerator), of(denominator)) else { return };
    print_ratios(&format!("{numerator} / {denominator}"), above, below, (sign, bound));
}

fn print_ratios(name: &str, above: &[f64], below: &[f64], (sign, bound): (char, f64)) {
    let ratios = sorted(above.iter().zip(below).map(|(a, b)| a / b).collect());
    let [low, median, high] = [1, 2, 3].map(|quarter| ratios[ratios.len() * quarter / 4]);
    let met = if sign == '≤' { median <= bound } else { median >= bound };
    let verdict = if met { "met" } else { "missed" };
    println!("{name:<55} {median:>8.2} ({low:.2} to {high:.2})  {sign} {bound}: {verdict}");
}

fn print_million(rounds: usize) {
    let mut order: Vec<u32> = (0..MILLION as u32).collect();
    fastrand::Rng::with_seed(1).shuffle(&mut order);
    let size = asynchronous::size();
    let chases = [shuffled::HAND_WRITTEN, size].map(|stride| Chase::new(MILLION, stride, &order));
    let mut ns: [Vec<f64>; 4] = Default::default();
    // A million starts cost time too, so a hop is the difference between two runs.
    let hop = |run: fn(&[u32], u32) -> f64| (run(&order, 2_500_000) - run(&order, 500_000)) / 2e6;
    for _ in 0..rounds {
        ns[0].push(hop(shuffled::hand_written));
        ns[1].push(chases[0].run(2_000_000) / 2e6);
        ns[2].push(hop(shuffled::asynchronous));
        ns[3].push(chases[1].run(2_000_000) / 2e6);
    }
    println!("\na million threads, shuffled: median of {rounds}, ns a hop");
    let names = ["hand-written", "pointer chase at its stride", "async", "pointer chase at its stride"];
    for (name, ns) in names.iter().zip(&ns) {
        println!("{name:<30} {:>8.1}", sorted(ns.clone())[rounds / 2]);
    }
    println!();
    print_ratios("a million hand-written threads / pointer chase", &ns[0], &ns[1], ('≤', 1.2));
    print_ratios("a million async threads / pointer chase", &ns[2], &ns[3], ('≤', 1.2));
    println!("\nbytes a hand-written thread: {} or {} (≤ 12)", hand_written::SIZE, shuffled::HAND_WRITTEN);
    println!("bytes an async thread: {size} (≤ 40)");
}

/// Pins the program, and the programs that it starts, to one of the allowed CPUs.
fn stay_on_one_cpu() {
    let allowed = sched_getaffinity(None).expect("the OS says which CPUs are allowed");
    let last = (0..CpuSet::MAX_CPU).rev().find(|cpu| allowed.is_set(*cpu)).expect("one is allowed");
    let mut one = CpuSet::new();
    one.set(last);
    sched_setaffinity(None, &one).expect("one of the allowed CPUs can be chosen");
}

fn main() {
    let rounds = env::args().find_map(|argument| argument.parse().ok()).unwrap_or(40_usize).max(4);
    stay_on_one_cpu();
    let c = Program::compile("cc", &[], "ring.c");
    let cpp = Program::compile("c++", &["-std=c++20"], "ring.cpp");
    let order: Vec<u32> = (0..THREADS as u32).collect();
    let chase = Chase::new(THREADS, 64, &order);
    let mut all = contestants(&chase, c.as_ref(), cpp.as_ref());
    for _ in 0..rounds {
        for contestant in &mut all {
            let outcome = (contestant.run)(contestant.hops);
            assert_eq!(outcome.answer, answer(contestant.hops), "{}", contestant.name);
            contestant.ns.push(outcome.ns / f64::from(contestant.hops));
        }
    }
    println!("{:<30} {:>9} {:>9} {:>9}", format!("{THREADS} threads, ns a hop"), "median", "least", "most");
    for contestant in &all {
        let ns = sorted(contestant.ns.clone());
        println!("{:<30} {:>9.2} {:>9.2} {:>9.2}", contestant.name, ns[rounds / 2], ns[0], ns[rounds - 1]);
    }
    println!("\nratios: median of {rounds} rounds (quartiles)");
    for (numerator, denominator, bound) in [
        ("run-next", "pointer chase", ('≤', 1.5)),
        ("fifo", "C: queue, inlined", ('≤', 1.3)),
        ("fifo", "C: queue, called", ('≤', 1.3)),
        ("fifo", "C: optimum, called", ('≤', 1.0)),
        ("async, fifo", "C++20: queue", ('≤', 1.0)),
        ("tokio: Notify", "ordinary futures, real wakers", ('≥', 5.0)),
        ("polled in reverse", "polled in order", ('≥', 200.0)),
        ("fifo, placed backward", "fifo", ('≤', 1.1)),
        ("fifo", "fifo, placed backward", ('≤', 1.1)),
        ("run-next, placed backward", "run-next", ('≤', 1.1)),
    ] {
        print_ratio(&all, numerator, denominator, bound);
    }
    print_million(rounds.min(5));
}

/// A pointer chase through slots `stride` bytes apart, in order or shuffled by the seed.
pub struct Chase {
    places: Vec<u64>,
}

impl Chase {
    /// Returns a cycle through all slots.
    pub fn new(places: usize, stride: usize, order: &[u32]) -> Self {
        let mut memory = vec![0; (places * stride).div_ceil(8) + 1];
        for (at, from) in order.iter().enumerate() {
            let to = order[(at + 1) % places] as usize * stride;
            let from = *from as usize * stride;
            // SAFETY: all slots are within the memory, which is slightly longer than all of them.
            unsafe { memory.as_mut_ptr().cast::<u8>().add(from).cast::<u32>().write_unaligned(to as u32) };
        }
        Self { places: memory }
    }

    /// Returns the nanoseconds for this number of steps.
    pub fn run(&self, steps: u32) -> f64 {
        let memory = self.places.as_ptr().cast::<u8>();
        let start = Instant::now();
        let mut at = 0;
        for _ in 0..steps {
            // SAFETY: each slot contains the offset of another one.
            at = unsafe { memory.add(at as usize).cast::<u32>().read_unaligned() };
        }
        black_box(at);
        start.elapsed().as_nanos() as f64
    }
}

/// A program that prints the number of the thread that got the last token, and nanoseconds.
pub struct Program(PathBuf);

impl Program {
    /// Compiles a source of `benches/c`. Prints a line and returns `None` if there is no compiler for it.
    pub fn compile(compiler: &str, flags: &[&str], source: &str) -> Option<Self> {
        let binary = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(source.replace('.', "-"));
        let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("benches/c").join(source);
        match Command::new(compiler).args(flags).arg("-O2").arg(&source).arg("-o").arg(&binary).status() {
            Ok(status) if status.success() => Some(Self(binary)),
            _ => {
                println!("skipped: {} needs {compiler}", source.display());
                None
            }
        }
    }

    /// Runs it with these arguments, then threads and hops.
    pub fn run(&self, arguments: &[&str], threads: usize, hops: u32) -> Outcome {
        let numbers = [threads.to_string(), hops.to_string()];
        let output = Command::new(&self.0).args(arguments).args(&numbers).output().expect("the program runs");
        let text = String::from_utf8(output.stdout).expect("the program prints numbers");
        let (answer, ns) = text.trim().split_once(' ').expect("the program prints two numbers");
        Outcome { answer: answer.parse().expect("a thread's number"), ns: ns.parse().expect("nanoseconds") }
    }
}
