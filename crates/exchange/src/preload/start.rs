//! What is done as the program starts, and would cost more later.
//!
//! The lock whose unlock is a restartable sequence has to be registered with the kernel: at once while there is one
//! thread, after some ten milliseconds beside others. Locks are taken before this; it is their first unlock's otherwise.

use super::choice::{ADAPTIVE, choice};
use crate::c;

#[cfg_attr(preload, used, unsafe(link_section = ".init_array"))]
static AT_START: extern "C" fn() = at_start;

extern "C" fn at_start() {
    if choice() == ADAPTIVE {
        c::keeping_errno(crate::restartable::prepare);
    }
}
