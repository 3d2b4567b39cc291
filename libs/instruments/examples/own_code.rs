//! Timing of your own lock and function: a spinning word compared with the standard library's mutex, with the ratio.
//!
//! `cargo run --release -p instruments --example own_code`

use instruments::clock::Clock;
use instruments::cpus::{current_cpu, pin_current_thread};
use instruments::statistics::comparison::{RunToRun, compare};
use instruments::timing;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A user-supplied lock.
struct Spin(AtomicBool);

impl Spin {
    fn with(&self, work: impl FnOnce()) {
        while self.0.swap(true, Ordering::Acquire) {
            std::hint::spin_loop();
        }
        work();
        self.0.store(false, Ordering::Release);
    }
}

fn main() -> std::io::Result<()> {
    let (spin, mutex) = (Spin(AtomicBool::new(false)), Mutex::new(()));
    // The ten lines of the measurement.
    pin_current_thread(current_cpu())?;
    let clock = Clock::calibrate(Duration::from_millis(100)).clock;
    let mut own = || spin.with(|| {});
    let mut usual = || drop(mutex.lock());
    let found = timing::of_each(clock, Duration::from_millis(500), &mut [&mut own, &mut usual]);
    for (name, timing) in ["my lock", "std::sync::Mutex"].iter().zip(&found) {
        let ends = timing.ns.interval.expect("25 slices give an interval");
        println!("{name}: {:.2} ns ({:.2} to {:.2})", timing.ns.value, ends.low, ends.high);
    }
    if let Some(ratio) = compare(&found[0].ns, &found[1].ns, RunToRun::NONE) {
        println!(
            "the mutex takes {:.2} times as long ({:.2} to {:.2})",
            ratio.ratio, ratio.interval.low, ratio.interval.high
        );
    }
    Ok(())
}
