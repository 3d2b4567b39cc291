//! Semaphores, mutexes and events.

use super::{links, run_async};
use protothreads::{Event, Fifo, Mutex, RunNext, Runtime, Semaphore};
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

#[test]
fn semaphore_serves_waiters_in_order() {
    #[derive(Default)]
    struct Shared(RefCell<Vec<usize>>);
    let (shared, semaphore, links) = (Shared::default(), Semaphore::new(0), links(6));
    let runtime = Runtime::new(&links, Fifo::new(), &shared);
    let semaphore = &semaphore;
    let report = run_async(&runtime, |mut handle| {
        Box::pin(async move {
            if handle.index() == 5 {
                for _ in 0..5 {
                    semaphore.signal(handle.runtime());
                }
                assert!(!semaphore.try_wait(), "all units were granted");
            } else {
                semaphore.wait(&mut handle).await;
                handle.shared().0.borrow_mut().push(handle.index());
            }
        })
    });
    assert_eq!((report.finished, &*shared.0.borrow()), (6, &vec![0, 1, 2, 3, 4]));
}

#[test]
fn dropped_wait_takes_no_unit_at_any_position() {
    for dropped in 0..3 {
        let (semaphore, links, served) = (Semaphore::new(0), links(4), RefCell::new(Vec::new()));
        let runtime = Runtime::new(&links, Fifo::new(), &());
        let (semaphore, served) = (&semaphore, &served);
        let report = run_async(&runtime, |mut handle| {
            Box::pin(async move {
                if handle.index() == 3 {
                    semaphore.signal(handle.runtime());
                    semaphore.signal(handle.runtime());
                } else if handle.index() == dropped {
                    {
                        let mut wait = pin!(semaphore.wait(&mut handle));
                        assert!(poll_fn(|context| Poll::Ready(wait.as_mut().poll(context))).await.is_pending());
                    }
                    handle.give_way().await;
                } else {
                    semaphore.wait(&mut handle).await;
                    served.borrow_mut().push(handle.index());
                }
            })
        });
        assert_eq!((report.finished, served.borrow().len(), semaphore.units()), (4, 2, 0), "{dropped}");
    }
}

#[test]
fn unit_granted_to_a_dropped_wait_goes_to_the_next() {
    let (semaphore, links, served) = (Semaphore::new(0), links(3), Cell::new(0));
    let runtime = Runtime::new(&links, Fifo::new(), &());
    let (semaphore, served) = (&semaphore, &served);
    let report = run_async(&runtime, |mut handle| {
        Box::pin(async move {
            match handle.index() {
                0 => {
                    let mut wait = pin!(semaphore.wait(&mut handle));
                    let mut polls = 0;
                    // It is polled once, woken because it was granted the unit, and dropped without being polled
                    // again.
                    poll_fn(|context| {
                        polls += 1;
                        if polls == 1 { wait.as_mut().poll(context) } else { Poll::Ready(()) }
                    })
                    .await;
                }
                1 => {
                    semaphore.wait(&mut handle).await;
                    served.set(served.get() + 1);
                }
                _ => semaphore.signal(handle.runtime()),
            }
        })
    });
    assert_eq!((report.finished, served.get()), (3, 1));
}

#[test]
fn a_mutex_is_held_across_waits() {
    let (mutex, links) = (Mutex::new((0, 0)), links(20));
    let runtime = Runtime::new(&links, RunNext::new(), &mutex);
    let report = run_async(&runtime, |mut handle| {
        Box::pin(async move {
            for _ in 0..10 {
                let mut pair = handle.shared().lock(&mut handle).await;
                pair.0 += 1;
                handle.give_way().await;
                assert!(handle.shared().try_lock(&handle).is_none());
                pair.1 += 1;
                assert_eq!(pair.0, pair.1);
            }
        })
    });
    assert_eq!(report.finished, 20);
    assert_eq!(mutex.into_inner(), (200, 200));
}

#[test]
fn event_releases_waiters_and_later_threads() {
    let (event, links, passed) = (Event::new(), links(5), Cell::new(0));
    let runtime = Runtime::new(&links, Fifo::new(), &event);
    let passed = &passed;
    let report = run_async(&runtime, |mut handle| {
        Box::pin(async move {
            match handle.index() {
                3 => handle.shared().set(handle.runtime()),
                _ => {
                    handle.shared().wait(&mut handle).await;
                    passed.set(passed.get() + 1);
                }
            }
        })
    });
    assert_eq!((report.finished, passed.get(), event.is_set()), (5, 4, true));
    event.reset();
    assert!(!event.is_set());
}
