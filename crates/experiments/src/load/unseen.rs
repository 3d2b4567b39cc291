//! A measurement without a view of its own, as a part of something longer.

use super::measure::Watcher;
use super::record::IntervalRow;
use crate::interruption::Interruption;
use std::ops::ControlFlow;
use std::time::Instant;

/// Ends with the whole run, and says that it goes on.
pub struct Unseen<'a, N> {
    pub interruption: &'a Interruption,
    pub note: N,
}

impl<N: Fn(&str)> Watcher for Unseen<'_, N> {
    fn wait(&mut self, until: Instant) -> ControlFlow<()> {
        (self.note)("what a process would get");
        std::thread::sleep(until.saturating_duration_since(Instant::now()));
        if self.interruption.asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn interval(&mut self, _: &[IntervalRow]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
