//! The reports of the running kernel agree with the actions of the tests.

mod flag;
mod privilege;
mod recorder;
mod rival;

use instruments::clock::Clock;
use instruments::cpus;
use instruments::evidence::{Attribution, EntryExitOverhead, Stretch, Timeline, attribute};
use instruments::gaps::Watch;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const RIVAL: &str = "rival";

/// Serialises the tests: they share a CPU, and the memory that their user may lock.
fn serialised() -> MutexGuard<'static, ()> {
    static SERIAL: Mutex<()> = Mutex::new(());
    SERIAL.lock().unwrap_or_else(PoisonError::into_inner)
}

fn clock() -> Clock {
    Clock::calibrate(Duration::from_millis(20)).clock
}

/// Runs `measure` on the CPU of a thread that never sleeps, and passes it the CPU and that thread's id.
fn with_competitor<T>(measure: impl FnOnce(usize, u32) -> T) -> T {
    let cpu = cpus::allowed().unwrap().first().unwrap();
    let (stop, rival) = (AtomicBool::new(false), AtomicU32::new(0));
    thread::scope(|scope| {
        let spin = || {
            cpus::pin_current_thread(cpu).unwrap();
            rival.store(rustix::thread::gettid().as_raw_nonzero().get() as u32, Ordering::Release);
            let latest = Instant::now() + Duration::from_secs(20);
            while !stop.load(Ordering::Relaxed) && Instant::now() < latest {
                spin_loop();
            }
        };
        thread::Builder::new().name(RIVAL.into()).spawn_scoped(scope, spin).unwrap();
        cpus::pin_current_thread(cpu).unwrap();
        while rival.load(Ordering::Acquire) == 0 {
            thread::yield_now();
        }
        let result = measure(cpu, rival.load(Ordering::Acquire));
        stop.store(true, Ordering::Relaxed);
        result
    })
}

fn attributed(timeline: &Timeline, watch: &Watch) -> Attribution {
    let stretch = Stretch::of_watch(timeline, watch);
    let mut overhead = EntryExitOverhead::default();
    overhead.learn(&stretch);
    attribute(&stretch, &overhead)
}

/// Returns the number of switches away from the calling thread so far: all, or the involuntary ones.
fn switches(of: &[&str]) -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let count = |key: &str| status.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok());
    of.iter().filter_map(|key| count(key)).sum()
}

const VOLUNTARY: &str = "voluntary_ctxt_switches:";
const INVOLUNTARY: &str = "nonvoluntary_ctxt_switches:";
