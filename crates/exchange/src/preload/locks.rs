//! The locks, each in a form that fits into a mutex.

use super::choice;
use super::peers::Queued;
use crate::RawMutex;
use crate::adaptive::Adaptive;
use crate::calock::{Calock, CalockSpin};
use crate::futex::{Deadline, nap_for};
use crate::futex_sem::FutexSem;
use crate::mcs::Mcs;
use crate::peers;
pub use crate::peers::hapax::Hapax;
pub use crate::peers::twa::Twa;
use crate::ticket::Ticket;
use crate::usema::{Usema, UsemaSpin};
use std::time::Duration;

/// The bytes of a mutex that a lock can have.
pub const MOST: usize = 16;

/// A lock that is free when its bytes are 0, in [`MOST`] of them.
pub trait Exchanged: RawMutex {
    /// Whether an unlock hands it off to a waiter, instead of releasing it: then a forked child must forget the
    /// waiters.
    const HANDS_OVER: bool;

    /// Acquires it if it becomes free before the deadline.
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

/// The benaphore, with a semaphore that the thread that takes its last unit may free.
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

pub type Reciprocating = Queued<peers::reciprocating::Reciprocating>;
pub type Cna = Queued<peers::cna::Cna>;
pub type Malthusian = Queued<peers::malthusian::Malthusian>;

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

in_line!(Usema, UsemaSpin, Benaphore, Ticket, Mcs, Twa, Hapax, Reciprocating, Cna, Malthusian);

/// Tries until the deadline: a queued thread cannot leave the queue, so one with a deadline does not join it, and naps
/// ever longer between tries.
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

/// Runs code with the chosen lock: `exchanged!(L => with a lock, otherwise)`, the first with `L` as its type.
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
            choice::TWA => {
                type $lock = $crate::preload::locks::Twa;
                $with
            }
            choice::HAPAX => {
                type $lock = $crate::preload::locks::Hapax;
                $with
            }
            choice::RECIPROCATING => {
                type $lock = $crate::preload::locks::Reciprocating;
                $with
            }
            choice::CNA => {
                type $lock = $crate::preload::locks::Cna;
                $with
            }
            choice::MALTHUSIAN => {
                type $lock = $crate::preload::locks::Malthusian;
                $with
            }
            _ => $otherwise,
        }
    }};
}

pub(super) use exchanged;

/// Returns whether any lock was chosen.
pub fn any() -> bool {
    (choice::ADAPTIVE..=choice::MALTHUSIAN).contains(&choice::choice())
}
