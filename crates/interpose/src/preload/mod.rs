//! Replacements for the C library's functions in a program that loads the library.
//!
//! Each replaced function notes its call site ([`entry`]), takes the lock as the program would have, and counts
//! ([`record`]). The C library's functions are found behind it ([`next`]). A thread finds its place in the memory by a
//! separate word ([`thread_word`]); a forked process is recognised by a page that the kernel empties ([`local`]).
//!
//! On a lock's way nothing allocates, locks or formats, and there is no system call except in a process's first call
//! (the memory, its map), in a thread's first use of a lock that processes share, and, where the CPU's counter is not to
//! be trusted, for the time. There is none once the program has forbidden itself system calls ([`local::confine`]).
//!
//! A thread that is cancelled while it waits leaves through these functions, which have nothing to clean up: there are
//! no destructors in them, and their tables say where each caller is.

#[cfg_attr(not(target_arch = "x86_64"), path = "callers/plain.rs")]
mod callers;
mod calls;
mod clock;
mod confirm;
mod cost;
mod entry;
mod external;
mod free_mutex;
mod init_fini;
mod kinship;
mod label;
mod local;
mod me;
mod next;
mod order;
#[cfg(preload)]
mod panic;
mod process;
mod record;
mod shared_lock;
mod slot;
mod spot;
mod thread_number;
mod thread_word;
mod what_if;

use crate::layout::Header;
use core::sync::atomic::Ordering::Relaxed;
pub use local::is_confined;

/// Notes a program that is started without the library.
pub fn leave_out(path: &[u8]) {
    let Some(Header { left_out, left_out_name, .. }) = local::region().map(|region| &region.header) else { return };
    if left_out.fetch_add(1, Relaxed) == 0 {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        left_out_name.iter().zip(name).for_each(|(to, byte)| to.store(*byte, Relaxed));
    }
}
