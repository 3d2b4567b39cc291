//! A ring of hand-written threads: each is its token, and its next where that is not its neighbour.

use super::Successor;
use super::{Journey, token_for};
use crate::ring::{RingResult, RingSpec};
use protothreads::{Fifo, Report, Runtime, Scheduler, Slot, Thread, ThreadHandle};
use std::cell::Cell;
use std::io;
use std::task::{Poll, ready};

struct Member<N: Successor> {
    token: Cell<u32>,
    kept: N::Kept,
}

/// Bytes of a thread that keeps its next.
pub const BYTES: usize = size_of::<Slot<Member<super::Anywhere>>>();

impl<N: Successor> Thread for Member<N> {
    type Shared = Journey;

    // It waits in one place only, so it needs no state to say where.
    #[inline(always)]
    fn step<S: Scheduler>(&self, me: &ThreadHandle<'_, Self, S>) -> Poll<()> {
        ready!(me.poll_wait());
        let token = self.token.get();
        if token == 0 {
            me.shared().end(me.index());
            return Poll::Ready(());
        }
        let next = N::next(me.index(), me.thread_count(), self.kept);
        me.tell(next, |next| next.token.set(token - 1));
        me.wait_again()
    }
}

/// Passes the token around.
#[inline(never)]
pub fn ring<N: Successor>(spec: &RingSpec, scheduler: impl Scheduler) -> io::Result<RingResult> {
    let token = token_for(spec.hops)?;
    let member = |kept| Slot::new(Member::<N> { token: Cell::new(token), kept });
    let members: Vec<_> = N::kept(spec).map(member).collect();
    let journey = Journey::default();
    protothreads::run(&members, Fifo::new(), &journey);
    // All wait.
    journey.begin();
    let report = travel(&members, scheduler, &journey);
    journey.result::<N>(spec, report)
}

/// From the first hop to the last. A function of its own, which has the registers to itself: together with what comes
/// before it, a hop took up to a fifth longer.
#[inline(never)]
fn travel<N: Successor>(members: &[Slot<Member<N>>], scheduler: impl Scheduler, journey: &Journey) -> Report {
    let runtime = Runtime::new(members, scheduler, journey);
    runtime.signal(0);
    runtime.run_ready();
    runtime.report()
}
