//! The priority-inheriting lock: while an important thread waits, the holder runs with its priority.
//!
//! # State
//! The word's layout is the kernel's (`FUTEX_LOCK_PI`), which reads and writes it too.
//!
//! | `word` bits | meaning | set by | cleared by |
//! |---|---|---|---|
//! | 0..30 | the holder's thread number; 0: free | the taker; the kernel when it hands over | the holder; the kernel |
//! | 30 | a holder died, and the kernel handed over | the kernel | the next free |
//! | 31 | somebody waits: free through the kernel | the kernel | the kernel |
//!
//! # Ordering
//! Uncontended: `Acquire` from 0 to the thread's number, `Release` back. Contended, the kernel makes both changes
//! under its own lock on the futex, which is a full barrier on each side. There is one word and no fence.
//!
//! # Fairness
//! By priority, and among equals first come, first served. The kernel hands the lock over, so nobody barges past a
//! waiter; for ordinary threads that means the pace of the scheduler.
//!
//! # A stopped or dead holder
//! A stopped holder blocks the others, with their priority. When one dies while others already wait, the kernel hands
//! the lock to the first of them. When one dies with nobody waiting, the lock stays held. Neither tells that the data
//! may be half written: [`Robust`](crate::Robust) does.
//!
//! What the kernel refuses to wait for (a holder that is dead or no thread, the calling thread itself, a word that
//! contradicts what it knows) is waited for here: by looking again every millisecond, for a stray write can be undone.
//!
//! # Source
//! futex(2) and the kernel's Documentation/locking/pi-futex.rst (Ingo Molnar and Thomas Gleixner, 2006); Sha, Rajkumar
//! and Lehoczky, "Priority Inheritance Protocols", 1990.

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

/// The priority-inheriting lock. 4 bytes. Its guard stays with its thread.
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
    /// A free lock.
    pub const fn new() -> Self {
        Pi { word: AtomicU32::new(0), counts: C::ZERO, scope: PhantomData }
    }

    /// Takes the lock, waiting for it if it is held: for ever, if by this thread or by one that is dead.
    #[inline]
    pub fn lock(&self) {
        if !self.try_lock() {
            self.lock_by(None);
        }
    }

    /// Takes the lock if it is free now.
    #[inline]
    pub fn try_lock(&self) -> bool {
        self.word.compare_exchange(0, thread_id::mine().tid, Acquire, Relaxed).is_ok()
    }

    /// Frees the lock; with somebody waiting, the kernel hands it over.
    ///
    /// # Safety
    /// The calling thread holds the lock.
    #[inline]
    pub unsafe fn unlock(&self) {
        if self.word.compare_exchange(thread_id::mine().tid, 0, Release, Relaxed).is_err() {
            self.unlock_by_kernel();
        }
    }

    /// Whether somebody holds the lock, at this moment.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.word.load(Relaxed) != 0
    }

    /// What happened on this lock, if it counts.
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
            // Without a deadline the older call does, which also older kernels (before 5.14) have.
            let locked = match &deadline {
                None => kernel::lock_pi(&self.word, Self::flags(), None),
                Some(deadline) => kernel::lock_pi2(&self.word, Self::flags(), Some(deadline.timespec())),
            };
            match locked {
                Ok(()) => return true,
                Err(Errno::TIMEDOUT) => return false,
                Err(Errno::INTR) => {}
                // The memory is gone, or the kernel has no such futexes: neither depends on what is in the word.
                Err(error @ (Errno::FAULT | Errno::NOSYS)) => panic!("FUTEX_LOCK_PI: {error}"),
                Err(_) if futex::nap(deadline) => return false,
                Err(_) => {}
            }
        }
    }

    #[cold]
    fn unlock_by_kernel(&self) {
        // Refused where the word names another thread by now: a stray write, and then it is not this thread's to free.
        let _ = kernel::unlock_pi(&self.word, Self::flags());
    }
}

raw_mutex!([S: Scope, C: Count] Pi<S, C>, lock_api::GuardNoSend);
raw_mutex_timed!([S: Scope, C: Count] Pi<S, C>, lock_api::GuardNoSend);
