//! Signals that the tests send are heard.

/// A shell that starts the tests in the background has SIGINT ignored, and `contend` would inherit that: from now on
/// whatever this program starts hears it.
pub fn interrupts() {
    // SAFETY: the call takes no pointer to memory, and the default disposition has no handler.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
}
