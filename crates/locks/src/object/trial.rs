//! The trial of a shared object in a separate process, before it may crash or block this one. Part of the trial is
//! whether the lock excludes: threads count under it, and no count may be lost.

use super::lock::{Exports, open};
use super::watch::signal_name;
use instruments::shared_memory::SharedArray;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, waitpid};
use std::cell::UnsafeCell;
use std::ffi::{OsStr, c_void};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The time limit of a trial: nothing in it takes nearly as long.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(2);
const FAILED: i32 = 1;

/// The steps of the trial, in words that a sentence about a crash or a wait begins with.
const STEPS: [&str; 7] = [
    "loading it",
    "contend_lock_init",
    "contend_lock_acquire of an uncontended lock",
    "contend_lock_release",
    "a lock contended by four threads",
    "contend_lock_destroy",
    "unloading it",
];

/// Tries the object. The caller must have no other threads, as for any fork.
pub fn try_out(path: &OsStr) -> Result<(), String> {
    let refused = |error: &dyn std::fmt::Display| format!("cannot run the check: {error}");
    let step = SharedArray::from_fn(1, |_| Ok(AtomicUsize::new(0))).map_err(|error| refused(&error))?;
    let (reader, writer) = rustix::pipe::pipe().map_err(|error| refused(&error))?;
    let parent = std::process::id();
    // SAFETY: the caller is the only thread, so the child's copy of the process is whole; it leaves with `_exit`.
    match unsafe { libc::fork() } {
        -1 => Err(refused(&io::Error::last_os_error())),
        0 => {
            drop(reader);
            let status = child(parent, path, &step[0], writer);
            // SAFETY: `_exit` ends the process and touches nothing.
            unsafe { libc::_exit(status) }
        }
        pid => {
            drop(writer);
            let child = Child(Pid::from_raw(pid).ok_or_else(|| refused(&"no process id"))?);
            child.verdict(&step[0], reader)
        }
    }
}

/// Runs the child's whole life; returns its exit status.
fn child(parent: u32, path: &OsStr, step: &AtomicUsize, writer: OwnedFd) -> i32 {
    let dies_with_parent = rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).is_ok();
    if !dies_with_parent || std::os::unix::process::parent_id() != parent {
        return 0;
    }
    // A crash is expected: no core is written, and the child's output belongs to no record.
    let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
    let _ = rustix::process::setrlimit(rustix::process::Resource::Core, none);
    let _ = rustix::stdio::dup2_stdout(rustix::stdio::stderr());
    match perform(path, step) {
        Ok(()) => 0,
        Err(reason) => {
            let _ = File::from(writer).write_all(reason.as_bytes());
            FAILED
        }
    }
}

fn perform(path: &OsStr, step: &AtomicUsize) -> Result<(), String> {
    let at = |place| step.store(place, Ordering::Relaxed);
    let exports = open(path)?;
    let Exports { functions, size } = exports;
    let mut memory = Memory::of(size);
    let lock = memory.address();
    at(1);
    // SAFETY: the memory is zeroed, aligned and large enough; here and below, the order is that of contend_lock.h.
    match unsafe { (functions.init)(lock) } {
        0 => {}
        error => return Err(format!("contend_lock_init failed: {}", io::Error::from_raw_os_error(error))),
    }
    // Twice: a release that does not release fails in the second.
    for _ in 0..2 {
        at(2);
        // SAFETY: the lock is made, and free.
        unsafe { (functions.acquire)(lock) };
        at(3);
        // SAFETY: this thread has the lock.
        unsafe { (functions.release)(lock) };
    }
    at(4);
    let (lost, counted) = lost_counts(&exports, &memory);
    if lost > 0 {
        return Err(format!(
            "no mutual exclusion: {THREADS} threads counted to {counted} under the lock, and {lost} increments were lost"
        ));
    }
    at(5);
    // SAFETY: the lock is free and no thread uses it any more.
    unsafe { (functions.destroy)(lock) };
    if !memory.is_kept(size) {
        return Err(format!("the lock writes beyond its contend_lock_size of {size} bytes"));
    }
    at(6);
    Ok(())
}

