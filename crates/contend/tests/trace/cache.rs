//! Threads wait for a mutex of the standard library, whose holder sometimes sleeps.

use std::sync::Mutex;
use std::time::{Duration, Instant};

static CACHE: Mutex<u64> = Mutex::new(0);

#[inline(never)]
fn write_log(count: u64) {
    std::thread::sleep(Duration::from_millis(5));
    std::hint::black_box(count);
}

#[inline(never)]
fn request() {
    let mut count = CACHE.lock().unwrap();
    *count += 1;
    write_log(*count);
}

fn main() {
    let end = Instant::now() + Duration::from_millis(1_200);
    let work = move || {
        while Instant::now() < end {
            request();
        }
    };
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(work)).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
