//! A ring of ordinary futures, which do not depend on protothreads: they wait and wake by standard wakers.

use super::{Forward, Successor};
use super::{Journey, token_for};
use crate::ring::{RingResult, RingSpec};
use protothreads::{Link, Runtime, Scheduler};
use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Poll, Waker};

/// A slot for a token, and the waker of the future that waits for it.
#[derive(Default)]
struct Mailbox {
    token: Cell<Option<u32>>,
    waiter: Cell<Option<Waker>>,
}

impl Mailbox {
    async fn take(&self) -> u32 {
        poll_fn(|context| match self.token.take() {
            Some(token) => Poll::Ready(token),
            None => {
                self.waiter.set(Some(context.waker().clone()));
                Poll::Pending
            }
        })
        .await
    }

    fn put(&self, token: u32) {
        self.token.set(Some(token));
        if let Some(waiter) = self.waiter.take() {
            waiter.wake();
        }
    }
}

async fn member(mailboxes: &[Mailbox], place: usize, journey: &Journey) {
    loop {
        let token = mailboxes[place].take().await;
        if token == 0 {
            journey.end(place);
            continue;
        }
        mailboxes[Forward::next(place, mailboxes.len(), ())].put(token - 1);
    }
}

/// Passes the token around.
///
/// The others wait for wakers that are never called, so the run ends when no future can run.
#[inline(never)]
pub fn ring(spec: &RingSpec, scheduler: impl Scheduler) -> io::Result<RingResult> {
    let token = token_for(spec.hops)?;
    let links: Vec<_> = (0..spec.threads).map(|_| Link::new()).collect();
    let mailboxes: Vec<_> = (0..spec.threads).map(|_| Mailbox::default()).collect();
    let journey = Journey::default();
    let runtime = Runtime::new(&links, scheduler, &());
    let mut members: Pin<Box<[_]>> =
        (0..spec.threads).map(|place| member(&mailboxes, place, &journey)).collect::<Box<_>>().into();
    let report = runtime.run_with(members.as_mut(), |_| journey.idle(|| mailboxes[0].put(token)));
    journey.result::<Forward>(spec, report)
}
