//! What is done as the program starts, and would cost more later, or come at a bad moment.
//!
//! The C library's functions are looked up here, and the targets of calls: later the loader may be at work, and wait for
//! the owner of one of our locks. Locks acquired before this constructor look them up at their first use. The files of
//! the locks have separate constructors, which register restartable sequences and fork handlers.

use super::calls::mutex::lead;
use super::{locks, next, theirs};
use crate::c;

#[cfg_attr(preload, used, unsafe(link_section = ".init_array"))]
static AT_START: extern "C" fn() = at_start;

extern "C" fn at_start() {
    // Without a lock of ours this finds all.
    c::keeping_errno(lead);
    #[cfg(target_arch = "x86_64")]
    if c::keeping_errno(crate::cpu::counter::ask) {
        c::forbid_counter();
    }
    if locks::any() {
        c::keeping_errno(next::find_all);
        theirs::find();
    }
}
