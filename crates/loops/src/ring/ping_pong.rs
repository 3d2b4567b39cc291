//! A cache line that moves back and forth between two CPUs: the speed of a transfer.

use super::{RingResult, RingSpec};
use crossbeam_utils::CachePadded;
use instruments::cpus::pin_current_thread;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The number of hops left, on a separate line (two, because CPUs fetch them in pairs).
type Line = CachePadded<AtomicU64>;

const NOT_YET: u64 = u64::MAX;
/// A player could not move to its CPU: the other must not wait for it.
const CALLED_OFF: u64 = u64::MAX - 1;

/// Lets two threads count down alternately.
pub fn ring(spec: &RingSpec) -> io::Result<RingResult> {
    let line = Line::new(AtomicU64::new(NOT_YET));
    let play = |player: usize| {
        let pinned = spec.cpus.get(player).map_or(Ok(()), |&cpu| pin_current_thread(cpu));
        if pinned.is_err() {
            line.store(CALLED_OFF, Ordering::Relaxed);
        }
        let last = count_down(&line, spec.hops, player as u64);
        pinned.map(|()| last)
    };
    std::thread::scope(|scope| {
        let first = scope.spawn(|| play(0));
        let other = scope.spawn(|| play(1));
        let began = Instant::now();
        // It fails if the game was called off.
        let _ = line.compare_exchange(NOT_YET, spec.hops, Ordering::Relaxed, Ordering::Relaxed);
        let ends = [first, other].map(|player| player.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        let [first, second]: [io::Result<bool>; 2] = ends;
        let hops_ns = began.elapsed().as_nanos() as f64;
        // Both results are examined, since neither player may have got the last token.
        let answer = match (first?, second?) {
            (true, false) => 1,
            (false, true) => 2,
            _ => return Err(io::Error::other("the line was not with exactly one of the two")),
        };
        Ok(RingResult { answer, hops_ns, wasted_polls: None })
    })
}

/// Returns whether this player got the last token.
fn count_down(line: &Line, hops: u64, player: u64) -> bool {
    // The number of remaining hops at which this player is next.
    let mut next_turn = player;
    loop {
        match line.load(Ordering::Relaxed) {
            CALLED_OFF => return false,
            NOT_YET => std::hint::spin_loop(),
            0 => return hops == next_turn,
            left if hops - left == next_turn => {
                line.store(left - 1, Ordering::Relaxed);
                next_turn += 2;
            }
            _ => std::hint::spin_loop(),
        }
    }
}
