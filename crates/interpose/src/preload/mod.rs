//! What replaces the C library's functions in a program that loads the library.
//!
//! Each replaced function notes its call site ([`entry`]), takes the lock as the program would have, and counts
//! ([`record`]). What is not replaced is found behind it ([`next`]). A thread knows its place in the memory by a word
//! of its own ([`thread_word`]); a process that was forked knows by a page that the kernel empties ([`local`]).
//!
//! On a lock's way nothing allocates, locks or formats, and nothing is asked of the kernel but by a thread's first call
//! (its number), a process's first (the memory, its map) and, where the CPU's counter is not to be trusted, the time.
//!
//! A thread that is cancelled while it waits leaves through these functions, which have nothing to clean up: there are
//! no destructors in them, and their tables say where each caller is.

mod calls;
mod clock;
mod confirm;
mod context;
mod entry;
mod external;
mod free_mutex;
mod init_fini;
mod kinship;
mod local;
mod me;
mod next;
mod order;
#[cfg(preload)]
mod panic;
mod process;
mod record;
mod slot;
mod spot;
mod thread_word;
mod what_if;
