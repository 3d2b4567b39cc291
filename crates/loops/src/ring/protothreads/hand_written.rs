//! A ring of hand-written threads: each is its token, and its successor where that is not adjacent.

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

/// The bytes of a thread that stores its successor.
pub const BYTES: usize = size_of::<Slot<Member<super::Anywhere>>>();

impl<N: Successor> Thread for Member<N> {
    type Shared = Journey;

    // The thread waits in one place only, so it needs no state for its position.
    #[inline(always)]
    fn step<S: Scheduler>(&self, handle: &ThreadHandle<'_, Self, S>) -> Poll<()> {
        ready!(handle.poll_wait());
        let token = self.token.get();
        if token == 0 {
            handle.shared().end(handle.index());
            return Poll::Ready(());
        }
        let next = N::next(handle.index(), handle.thread_count(), self.kept);
        handle.tell(next, |next| next.token.set(token - 1));
        handle.wait_again()
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
    // All threads wait.
    journey.begin();
    let report = travel(&members, scheduler, &journey);
    journey.result::<N>(spec, report)
}

/// Runs from the first hop to the last.
///
/// It is a separate function, so that it has the registers to itself: together with the code before it, a hop took up
/// to a fifth longer.
#[inline(never)]
fn travel<N: Successor>(members: &[Slot<Member<N>>], scheduler: impl Scheduler, journey: &Journey) -> Report {
    let runtime = Runtime::new(members, scheduler, journey);
    runtime.signal(0);
    runtime.run_ready();
    runtime.report()
}
