//! A fence with two sides: one that costs nothing, for the many, and one that pays for both, for the few.
//!
//! Two threads that each write one word and then read the other's need a full fence between the two, or both may
//! read old values (store buffering, the one reordering that x86 does). With `membarrier` only one of the two needs to
//! do something: the kernel makes every thread of the process that is running go through a full fence before the call
//! returns, and a thread that is not running went through one when it was switched out. So on the [`light`] side
//! there is no instruction, only an order to the compiler.
//!
//! Between processes the same holds for the processes that have registered. A process that is not
//! registered must not use the light side.
//!
//! Under `cfg(loom)`, which knows nothing of this system call, both sides are `SeqCst` fences. The model then shows
//! that the algorithm is right *if* the pair is as strong as two such fences. It does not show that membarrier is: that
//! is the kernel's contract (Documentation/scheduler/membarrier.rst, membarrier(2)): for each running thread, what it
//! did before some point within the call is ordered before what the caller does after, and what the caller did before
//! is ordered before what that thread does after that point. If that point is before the thread's store, its load sees
//! the caller's store; if it is after the store, the caller's load sees the thread's. Those are the two cases of the
//! `SeqCst` pair.

use crate::futex::Scope;

/// The side that costs nothing. Stands between a store and a load.
#[inline(always)]
pub(crate) fn light() {
    #[cfg(not(loom))]
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
    #[cfg(loom)]
    loom::sync::atomic::fence(loom::sync::atomic::Ordering::SeqCst);
}

/// The side that pays. Says whether it could: if not, the light sides elsewhere are no fences.
#[cold]
pub(crate) fn heavy<S: Scope>() -> bool {
    #[cfg(not(loom))]
    return kernel::heavy::<S>();
    #[cfg(loom)]
    {
        loom::sync::atomic::fence(loom::sync::atomic::Ordering::SeqCst);
        true
    }
}

/// Whether threads of this process may use the light side of a fence of this scope.
#[inline(always)]
pub(crate) fn enrolled<S: Scope>() -> bool {
    #[cfg(not(loom))]
    return S::PRIVATE || kernel::enrolled_globally();
    #[cfg(loom)]
    true
}

#[cfg(not(loom))]
mod kernel {
    use crate::futex::Scope;
    use std::{
        io,
        sync::atomic::{AtomicU8, Ordering::Relaxed},
    };

    const UNKNOWN: u8 = 0;
    const ENROLLED: u8 = 1;
    const REFUSED: u8 = 2;

    /// A child inherits it by fork along with the memory descriptor that it describes, and loses both by exec.
    static GLOBAL: AtomicU8 = AtomicU8::new(UNKNOWN);

    fn membarrier(command: libc::c_int) -> bool {
        // SAFETY: the call takes integers and touches no memory.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }

    pub(super) fn heavy<S: Scope>() -> bool {
        if !S::PRIVATE {
            return membarrier(libc::MEMBARRIER_CMD_GLOBAL_EXPEDITED);
        }
        membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED)
            // The first time, the process has to say that it will use it: that takes milliseconds, once.
            || (io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
                && membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
                && membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED))
    }

    #[inline(always)]
    pub(super) fn enrolled_globally() -> bool {
        match GLOBAL.load(Relaxed) {
            ENROLLED => true,
            UNKNOWN => enroll(),
            _ => false,
        }
    }

    #[cold]
    fn enroll() -> bool {
        let enrolled = membarrier(libc::MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED);
        GLOBAL.store(if enrolled { ENROLLED } else { REFUSED }, Relaxed);
        enrolled
    }
}
