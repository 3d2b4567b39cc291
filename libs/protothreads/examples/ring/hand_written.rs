//! The ring of hand-written threads: 8 bytes each, or 12 if each stores its successor.
use std::{
    cell::Cell,
    task::{Poll, ready},
};

use super::neighbour::{after, before};
use protothreads::{Report, Scheduler, Slot, Thread, ThreadHandle, run};

/// A thread of the ring: it waits for its own semaphore, and passes the token to its successor.
///
/// Its successor is the next in memory, or with `BACKWARD` the previous one.
pub struct Member<const BACKWARD: bool> {
    token: Cell<u32>,
}

impl<const BACKWARD: bool> Thread for Member<BACKWARD> {
    /// Index of the thread that got the last token.
    type Shared = Cell<usize>;

    // It waits at a single point, so its semaphore is all the state that it needs.
    #[inline(always)]
    fn step<S: Scheduler>(&self, handle: &ThreadHandle<'_, Self, S>) -> Poll<()> {
        ready!(handle.poll_wait());
        let token = self.token.get();
        if token == 0 {
            handle.shared().set(handle.index());
            return Poll::Ready(());
        }
        let next = match BACKWARD {
            false => after(handle.index(), handle.thread_count()),
            true => before(handle.index(), handle.thread_count()),
        };
        handle.tell(next, |next| next.token.set(token - 1));
        handle.wait_again()
    }
}

/// Size of a thread in bytes.
pub const SIZE: usize = size_of::<Slot<Member<false>>>();

/// Returns the number, from 1, of the thread that got the last token, and the report of the run.
#[inline(never)]
pub fn ring<const BACKWARD: bool>(threads: usize, hops: u32, scheduler: impl Scheduler) -> (usize, Report) {
    let member = |index| Slot::with_units(Member { token: Cell::new(hops) }, (index == 0).into());
    let members: Vec<_> = (0..threads).map(member).collect();
    let last = Cell::new(0);
    let report = run::<Member<BACKWARD>, _>(&members, scheduler, &last);
    let steps = if BACKWARD { (threads - last.get()) % threads } else { last.get() };
    (steps + 1, report)
}
