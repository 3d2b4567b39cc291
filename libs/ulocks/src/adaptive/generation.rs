//! Which process this is, of those that a fork has made of one.
//!
//! A thread that is awake says so in the word of the lock that it waits for, and sleepers rely on it. In a forked child
//! the word says so still, and the thread isn't there.

use super::word::Awake;
use crate::futex::Scope;

/// How a thread that waits for a lock of this scope says that it is awake.
#[inline]
pub(super) fn awake<S: Scope>() -> Awake {
    // The processes that share a lock must understand each other.
    if S::PRIVATE { forks::awake() } else { Awake::new(0) }
}

#[cfg(not(loom))]
mod forks {
    use super::Awake;
    use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

    /// 0 until the fork handler is registered; from then on a process and its forked children have different numbers.
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

    /// Nobody waits for another here, who might not be there after a fork: threads that come at once register each, and
    /// a child's number grows by two.
    #[cold]
    fn register() -> u32 {
        extern "C" fn in_child() {
            GENERATION.fetch_add(1, Relaxed);
        }
        // SAFETY: the handler runs in the child of a fork, and changes one word.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        GENERATION.compare_exchange(0, 1, Relaxed, Relaxed).map_or_else(|now| now, |_| 1)
    }
}

#[cfg(loom)]
mod forks {
    use super::Awake;

    pub(super) fn awake() -> Awake {
        Awake::new(0)
    }
}
