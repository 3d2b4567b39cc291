//! How long a slice is.

use std::time::Duration;

/// What one slice is made of.
#[derive(Clone, Copy, Debug)]
pub struct Slice {
    /// Runs before rounds count: threads and caches warm up.
    pub ramp_up: Duration,
    /// Rounds that begin here count.
    pub window: Duration,
    /// Runs on, so that rounds which began in the window end under the same load.
    pub ramp_down: Duration,
}

impl Slice {
    /// Of a thread that is alone: with a shorter window, and nobody whose load a last round would miss.
    pub fn alone(self, window: Duration) -> Self {
        let window = self.window.min(window);
        Self { ramp_up: window / 20, window, ramp_down: Duration::ZERO }
    }

    /// From the start to the stop.
    pub fn whole(&self) -> Duration {
        self.ramp_up + self.window + self.ramp_down
    }
}
