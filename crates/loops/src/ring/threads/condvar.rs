//! A pthread mutex and condition variable a thread: handing over with nothing undefined.

use super::mailbox::Mailbox;
use std::cell::UnsafeCell;
use std::io;

/// The token, guarded by the mutex.
struct Guarded {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    filled: UnsafeCell<libc::pthread_cond_t>,
    token: UnsafeCell<Option<u64>>,
}

/// In a box, because a mutex and a condition variable that are in use must stay where they are.
pub struct PthreadCondvar(Box<Guarded>);

// SAFETY: the mutex and the condition variable are used through pthread calls alone, which any thread may make at the
// same time, and the token only while the mutex is held.
unsafe impl Sync for PthreadCondvar {}
// SAFETY: as above; neither belongs to the thread that made it.
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
        // which it is again whenever the wait returns.
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
