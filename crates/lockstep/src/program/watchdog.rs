//! Protection against endless waits: a rank that receives nothing from the others for too long reports it and ends.
//!
//! A launcher ends a job of which a rank dies, if it tracks its job. Not all do, and none ends one whose rank hangs. An
//! MPI call that waits for such a rank can only be left by ending the process. The watchdog sleeps: it costs a wake-up
//! a second.

use harness::{Interruption, output};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The number of MPI calls that returned.
static MOVED: AtomicU64 = AtomicU64::new(0);

const LOOK: Duration = Duration::from_secs(1);
/// The exit status with which a shell reports a program that SIGINT ended.
const INTERRUPTED: i32 = 130;

/// Notes that another rank was heard from.
///
/// Only the rank's own thread calls this.
#[inline]
pub fn moved() {
    MOVED.store(MOVED.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

/// Watches this rank until its process ends.
pub fn watch(rank: usize, patience: Duration, interruption: Interruption) -> std::io::Result<()> {
    std::thread::Builder::new().name("watchdog".into()).spawn(move || guard(rank, patience, &interruption))?;
    Ok(())
}

fn guard(rank: usize, patience: Duration, interruption: &Interruption) {
    let (mut seen, mut waited) = (MOVED.load(Ordering::Relaxed), Duration::ZERO);
    loop {
        std::thread::sleep(LOOK);
        if interruption.is_requested() {
            give_up(&format!("rank {rank}: ended by a signal; nothing was written"), INTERRUPTED);
        }
        let now = MOVED.load(Ordering::Relaxed);
        waited = if now == seen { waited + LOOK } else { Duration::ZERO };
        seen = now;
        if waited >= patience {
            give_up(
                &format!("rank {rank}: no message from the other ranks for {patience:?}: one of them died or hangs"),
                1,
            );
        }
    }
}

/// Ends the process without MPI's finalisation, which waits for the others too.
pub fn give_up(text: &str, status: i32) -> ! {
    output::eprint_line(&format!("error: {text}"));
    // SAFETY: `_exit` takes any status, reads no memory of the process and does not return.
    unsafe { libc::_exit(status) }
}
