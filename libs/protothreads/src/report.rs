//! What a run did.

/// What a run did, and how it left the threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Polls of threads that had no reason to run: what a polling scheduler costs. An async thread that was woken for
    /// nothing is not among them, for the scheduler cannot know.
    pub wasted_polls: u64,
    /// Threads that have finished, in this run or before it.
    pub finished: usize,
    /// Threads that have not. Nothing but a signal from outside can make them run.
    pub waiting: usize,
}
