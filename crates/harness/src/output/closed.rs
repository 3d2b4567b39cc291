//! Detection of a command that was started without a standard output, as by `contend history >&-`.
//!
//! The runtime of Rust opens `/dev/null` in the place of a closed stream before `main` begins, and all output is lost
//! without an error. Therefore the stream is checked before that.

use std::sync::atomic::{AtomicBool, Ordering};

/// Set before `main`, and not changed later.
pub static IS_STDOUT_CLOSED: AtomicBool = AtomicBool::new(false);

extern "C" fn look() {
    // SAFETY: the call takes a number, which need not be that of an open file, and no pointer; it changes nothing.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFL) };
    // Rust's standard library treats the error of a write to a stream that is open only for reading as a success as
    // well.
    let is_closed = flags == -1 || flags & libc::O_ACCMODE == libc::O_RDONLY;
    IS_STDOUT_CLOSED.store(is_closed, Ordering::Relaxed);
}

// SAFETY: the dynamic loader calls each function of this section once, before `main` and on the main thread. `look` has
// the C calling convention, ignores the arguments that glibc passes, and uses nothing that Rust's runtime prepares: a
// system call and an atomic.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;
