//! A lock that one thread acquires and releases without an atomic instruction, until a second thread uses it.
//!
//! The lock is *biased* to the first thread that acquires it. That thread, the *owner*, acquires and releases it by
//! plain stores in restartable sequences. A second thread revokes the bias by the membarrier that restarts such
//! sequences. From then on the lock is biased to the second thread. If the first thread held the lock at that time,
//! or the lock has had four owners already, it becomes an [`Adaptive`](crate::Adaptive) lock permanently.
//!
//! # State
//!
//! | `bias` | meaning | written by |
//! |---|---|---|
//! | 0 | not biased: a thread that holds the inner lock may claim the bias | that thread |
//! | *thread* | biased to it, unlocked | that thread, to *held*; a revoker, to *revoking* |
//! | *thread* + `HELD` | biased to it, held by it | that thread, to *unlocked*; a revoker, to *revoking* |
//! | *thread* + `REVOKING` | the owner must not store any more | the revoker |
//! | *thread* + `HELD` + `REVOKING` | the same, while the owner holds the lock | the revoker; the owner on release |
//! | `REVOKING` alone | not biased, permanently | no thread |
//!
//! *thread* is the thread pointer, which is unique among running threads. `lock` is the inner lock. `owners` counts
//! the threads to which the lock has been biased, and only a thread that holds the inner lock changes it.
//!
//! A thread holds the lock if the bias says so. While there is no bias, it holds the lock if it holds the inner lock.
//! Only a thread that holds the inner lock sets `REVOKING`, so there is one revoker at a time. It proceeds as
//! follows:
//!
//! 1. Set the flag by compare-and-swap, and fence.
//! 2. If the flag is still set and the owner did not hold the lock, replace the bias by the revoker's own, held.
//! 3. If the flag is still set and the owner held the lock, the inner lock, which the revoker holds, becomes the
//!    owner's. There is no bias any more. The owner will release the inner lock, and the revoker waits for it as for
//!    any lock.
//! 4. If the flag is not set any more, start again.
//!
//! # Memory ordering
//!
//! The source file of the sequence states the guarantees of the sequence and its fence. A sequence that compared
//! before the flag was set either stored before the fence ended, so that the compare-and-swap of step 2 or 3 fails,
//! or it never stores. One that compares later finds the flag. No other flag can have been set in between, so finding
//! it is sufficient. With two revokers at a time, the second could mistake the flag of the first for its own and rely
//! on a fence that preceded it.
//!
//! The owner's accesses are in its program order. A revoker reads the last writes of the owner by the
//! compare-and-swaps (`SeqCst`, `Acquire`), which read its last store, a `Release`. The owner's acquiring store may
//! still be in the store buffer of its processor while it reads the protected data. The fence drains that buffer, so
//! the revoker finds the lock held, or the sequence was aborted and the values read so far are discarded.
//!
//! No wake-up is lost, since no thread blocks on `bias`.
//!
//! # Lifetime
//!
//! As for [`Adaptive`](crate::Adaptive): the releasing store or compare-and-swap is the last memory access of an
//! unlock.
//!
//! # Fork
//!
//! A child may use each lock that its only thread held or that no thread held, if no other thread waited for it or
//! tried it. A thread that was about to revoke the bias does not exist in the child. A child of `vfork` or of a bare
//! `clone` must not use these locks.
//!
//! # Fairness
//!
//! While the lock is biased, no other thread waits. After that, the fairness is that of an
//! [`Adaptive`](crate::Adaptive) lock.
//!
//! # Stopped or terminated threads
//!
//! The bias of a stopped or dead owner that does not hold the lock is revoked as any other. A thread that ended
//! leaves its bias to a later thread with the same thread pointer, or to a revoker. An owner that is stopped or dies
//! while it holds the lock blocks all others.
//!
//! # Platforms
//!
//! Where restartable sequences do not work, this is an [`Adaptive`](crate::Adaptive) lock with a longer unlock. If
//! the kernel refuses the fence later (a seccomp filter), a revoker waits 50 ms instead. A running sequence takes
//! some nanoseconds, and a preempted one is aborted. Only a virtual machine whose host stops one of its processors
//! for that long can let two threads in.
//!
//! # References
//!
//! Biased locking in Java virtual machines. Revocation by a fence that the revoking thread makes: Dave Dice, Mark
//! Moir and William Scherer, "Quickly Reacquirable Locks", 2003. The owner's side as a restartable sequence, and its
//! release without a later read, are original to this crate.

