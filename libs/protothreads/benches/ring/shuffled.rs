//! A ring of very many threads whose successors are anywhere in memory.
use std::{
    cell::Cell,
    pin::Pin,
    task::{Poll, ready},
    time::Instant,
};

use protothreads::{Fifo, Handle, Link, Runtime, Scheduler, Slot, Thread, ThreadHandle, run};

/// A hand-written thread that stores its successor.
struct Member {
    token: Cell<u32>,
    next: u32,
}

impl Thread for Member {
    type Shared = Cell<usize>;

    #[inline(always)]
    fn step<S: Scheduler>(&self, handle: &ThreadHandle<'_, Self, S>) -> Poll<()> {
        ready!(handle.poll_wait());
        let token = self.token.get();
        if token == 0 {
            handle.shared().set(handle.index());
            return Poll::Ready(());
        }
        handle.tell(self.next as usize, |next| next.token.set(token - 1));
        handle.wait_again()
    }
}

/// Size of a hand-written thread in bytes.
pub const HAND_WRITTEN: usize = size_of::<Slot<Member>>();

/// Returns the nanoseconds for this number of hops along `order`, including the starts.
#[inline(never)]
pub fn hand_written(order: &[u32], hops: u32) -> f64 {
    let next = successors(order);
    let member = |next: &u32| Slot::new(Member { token: Cell::new(0), next: *next });
    let mut members: Vec<_> = next.iter().map(member).collect();
    members[order[0] as usize] = Slot::with_units(Member { token: Cell::new(hops), next: next[order[0] as usize] }, 1);
    let last = Cell::new(0);
    let start = Instant::now();
    run(&members, Fifo::new(), &last);
    let ns = start.elapsed().as_nanos() as f64;
    assert_eq!(last.get(), order[hops as usize % order.len()] as usize);
    ns
}

/// The token of a thread.
type Token = Cell<u32>;

#[expect(clippy::manual_async_fn, reason = "the compiler keeps the arguments of an async fn twice")]
fn member<S: Scheduler>(mut handle: Handle<'_, Link<Token>, S, Cell<usize>>, next: u32) -> impl Future<Output = ()> {
    async move {
        loop {
            handle.wait().await;
            let token = handle.own().get();
            if token == 0 {
                return handle.shared().set(handle.index());
            }
            handle.tell(next as usize, |next| next.set(token - 1));
        }
    }
}

/// Returns the nanoseconds for this number of hops of async threads along `order`, including the starts.
#[inline(never)]
pub fn asynchronous(order: &[u32], hops: u32) -> f64 {
    let last = Cell::new(0);
    let links: Vec<_> = order.iter().map(|_| Link::with(Token::new(hops))).collect();
    let runtime = Runtime::new(&links, Fifo::new(), &last);
    let next = successors(order).into_iter().enumerate();
    let mut bodies: Pin<Box<[_]>> =
        next.map(|(index, next)| member(runtime.handle(index), next)).collect::<Box<_>>().into();
    runtime.signal(order[0] as usize);
    let start = Instant::now();
    runtime.run_with(bodies.as_mut(), |_| false);
    let ns = start.elapsed().as_nanos() as f64;
    assert_eq!(last.get(), order[hops as usize % order.len()] as usize);
    ns
}

fn successors(order: &[u32]) -> Vec<u32> {
    let mut next = vec![0; order.len()];
    for (at, thread) in order.iter().enumerate() {
        next[*thread as usize] = order[(at + 1) % order.len()];
    }
    next
}
