//! Synchronisation other than locks.

use crate::model::{Lock, Protected, model, protected, spawn};
use loom::{cell::UnsafeCell, sync::Arc, thread};
use ulocks::{Calock, Condvar, FutexSem, Mcs, NoCount, Once, Private, Semaphore};

impl Lock for FutexSem {
    fn lock(&self) {
        self.acquire();
    }
    fn try_lock(&self) -> bool {
        self.try_acquire()
    }
    fn unlock(&self) {
        self.release();
    }
}

#[test]
fn semaphore_loses_no_unit() {
    model(3, || {
        let semaphore = Arc::new(FutexSem::<Private>::new(0));
        let takers: Vec<_> = (0..2)
            .map(|_| {
                let semaphore = Arc::clone(&semaphore);
                thread::spawn(move || semaphore.acquire())
            })
            .collect();
        semaphore.release();
        semaphore.release();
        takers.into_iter().for_each(|taker| taker.join().unwrap());
        assert_eq!(semaphore.available(), 0);
    });
}

/// The waiter releases the lock and blocks as one step, as far as a notifier that acquires the lock can see.
#[test]
fn condvar_loses_no_notification() {
    model(3, || {
        let shared = protected(Calock::<Private>::new);
        let condvar = Arc::new(Condvar::<Private>::new());
        let waiter = {
            let condvar = Arc::clone(&condvar);
            spawn(&shared, move |shared| {
                shared.lock.lock();
                // SAFETY: this thread holds the lock whenever it reads the number.
                while shared.number.with(|number| unsafe { *number }) == 0 {
                    condvar.wait_with(None, |sleep| {
                        Lock::unlock(&shared.lock);
                        sleep();
                        Lock::lock(&shared.lock);
                    });
                }
                Lock::unlock(&shared.lock);
            })
        };
        shared.add();
        condvar.notify_one();
        waiter.join().unwrap();
    });
}

#[test]
fn once_is_done_once_and_seen() {
    model(3, || {
        let once =
            Arc::new((Once::<Private>::new(), Protected { lock: Mcs::<NoCount>::new(), number: UnsafeCell::new(0) }));
        let doers: Vec<_> = (0..2)
            .map(|_| {
                let once = Arc::clone(&once);
                thread::spawn(move || once.0.call_once(|| once.1.bump()))
            })
            .collect();
        once.0.call_once(|| once.1.bump());
        // SAFETY: no thread writes after the work is done, and it is done here.
        assert_eq!(once.1.number.with(|number| unsafe { *number }), 1);
        doers.into_iter().for_each(|doer| doer.join().unwrap());
    });
}
