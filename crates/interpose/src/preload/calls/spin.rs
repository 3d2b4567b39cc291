//! `pthread_spin_*`: who waits runs.

use super::exclusive::{attempt, destroy, release, take};
use super::shapes::{attempts, destroys, releases, takes};
use crate::layout::Kind::Spin;
use crate::preload::external::EBUSY;

takes!(pthread_spin_lock, pthread_spin_trylock, Spin, EBUSY);
attempts!(pthread_spin_trylock, Spin, EBUSY);
releases!(pthread_spin_unlock);
destroys!(pthread_spin_destroy);
