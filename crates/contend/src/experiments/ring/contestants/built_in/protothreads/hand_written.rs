//! A ring of hand-written threads: each is its token and the number that leads to its next.

use super::super::{Course, Lap};
use super::way::Way;
use super::{lap, token_for};
use protothreads::{Here, Scheduler, Slot, Thread, run};
use std::cell::Cell;
use std::io;
use std::marker::PhantomData;
use std::task::{Poll, ready};
use std::time::Instant;

struct Member<W> {
    token: Cell<u32>,
    kept: u32,
    way: PhantomData<W>,
}

/// Bytes of a thread.
pub const BYTES: usize = size_of::<Slot<Member<super::Forward>>>();

impl<W: Way> Thread for Member<W> {
    /// The place of the thread that got the last token.
    type Shared = Cell<usize>;

    // It waits in one place only, so it needs no state to say where.
    #[inline(always)]
    fn step<S: Scheduler>(&self, me: &Here<'_, Self, S>) -> Poll<()> {
        loop {
            ready!(me.poll_wait());
            let token = self.token.get();
            if token == 0 {
                me.shared().set(me.index());
                return Poll::Ready(());
            }
            let next = W::next(me.index(), self.kept);
            me.thread(next).token.set(token - 1);
            me.signal(next);
        }
    }
}

/// Passes the token around.
///
/// # Errors
/// More hops than a token can count.
#[inline(never)]
pub fn ring<W: Way>(course: &Course, scheduler: impl Scheduler) -> io::Result<Lap> {
    let token = token_for(course.hops)?;
    let member = |(place, kept)| {
        let member = Member::<W> { token: Cell::new(token), kept, way: PhantomData };
        Slot::with_units(member, u32::from(place == 0))
    };
    let members: Vec<_> = W::kept(course).enumerate().map(member).collect();
    let last = Cell::new(0);
    let began = Instant::now();
    let report = run::<Member<W>, _>(&members, scheduler, &last);
    let hops_ns = began.elapsed().as_nanos() as f64;
    Ok(lap(W::number(course, last.get()), hops_ns, report))
}
