//! The notes of a thread in the memory that the library records into.

use interpose::{Kind, Region, Thread};
use std::collections::HashMap;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// Size of glibc's `pthread_cond_t`.
pub(super) const CONDITION: u64 = 48;

/// Returns the part of a lock in which a thread can wait for a word, as glibc has it on 64-bit machines.
pub(super) fn size_of_lock(kind: Kind) -> u64 {
    match kind {
        Kind::Mutex | Kind::Spin => 4,
        Kind::Read | Kind::Write => 56,
        Kind::Cond | Kind::Broadcast | Kind::Signal => CONDITION,
        Kind::Sem | Kind::Barrier => 32,
    }
}

/// Returns the threads that have a slot, by their processes and the numbers by which these know them.
pub(super) fn threads_of(region: &Region) -> HashMap<(u32, u32), &Thread> {
    let pids: Vec<u32> = region.processes().map(|process| process.pid.load(Relaxed)).collect();
    let pid = |thread: &Thread| pids.get(thread.process.load(Relaxed) as usize).copied().unwrap_or_default();
    let threads = region.threads().map(|thread| ((pid(thread), thread.tid.load(Acquire)), thread));
    threads.filter(|((_, thread), _)| *thread != 0).collect()
}

/// The data that a thread's library notes of it at one time.
pub(super) struct Note {
    /// The place of its process.
    pub(super) process: u32,
    /// The lock that it waits for.
    pub(super) waits: Option<(u32, Kind)>,
    pub(super) polled: Option<Polled>,
    /// The locks that it holds, each once, with the pairs at which it acquired them.
    pub(super) held: Vec<(u32, u32)>,
    /// The condition that it was woken from and has not signalled since, with the pair at which it waited.
    pub(super) through: Option<(u32, u32)>,
    pub(super) label: Option<u32>,
}

impl Note {
    pub(super) fn of(region: &Region, thread: &Thread) -> Self {
        let mut held: Vec<(u32, u32)> = held(thread).collect();
        held.sort_by_key(|(lock, _)| *lock);
        held.dedup_by_key(|(lock, _)| *lock);
        let process = thread.process.load(Relaxed);
        let label = thread.request.label.load(Relaxed).checked_sub(1);
        let (waits, polled) = (waits(region, thread), polled(region, thread));
        Self { process, waits, polled, held, through: through(region, thread), label }
    }
}

/// Returns the locks that a thread holds, with the pairs at which it acquired them; one that it holds several times as
/// often.
pub(super) fn held(thread: &Thread) -> impl Iterator<Item = (u32, u32)> + '_ {
    let held = thread.held.iter().take(thread.depth() as usize);
    held.map(|held| (held.place.load(Relaxed), held.pair.load(Relaxed)))
}

/// Returns the condition that a thread was woken from and has not signalled since, with the pair at which it waited.
pub(super) fn through(region: &Region, thread: &Thread) -> Option<(u32, u32)> {
    let pair = thread.through.load(Relaxed).checked_sub(1)?;
    Some((region.pairs.get(pair as usize)?.lock.load(Relaxed), pair))
}

/// Returns the lock that a thread notes that it waits for.
fn waits(region: &Region, thread: &Thread) -> Option<(u32, Kind)> {
    let pair = region.pairs.get(thread.waiting.load(Acquire).checked_sub(1)? as usize)?;
    Some((pair.lock.load(Relaxed), Kind::of(pair.kind.load(Relaxed))?))
}

/// A lock that a thread tried in vain to acquire.
#[derive(Clone, Copy)]
pub(super) struct Polled {
    pub(super) lock: u32,
    pub(super) kind: Kind,
    /// The call site.
    pub(super) site: u64,
    /// The place of the pair, plus 1.
    pub(super) number: u32,
    /// Tries in succession.
    pub(super) tries: u32,
}

/// Returns the lock that a thread tried in vain to acquire, if it has acquired none since then.
fn polled(region: &Region, thread: &Thread) -> Option<Polled> {
    let number = thread.polled.load(Acquire);
    let pair = region.pairs.get(number.checked_sub(1)? as usize)?;
    let (lock, kind) = (pair.lock.load(Relaxed), Kind::of(pair.kind.load(Relaxed))?);
    let polled = Polled { lock, kind, site: pair.site.load(Relaxed), number, tries: thread.tries.load(Relaxed) };
    (thread.last.lock.load(Relaxed) == 0).then_some(polled)
}