use crate::{
    Adaptive,
    atomic::{
        AtomicU32, AtomicU64,
        Ordering::{AcqRel, Acquire, Relaxed, Release},
    },
    count::{Count, NoCount},
    futex::{self, Deadline, Private},
    restartable,
};
use core::time::Duration;

/// The owner holds the lock.
const HELD: u64 = 1;
/// A thread revokes the bias; the owner must not store any more.
const REVOKING: u64 = 2;
/// Not biased; a thread can claim the bias.
const UNCLAIMED: u64 = 0;
/// Not biased, permanently.
const REVOKED: u64 = REVOKING;

/// Number of owners after which the lock stays unbiased.
const MOST_OWNERS: u32 = 4;

/// Waiting time that replaces a fence that the kernel refuses; signals can end a single sleep early, so the wait is
/// repeated.
const UNFENCED_WAIT: Duration = Duration::from_millis(50);

/// A mutex for data that one thread uses nearly alone, of 16 bytes, for the threads of one process.
///
/// A second thread revokes the bias with `membarrier`, which interrupts the CPUs that run threads of this process. A
/// child of `fork` can use the lock only if no other thread waited for it or tried it; a child of `vfork` must never
/// use it. The [crate's documentation](crate) describes the behaviour with dlclose and signals.
///
/// # Examples
///
/// ```
/// use ulocks::{Biased, lock_api::Mutex};
///
/// static HITS: Mutex<Biased, u64> = Mutex::new(0);
/// (0..1000).for_each(|_| *HITS.lock() += 1);
/// std::thread::spawn(|| *HITS.lock() += 1).join().unwrap();
/// assert_eq!(*HITS.lock(), 1001);
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct Biased<C: Count = NoCount> {
    bias: AtomicU64,
    owners: AtomicU32,
    lock: Adaptive<Private, C>,
}

const _: () = assert!(cfg!(loom) || size_of::<Biased>() == 16);

/// Result of a revocation.
enum Settled {
    /// The caller holds the lock.
    Taken,
    /// The previous owner of the bias holds the lock, and the caller waits for the inner lock as for any lock.
    Transferred,
}

impl<C: Count> Biased<C> {
    const_unless_loom! {
        /// Returns an unlocked lock.
        pub fn new() -> Self {
            Biased { bias: AtomicU64::new(UNCLAIMED), owners: AtomicU32::new(0), lock: Adaptive::new() }
        }
    }

    /// Acquires the lock, and waits if it is held.
    #[inline]
    pub fn lock(&self) {
        if !self.take() {
            self.lock_by(None);
        }
    }

    /// Acquires the lock if it is unlocked now.
    #[inline]
    pub fn try_lock(&self) -> bool {
        self.take() || self.try_slowly()
    }

    /// Releases the lock, and wakes a blocked waiter if that is due.
    ///
    /// The releasing store is the last access to the memory of the lock, so the next owner may free it.
    ///
    /// # Safety
    ///
    /// The calling thread holds the lock, and gives up the right to it.
    #[inline]
    pub unsafe fn unlock(&self) {
        let thread = restartable::current_thread();
        // `Acquire` makes the inner lock visible that a revoker acquired for this thread.
        if self.bias.load(Acquire) == REVOKED {
            // SAFETY: the caller holds the lock, and there is no bias, so it holds the inner lock.
            unsafe { self.lock.unlock() };
        } else if !restartable::store_if(&self.bias, thread | HELD, thread) {
            self.free(thread);
        }
    }

