//! The locks that only spin.

use crate::model::{Lock, excludes, tries};
use ulocks::{Mcs, NoCount, Ticket};

lock!(Ticket);
lock!(Mcs);

#[test]
fn ticket() {
    excludes(Ticket::<NoCount>::new, 2, 2, 3);
}

#[test]
fn ticket_across_the_wrap_around() {
    excludes(|| Ticket::<NoCount>::starting_at(u32::MAX), 2, 2, 2);
}

#[test]
fn ticket_tries() {
    tries(Ticket::<NoCount>::new);
}

#[test]
fn mcs() {
    excludes(Mcs::<NoCount>::new, 2, 2, 3);
    excludes(Mcs::<NoCount>::new, 3, 1, 2);
    tries(Mcs::<NoCount>::new);
}
