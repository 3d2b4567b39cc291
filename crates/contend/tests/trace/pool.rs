//! Idle workers: one waits for a job with the lock of the receiver, and the others wait for the lock. With an argument, other
//! threads also wait for a log whose holder sleeps.

use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

static LOG: Mutex<u64> = Mutex::new(0);

#[inline(never)]
fn write_log() {
    let end = Instant::now() + Duration::from_secs(1);
    while Instant::now() < end {
        let mut count = LOG.lock().unwrap();
        *count += 1;
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn compute(job: Duration) {
    let end = Instant::now() + job;
    while Instant::now() < end {
        std::hint::black_box(end);
    }
}

fn main() {
    let (jobs, receiver) = mpsc::channel::<Duration>();
    let receiver = Arc::new(Mutex::new(receiver));
    let worker = || {
        let receiver = Arc::clone(&receiver);
        std::thread::spawn(move || {
            loop {
                let job = receiver.lock().unwrap().recv();
                let Ok(job) = job else { break };
                compute(job);
            }
        })
    };
    let workers: Vec<_> = (0..3).map(|_| worker()).collect();
    let loggers = if std::env::args().count() > 1 { 3 } else { 0 };
    let loggers: Vec<_> = (0..loggers).map(|_| std::thread::spawn(write_log)).collect();
    for _ in 0..100 {
        jobs.send(Duration::from_micros(200)).unwrap();
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(jobs);
    workers.into_iter().chain(loggers).for_each(|worker| worker.join().unwrap());
}
