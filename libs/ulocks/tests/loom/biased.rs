//! The biased lock, whose owner acquires and releases it by restartable sequences.

use crate::{
    faults::each_is_found,
    model::{Lock, Protected, excludes, gives_up, model, protected, spawn, times_out, tries},
};
use loom::thread;
use std::time::Duration;
use ulocks::{Biased, NoCount, restartable};

lock!(Biased, timed);

#[test]
fn biased() {
    excludes(Biased::<NoCount>::new, 2, 2, 3);
    excludes(Biased::<NoCount>::new, 2, 3, 2);
}

#[test]
fn biased_of_three() {
    excludes(Biased::<NoCount>::new, 3, 1, 2);
}

#[test]
fn biased_tries() {
    tries(Biased::<NoCount>::new);
}

#[test]
fn biased_times_out() {
    times_out(Biased::<NoCount>::new, 2);
    gives_up(Biased::<NoCount>::new);
}

/// The kernel may abort the sequences of the owner at any moment.
#[test]
fn biased_with_a_scheduler() {
    model(2, || {
        let shared = protected(Biased::<NoCount>::new);
        shared.add();
        let other = spawn(&shared, Protected::add);
        let scheduler = thread::spawn(|| {
            restartable::abort();
            restartable::abort();
        });
        shared.add();
        other.join().unwrap();
        scheduler.join().unwrap();
        assert_eq!(shared.read(), 3);
    });
}

#[test]
fn each_fault_of_the_pair_is_found() {
    each_is_found("biased::each_fault_of_the_pair_is_found", || {
        excludes(Biased::<NoCount>::new, 2, 2, 4);
        excludes(Biased::<NoCount>::new, 3, 2, 2);
    });
}
