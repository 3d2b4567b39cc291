//! The path of wakes from other OS threads under loom: all interleavings, with a bounded number of preemptions.
//!
//! ```sh
//! RUSTFLAGS="--cfg loom" cargo test --release -p protothreads --test loom
//! ```
//!
//! Loom reports a lost wake-up as a deadlock, and the use of an inbox that is gone through the cells that it is made
//! of.
#![cfg(loom)]

use loom::{
    sync::{
        Arc,
        atomic::{
            AtomicUsize,
            Ordering::{Relaxed, SeqCst},
        },
    },
    thread,
};
use protothreads::executor::{Inbox, Place};

fn model(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

/// Waits, as a runtime that is idle, until `wanted` wakes have been seen.
fn await_wakes(inbox: &Inbox, wanted: u64) {
    let mut seen = 0;
    while seen != wanted {
        inbox.drain(2, |thread| seen |= 1 << thread);
        if seen != wanted {
            thread::park();
        }
    }
}

#[test]
fn two_wakers_meet_a_place_that_opens_and_closes() {
    model(|| {
        let place = Arc::new(Place::new());
        let inbox = Inbox::new();
        let wakers: Vec<_> = (0..2)
            .map(|index| {
                let place = Arc::clone(&place);
                thread::spawn(move || place.wake(index))
            })
            .collect();
        // A wake from before the place is open belongs to no thread, so nothing is waited for here.
        place.with(&inbox, || inbox.drain(2, |_| ())).expect("nobody else has the place");
        for waker in wakers {
            waker.join().unwrap();
        }
    });
}

#[test]
fn a_kernel_that_parks_sees_the_wakes_of_two_threads() {
    model(|| {
        let inbox = Arc::new(Inbox::new());
        for index in 0..2 {
            let inbox = Arc::clone(&inbox);
            // Not joined: in loom an unpark that comes late would end the join.
            thread::spawn(move || inbox.wake(index));
        }
        await_wakes(&inbox, 0b11);
    });
}

#[test]
fn what_was_written_before_a_wake_is_seen_after_it() {
    model(|| {
        let inbox = Arc::new(Inbox::new());
        let value = Arc::new(AtomicUsize::new(0));
        {
            let (inbox, value) = (Arc::clone(&inbox), Arc::clone(&value));
            thread::spawn(move || {
                value.store(1, Relaxed);
                inbox.wake(1);
            });
        }
        await_wakes(&inbox, 0b10);
        assert_eq!(value.load(Relaxed), 1);
    });
}

#[test]
fn a_place_is_left_only_when_nobody_looks_at_it() {
    model(|| {
        let place = Arc::new(Place::new());
        let waker = {
            let place = Arc::clone(&place);
            thread::spawn(move || {
                place.wake(0);
                place.wake(1);
            })
        };
        {
            // It is dropped as soon as the place is left.
            let inbox = Inbox::new();
            place.with(&inbox, || inbox.drain(2, |_| ())).expect("nobody else has the place");
        }
        waker.join().unwrap();
        let inbox = Inbox::new();
        assert!(place.with(&inbox, || ()).is_some(), "it is free again");
    });
}

#[test]
fn one_kernel_has_a_place() {
    model(|| {
        let place = Arc::new(Place::new());
        let inside = Arc::new(AtomicUsize::new(0));
        let enter = |place: &Place, inside: &AtomicUsize| {
            let inbox = Inbox::new();
            place.with(&inbox, || {
                assert_eq!(inside.fetch_add(1, SeqCst), 0);
                inside.fetch_sub(1, SeqCst);
            })
        };
        let other = {
            let (place, inside) = (Arc::clone(&place), Arc::clone(&inside));
            thread::spawn(move || enter(&place, &inside))
        };
        let entered = enter(&place, &inside).is_some();
        assert!(other.join().unwrap().is_some() || entered, "one of them had it");
    });
}
