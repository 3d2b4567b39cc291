//! The adaptive lock, with its restartable unlock.

use crate::{
    faults::each_is_found,
    model::{Lock, Protected, excludes, gives_up, model, protected, spawn, times_out, tries},
};
use loom::thread;
use std::time::Duration;
use ulocks::{Adaptive, Private, Shared, restartable};

lock!(Adaptive, timed);
lock!(Adaptive<Shared>, timed);

#[test]
fn adaptive() {
    excludes(Adaptive::<Private>::new, 2, 2, 4);
    excludes(Adaptive::<Private>::new, 2, 3, 3);
}

#[test]
fn adaptive_of_three() {
    excludes(Adaptive::<Private>::new, 3, 1, 3);
    excludes(Adaptive::<Private>::new, 3, 2, 2);
}

/// A lock whose releases hand it off while threads are blocked, as one does whose slice is over: the model's clock has one
/// value, so no slice ends.
struct HandedOff(Adaptive);

impl HandedOff {
    fn new() -> Self {
        Self(Adaptive::new())
    }
}

impl Lock for HandedOff {
    fn lock(&self) {
        self.0.lock();
    }

    fn try_lock(&self) -> bool {
        self.0.try_lock()
    }

    fn unlock(&self) {
        // SAFETY: the models release only locks that they have acquired.
        unsafe { self.0.unlock_fair() }
    }

    fn try_lock_for(&self, timeout: Duration) -> bool {
        self.0.try_lock_for(timeout)
    }
}

#[test]
fn adaptive_handed_off() {
    excludes(HandedOff::new, 2, 2, 4);
    excludes(HandedOff::new, 3, 1, 3);
}

#[test]
fn adaptive_handed_off_times_out() {
    times_out(HandedOff::new, 3);
}

#[test]
fn adaptive_between_processes() {
    excludes(Adaptive::<Shared>::new, 2, 2, 4);
    excludes(Adaptive::<Shared>::new, 3, 1, 3);
}

#[test]
fn adaptive_tries() {
    tries(Adaptive::<Private>::new);
}

#[test]
fn adaptive_times_out() {
    times_out(Adaptive::<Private>::new, 3);
    gives_up(Adaptive::<Private>::new);
}

/// The kernel may abort the sequences of an unlock at any moment.
#[test]
fn adaptive_with_a_scheduler() {
    model(3, || {
        let shared = protected(Adaptive::<Private>::new);
        let other = spawn(&shared, Protected::add);
        let scheduler = thread::spawn(|| {
            restartable::abort();
            restartable::abort();
        });
        shared.add();
        other.join().unwrap();
        scheduler.join().unwrap();
        assert_eq!(shared.read(), 2);
    });
}

#[test]
fn each_fault_of_the_pair_is_found() {
    each_is_found("adaptive::each_fault_of_the_pair_is_found", || {
        excludes(Adaptive::<Private>::new, 2, 2, 4);
        excludes(Adaptive::<Private>::new, 3, 1, 3);
    });
}
