//! The open connections. Their number is limited: one more closes the one that has been idle for longest.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

#[derive(Debug)]
pub struct Connections {
    most: usize,
    began: Instant,
    next: AtomicU64,
    /// The connections by number: the oldest first.
    open: Mutex<BTreeMap<u64, Arc<Inner>>>,
    cut: AtomicU64,
}

/// A slot among the connections, until it is dropped.
#[derive(Debug)]
pub struct Connection {
    all: Arc<Connections>,
    number: u64,
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// The number of requests that are being answered: one at a time, except for pipelined ones.
    answering: AtomicUsize,
    /// The time since which it is in this state, in milliseconds.
    since_ms: AtomicU64,
    /// The number of its answers without an end.
    listens: AtomicUsize,
    cut: Notify,
}

/// A request that is being answered, until the answer has been read.
pub struct Answering(Arc<Inner>);

impl Connections {
    pub fn new(most: usize) -> Self {
        Self { most, began: Instant::now(), next: AtomicU64::new(0), open: Mutex::default(), cut: AtomicU64::new(0) }
    }

    pub fn most(&self) -> usize {
        self.most
    }

    pub fn open(&self) -> usize {
        self.table().len()
    }

    /// Returns the number of connections that were closed.
    pub fn cut(&self) -> u64 {
        self.cut.load(Ordering::Relaxed)
    }

    /// Enters one more; `None` if all others are being answered.
    pub fn enter(all: &Arc<Self>) -> Option<Arc<Connection>> {
        let inner = Arc::new(Inner::default());
        let number = all.next.fetch_add(1, Ordering::Relaxed);
        let mut table = all.table();
        if table.len() >= all.most {
            let idle = table.iter().find(|(_, one)| one.answering.load(Ordering::Relaxed) == 0);
            all.cut.fetch_add(1, Ordering::Relaxed);
            // Its slot is free now, although its task takes a moment to notice.
            let (number, one) = idle.map(|(number, one)| (*number, Arc::clone(one)))?;
            table.remove(&number);
            one.cut.notify_one();
        }
        table.insert(number, Arc::clone(&inner));
        drop(table);
        Some(Arc::new(Connection { all: Arc::clone(all), number, inner }))
    }

    /// Closes the connections whose answer is not read.
    pub fn cut_those_older_than(&self, age: Duration) {
        let now = self.now_ms();
        for one in self.table().values() {
            let is_old = now.saturating_sub(one.since_ms.load(Ordering::Relaxed)) > age.as_millis() as u64;
            let has_an_end = one.listens.load(Ordering::Relaxed) == 0;
            if is_old && has_an_end && one.answering.load(Ordering::Relaxed) > 0 {
                self.cut.fetch_add(1, Ordering::Relaxed);
                one.cut.notify_one();
            }
        }
    }

    /// Closes the idle connections.
    pub fn cut_idle(&self) {
        for one in self.table().values().filter(|one| one.answering.load(Ordering::Relaxed) == 0) {
            one.cut.notify_one();
        }
    }

    fn now_ms(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }

    fn table(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Inner>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    /// Waits until the connection is to be closed.
    pub async fn is_cut(&self) {
        self.inner.cut.notified().await;
    }

    /// Notes that a request has arrived.
    pub fn answering(&self) -> Answering {
        self.inner.since_ms.store(self.all.now_ms(), Ordering::Relaxed);
        self.inner.answering.fetch_add(1, Ordering::Relaxed);
        Answering(Arc::clone(&self.inner))
    }
}

impl Answering {
    /// Notes that its answer has no end.
    pub fn listens(&self) {
        self.0.listens.store(1, Ordering::Relaxed);
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.answering.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.all.table().remove(&self.number);
    }
}
