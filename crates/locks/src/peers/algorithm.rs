//! The interface of a lock that is written from a paper.

/// A mutual exclusion algorithm. The value that an acquisition returns is passed to the release: papers keep it in
/// local variables of the thread or in a field of the lock.
pub trait Algorithm: Send + Sync + 'static {
    /// The data that a release needs from its acquisition.
    type Held: Copy;

    /// Returns an uncontended lock.
    fn new() -> Self;

    /// Waits for the lock and acquires it.
    fn acquire(&self) -> Self::Held;

    /// Releases the lock.
    ///
    /// # Safety
    /// The calling thread holds the lock by the acquisition that returned `held`.
    unsafe fn release(&self, held: Self::Held);
}
