//! Nobody waits for ever: a rank that hears nothing of the others for too long says so and ends.
//!
//! A launcher ends a job of which a rank dies, if it knows its job. Not all do, and none ends one whose rank hangs; an
//! MPI call that waits for it cannot be left but with the process. The watchdog sleeps: it costs a wake-up a second.

use harness::{Interruption, output};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Calls of MPI that came back.
static MOVED: AtomicU64 = AtomicU64::new(0);

const LOOK: Duration = Duration::from_secs(1);
/// As a shell tells of a program that SIGINT ended.
const INTERRUPTED: i32 = 130;

/// Says that another rank was heard of. Only the rank's own thread does.
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

/// Ends the process without what MPI would do at its end: that waits for the others too.
pub fn give_up(text: &str, status: i32) -> ! {
    output::eprint_line(&format!("error: {text}"));
    // SAFETY: `_exit` takes any status, touches nothing of the process and does not return.
    unsafe { libc::_exit(status) }
}
