//! A locked pthread mutex a thread; whoever leaves the token unlocks it, as in 2008.

use super::mailbox::Mailbox;
use std::cell::UnsafeCell;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// The mutex is locked while the mailbox is empty.
pub struct PthreadMutex {
    // In a box, because a mutex that is in use must stay where it is.
    empty: Box<UnsafeCell<libc::pthread_mutex_t>>,
    token: AtomicU64,
}

// SAFETY: the mutex is used through pthread calls alone, which any thread may make at the same time.
unsafe impl Sync for PthreadMutex {}
// SAFETY: as above; a plain mutex does not belong to the thread that made it.
unsafe impl Send for PthreadMutex {}

impl PthreadMutex {
    fn lock(&self) {
        // SAFETY: the mutex was initialised and stays in its box.
        unsafe { libc::pthread_mutex_lock(self.empty.get()) };
    }
}

impl Mailbox for PthreadMutex {
    fn new() -> io::Result<Self> {
        let empty = Box::new(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));
        Ok(Self { empty, token: AtomicU64::new(0) })
    }

    fn settle(&self) {
        self.lock();
    }

    fn put(&self, token: u64) -> io::Result<()> {
        self.token.store(token, Ordering::Relaxed);
        // SAFETY: the mutex was initialised, stays in its box, and is locked since `settle` or `take`. POSIX leaves
        // open what happens when another thread unlocks it; Linux's plain mutex keeps no owner that would matter.
        unsafe { libc::pthread_mutex_unlock(self.empty.get()) };
        Ok(())
    }

    fn take(&self) -> io::Result<u64> {
        self.lock();
        Ok(self.token.load(Ordering::Relaxed))
    }
}
