//! The priority-inheritance lock: while a high-priority thread waits, the holder runs with its priority.
//!
//! # State
//!
//! The kernel defines the layout of the word (`FUTEX_LOCK_PI`), and reads and writes it too.
//!
//! | bits of `word` | meaning | set by | cleared by |
//! |---|---|---|---|
//! | 0..30 | the holder's thread number; 0: unlocked | the acquiring thread; the kernel on handoff | the holder; the kernel |
//! | 30 | a holder died, and the kernel handed the lock off | the kernel | the next release |
//! | 31 | a thread waits: release through the kernel | the kernel | the kernel |
//!
//! # Memory ordering
//!
//! Uncontended: `Acquire` from 0 to the thread number, `Release` back. Contended, the kernel makes both changes under
//! its own lock on the futex, which is a full barrier on each side. There is a single word, and hence no fence.
//!
//! # Fairness
//!
//! By priority, and among equals first come, first served. The kernel hands the lock off, so no thread overtakes a
//! waiter. For ordinary threads, the pace is therefore that of the scheduler.
//!
//! # Stopped or terminated threads
//!
//! A stopped holder blocks the others, and has their priority. When a holder dies while others wait, the kernel hands
//! the lock off to the first of them. When a holder dies without waiters, the lock stays held. Neither case reports
//! that the data may be half written: [`Robust`](crate::Robust) does.
//!
//! The kernel refuses some waits: for a holder that is dead or not a thread, for the calling thread itself, or on a
//! word that contradicts the kernel's state. This lock then re-checks the word every millisecond, because a stray
//! write can be undone.
//!
//! # References
//!
//! futex(2) and the kernel's Documentation/locking/pi-futex.rst (Ingo Molnar and Thomas Gleixner, 2006); Sha,
//! Rajkumar and Lehoczky, "Priority Inheritance Protocols", 1990.

use crate::{
    atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
    },
    count::{Count, NoCount},
    futex::{self, Deadline, Private, Scope},
    thread_id,
};
use core::marker::PhantomData;
use rustix::{
    io::Errno,
    thread::futex::{self as kernel, Flags},
};

/// A mutex of 4 bytes with priority inheritance.
///
/// The guard cannot be sent to another thread.
///
/// # Examples
///
/// ```
/// use ulocks::{Pi, lock_api::Mutex};
///
/// let deadline = Mutex::<Pi, _>::new(7);
/// *deadline.lock() += 1;
/// assert_eq!(*deadline.lock(), 8);
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct Pi<S: Scope = Private, C: Count = NoCount> {
    word: AtomicU32,
    counts: C,
    scope: PhantomData<S>,
}

const _: () = assert!(size_of::<Pi>() == 4);

impl<S: Scope, C: Count> Pi<S, C> {
    /// Returns an unlocked lock.
    pub const fn new() -> Self {
        Pi { word: AtomicU32::new(0), counts: C::ZERO, scope: PhantomData }
    }

    /// Acquires the lock, and waits if it is held: forever, if by this thread or by a dead one.
    #[inline]
    pub fn lock(&self) {
        if !self.try_lock() {
            self.lock_by(None);
        }
    }

    /// Acquires the lock if it is unlocked now.
    #[inline]
    pub fn try_lock(&self) -> bool {
        self.word.compare_exchange(0, thread_id::current_thread().tid, Acquire, Relaxed).is_ok()
    }

    /// Releases the lock; if a thread waits, the kernel hands the lock off.
    ///
    /// # Safety
    ///
    /// The calling thread holds the lock.
    #[inline]
    pub unsafe fn unlock(&self) {
        if self.word.compare_exchange(thread_id::current_thread().tid, 0, Release, Relaxed).is_err() {
            self.unlock_by_kernel();
        }
    }

    /// Returns whether a thread holds the lock at this moment.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.word.load(Relaxed) != 0
    }

    /// Returns the counters of this lock.
    pub fn counts(&self) -> &C {
        &self.counts
    }

    fn flags() -> Flags {
        if S::PRIVATE { Flags::PRIVATE } else { Flags::empty() }
    }

    #[cold]
    fn lock_by(&self, deadline: Option<Deadline>) -> bool {
        self.counts.write_contended();
        self.counts.slept();
        loop {
            // Without a deadline, the older call is sufficient, and kernels before 5.14 have it too.
            let locked = match &deadline {
                None => kernel::lock_pi(&self.word, Self::flags(), None),
                Some(deadline) => self.lock_until(deadline),
            };
            match locked {
                Ok(()) => return true,
                // The wall clock may have been set in the meantime.
                Err(Errno::TIMEDOUT) if deadline.is_some_and(|deadline| deadline.passed()) => return false,
                Err(Errno::INTR | Errno::TIMEDOUT) => {}
                // The memory is unmapped, or the kernel has no such futexes: neither depends on the value of the
                // word.
                Err(error @ (Errno::FAULT | Errno::NOSYS)) => panic!("FUTEX_LOCK_PI: {error}"),
                Err(_) if futex::nap(deadline) => return false,
                Err(_) => {}
            }
        }
    }

    /// Waits for the kernel's handoff. Kernels before 5.14 know deadlines of the wall clock only.
    fn lock_until(&self, deadline: &Deadline) -> Result<(), Errno> {
        match kernel::lock_pi2(&self.word, Self::flags(), Some(deadline.timespec())) {
            Err(Errno::NOSYS) => kernel::lock_pi(&self.word, Self::flags(), Some(&deadline.by_wall_clock())),
            locked => locked,
        }
    }

    #[cold]
    fn unlock_by_kernel(&self) {
        // The kernel refuses if the word names another thread. That is a stray write, and then this thread must not
        // release the lock.
        let _ = kernel::unlock_pi(&self.word, Self::flags());
    }
}

raw_mutex!([S: Scope, C: Count] Pi<S, C>, lock_api::GuardNoSend);
raw_mutex_timed!([S: Scope, C: Count] Pi<S, C>, lock_api::GuardNoSend, Self::try_lock);
