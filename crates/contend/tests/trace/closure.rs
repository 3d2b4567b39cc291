//! Threads whose closures sleep with a mutex of the standard library. Without debugging information, an optimised closure
//! has no name.

use std::sync::Mutex;
use std::time::{Duration, Instant};

fn main() {
    let (end, mutex) = (Instant::now() + Duration::from_millis(1_200), &Mutex::new(0_u64));
    let work = move || {
        while Instant::now() < end {
            let mut count = mutex.lock().unwrap();
            std::thread::sleep(Duration::from_millis(5));
            *count += 1;
        }
    };
    std::thread::scope(|scope| (0..3).for_each(|_| drop(scope.spawn(work))));
}