/// A child that has not been waited for. Dropping kills it.
struct Child(Pid);

impl Child {
    fn verdict(&self, step: &AtomicUsize, reader: OwnedFd) -> Result<(), String> {
        let began = Instant::now();
        let at = || STEPS[step.load(Ordering::Relaxed).min(STEPS.len() - 1)];
        loop {
            match waitpid(Some(self.0), WaitOptions::NOHANG) {
                Ok(None) if began.elapsed() > PATIENCE => {
                    return Err(format!("the lock blocks: {} took more than {} s", at(), PATIENCE.as_secs()));
                }
                Ok(None) => std::thread::sleep(LOOK),
                Ok(Some((_, status))) => return outcome(status, at(), reader),
                Err(error) => return Err(format!("cannot run the check: {error}")),
            }
        }
    }
}

fn outcome(status: WaitStatus, at: &str, reader: OwnedFd) -> Result<(), String> {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(0), _) if at == STEPS[STEPS.len() - 1] => Ok(()),
        (Some(FAILED), _) => {
            let mut reason = String::new();
            let read = File::from(reader).read_to_string(&mut reason);
            Err(if read.is_ok() && !reason.is_empty() {
                reason
            } else {
                format!("the lock terminates the process in {at}")
            })
        }
        (_, Some(signal)) => Err(format!("the lock crashes: {at} ended with {}", signal_name(signal))),
        _ => Err(format!("the lock terminates the process in {at}")),
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // A child that was waited for is gone, and the call fails.
        let _ = kill_process(self.0, Signal::KILL);
        let _ = waitpid(Some(self.0), WaitOptions::empty());
    }
}

/// The number of threads: more than there are CPUs on a small machine, so that some wait while a holder is descheduled.
const THREADS: usize = 4;
const LENGTH: Duration = Duration::from_millis(200);
/// The number of iterations after which the holder yields the CPU: on one CPU no thread would meet it otherwise.
const YIELDS_EVERY: u64 = 64;

/// The memory of the lock, and the bytes behind it that no thread may write.
#[repr(align(128))]
struct Memory(UnsafeCell<[u8; MEMORY_BYTES]>);

const MEMORY_BYTES: usize = 2 * super::lock::MOST_BYTES;
const UNTOUCHED: u8 = 0xA5;

// SAFETY: the lock's own functions alone touch it while threads use it.
unsafe impl Sync for Memory {}

impl Memory {
    pub fn of(size: usize) -> Box<Self> {
        let mut bytes = [UNTOUCHED; MEMORY_BYTES];
        bytes[..size].fill(0);
        Box::new(Self(UnsafeCell::new(bytes)))
    }

    pub fn address(&self) -> *mut c_void {
        self.0.get().cast()
    }

    /// Returns whether nothing beyond the lock's size was written.
    pub fn is_kept(&mut self, size: usize) -> bool {
        self.0.get_mut()[size..].iter().all(|&byte| byte == UNTOUCHED)
    }
}

/// Returns the number of lost counts, and the number of all.
fn lost_counts(exports: &Exports, memory: &Memory) -> (u64, u64) {
    // The loads and stores are ordered by the lock alone.
    let counter = AtomicU64::new(0);
    let until = Instant::now() + LENGTH;
    let count = || {
        let mut rounds = 0_u64;
        while Instant::now() < until {
            // SAFETY: the lock was made and not ended, and this thread does not have it.
            unsafe { (exports.functions.acquire)(memory.address()) };
            let seen = counter.load(Ordering::Relaxed);
            match rounds.is_multiple_of(YIELDS_EVERY) {
                true => std::thread::yield_now(),
                false => (0..20).for_each(|_| std::hint::spin_loop()),
            }
            counter.store(seen + 1, Ordering::Relaxed);
            // SAFETY: this thread has the lock.
            unsafe { (exports.functions.release)(memory.address()) };
            rounds += 1;
        }
        rounds
    };
    let counted: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(count)).collect();
        threads.into_iter().map(|thread| thread.join().expect("counting does not panic")).sum()
    });
    (counted - counter.load(Ordering::Relaxed).min(counted), counted)
}
