//! tokio, the reference among Rust's runtimes: its `Notify` and its channel, on one worker and on several.

use super::{RingResult, RingSpec};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Notify, mpsc};

/// Returns a runtime on the calling thread.
pub fn current_thread() -> io::Result<Runtime> {
    Builder::new_current_thread().build()
}

/// Returns a runtime with a worker for each CPU that may be used.
pub fn multi_thread() -> io::Result<Runtime> {
    Builder::new_multi_thread().build()
}

/// The thread that got the last token, and the time.
#[derive(Default)]
struct End {
    seen: OnceLock<(usize, Instant)>,
    reached: Notify,
}

impl End {
    fn reach(&self, place: usize) {
        let _ = self.seen.set((place, Instant::now()));
        self.reached.notify_one();
    }

    async fn result(&self, began: Instant) -> io::Result<RingResult> {
        self.reached.notified().await;
        let (place, ended) = self.seen.get().ok_or_else(|| io::Error::other("the token was lost"))?;
        let hops_ns = ended.duration_since(began).as_nanos() as f64;
        Ok(RingResult { answer: place + 1, hops_ns, wasted_polls: None })
    }
}

/// A slot for one token, and the task that waits for it.
#[derive(Default)]
struct Mailbox {
    token: AtomicU64,
    filled: Notify,
}

impl Mailbox {
    fn put(&self, token: u64) {
        // `Notify` orders this before the waiter's next check.
        self.token.store(token, Ordering::Relaxed);
        self.filled.notify_one();
    }
}

/// Runs a ring with a `Notify` for each thread.
pub fn notify(spec: &RingSpec, runtime: io::Result<Runtime>) -> io::Result<RingResult> {
    let mailboxes: Arc<Vec<Mailbox>> = Arc::new((0..spec.threads).map(|_| Mailbox::default()).collect());
    let end = Arc::new(End::default());
    runtime?.block_on(async {
        for place in 0..spec.threads {
            let (mailboxes, end) = (Arc::clone(&mailboxes), Arc::clone(&end));
            tokio::spawn(async move {
                let next = (place + 1) % mailboxes.len();
                loop {
                    mailboxes[place].filled.notified().await;
                    match mailboxes[place].token.load(Ordering::Relaxed) {
                        0 => return end.reach(place),
                        token => mailboxes[next].put(token - 1),
                    }
                }
            });
        }
        let began = Instant::now();
        mailboxes[0].put(spec.hops);
        end.result(began).await
    })
}

/// Runs a ring with a channel for one token before each thread.
pub fn channel(spec: &RingSpec, runtime: io::Result<Runtime>) -> io::Result<RingResult> {
    let end = Arc::new(End::default());
    runtime?.block_on(async {
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..spec.threads).map(|_| mpsc::channel::<u64>(1)).unzip();
        for (place, mut receiver) in receivers.into_iter().enumerate() {
            let (next, end) = (senders[(place + 1) % spec.threads].clone(), Arc::clone(&end));
            tokio::spawn(async move {
                while let Some(token) = receiver.recv().await {
                    match token {
                        0 => return end.reach(place),
                        // It fails when the ring is taken down.
                        token => drop(next.send(token - 1).await),
                    }
                }
            });
        }
        let began = Instant::now();
        senders[0].send(spec.hops).await.map_err(io::Error::other)?;
        end.result(began).await
    })
}
