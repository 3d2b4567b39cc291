//! What a scheduler is.
use crate::node::Node;

/// Decides which thread is polled next.
///
/// Schedulers are values, and any of them runs any threads. [`Fifo`](crate::Fifo), [`RunNext`](crate::RunNext) and
/// [`Bitmap`](crate::Bitmap) poll threads that can run and no others; [`InOrder`](crate::InOrder),
/// [`Reverse`](crate::Reverse) and [`Random`](crate::Random) poll all of them, as protothreads do, and most of their
/// polls may be wasted.
pub trait Scheduler {
    /// A thread can run. It is told once for each time that the thread is polled with a reason.
    fn ready<N: Node>(&self, nodes: &[N], thread: u32);

    /// The thread to poll now; none when no thread can run.
    fn next<N: Node>(&self, nodes: &[N]) -> Option<u32>;
}

impl<S: Scheduler> Scheduler for &S {
    #[inline(always)]
    fn ready<N: Node>(&self, nodes: &[N], thread: u32) {
        S::ready(self, nodes, thread);
    }

    #[inline(always)]
    fn next<N: Node>(&self, nodes: &[N]) -> Option<u32> {
        S::next(self, nodes)
    }
}
