//! The ring of hand-written threads: 8 bytes each, or 12 if each remembers its neighbour.
use std::{
    cell::Cell,
    task::{Poll, ready},
};

use crate::neighbour::{after, before};
use protothreads::{Report, Scheduler, Slot, Thread, ThreadHandle, run};

/// A thread of the ring: it waits for its own semaphore, and hands the token to its neighbour.
///
/// Its neighbour is the next in memory, or with `BACKWARD` the one before.
pub struct Member<const BACKWARD: bool> {
    token: Cell<u32>,
}

impl<const BACKWARD: bool> Thread for Member<BACKWARD> {
    /// The place of the thread that got the last token.
    type Shared = Cell<usize>;

    // It waits in one place only, so its semaphore is all the state that it needs.
    #[inline(always)]
    fn step<S: Scheduler>(&self, me: &ThreadHandle<'_, Self, S>) -> Poll<()> {
        ready!(me.poll_wait());
        let token = self.token.get();
        if token == 0 {
            me.shared().set(me.index());
            return Poll::Ready(());
        }
        let next = match BACKWARD {
            false => after(me.index(), me.thread_count()),
            true => before(me.index(), me.thread_count()),
        };
        me.tell(next, |next| next.token.set(token - 1));
        me.wait_again()
    }
}

/// Bytes a thread.
pub const SIZE: usize = size_of::<Slot<Member<false>>>();

/// The number, from 1, of the thread that got the last token, and what the run did.
#[inline(never)]
pub fn ring<const BACKWARD: bool>(threads: usize, hops: u32, scheduler: impl Scheduler) -> (usize, Report) {
    let member = |index| Slot::with_units(Member { token: Cell::new(hops) }, (index == 0).into());
    let members: Vec<_> = (0..threads).map(member).collect();
    let last = Cell::new(0);
    let report = run::<Member<BACKWARD>, _>(&members, scheduler, &last);
    let steps = if BACKWARD { (threads - last.get()) % threads } else { last.get() };
    (steps + 1, report)
}
