//! The loop of `contend throughput` on the modelled machine.

use crate::locks::{self, Algorithm};
use crate::machine::{Costs, Machine, Ps, Word, ps};
use crate::thread::Thread;
use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Waker};

/// The work of an iteration: without the lock, then with it. Both last a random time of 0.5 to 1.5 times their mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    pub nonhold_ns: f64,
    pub hold_ns: f64,
    /// Cache lines of shared data that each critical section writes.
    pub lines: usize,
}

/// A configuration of the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setup {
    /// One of [`crate::NAMES`].
    pub lock: &'static str,
    pub threads: usize,
    pub cores: usize,
    /// NUMA nodes, among which the cores are divided evenly.
    pub nodes: usize,
    pub costs: Costs,
    pub work: Work,
    /// The modelled time; its first tenth does not count.
    pub run_ns: f64,
    pub seed: u64,
}

/// The results of a configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Iterations of each thread.
    pub iterations: Vec<u64>,
    /// The time that counts.
    pub counted_ns: f64,
    /// The waits for the lock that began and ended in that time.
    pub waits_ns: Vec<f64>,
    /// The longest wait, also of threads that still waited at the end.
    pub longest_ns: f64,
    /// Switches between threads, for each iteration of the whole run.
    pub switches: f64,
}

/// The counts of one thread.
#[derive(Default)]
struct Tally {
    iterations: Cell<u64>,
    all: Cell<u64>,
    waits: RefCell<Vec<Ps>>,
    waits_since: Cell<Option<Ps>>,
}

/// The number of operations between two checks of the interruption: some milliseconds of computing.
const OPERATIONS: u64 = 1 << 14;

/// Runs the loop; `None` if `is_stopped`, which it calls periodically, returns true before the end.
///
/// # Panics
/// If the model lacks the lock.
pub fn simulate(setup: &Setup, is_stopped: &dyn Fn() -> bool) -> Option<Outcome> {
    let run = match setup.lock {
        "ttas" => run::<locks::Ttas>,
        "ticket" => run::<locks::Ticket>,
        "mcs" => run::<locks::Mcs>,
        "clh" => run::<locks::Clh>,
        "reciprocating" => run::<locks::Reciprocating>,
        "cna" => run::<locks::Cna>,
        "malthusian" => run::<locks::Malthusian>,
        "std" => run::<locks::Std>,
        "adaptive" => run::<locks::Adaptive>,
        lock => panic!("the model lacks the lock {lock}"),
    };
    run(setup, is_stopped)
}

fn run<L: Algorithm>(setup: &Setup, is_stopped: &dyn Fn() -> bool) -> Option<Outcome> {
    let Setup { threads, cores, nodes, costs, work, seed, .. } = *setup;
    let machine = Rc::new(RefCell::new(Machine::new(costs, cores, nodes, threads, seed)));
    let lock = L::new(&mut machine.borrow_mut(), threads);
    let data: Vec<Word> = (0..work.lines).map(|_| machine.borrow_mut().line()).collect();
    let end = ps(setup.run_ns);
    let warm = end / 10;
    let tallies: Vec<Tally> = (0..threads).map(|_| Tally::default()).collect();
    let is_held = Cell::new(false);
    let mut loops: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> = Vec::new();
    for (id, tally) in tallies.iter().enumerate() {
        let thread = Thread::new(&machine, id);
        loops.push(Box::pin(iterate(&lock, &is_held, thread, &data, work, tally, warm)));
    }
    let mut context = Context::from_waker(Waker::noop());
    for operation in 1_u64.. {
        if operation.is_multiple_of(OPERATIONS) && is_stopped() {
            return None;
        }
        let next = machine.borrow_mut().next(end);
        let Some(thread) = next else { break };
        assert!(loops[thread].as_mut().poll(&mut context).is_pending(), "a thread iterates until the end");
        machine.borrow_mut().begin(thread);
    }
    let ns = |time: Ps| time as f64 / 1e3;
    let waits_ns: Vec<f64> = tallies.iter().flat_map(|tally| tally.waits.take()).map(ns).collect();
    let unfinished =
        tallies.iter().filter_map(|tally| tally.waits_since.get()).map(|since| ns(end.saturating_sub(since)));
    let all: u64 = tallies.iter().map(|tally| tally.all.get()).sum();
    Some(Outcome {
        iterations: tallies.iter().map(|tally| tally.iterations.get()).collect(),
        counted_ns: ns(end - warm),
        longest_ns: waits_ns.iter().copied().chain(unfinished).fold(0.0, f64::max),
        waits_ns,
        switches: machine.borrow().switches() as f64 / all.max(1) as f64,
    })
}

/// Iterates without end. `is_held` is whether any thread has the lock, and checks the algorithm.
async fn iterate<L: Algorithm>(
    lock: &L,
    is_held: &Cell<bool>,
    thread: Thread,
    data: &[Word],
    work: Work,
    tally: &Tally,
    warm: Ps,
) {
    let (nonhold, hold) = (ps(work.nonhold_ns), ps(work.hold_ns));
    loop {
        thread.work(thread.draw(nonhold)).await;
        let since = thread.now();
        tally.waits_since.set(Some(since));
        lock.acquire(&thread).await;
        assert!(!is_held.replace(true), "two threads have the modelled lock");
        tally.waits_since.set(None);
        if since >= warm {
            tally.waits.borrow_mut().push(thread.now() - since);
        }
        for line in data {
            thread.add(*line, 1).await;
        }
        thread.work(thread.draw(hold)).await;
        is_held.set(false);
        lock.release(&thread).await;
        tally.all.set(tally.all.get() + 1);
        if thread.now() >= warm {
            tally.iterations.set(tally.iterations.get() + 1);
        }
    }
}
