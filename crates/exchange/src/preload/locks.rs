//! The locks, each as one that can stand in a mutex.

use super::choice;
use crate::RawMutex;
use crate::adaptive::Adaptive;
use crate::calock::{Calock, CalockSpin};
use crate::futex::{Deadline, nap};
use crate::mcs::Mcs;
use crate::ticket::Ticket;
use std::time::Duration;

/// A lock that is free when its bytes are 0, in 8 of them at most.
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

impl Exchanged for Ticket {
    const HANDS_OVER: bool = true;

    fn lock_until(&self, deadline: Deadline) -> bool {
        try_until(self, deadline)
    }
}

impl Exchanged for Mcs {
    const HANDS_OVER: bool = true;

    fn lock_until(&self, deadline: Deadline) -> bool {
        try_until(self, deadline)
    }
}

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
        nap(Some(deadline), length);
        length = (length * 2).min(LONGEST);
    }
}

const _: () = assert!(size_of::<Adaptive>() <= 8 && size_of::<CalockSpin>() <= 8);
const _: () = assert!(size_of::<Ticket>() <= 8 && size_of::<Mcs>() <= 8);

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
