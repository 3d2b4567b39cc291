//! Threads that end while they hold a lock.

use std::thread;
use ulocks::{Inherited, Once, Private, Robust};

#[test]
fn thread_ending_with_a_robust_lock_is_reported_once() {
    let lock = Robust::<Private>::new();
    for _ in 0..20 {
        thread::scope(|scope| {
            scope.spawn(|| {
                let _ = lock.lock();
            });
        });
        let results: Vec<Inherited> = thread::scope(|scope| {
            let heirs: Vec<_> = (0..3)
                .map(|_| {
                    scope.spawn(|| {
                        let inherited = lock.lock();
                        lock.mark_consistent();
                        // SAFETY: this thread acquired the lock two lines before.
                        unsafe { lock.unlock() };
                        inherited
                    })
                })
                .collect();
            heirs.into_iter().map(|heir| heir.join().unwrap()).collect()
        });
        assert_eq!(results.iter().filter(|&&i| i == Inherited::OwnerDied).count(), 1, "{results:?}");
    }
}

#[test]
fn panic_leaves_a_once_undone() {
    let once = Once::<Private>::new();
    let panics = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| once.call_once(|| panic!("on purpose"))));
    assert!(panics.is_err() && !once.is_done());
    once.call_once(|| ());
    assert!(once.is_done());
}
