//! Fork generations: the number of forks between the loading of the library and this process.
//!
//! A spinning thread notes itself in the word of the lock that it waits for, and blocked waiters rely on it. In a
//! forked child the note is still in the word, but the thread does not exist.

use super::word::Awake;
use crate::futex::Scope;

/// Returns the value of `AWAKE` for a thread that waits for a lock of this scope.
#[inline]
pub(super) fn awake<S: Scope>() -> Awake {
    // Processes that share a lock must use the same value.
    if S::PRIVATE { forks::awake() } else { Awake::new(0) }
}

#[cfg(not(any(loom, miri)))]
mod forks {
    use super::Awake;
    use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

    /// Generation of this process: 0 until the fork handler is registered; after that it differs between a process
    /// and its forked children.
    static GENERATION: AtomicU32 = AtomicU32::new(0);

    /// Registers the fork handler when the object is loaded: `pthread_atfork` may allocate, and the first thread that
    /// waits may be in a signal handler.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static AT_LOAD: extern "C" fn() = at_load;

    extern "C" fn at_load() {
        awake();
    }

    #[inline]
    pub(super) fn awake() -> Awake {
        match GENERATION.load(Relaxed) {
            0 => Awake::new(register()),
            generation => Awake::new(generation),
        }
    }

    /// Registers the fork handler and returns the generation.
    ///
    /// Threads that call it at once each register the handler, and the generation of a child then grows by two. They
    /// do not wait for each other, because the other thread might not exist after a fork.
    #[cold]
    fn register() -> u32 {
        extern "C" fn in_child() {
            GENERATION.fetch_add(1, Relaxed);
        }
        // SAFETY: `in_child` has the signature that `pthread_atfork` expects, runs in the child of a fork, and
        // changes only one atomic word.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        GENERATION.compare_exchange(0, 1, Relaxed, Relaxed).map_or_else(|now| now, |_| 1)
    }
}

#[cfg(any(loom, miri))]
mod forks {
    use super::Awake;

    pub(super) fn awake() -> Awake {
        Awake::new(0)
    }
}
