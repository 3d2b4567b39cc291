//! A pthread mutex for each thread, and one with a condition variable.

use super::Mailbox;
use std::cell::UnsafeCell;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// A locked pthread mutex for each thread; the thread that puts the token unlocks it, as in 2008.
///
/// The mutex is locked while the mailbox is empty.
pub struct PthreadMutex {
    // Boxed, because a mutex in use must not move.
    empty: Box<UnsafeCell<libc::pthread_mutex_t>>,
    token: AtomicU64,
}

// SAFETY: the mutex is used only through pthread calls, which any thread may make at the same time.
unsafe impl Sync for PthreadMutex {}
// SAFETY: the mutex is used only through pthread calls, and a plain mutex is not bound to the thread that made it.
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
        // SAFETY: the mutex was initialised, stays in its box, and is locked since `settle` or `take`. POSIX leaves the
        // effect undefined when another thread unlocks it; Linux's plain mutex has no owner that would matter.
        unsafe { libc::pthread_mutex_unlock(self.empty.get()) };
        Ok(())
    }

    fn take(&self) -> io::Result<u64> {
        self.lock();
        Ok(self.token.load(Ordering::Relaxed))
    }
}

/// The token, guarded by the mutex.
struct Guarded {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    filled: UnsafeCell<libc::pthread_cond_t>,
    token: UnsafeCell<Option<u64>>,
}

/// A pthread mutex and condition variable for each thread: a handoff with defined behaviour.
///
/// Boxed, because a mutex and a condition variable in use must not move.
pub struct PthreadCondvar(Box<Guarded>);

// SAFETY: the mutex and the condition variable are used only through pthread calls, which any thread may make at the
// same time. The token is used only while the mutex is held.
unsafe impl Sync for PthreadCondvar {}
// SAFETY: both are used only through pthread calls, and neither is bound to the thread that made it.
unsafe impl Send for PthreadCondvar {}

impl Mailbox for PthreadCondvar {
    fn new() -> io::Result<Self> {
        Ok(Self(Box::new(Guarded {
            mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
            filled: UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER),
            token: UnsafeCell::new(None),
        })))
    }

    fn put(&self, token: u64) -> io::Result<()> {
        let Guarded { mutex, filled, token: place } = &*self.0;
        // SAFETY: both were initialised and stay in their box; the token is written while the mutex is held.
        unsafe {
            libc::pthread_mutex_lock(mutex.get());
            *place.get() = Some(token);
            libc::pthread_cond_signal(filled.get());
            libc::pthread_mutex_unlock(mutex.get());
        }
        Ok(())
    }

    fn take(&self) -> io::Result<u64> {
        let Guarded { mutex, filled, token } = &*self.0;
        // SAFETY: both were initialised and stay in their box; the token is read and cleared while the mutex is held,
        // and the wait returns with the mutex held.
        unsafe {
            libc::pthread_mutex_lock(mutex.get());
            let taken = loop {
                if let Some(token) = (*token.get()).take() {
                    break token;
                }
                libc::pthread_cond_wait(filled.get(), mutex.get());
            };
            libc::pthread_mutex_unlock(mutex.get());
            Ok(taken)
        }
    }
}