    /// Returns whether a thread holds the lock, or is just acquiring it, at this moment.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.bias.load(Relaxed) & HELD != 0 || self.lock.is_locked()
    }

    /// Returns the counters of this lock.
    pub fn counts(&self) -> &C {
        self.lock.counts()
    }

    /// Declares that the memory may be reused: loom then reports any thread that still accesses it.
    #[cfg(loom)]
    #[doc(hidden)]
    pub fn destroy(&mut self) {
        self.bias.with_mut(|_| ());
        self.lock.destroy();
    }

    #[inline(always)]
    fn take(&self) -> bool {
        let thread = restartable::current_thread();
        self.bias.load(Relaxed) == thread && restartable::store_if(&self.bias, thread, thread | HELD)
    }

    #[cold]
    fn lock_by(&self, deadline: Option<Deadline>) -> bool {
        let thread = restartable::current_thread();
        if self.take_atomically(thread) {
            return true;
        }
        while self.lock.take_now() || self.lock.lock_by(deadline) {
            match self.settle(thread) {
                Settled::Taken => return true,
                Settled::Transferred => (),
            }
        }
        false
    }

    #[cold]
    fn try_slowly(&self) -> bool {
        let thread = restartable::current_thread();
        self.take_atomically(thread)
            || self.bias.load(Relaxed) & HELD == 0
                && self.lock.try_lock()
                && matches!(self.settle(thread), Settled::Taken)
    }

    /// Acquires the lock for an owner whose sequence was aborted.
    fn take_atomically(&self, thread: u64) -> bool {
        self.bias.load(Relaxed) == thread && self.bias.compare_exchange(thread, thread | HELD, Acquire, Relaxed).is_ok()
    }

    /// Settles the bias. The caller holds the inner lock, and so is the only revoker.
    fn settle(&self, thread: u64) -> Settled {
        loop {
            let bias = self.bias.load(Acquire);
            match bias {
                REVOKED => return Settled::Taken,
                UNCLAIMED => {
                    if restartable::works() {
                        self.bias.store(thread | HELD, Relaxed);
                        self.leave_beneath();
                    }
                    return Settled::Taken;
                }
                _ => (),
            }
            let mark = bias | REVOKING;
            if restartable::mark_wide_and_fence(&self.bias, bias, mark).is_err() {
                continue;
            }
            if restartable::may_be_in_vain() {
                let end = Deadline::after(UNFENCED_WAIT);
                while !futex::nap(end) {}
            }
            let next =
                if mark & HELD == 0 && self.owners.load(Relaxed) < MOST_OWNERS { thread | HELD } else { REVOKED };
            if self.bias.compare_exchange(mark, next, AcqRel, Relaxed).is_err() {
                continue;
            }
            if mark & HELD != 0 {
                return Settled::Transferred;
            }
            if next != REVOKED {
                self.leave_beneath();
            }
            return Settled::Taken;
        }
    }

    /// Releases the inner lock after the caller has become the owner and holds the lock by the bias.
    fn leave_beneath(&self) {
        self.owners.store(self.owners.load(Relaxed) + 1, Relaxed);
        // SAFETY: the caller holds the inner lock and does not need it any more.
        unsafe { self.lock.unlock() };
    }

    /// Releases the lock where no sequence did: it was aborted, a thread revokes or has revoked the bias, or no
    /// thread has claimed it.
    #[cold]
    fn free(&self, thread: u64) {
        let freed = |from: u64, to: u64| self.bias.compare_exchange(from, to, Release, Acquire).is_ok();
        // A revoker that sets the flag between the two attempts makes the second succeed, and it has acquired the
        // inner lock before.
        if !freed(thread | HELD, thread) && !freed(thread | HELD | REVOKING, REVOKED) {
            // SAFETY: the bias does not say that the caller holds the lock, so the caller holds the inner lock.
            unsafe { self.lock.unlock() };
        }
    }
}

raw_mutex!([C: Count] Biased<C>, lock_api::GuardNoSend);
raw_mutex_timed!([C: Count] Biased<C>, lock_api::GuardNoSend, Self::take);
