//! `pthread_mutex_*`.

use super::exclusive::{attempt, destroy, release, take, take_free, take_free_within};
use super::shapes::{attempts, destroys, releases, takes_by_clock, takes_mutex, takes_until};
use crate::layout::Kind::Mutex;
use crate::preload::external::EBUSY;

takes_mutex!(pthread_mutex_lock, pthread_mutex_trylock, Mutex, EBUSY);
takes_until!(pthread_mutex_timedlock, pthread_mutex_trylock, Mutex, EBUSY);
takes_by_clock!(pthread_mutex_clocklock, pthread_mutex_trylock, Mutex, EBUSY);
attempts!(pthread_mutex_trylock, Mutex, EBUSY);
releases!(pthread_mutex_unlock);
destroys!(pthread_mutex_destroy);
