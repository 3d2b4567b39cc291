//! The locks, each as one that can stand in a mutex.

use super::choice;
use crate::RawMutex;
use crate::adaptive::Adaptive;
use crate::calock::{Calock, CalockSpin};
use crate::futex::{Deadline, nap_for};
use crate::futex_sem::FutexSem;
use crate::mcs::Mcs;
use crate::ticket::Ticket;
use crate::usema::{Usema, UsemaSpin};
use std::time::Duration;

/// Bytes of a mutex that a lock can have.
pub const MOST: usize = 16;

/// A lock that is free when its bytes are 0, in [`MOST`] of them.
pub trait Exchanged: RawMutex {
    /// Whether an unlock gives it to a thread that waits, instead of freeing it: then a forked child must forget those.
    const HANDS_OVER: bool;

    /// Takes it if it becomes free by then.
    fn lock_until(&self, deadline: Deadline) -> bool;
}

impl Exchanged for Adaptive {
    const HANDS_OVER: bool = false;

    fn lock_until(&self, deadline: Deadline) -> bool {
        Self::lock_until(self, deadline)
    }
}

impl Exchanged for Calock {
    const HANDS_OVER: bool = false;

    fn lock_until(&self, deadline: Deadline) -> bool {
        Self::lock_until(self, deadline)
    }
}

impl Exchanged for CalockSpin {
    const HANDS_OVER: bool = false;

    fn lock_until(&self, deadline: Deadline) -> bool {
        Self::lock_until(self, deadline)
    }
}

/// The benaphore, with a semaphore that may be freed by who takes its last unit.
pub type Benaphore = crate::benaphore::Benaphore<FutexSem>;

impl RawMutex for Benaphore {
    type Guard = ();

    fn lock(&self) {
        Self::lock(self);
    }

    fn try_lock(&self) -> bool {
        Self::try_lock(self)
    }

    unsafe fn unlock(&self) {
        Self::unlock(self);
    }

    fn is_locked(&self) -> bool {
        Self::is_locked(self)
    }
}

macro_rules! in_line {
    ($($lock:ty),*) => {$(
        impl Exchanged for $lock {
            const HANDS_OVER: bool = true;

            fn lock_until(&self, deadline: Deadline) -> bool {
                try_until(self, deadline)
            }
        }
    )*};
}

in_line!(Usema, UsemaSpin, Benaphore, Ticket, Mcs);

/// Who stands in line cannot leave it: so one with a deadline does not join, and tries, and naps ever longer.
fn try_until(lock: &impl RawMutex, deadline: Deadline) -> bool {
    const LONGEST: Duration = Duration::from_millis(1);
    let mut length = Duration::from_micros(20);
    loop {
        if lock.try_lock() {
            return true;
        }
        if deadline.passed() {
            return false;
        }
        nap_for(Some(deadline), length);
        length = (length * 2).min(LONGEST);
    }
}

/// `exchanged!(L => with a lock, what to do otherwise)`: the first with `L` as the lock that was asked for.
macro_rules! exchanged {
    ($lock:ident => $with:expr, $otherwise:expr) => {{
        use $crate::preload::choice;
        match choice::choice() {
            choice::ADAPTIVE => {
                type $lock = $crate::adaptive::Adaptive;
                $with
            }
            choice::CALOCK => {
                type $lock = $crate::calock::Calock;
                $with
            }
            choice::CALOCK_SPIN => {
                type $lock = $crate::calock::CalockSpin;
                $with
            }
            choice::USEMA => {
                type $lock = $crate::usema::Usema;
                $with
            }
            choice::USEMA_SPIN => {
                type $lock = $crate::usema::UsemaSpin;
                $with
            }
            choice::BENAPHORE => {
                type $lock = $crate::preload::locks::Benaphore;
                $with
            }
            choice::TICKET => {
                type $lock = $crate::ticket::Ticket;
                $with
            }
            choice::MCS => {
                type $lock = $crate::mcs::Mcs;
                $with
            }
            _ => $otherwise,
        }
    }};
}

pub(super) use exchanged;

/// Whether any lock was asked for.
pub fn any() -> bool {
    (choice::ADAPTIVE..=choice::MCS).contains(&choice::choice())
}
