//! A ring of async threads: straight-line code.

use super::Successor;
use super::{Journey, token_for};
use crate::ring::{RingResult, RingSpec};
use protothreads::{Handle, Link, Runtime, Scheduler};
use std::cell::Cell;
use std::io;
use std::pin::Pin;

/// A thread's token.
type Token = Cell<u32>;

#[expect(clippy::manual_async_fn, reason = "the compiler keeps the arguments of an async fn twice")]
fn member<N: Successor, S: Scheduler>(
    mut handle: Handle<'_, Link<Token>, S, Journey>,
    kept: N::Kept,
) -> impl Future<Output = ()> {
    async move {
        loop {
            handle.wait().await;
            let token = handle.own().get();
            if token == 0 {
                handle.shared().end(handle.index());
                continue;
            }
            let next = N::next(handle.index(), handle.thread_count(), kept);
            handle.tell(next, |next| next.set(token - 1));
        }
    }
}

/// Passes the token around.
#[inline(never)]
pub fn ring<N: Successor>(spec: &RingSpec, scheduler: impl Scheduler) -> io::Result<RingResult> {
    let token = token_for(spec.hops)?;
    let links: Vec<_> = (0..spec.threads).map(|_| Link::with(Token::new(token))).collect();
    let journey = Journey::default();
    let runtime = Runtime::new(&links, scheduler, &journey);
    let kept = N::kept(spec).enumerate();
    let mut members: Pin<Box<[_]>> =
        kept.map(|(place, kept)| member::<N, _>(runtime.handle(place), kept)).collect::<Box<_>>().into();
    let report = runtime.run_with(members.as_mut(), |runtime| journey.idle(|| runtime.signal(0)));
    journey.result::<N>(spec, report)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::protothreads::{ASYNC_BYTES, Anywhere, Forward, HAND_WRITTEN_BYTES};

    fn size_of_future<F>(_: impl FnOnce() -> F) -> usize {
        size_of::<F>()
    }

    /// The thread size is the stride of the chase that a large ring is compared with.
    #[test]
    fn a_thread_has_the_size_that_its_limit_assumes() {
        let links = [Link::with(Token::new(0))];
        let journey = Journey::default();
        let runtime = Runtime::new(&links, protothreads::Fifo::new(), &journey);
        let link_bytes = size_of::<Link<Token>>();
        assert_eq!(size_of_future(|| member::<Anywhere, _>(runtime.handle(0), 0)) + link_bytes, ASYNC_BYTES);
        // Without a successor it is 36 bytes, and a hand-written one 8.
        assert!(size_of_future(|| member::<Forward, _>(runtime.handle(0), ())) + link_bytes <= 36);
        assert_eq!(HAND_WRITTEN_BYTES, 12);
    }
}
