//! Standard wakers: ordinary futures, other OS threads, and wakers that outlive their runtime.
#![cfg(feature = "std")]
use std::{
    cell::RefCell,
    future::{Future, poll_fn},
    pin::{Pin, pin},
    sync::{Arc, Mutex, mpsc},
    task::{Context, Poll, Waker},
    thread,
    time::Duration,
};

use protothreads::{Fifo, InOrder, Link, Report, RunNext, Runtime, Scheduler, Semaphore};

/// A value that another OS thread will deliver.
#[derive(Default)]
struct Delivery {
    state: Mutex<(Option<u32>, Option<Waker>)>,
}

impl Delivery {
    fn bring(&self, value: u32) {
        let mut state = self.state.lock().unwrap();
        state.0 = Some(value);
        if let Some(waker) = state.1.take() {
            waker.wake();
        }
    }

    fn poll(&self, context: &Context<'_>) -> Poll<u32> {
        let mut state = self.state.lock().unwrap();
        match state.0.take() {
            Some(value) => Poll::Ready(value),
            None => {
                state.1 = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

fn deliver_across_threads(scheduler: impl Scheduler, threads: usize, rounds: u32) -> Report {
    let deliveries: Arc<Vec<Delivery>> = Arc::new((0..threads).map(|_| Delivery::default()).collect());
    let links: Vec<_> = (0..threads).map(|_| Link::new()).collect();
    let runtime = Runtime::new(&links, scheduler, &());
    let (order, orders) = mpsc::channel::<(usize, u32)>();
    let bringer = {
        let deliveries = Arc::clone(&deliveries);
        thread::spawn(move || orders.iter().for_each(|(index, value)| deliveries[index].bring(value)))
    };
    let mut bodies: Pin<Box<[_]>> = (0..threads)
        .map(|index| {
            let (deliveries, order) = (&deliveries, order.clone());
            async move {
                for round in 0..rounds {
                    order.send((index, round)).unwrap();
                    assert_eq!(poll_fn(|context| deliveries[index].poll(context)).await, round);
                }
            }
        })
        .collect::<Box<_>>()
        .into();
    let report = runtime.run(bodies.as_mut());
    drop((bodies, order));
    bringer.join().unwrap();
    report
}

#[test]
fn wakes_from_another_os_thread_are_never_lost() {
    assert_eq!(deliver_across_threads(Fifo::new(), 1, 2000).finished, 1);
    assert_eq!(deliver_across_threads(RunNext::new(), 10, 200).finished, 10);
    assert_eq!(deliver_across_threads(InOrder::new(), 10, 200).finished, 10);
}

#[test]
fn threads_beyond_the_inbox_share_its_bits_and_are_all_woken() {
    assert_eq!(deliver_across_threads(Fifo::new(), 5000, 1).finished, 5000);
}

#[test]
fn a_waker_wakes_a_thread_that_also_waits_for_a_semaphore() {
    let (semaphore, links) = (Semaphore::new(0), [const { Link::new() }; 2]);
    let runtime = Runtime::new(&links, Fifo::new(), &());
    let delivery = Arc::new(Delivery::default());
    let either = {
        let (mut handle, delivery, semaphore) = (runtime.handle(0), Arc::clone(&delivery), &semaphore);
        async move {
            let mut wait = pin!(semaphore.wait(&mut handle));
            let value = poll_fn(|context| {
                assert!(wait.as_mut().poll(context).is_pending());
                delivery.poll(context)
            })
            .await;
            assert_eq!(value, 7);
        }
    };
    let bringer = async {
        delivery.bring(7);
    };
    let bodies: [Pin<Box<dyn Future<Output = ()> + '_>>; 2] = [Box::pin(either), Box::pin(bringer)];
    assert_eq!(runtime.run(pin!(bodies)).finished, 2);
    semaphore.signal(&runtime);
    assert_eq!(semaphore.units(), 1, "the dropped wait is in no list");
}

#[test]
fn deadlocked_threads_end_the_run() {
    let (semaphore, links) = (Semaphore::new(0), [const { Link::new() }; 2]);
    let runtime = Runtime::new(&links, Fifo::new(), &());
    let body = |index| {
        let (mut handle, semaphore) = (runtime.handle(index), &semaphore);
        async move { semaphore.wait(&mut handle).await }
    };
    let report = runtime.run(pin!([body(0), body(1)]));
    assert_eq!((report.finished, report.waiting), (0, 2));
}

#[test]
fn waker_that_outlives_its_runtime_wakes_no_thread() {
    let kept = RefCell::new(None);
    let links = [Link::new()];
    let runtime = Runtime::new(&links, Fifo::new(), &());
    let keep = poll_fn(|context| {
        *kept.borrow_mut() = Some(context.waker().clone());
        Poll::Ready(())
    });
    assert_eq!(runtime.run(pin!([keep])).finished, 1);
    let waker = kept.into_inner().unwrap();
    waker.wake_by_ref();
    thread::spawn(move || waker.wake()).join().unwrap();
}

#[test]
fn runtime_runs_within_a_thread_of_another() {
    let outer_links = [const { Link::new() }; 2];
    let outer = Runtime::new(&outer_links, Fifo::new(), &());
    let delivery = Arc::new(Delivery::default());
    let waits = {
        let delivery = Arc::clone(&delivery);
        async move { assert_eq!(poll_fn(|context| delivery.poll(context)).await, 3) }
    };
    let nests = async {
        let links = [Link::new()];
        let inner = Runtime::new(&links, Fifo::new(), &());
        // The wake-up goes to the outer runtime, from within the inner one.
        assert_eq!(inner.run(pin!([async { delivery.bring(3) }])).finished, 1);
    };
    let bodies: [Pin<Box<dyn Future<Output = ()> + '_>>; 2] = [Box::pin(waits), Box::pin(nests)];
    assert_eq!(outer.run(pin!(bodies)).finished, 2);
}

#[test]
fn a_panic_in_a_future_leaves_the_registry_in_order() {
    for _ in 0..300 {
        let links = [Link::new()];
        let runtime = Runtime::new(&links, Fifo::new(), &());
        let run = || runtime.run(pin!([async { std::panic::panic_any(()) }]));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err());
    }
    thread::sleep(Duration::from_millis(1));
}

#[test]
#[should_panic = "the handle of thread 0 was handed out before"]
fn handle_is_returned_once() {
    let links = [Link::new()];
    let runtime = Runtime::new(&links, Fifo::new(), &());
    _ = (runtime.handle(0), runtime.handle(0));
}
