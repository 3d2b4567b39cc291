//! No scheduler starves a thread, however busy the others are: a test for each.
use std::{cell::Cell, task::Poll};

use protothreads::{Bitmap, Fifo, InOrder, Random, Reverse, RunNext, Scheduler, Slot, Thread, ThreadHandle, run};

const THREADS: usize = 10;

/// Thread 0 requests the CPU occasionally. Two other threads pass a token back and forth as fast as they can, and the
/// rest yield all the time. They stop when thread 0 has run often enough, or after far too many steps.
struct Busy;

#[derive(Default)]
struct Shared {
    turns_of_0: Cell<u32>,
    steps: Cell<u32>,
    steps_since: Cell<u32>,
    longest: Cell<u32>,
}

const TURNS: u32 = 100;

/// More than any of these schedulers allows: run-next has the largest bound, 124 steps for each thread.
const BOUND: u32 = 124 * THREADS as u32;

impl Thread for Busy {
    type Shared = Shared;

    fn step<S: Scheduler>(&self, handle: &ThreadHandle<'_, Self, S>) -> Poll<()> {
        let shared = handle.shared();
        shared.steps.set(shared.steps.get() + 1);
        if shared.turns_of_0.get() >= TURNS || shared.steps.get() > TURNS * BOUND {
            handle.signal(1);
            handle.signal(2);
            return Poll::Ready(());
        }
        shared.steps_since.set(shared.steps_since.get() + 1);
        match handle.index() {
            0 => {
                shared.turns_of_0.set(shared.turns_of_0.get() + 1);
                shared.longest.set(shared.longest.get().max(shared.steps_since.replace(0)));
                handle.give_way()
            }
            index @ (1 | 2) => {
                if handle.poll_wait().is_pending() {
                    return Poll::Pending;
                }
                handle.signal(3 - index);
                handle.poll_wait().map(|()| unreachable!("the other has not run"))
            }
            _ => handle.give_way(),
        }
    }
}

fn check_no_starvation(scheduler: impl Scheduler) {
    let threads: Vec<_> = (0..THREADS).map(|index| Slot::with_units(Busy, u32::from(index == 1))).collect();
    let shared = Shared::default();
    run(&threads, scheduler, &shared);
    assert_eq!(shared.turns_of_0.get(), TURNS, "after {} steps", shared.steps.get());
    assert!(shared.longest.get() <= BOUND, "{} steps without a turn", shared.longest.get());
}

#[test]
fn fifo() {
    check_no_starvation(Fifo::new());
}

#[test]
fn run_next() {
    check_no_starvation(RunNext::new());
}

#[test]
fn bitmap() {
    check_no_starvation(Bitmap::new([Cell::new(0)]));
}

#[test]
fn in_order() {
    check_no_starvation(InOrder::new());
}

#[test]
fn reverse() {
    check_no_starvation(Reverse::new());
}

#[test]
fn random() {
    check_no_starvation(Random::seeded(1));
}
