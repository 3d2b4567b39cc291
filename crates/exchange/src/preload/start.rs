//! What is done as the program starts, and would cost more later, or come at a bad moment.
//!
//! The lock whose unlock is a restartable sequence has to be registered with the kernel: at once while there is one
//! thread, after some ten milliseconds beside others. It registers what is done in a forked child, too, which older C
//! libraries do not take from within a fork's handlers. And the C library's functions are found here, and where calls
//! lead: later the loader may be at work, and wait for who holds one of our locks. Locks are taken before this; it is
//! their first use's otherwise.

use super::calls::mutex::lead;
use super::choice::{ADAPTIVE, choice};
use super::{locks, next, theirs};
use crate::adaptive::Adaptive;
use crate::c;

#[cfg_attr(preload, used, unsafe(link_section = ".init_array"))]
static AT_START: extern "C" fn() = at_start;

extern "C" fn at_start() {
    // Without a lock of ours this finds all.
    c::keeping_errno(lead);
    if locks::any() {
        c::keeping_errno(next::find_all);
        theirs::find();
    }
    if choice() == ADAPTIVE {
        c::keeping_errno(|| {
            // The first unlock does it.
            let lock = Adaptive::<crate::futex::Private>::new();
            lock.lock();
            // SAFETY: taken in the line before.
            unsafe { lock.unlock() };
        });
    }
}
