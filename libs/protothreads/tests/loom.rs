//! The path of wake-ups from other OS threads under loom: all interleavings, with a bounded number of preemptions.
//!
//! ```sh
//! RUSTFLAGS="--cfg loom" cargo test --release -p protothreads --test loom
//! ```
//!
//! Loom reports a lost wake-up as a deadlock, and the use of a dropped inbox through its cells.
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

/// Waits, as an idle runtime does, until this number of wake-ups has been seen.
fn await_wakes(inbox: &Inbox, count: u64) {
    let mut seen = 0;
    while seen != count {
        inbox.drain(2, |thread| seen |= 1 << thread);
        if seen != count {
            thread::park();
        }
    }
}

#[test]
fn two_wakers_race_with_an_opening_and_closing_entry() {
    model(|| {
        let place = Arc::new(Place::new());
        let inbox = Inbox::new();
        let wakers: Vec<_> = (0..2)
            .map(|index| {
                let place = Arc::clone(&place);
                thread::spawn(move || place.wake(index))
            })
            .collect();
        // A wake-up before the entry is open belongs to no thread, so this call waits for none.
        place.with(&inbox, || inbox.drain(2, |_| ())).expect("no other runtime occupies the entry");
        for waker in wakers {
            waker.join().unwrap();
        }
    });
}

#[test]
fn parked_runtime_sees_the_wakes_of_two_threads() {
    model(|| {
        let inbox = Arc::new(Inbox::new());
        for index in 0..2 {
            let inbox = Arc::clone(&inbox);
            // Not joined: in loom a late unpark would end the join.
            thread::spawn(move || inbox.wake(index));
        }
        await_wakes(&inbox, 0b11);
    });
}

#[test]
fn writes_before_a_wake_are_visible_after_it() {
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
fn entry_is_left_only_without_visitors() {
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
            // It is dropped as soon as the entry is left.
            let inbox = Inbox::new();
            place.with(&inbox, || inbox.drain(2, |_| ())).expect("no other runtime occupies the entry");
        }
        waker.join().unwrap();
        let inbox = Inbox::new();
        assert!(place.with(&inbox, || ()).is_some(), "it is free again");
    });
}

#[test]
fn entry_holds_one_runtime() {
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
