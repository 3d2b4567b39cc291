//! A cache line that goes back and forth between two CPUs: how fast news travel.

use super::{RingResult, RingSpec};
use crossbeam_utils::CachePadded;
use instruments::cpus::pin_current_thread;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// What is left of the hops, on a line of its own (two, because CPUs fetch them in pairs).
type Line = CachePadded<AtomicU64>;

const NOT_YET: u64 = u64::MAX;
/// A player could not go to its CPU: the other must not wait for it.
const CALLED_OFF: u64 = u64::MAX - 1;

/// Two threads take turns to count down.
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
        let here = scope.spawn(|| play(0));
        let other = scope.spawn(|| play(1));
        let began = Instant::now();
        // Fails if it was called off.
        let _ = line.compare_exchange(NOT_YET, spec.hops, Ordering::Relaxed, Ordering::Relaxed);
        let ends = [here, other].map(|player| player.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        let [first, second]: [io::Result<bool>; 2] = ends;
        let hops_ns = began.elapsed().as_nanos() as f64;
        // Both are looked at: that neither is nobody's.
        let answer = match (first?, second?) {
            (true, false) => 1,
            (false, true) => 2,
            _ => return Err(io::Error::other("the line was not with exactly one of the two")),
        };
        Ok(RingResult { answer, hops_ns, wasted_polls: None })
    })
}

/// Whether this player got the last token.
fn count_down(line: &Line, hops: u64, player: u64) -> bool {
    // The number of hops after which it is this player's turn.
    let mut mine = player;
    loop {
        match line.load(Ordering::Relaxed) {
            CALLED_OFF => return false,
            NOT_YET => std::hint::spin_loop(),
            0 => return hops == mine,
            left if hops - left == mine => {
                line.store(left - 1, Ordering::Relaxed);
                mine += 2;
            }
            _ => std::hint::spin_loop(),
        }
    }
}
