//! Threads that sleep until their own deadline, and the units that wake them.

use super::links;
use proptest::prelude::*;
use protothreads::{Fifo, Runtime, Scheduler, Sleeper, Slot, Thread, ThreadHandle, Timer, run_with};
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Poll, ready};

/// A thread that sleeps until its own deadline.
struct Sleepy(u64);

impl Thread for Sleepy {
    type Shared = (Timer<Vec<Cell<Sleeper>>>, RefCell<Vec<u64>>);
    fn step<S: Scheduler>(&self, handle: &ThreadHandle<'_, Self, S>) -> Poll<()> {
        let (timer, woken) = handle.shared();
        ready!(timer.poll_sleep_until(handle, self.0));
        assert!(timer.now() >= self.0);
        woken.borrow_mut().push(self.0);
        Poll::Ready(())
    }
}

#[test]
fn dropped_sleep_wakes_no_thread() {
    let (links, timer) = (links(2), Timer::new([const { Cell::new(Sleeper::new()) }; 2]));
    let runtime = Runtime::new(&links, Fifo::new(), &timer);
    let body = |index: usize| {
        let mut handle = runtime.handle(index);
        async move {
            if index == 0 {
                let mut sleep = pin!(handle.shared().sleep_until(&mut handle, 5));
                assert!(poll_fn(|context| Poll::Ready(sleep.as_mut().poll(context))).await.is_pending());
            } else {
                handle.shared().sleep_until(&mut handle, 7).await;
            }
        }
    };
    let mut idles = 0;
    let report = runtime.run_with(pin!([body(0), body(1)]), |runtime| {
        idles += 1;
        assert_eq!(timer.next_deadline(), (idles == 1).then_some(7));
        timer.advance(runtime, 7);
        idles == 1
    });
    assert_eq!((report.finished, idles), (2, 2));
}

#[test]
fn own_units_are_counted_up_to_the_maximum() {
    let threads = [Slot::new(Sleepy(0))];
    let shared = (Timer::new(Vec::<Cell<Sleeper>>::new()), RefCell::new(Vec::<u64>::new()));
    let runtime = Runtime::new(&threads, Fifo::new(), &shared);
    for _ in 0..protothreads::MOST_OWN_UNITS {
        runtime.signal(0);
    }
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| runtime.signal(0))).is_err());
}

proptest! {
    #[test]
    fn a_timer_wakes_in_order_of_time_and_never_early(
        deadlines in proptest::collection::vec(1_u64..50, 1..20),
        step in 1_u64..7,
    ) {
        let threads: Vec<_> = deadlines.iter().map(|deadline| Slot::new(Sleepy(*deadline))).collect();
        let timer = Timer::new(vec![Cell::new(Sleeper::new()); deadlines.len()]);
        let shared = (timer, RefCell::default());
        let mut now = 0;
        let report = run_with(&threads, Fifo::new(), &shared, |runtime| {
            now += step;
            shared.0.advance(runtime, now);
            shared.0.next_deadline().is_some() || now < 60
        });
        prop_assert_eq!(report.finished, deadlines.len());
        prop_assert!(shared.1.borrow().is_sorted());
    }
}
