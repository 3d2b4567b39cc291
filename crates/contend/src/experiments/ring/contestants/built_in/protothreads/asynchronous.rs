//! A ring of async threads: straight code.

use super::super::{Course, Lap};
use super::way::Way;
use super::{lap, token_for};
use protothreads::{Kernel, Link, Me, Scheduler};
use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::time::Instant;

/// What the threads share: a token for each, and the place of the thread that got the last one.
struct Shared {
    tokens: Vec<Cell<u32>>,
    last: Cell<usize>,
}

#[expect(clippy::manual_async_fn, reason = "the compiler keeps the arguments of an async fn twice")]
fn member<W: Way, S: Scheduler>(mut me: Me<'_, Link, S, Shared>, kept: u32) -> impl Future<Output = ()> {
    async move {
        loop {
            me.wait().await;
            let token = me.shared().tokens[me.index()].get();
            if token == 0 {
                return me.shared().last.set(me.index());
            }
            let next = W::next(me.index(), kept);
            me.shared().tokens[next].set(token - 1);
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
    let links: Vec<_> = (0..course.threads).map(|_| Link::new()).collect();
    let tokens = (0..course.threads).map(|_| Cell::new(token)).collect();
    let shared = Shared { tokens, last: Cell::new(0) };
    let kernel = Kernel::new(&links, scheduler, &shared);
    let kept = W::kept(course).enumerate();
    let mut members: Pin<Box<[_]>> =
        kept.map(|(place, kept)| member::<W, _>(kernel.me(place), kept)).collect::<Box<_>>().into();
    kernel.signal(0);
    let began = Instant::now();
    let report = kernel.run_with(members.as_mut(), |_| false);
    let hops_ns = began.elapsed().as_nanos() as f64;
    Ok(lap(W::number(course, shared.last.get()), hops_ns, report))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::ring::contestants::built_in::protothreads::{ASYNC_BYTES, Anywhere, HAND_WRITTEN_BYTES};

    fn size_of_future<F>(_: impl FnOnce() -> F) -> usize {
        size_of::<F>()
    }

    /// The stride of the chase that a large ring is held against.
    #[test]
    fn a_thread_has_the_size_that_its_limit_assumes() {
        let links = [Link::new()];
        let shared = Shared { tokens: Vec::new(), last: Cell::new(0) };
        let kernel = Kernel::new(&links, protothreads::Fifo::new(), &shared);
        let future = size_of_future(|| member::<Anywhere, _>(kernel.me(0), 0));
        assert_eq!(future + size_of::<Link>() + size_of::<Cell<u32>>(), ASYNC_BYTES);
        assert_eq!(HAND_WRITTEN_BYTES, 12);
    }
}
