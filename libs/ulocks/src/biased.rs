//! A lock without an atomic while one thread alone uses it.
//!
//! The lock is *biased* to the first thread that takes it: that one takes and frees it by plain stores, in restartable
//! sequences. When a second thread comes it revokes the bias, by the membarrier that restarts such sequences. From then
//! on the lock is biased to that one, or, if the first held it or there were four already, it is an
//! [`Adaptive`](crate::Adaptive) lock for good.
//!
//! # State
//! | `bias` | meaning | changed by |
//! |---|---|---|
//! | 0 | nobody's: whoever holds the lock beneath may claim it | that one |
//! | *thread* | biased to it, free | that thread, to *held*; a revoker, to *revoking* |
//! | *thread* + `HELD` | biased to it, which holds it | that thread, to *free*; a revoker, to *revoking* |
//! | *thread* + `REVOKING` | it is to store no more | the revoker |
//! | *thread* + `HELD` + `REVOKING` | the same, while it holds | the revoker; that thread, when it frees |
//! | `REVOKING` alone | nobody's for good | nobody |
//!
//! *thread* is the thread pointer, which no two threads have at a time. `lock` is the lock beneath, and `owners` counts
//! whom the lock has been biased to; both are explained where they are changed.
//!
//! A thread has the lock if the bias says so, or, while the bias is nobody's, if it has the lock beneath. Only who has
//! the lock beneath marks the word with `REVOKING`, so there is one revoker at a time:
//!
//! 1. Mark the word by compare-and-swap, and fence.
//! 2. If the mark is still there the owner was not inside: the bias becomes the revoker's own, held.
//! 3. If it was inside, the lock beneath, which the revoker has, becomes the owner's: the bias is nobody's for good,
//!    and the owner frees the lock beneath, on which the revoker now waits as on any.
//! 4. If the mark is gone, begin again.
//!
//! # Ordering
//! What the sequence and its fence promise is told in their file. A sequence that compared before the mark has stored
//! before the fence ends, and the compare-and-swap of 2 or 3 fails, or it never stores. One that compares later finds
//! the mark. No other mark can have come in between, so finding it is enough: with two revokers at a time the second
//! could take the first one's mark for its own and rely on a fence that came before it.
//!
//! The owner's accesses are in its program's order. A revoker reads what the owner wrote last by the compare-and-swaps
//! (`SeqCst`, `Acquire`), which read its last store, a `Release`. The owner's store that takes the lock may be in its
//! processor's buffer while it reads what is protected: the fence drains the buffer, so the revoker finds it held, or
//! it was aborted, and then what it read so far counts for nothing.
//!
//! No wake-up is lost, since nobody sleeps on `bias`.
//!
//! # Lifetime
//! As [`Adaptive`](crate::Adaptive): the store or compare-and-swap that frees is the last access of an unlock.
//!
//! # Fork
//! A child may use each lock that its one thread held, or that nobody held, if nobody waited for it or tried it:
//! whoever was about to revoke the bias did not come along. A child of `vfork` or of a bare `clone` may not use these
//! locks.
//!
//! # Fairness
//! While it is biased nobody else waits. After that it is an [`Adaptive`](crate::Adaptive) lock's.
//!
//! # A stopped or dead owner
//! Is revoked as another, if it does not hold the lock. A thread that ended leaves its bias to one that has its thread
//! pointer later, or to a revoker.
//!
//! # Where it works
//! Where sequences do not it is an [`Adaptive`](crate::Adaptive) lock with a longer unlock. If the kernel refuses the
//! fence later (a seccomp filter) a revoker waits 50 ms instead: a sequence that runs takes some nanoseconds, and one
//! that is preempted is aborted, so that only a virtual machine that stops one of its processors for so long can let
//! two in.
//!
//! # Source
//! Biased locking of Java's virtual machines; its revocation by a fence of the others' making: Dave Dice, Mark Moir and
//! William Scherer, "Quickly Reacquirable Locks", 2003. That the owner's side is a sequence, and that it frees without
//! looking back, is this crate's own.

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

/// The thread that the lock is biased to holds it.
const HELD: u64 = 1;
/// That thread is to store no more: somebody revokes.
const REVOKING: u64 = 2;
/// Nobody's, and open to be claimed.
const UNCLAIMED: u64 = 0;
/// Nobody's, for good.
const REVOKED: u64 = REVOKING;

/// After so many threads it is nobody's.
const MOST_OWNERS: u32 = 4;

/// What stands for a fence that the kernel refuses; signals end a single sleep early.
const UNFENCED_WAIT: Duration = Duration::from_millis(50);

/// The biased lock. 16 bytes, for the threads of one process.
///
/// A second thread revokes the bias with `membarrier`, which interrupts the CPUs that run threads of this process. A child
/// of `fork` can use it only if no other thread waited or tried; one of `vfork` never. The [crate's documentation](crate)
/// says how it behaves with dlclose and signals.
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

