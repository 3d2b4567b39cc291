//! Loads that depend on each other: no thread can be found faster than its address.

use super::{RingResult, RingSpec};
use std::io;
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
