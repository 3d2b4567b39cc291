//! What is asked about: the gaps of one thread in one stretch.

use super::timeline::Timeline;
use crate::gaps::{Gap, Watch};

/// Gaps of one thread in one stretch, and the evidence for it.
#[derive(Clone, Copy, Debug)]
pub struct Stretch<'a> {
    /// The evidence.
    pub timeline: &'a Timeline,
    /// The thread, by its id.
    pub task: u32,
    /// From when on gaps were looked for, in ticks.
    pub start: u64,
    /// Until when.
    pub end: u64,
    /// The gaps, in order.
    pub gaps: &'a [Gap],
    /// How much of each gap is the thread's own work, in ticks: nothing for gaps between readings of a clock, the usual
    /// time of an operation where a gap is one operation.
    pub usual: u64,
    /// For each gap whether the [`PreemptionFlag`](super::preemption::PreemptionFlag) was cleared in it; empty if it
    /// was not asked.
    pub preempted: &'a [bool],
    /// Stretches within it in which no gaps were looked for, in order.
    pub looks: &'a [Gap],
}

impl<'a> Stretch<'a> {
    /// A watch by the thread that opened the recorder.
    pub fn of_watch(timeline: &'a Timeline, watch: &'a Watch) -> Self {
        Self {
            timeline,
            task: timeline.thread,
            start: watch.start,
            end: watch.start + watch.span,
            gaps: &watch.gaps,
            usual: 0,
            preempted: &[],
            looks: &watch.looks,
        }
    }
}
