//! Four threads acquire a mutex of the standard library, or of parking_lot (`--cfg parking_lot`), and sleep with it. A line
//! every 100 ms has the iterations and the time that all threads have waited, in nanoseconds; it ends with its input.

#[cfg(parking_lot)]
use parking_lot::Mutex;
#[cfg(not(parking_lot))]
use std::sync::Mutex;
use std::io::Read;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

static CACHE: Mutex<u64> = Mutex::new(0);
static ITERATIONS: AtomicU64 = AtomicU64::new(0);
static WAITED_NS: AtomicU64 = AtomicU64::new(0);

#[inline(never)]
fn write_log(count: u64) {
    std::thread::sleep(Duration::from_millis(2));
    std::hint::black_box(count);
}

#[inline(never)]
fn request() {
    let began = Instant::now();
    #[cfg(parking_lot)]
    let mut count = CACHE.lock();
    #[cfg(not(parking_lot))]
    let mut count = CACHE.lock().unwrap();
    WAITED_NS.fetch_add(began.elapsed().as_nanos() as u64, Relaxed);
    *count += 1;
    write_log(*count);
}

fn main() {
    for _ in 0..4 {
        std::thread::spawn(|| {
            loop {
                request();
                ITERATIONS.fetch_add(1, Relaxed);
            }
        });
    }
    std::thread::spawn(|| {
        loop {
            std::thread::sleep(Duration::from_millis(100));
            println!("{} {}", ITERATIONS.load(Relaxed), WAITED_NS.load(Relaxed));
        }
    });
    let _ = std::io::stdin().read(&mut [0]);
}
