//! Limits of the machine for a hop: loads that depend on each other, since no thread can be found faster than its
//! address; a cache line that moves back and forth between two CPUs; and a system call that does next to nothing.

use super::{RingResult, RingSpec};
use crossbeam_utils::CachePadded;
use instruments::cpus::pin_current_thread;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// A cache line that points to the next.
#[repr(align(64))]
#[derive(Clone, Copy)]
struct Line(*const Line);

/// Follows pointers through as many cache lines as there are threads.
pub fn over_lines(spec: &RingSpec) -> io::Result<RingResult> {
    let mut lines = vec![Line(std::ptr::null()); spec.threads];
    let start = lines.as_ptr();
    for (place, next) in spec.neighbours().into_iter().enumerate() {
        lines[place].0 = start.wrapping_add(next as usize);
    }
    let began = Instant::now();
    let mut at = start;
    for _ in 0..spec.hops {
        // SAFETY: every line's pointer is to a line of the same vector, which outlives the loop.
        at = unsafe { (*at).0 };
    }
    let hops_ns = began.elapsed().as_nanos() as f64;
    // SAFETY: both pointers are into the vector.
    let place = unsafe { at.offset_from(start) } as usize;
    Ok(RingResult { answer: spec.number_of(place), hops_ns, wasted_polls: None })
}

/// Follows offsets through nodes of `BYTES`, packed as threads of that size are in memory.
pub fn over_bytes<const BYTES: usize>(spec: &RingSpec) -> io::Result<RingResult> {
    let mut nodes = vec![[0_u8; BYTES]; spec.threads];
    for (node, next) in nodes.iter_mut().zip(spec.neighbours()) {
        node[..4].copy_from_slice(&next.to_ne_bytes());
    }
    let began = Instant::now();
    let mut at = 0_u32;
    for _ in 0..spec.hops {
        // SAFETY: every node's number is below their count, and its first four bytes are inside it.
        at = unsafe { nodes.as_ptr().add(at as usize).cast::<u32>().read_unaligned() };
    }
    let hops_ns = began.elapsed().as_nanos() as f64;
    Ok(RingResult { answer: spec.number_of(at as usize), hops_ns, wasted_polls: None })
}

/// The number of hops left, on a separate line (two, because CPUs fetch them in pairs).
type SharedLine = CachePadded<AtomicU64>;

const NOT_YET: u64 = u64::MAX;
/// A player could not move to its CPU: the other must not wait for it.
const CALLED_OFF: u64 = u64::MAX - 1;

/// Lets two threads count down alternately.
pub fn ping_pong(spec: &RingSpec) -> io::Result<RingResult> {
    let line = SharedLine::new(AtomicU64::new(NOT_YET));
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
fn count_down(line: &SharedLine, hops: u64, player: u64) -> bool {
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

/// Makes as many calls as hops.
pub fn system_calls(spec: &RingSpec) -> io::Result<RingResult> {
    let began = Instant::now();
    for _ in 0..spec.hops {
        // libc may cache a process's own ID, but not its parent's.
        std::hint::black_box(rustix::process::getppid());
    }
    Ok(RingResult { answer: 1, hops_ns: began.elapsed().as_nanos() as f64, wasted_polls: None })
}
