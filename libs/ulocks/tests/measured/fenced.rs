//! The plain stores of the adaptive lock, with real membarriers.

use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::Duration,
};
use ulocks::{Adaptive, Count, Counted, Private, lock_api::Mutex};

/// Plain stores work with real membarriers, which the model cannot show.
///
/// Short critical sections of few threads, with pauses, make the lock alternate between plain-held and released by
/// compare-and-swap.
#[test]
fn adaptive_between_plain_and_fenced() {
    let lock = Mutex::from_raw(Adaptive::<Private, Counted>::new(), 0u64);
    let stop = AtomicBool::new(false);
    let loops: u64 = thread::scope(|scope| {
        let workers: Vec<_> = (0..3u64)
            .map(|worker| {
                let (lock, stop) = (&lock, &stop);
                scope.spawn(move || {
                    let mut loops = 0;
                    while !stop.load(Relaxed) {
                        *lock.lock() += 1;
                        loops += 1;
                        if loops % (97 + worker) == 0 {
                            let _held = lock.lock();
                            thread::sleep(Duration::from_micros(50));
                        }
                    }
                    loops
                })
            })
            .collect();
        thread::sleep(Duration::from_secs(2));
        stop.store(true, Relaxed);
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    // SAFETY: only the counters are read.
    let counts = unsafe { lock.raw() }.counts().snapshot();
    assert!(counts.slept > 0, "the test must make threads sleep: {counts:?}");
    assert_eq!(lock.into_inner(), loops);
}
