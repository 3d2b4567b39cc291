//! Sleeps of a blocked thread that must look at the word of its lock by itself.

use core::time::Duration;

/// The lengths of the sleeps of a thread whose wake-up may be lost, for example with a killed process.
///
/// Each is twice as long as the one before, up to a second. So a lost wake-up delays a thread for no longer than it has
/// already waited, and threads that wait for long cost nothing.
pub(crate) struct Naps(Duration);

impl Naps {
    const FIRST: Duration = Duration::from_millis(10);
    const LAST: Duration = Duration::from_secs(1);

    pub(crate) fn new() -> Self {
        Naps(Self::FIRST)
    }

    /// Returns the length of the next sleep.
    pub(crate) fn next(&mut self) -> Duration {
        let now = self.0;
        self.0 = (now * 2).min(Self::LAST);
        now
    }
}
