//! The ring of async threads: straight code.
use std::{cell::Cell, pin::Pin};

use super::neighbour::after;
use protothreads::{Handle, Link, Report, Runtime, Scheduler};

/// The token of a thread.
type Token = Cell<u32>;

/// The shared data of the threads: the index of the thread that got the last token.
type Shared = Cell<usize>;

#[expect(clippy::manual_async_fn, reason = "the compiler keeps the arguments of an async fn twice")]
fn member<S: Scheduler>(mut handle: Handle<'_, Link<Token>, S, Shared>, threads: u32) -> impl Future<Output = ()> {
    async move {
        loop {
            handle.wait().await;
            let token = handle.own().get();
            if token == 0 {
                return handle.shared().set(handle.index());
            }
            let next = after(handle.index(), threads as usize);
            handle.tell(next, |next| next.set(token - 1));
        }
    }
}

fn size_of_future<F>(_: impl FnOnce() -> F) -> usize {
    size_of::<F>()
}

/// Returns the bytes per thread: its future, its link and its token.
pub fn size() -> usize {
    let links = [Link::with(Token::new(0))];
    let shared = Shared::new(0);
    let runtime = Runtime::new(&links, protothreads::Fifo::new(), &shared);
    size_of_future(|| member(runtime.handle(0), 1)) + size_of::<Link<Token>>()
}

/// Returns the number, from 1, of the thread that got the last token, and the report of the run.
#[inline(never)]
pub fn ring(threads: usize, hops: u32, scheduler: impl Scheduler) -> (usize, Report) {
    let links: Vec<_> = (0..threads).map(|_| Link::with(Token::new(hops))).collect();
    let shared = Shared::new(0);
    let runtime = Runtime::new(&links, scheduler, &shared);
    let mut members: Pin<Box<[_]>> =
        (0..threads).map(|index| member(runtime.handle(index), threads as u32)).collect::<Box<_>>().into();
    runtime.signal(0);
    let report = runtime.run(members.as_mut());
    (shared.get() + 1, report)
}
