//! Threads that leave values with each other and wait for their own semaphores, repeatedly.
use std::{
    cell::Cell,
    future::poll_fn,
    pin::pin,
    task::{Poll, ready},
};

use protothreads::{
    Bitmap, Fifo, InOrder, Link, Random, Reverse, RunNext, Runtime, Scheduler, Slot, Thread, ThreadHandle,
};

/// Counts the units of the thread's semaphore.
#[derive(Default)]
struct Turns(Cell<u32>);

impl Thread for Turns {
    type Shared = Cell<u32>;

    fn step<S: Scheduler>(&self, handle: &ThreadHandle<'_, Self, S>) -> Poll<()> {
        ready!(handle.poll_wait());
        self.0.set(self.0.get() + 1);
        handle.shared().set(handle.shared().get() * 10 + handle.index() as u32);
        handle.wait_again()
    }
}

#[test]
fn thread_with_remaining_units_yields_between_units() {
    let threads = [Slot::with_units(Turns::default(), 3), Slot::with_units(Turns::default(), 2)];
    let order = Cell::new(0);
    let report = protothreads::run(&threads, Fifo::new(), &order);
    assert_eq!((threads[0].thread().0.get(), threads[1].thread().0.get(), order.get()), (3, 2, 1_010));
    assert_eq!((report.waiting, report.wasted_polls), (2, 0));
}

#[test]
fn runtime_runs_again_after_a_signal_without_double_units() {
    fn under(scheduler: impl Scheduler) {
        let threads: [_; 70] = std::array::from_fn(|_| Slot::new(Turns::default()));
        let order = Cell::new(0);
        let runtime = Runtime::new(&threads, scheduler, &order);
        runtime.begin();
        runtime.run_ready();
        assert!(threads.iter().all(|slot| slot.thread().0.get() == 0));
        for index in [69, 3, 3] {
            runtime.signal(index);
            runtime.run_ready();
        }
        runtime.run_ready();
        let turns = |index: usize| threads[index].thread().0.get();
        assert_eq!((turns(3), turns(69), runtime.report().waiting), (2, 1, 70));
    }
    under(Fifo::new());
    under(RunNext::new());
    under(Bitmap::new([const { Cell::new(0) }; 2]));
    under(InOrder::new());
    under(Reverse::new());
    under(Random::seeded(1));
}

#[test]
fn async_threads_store_messages_in_links() {
    let links = [1, 2, 3].map(|start| Link::with(Cell::new(start)));
    let runtime = &Runtime::new(&links, Fifo::new(), &());
    let body = |index| {
        let mut handle = runtime.handle(index);
        async move {
            if index > 0 {
                handle.wait().await;
            }
            if index < 2 {
                let sum = handle.thread(index).get() + handle.thread(index + 1).get();
                handle.thread(index + 1).set(sum);
                handle.signal(index + 1);
            }
        }
    };
    let report = runtime.run_with(pin!([body(0), body(1), body(2)]), |_| false);
    assert_eq!((report.finished, runtime.thread(2).get()), (3, 6));
}

/// A wake-up while a thread is polled makes it be polled again, and it takes the unit only once.
#[test]
fn self_waking_thread_is_polled_once_more() {
    let links = [const { Link::new() }; 2];
    let polls = Cell::new(0);
    let runtime = &Runtime::new(&links, Fifo::new(), &polls);
    let body = |index| {
        let mut handle = runtime.handle(index);
        async move {
            if index == 1 {
                for _ in 0..3 {
                    handle.signal(0);
                    handle.give_way().await;
                }
                return;
            }
            for _ in 0..3 {
                let mut wait = pin!(handle.wait());
                poll_fn(|context| {
                    runtime.shared().set(runtime.shared().get() + 1);
                    context.waker().wake_by_ref();
                    wait.as_mut().poll(context)
                })
                .await;
            }
        }
    };
    let report = runtime.run_with(pin!([body(0), body(1)]), |_| false);
    assert_eq!((report.finished, report.waiting), (2, 0));
    assert!(polls.get() >= 3, "{} polls for three units", polls.get());
}
