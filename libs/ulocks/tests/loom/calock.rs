//! The convoy-avoidance lock.

use crate::model::{Lock, excludes, gives_up, times_out, tries};
use std::time::Duration;
use ulocks::{Calock, CalockSpin, Private};

lock!(Calock, timed);
lock!(CalockSpin, timed);

#[test]
fn calock() {
    excludes(Calock::<Private>::new, 2, 2, 4);
    excludes(Calock::<Private>::new, 3, 1, 4);
    tries(Calock::<Private>::new);
}

#[test]
fn calock_times_out() {
    times_out(Calock::<Private>::new, 3);
    gives_up(Calock::<Private>::new);
}

#[test]
fn calock_spin() {
    excludes(CalockSpin::<Private>::new, 3, 1, 2);
}
