//! Threads that leave something with each other and wait for their own semaphores, again and again.
use std::{
    cell::Cell,
    future::poll_fn,
    pin::pin,
    task::{Poll, ready},
};

use protothreads::{
    Bitmap, Fifo, InOrder, Link, Random, Reverse, RunNext, Runtime, Scheduler, Slot, Thread, ThreadHandle,
};

/// Notes each unit of its semaphore as a turn.
#[derive(Default)]
struct Turns(Cell<u32>);

impl Thread for Turns {
    type Shared = Cell<u32>;

    fn step<S: Scheduler>(&self, me: &ThreadHandle<'_, Self, S>) -> Poll<()> {
        ready!(me.poll_wait());
        self.0.set(self.0.get() + 1);
        me.shared().set(me.shared().get() * 10 + me.index() as u32);
        me.wait_again()
    }
}

#[test]
fn a_thread_with_units_left_gives_way_before_it_takes_the_next() {
    let threads = [Slot::with_units(Turns::default(), 3), Slot::with_units(Turns::default(), 2)];
    let order = Cell::new(0);
    let report = protothreads::run(&threads, Fifo::new(), &order);
    assert_eq!((threads[0].thread().0.get(), threads[1].thread().0.get(), order.get()), (3, 2, 1_010));
    assert_eq!((report.waiting, report.wasted_polls), (2, 0));
}

#[test]
fn a_kernel_runs_again_after_a_signal_and_takes_no_unit_twice() {
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
fn async_threads_leave_messages_in_each_others_links() {
    let links = [1, 2, 3].map(|start| Link::with(Cell::new(start)));
    let runtime = &Runtime::new(&links, Fifo::new(), &());
    let body = |index| {
        let mut me = runtime.handle(index);
        async move {
            if index > 0 {
                me.wait().await;
            }
            if index < 2 {
                let sum = me.thread(index).get() + me.thread(index + 1).get();
                me.thread(index + 1).set(sum);
                me.signal(index + 1);
            }
        }
    };
    let report = runtime.run_with(pin!([body(0), body(1), body(2)]), |_| false);
    assert_eq!((report.finished, runtime.thread(2).get()), (3, 6));
}

/// A wake that comes while a thread is polled has it polled again, and the unit that it then takes is taken once.
#[test]
fn a_thread_that_wakes_itself_while_it_takes_a_unit_is_polled_once_more() {
    let links = [const { Link::new() }; 2];
    let polls = Cell::new(0);
    let runtime = &Runtime::new(&links, Fifo::new(), &polls);
    let body = |index| {
        let mut me = runtime.handle(index);
        async move {
            if index == 1 {
                for _ in 0..3 {
                    me.signal(0);
                    me.give_way().await;
                }
                return;
            }
            for _ in 0..3 {
                let mut wait = pin!(me.wait());
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
