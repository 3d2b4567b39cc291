//! Idle workers: one waits for a job with the lock of the receiver, and the others wait for the lock.

use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

fn compute(job: Duration) {
    let end = Instant::now() + job;
    while Instant::now() < end {
        std::hint::spin_loop();
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
    for _ in 0..100 {
        jobs.send(Duration::from_micros(200)).unwrap();
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(jobs);
    workers.into_iter().for_each(|worker| worker.join().unwrap());
}
