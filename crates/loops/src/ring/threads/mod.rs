//! Kernel threads in a ring: each hop blocks one and wakes another. Each family of mechanisms has a file; the simplest
//! is here: [`Yield`].

mod descriptors;
mod futex;
mod park;
mod pthread;

use super::{RingResult, RingSpec};
pub use descriptors::{Eventfd, Pipe, Socketpair};
pub use futex::Futex;
use instruments::cpus::pin_current_thread;
pub use park::Park;
pub use pthread::{PthreadCondvar, PthreadMutex};
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::{Builder, Scope};
use std::time::{Duration, Instant};

/// The value that is passed around at the end.
///
/// It is below the greatest number, so that a mailbox may add one.
const STOP: u64 = u64::MAX >> 1;
/// The size of a stack: deep enough for `take`, and small enough for ten thousand.
const STACK: usize = 64 * 1024;

struct Shared<'a, M> {
    spec: &'a RingSpec,
    mailboxes: Vec<M>,
    settled: AtomicUsize,
    last: OnceLock<(usize, Instant)>,
}

/// Passes the token around through mailboxes of one kind.
pub fn ring<M: Mailbox>(spec: &RingSpec) -> io::Result<RingResult> {
    let mailboxes = (0..spec.threads).map(|_| M::new()).collect::<io::Result<_>>()?;
    let shared = Shared { spec, mailboxes, settled: AtomicUsize::new(0), last: OnceLock::new() };
    let began = std::thread::scope(|scope| {
        let started = start(scope, &shared);
        let count = *started.as_ref().unwrap_or_else(|(count, _)| count);
        while shared.settled.load(Ordering::Acquire) < count {
            std::thread::sleep(Duration::from_micros(50));
        }
        let began = Instant::now();
        if count > 0 {
            shared.mailboxes[0].put(if started.is_ok() { spec.hops } else { STOP })?;
        }
        started.map(|_| began).map_err(|(_, error)| error)
    })?;
    let (place, ended) = shared.last.get().ok_or_else(|| io::Error::other("the token was lost"))?;
    Ok(RingResult { answer: place + 1, hops_ns: ended.duration_since(began).as_nanos() as f64, wasted_polls: None })
}

/// Starts the threads; if fewer could be started, returns their number and the error.
fn start<'s, M: Mailbox>(scope: &'s Scope<'s, '_>, shared: &'s Shared<'_, M>) -> Result<usize, (usize, io::Error)> {
    for place in 0..shared.spec.threads {
        let builder = Builder::new().stack_size(STACK);
        builder.spawn_scoped(scope, move || member(shared, place)).map_err(|error| (place, error))?;
    }
    Ok(shared.spec.threads)
}

/// Runs a thread to its end.
///
/// An error ends the ring: without a last token there is no answer.
fn member<M: Mailbox>(shared: &Shared<M>, place: usize) {
    let (own, next) = (&shared.mailboxes[place], &shared.mailboxes[(place + 1) % shared.mailboxes.len()]);
    let cpus = &shared.spec.cpus;
    let pinned = cpus.get(place % cpus.len().max(1)).map_or(Ok(()), |&cpu| pin_current_thread(cpu));
    own.settle();
    shared.settled.fetch_add(1, Ordering::Release);
    let _ = pinned.and_then(|()| pass_on(shared, place, own, next)).or_else(|_| next.put(STOP));
}

fn pass_on<M: Mailbox>(shared: &Shared<M>, place: usize, own: &M, next: &M) -> io::Result<()> {
    loop {
        match own.take()? {
            STOP => return next.put(STOP),
            0 => {
                let _ = shared.last.set((place, Instant::now()));
                return next.put(STOP);
            }
            token => next.put(token - 1)?,
        }
    }
}

/// A slot for one token, at which one thread waits.
///
/// It is empty whenever a token is put.
pub trait Mailbox: Sync + Sized {
    /// Creates an empty one; descriptors can run out.
    fn new() -> io::Result<Self>;

    /// Prepares the mailbox on the thread that will take from it, before any thread puts.
    fn settle(&self) {}

    fn put(&self, token: u64) -> io::Result<()>;

    /// Waits for a token.
    fn take(&self) -> io::Result<u64>;
}

const EMPTY: u64 = u64::MAX;

/// A mailbox without blocking: a thread that has no token yields the CPU and checks again.
pub struct Yield(AtomicU64);

impl Mailbox for Yield {
    fn new() -> io::Result<Self> {
        Ok(Self(AtomicU64::new(EMPTY)))
    }

    fn put(&self, token: u64) -> io::Result<()> {
        self.0.store(token, Ordering::Release);
        Ok(())
    }

    fn take(&self) -> io::Result<u64> {
        while self.0.load(Ordering::Relaxed) == EMPTY {
            rustix::thread::sched_yield();
        }
        Ok(self.0.swap(EMPTY, Ordering::Acquire))
    }
}
