//! Signals that tests send, with their default action.

/// Restores the default action of SIGINT, which a shell that starts the tests in the background ignores, and which
/// `contend` would inherit.
pub fn interrupts() {
    // SAFETY: the call takes no pointer to memory, and the default disposition has no handler.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
}
