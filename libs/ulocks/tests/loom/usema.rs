//! The fair lock.

use crate::model::{Lock, excludes, tries};
use ulocks::{Micros, NoCount, Private, Usema, UsemaSpin};

lock!(Usema);
lock!(UsemaSpin);

#[test]
fn usema() {
    excludes(Usema::<Private>::new, 2, 2, 4);
    excludes(Usema::<Private>::new, 3, 1, 2);
    excludes(Usema::<Private>::new, 3, 2, 1);
    tries(Usema::<Private>::new);
}

#[test]
fn usema_across_the_wrap_around() {
    excludes(|| Usema::<Private>::starting_at(u32::MAX), 3, 1, 2);
    excludes(|| Usema::<Private>::starting_at(u32::MAX >> 1), 3, 1, 2);
}

#[test]
fn usema_spin() {
    excludes(UsemaSpin::<Private, NoCount, Micros<3>>::new, 3, 1, 2);
}
