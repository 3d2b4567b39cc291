//! The ring of ordinary futures, which do not depend on this crate: they wait and wake by standard wakers.
use std::{
    cell::Cell,
    future::poll_fn,
    pin::Pin,
    task::{Poll, Waker},
};

use super::neighbour::after;
use protothreads::{Link, Report, Runtime, Scheduler};

/// A slot for a token, and the waker of the future that waits for it.
#[derive(Default)]
struct Mailbox {
    token: Cell<Option<u32>>,
    waiter: Cell<Option<Waker>>,
}

impl Mailbox {
    async fn receive(&self) -> u32 {
        poll_fn(|context| match self.token.take() {
            Some(token) => Poll::Ready(token),
            None => {
                self.waiter.set(Some(context.waker().clone()));
                Poll::Pending
            }
        })
        .await
    }

    fn send(&self, token: u32) {
        self.token.set(Some(token));
        if let Some(waiter) = self.waiter.take() {
            waiter.wake();
        }
    }
}

async fn member(mailboxes: &[Mailbox], index: usize, last: &Cell<usize>) {
    loop {
        let token = mailboxes[index].receive().await;
        if token == 0 {
            return last.set(index);
        }
        let next = after(index, mailboxes.len());
        mailboxes[next].send(token - 1);
    }
}

/// Returns the number, from 1, of the thread that got the last token, and the report of the run.
///
/// The other threads wait for wakers that will never be called, so the run ends when no thread can run.
#[inline(never)]
pub fn ring(threads: usize, hops: u32, scheduler: impl Scheduler) -> (usize, Report) {
    let links: Vec<_> = (0..threads).map(|_| Link::new()).collect();
    let mailboxes: Vec<_> = (0..threads).map(|_| Mailbox::default()).collect();
    let last = Cell::new(0);
    let runtime = Runtime::new(&links, scheduler, &());
    let mut members: Pin<Box<[_]>> =
        (0..threads).map(|index| member(&mailboxes, index, &last)).collect::<Box<_>>().into();
    mailboxes[0].send(hops);
    let report = runtime.run_with(members.as_mut(), |_| false);
    (last.get() + 1, report)
}