/// What came of a revocation.
enum Settled {
    /// The caller has the lock.
    Taken,
    /// The one that it was biased to has it, and the caller waits for the lock beneath as for any.
    Transferred,
}

impl<C: Count> Biased<C> {
    const_unless_loom! {
        /// A free lock.
        pub fn new() -> Self {
            Biased { bias: AtomicU64::new(UNCLAIMED), owners: AtomicU32::new(0), lock: Adaptive::new() }
        }
    }

    /// Takes the lock, waiting for it if it is held.
    #[inline]
    pub fn lock(&self) {
        if !self.take() {
            self.lock_by(None);
        }
    }

    /// Takes the lock if it is free now.
    #[inline]
    pub fn try_lock(&self) -> bool {
        self.take() || self.try_slowly()
    }

    /// Frees the lock, and wakes a sleeper if it is time to. As soon as another thread can have taken it, this one does
    /// not touch it any more: that one may free the memory.
    ///
    /// # Safety
    /// The lock is held by the calling thread, which gives up the right to it.
    #[inline]
    pub unsafe fn unlock(&self) {
        let me = restartable::me();
        // Acquire, for the lock beneath that a revoker took for this thread.
        if self.bias.load(Acquire) == REVOKED {
            // SAFETY: nobody holds by the bias, so the caller holds the lock beneath.
            unsafe { self.lock.unlock() };
        } else if !restartable::store_if(&self.bias, me | HELD, me) {
            self.free(me);
        }
    }

    /// Whether somebody holds the lock, or is just taking it, at this moment.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.bias.load(Relaxed) & HELD != 0 || self.lock.is_locked()
    }

    /// What happened on this lock, if it counts.
    pub fn counts(&self) -> &C {
        self.lock.counts()
    }

    /// The memory is somebody else's from now on: loom reports whoever touches it still.
    #[cfg(loom)]
    #[doc(hidden)]
    pub fn destroy(&mut self) {
        self.bias.with_mut(|_| ());
        self.lock.destroy();
    }

    #[inline(always)]
    fn take(&self) -> bool {
        let me = restartable::me();
        self.bias.load(Relaxed) == me && restartable::store_if(&self.bias, me, me | HELD)
    }

    #[cold]
    fn lock_by(&self, deadline: Option<Deadline>) -> bool {
        let me = restartable::me();
        if self.take_atomically(me) {
            return true;
        }
        while self.lock.take_now() || self.lock.lock_by(deadline) {
            match self.settle(me) {
                Settled::Taken => return true,
                Settled::Transferred => (),
            }
        }
        false
    }

    #[cold]
    fn try_slowly(&self) -> bool {
        let me = restartable::me();
        self.take_atomically(me)
            || self.bias.load(Relaxed) & HELD == 0 && self.lock.try_lock() && matches!(self.settle(me), Settled::Taken)
    }

    /// For an owner whose sequence was aborted.
    fn take_atomically(&self, me: u64) -> bool {
        self.bias.load(Relaxed) == me && self.bias.compare_exchange(me, me | HELD, Acquire, Relaxed).is_ok()
    }

    /// The caller has the lock beneath, and so is the only one that revokes.
    fn settle(&self, me: u64) -> Settled {
        loop {
            let bias = self.bias.load(Acquire);
            match bias {
                REVOKED => return Settled::Taken,
                UNCLAIMED => {
                    if restartable::works() {
                        self.bias.store(me | HELD, Relaxed);
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
            let next = if mark & HELD == 0 && self.owners.load(Relaxed) < MOST_OWNERS { me | HELD } else { REVOKED };
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

    /// The caller has just become who the lock is biased to, and holds it so.
    fn leave_beneath(&self) {
        self.owners.store(self.owners.load(Relaxed) + 1, Relaxed);
        // SAFETY: the caller has the lock beneath, and needs it no more.
        unsafe { self.lock.unlock() };
    }

    /// Frees the lock where no sequence did: it was aborted, somebody revokes or has revoked, or nobody has claimed it.
    #[cold]
    fn free(&self, me: u64) {
        let freed = |from: u64, to: u64| self.bias.compare_exchange(from, to, Release, Acquire).is_ok();
        // A revoker that marks the word between the two finds the second, and it has the lock beneath already.
        if !freed(me | HELD, me) && !freed(me | HELD | REVOKING, REVOKED) {
            // SAFETY: the bias does not say that the caller holds, so it has the lock beneath.
            unsafe { self.lock.unlock() };
        }
    }
}

raw_mutex!([C: Count] Biased<C>, lock_api::GuardNoSend);
raw_mutex_timed!([C: Count] Biased<C>, lock_api::GuardNoSend);
