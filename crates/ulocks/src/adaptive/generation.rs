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
    use std::sync::{
        Once,
        atomic::{AtomicU32, Ordering::Relaxed},
    };

    /// Forks between the first process and this one, plus one; 0 until the first thread has waited.
    static GENERATION: AtomicU32 = AtomicU32::new(0);

    #[inline]
    pub(super) fn awake() -> Awake {
        match GENERATION.load(Relaxed) {
            0 => Awake::new(register()),
            generation => Awake::new(generation),
        }
    }

    #[cold]
    fn register() -> u32 {
        static AT_FORK: Once = Once::new();
        extern "C" fn in_child() {
            GENERATION.fetch_add(1, Relaxed);
        }
        AT_FORK.call_once(|| {
            // SAFETY: the handler runs in the child of a fork, and changes one word.
            unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
            GENERATION.store(1, Relaxed);
        });
        GENERATION.load(Relaxed)
    }
}

#[cfg(loom)]
mod forks {
    use super::Awake;

    pub(super) fn awake() -> Awake {
        Awake::new(0)
    }
}
