//! The activity of the threads that hold a lock, or may hold it, while others wait.

use super::budget::Part;
use super::notes::{held, through};
use super::priority::Priority;
use super::waited::{Holder, Path, Peers, Wait, Waited};
use super::{Sample, State};
use crate::places::lock_at;
use interpose::Region;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// Different calls of other threads that are kept with a wait for a word, and combinations of them.
const MOST_PEERS: usize = 8;

const MOST_COMBINATIONS: usize = 512;

/// Holders that wait for other locks, one after another, are followed so far.
const LONGEST_CHAIN: usize = 8;

/// A sample with its content.
pub(super) struct Seen {
    pub(super) sample: Sample,
    pub(super) span: f64,
    /// The lock that the thread's library notes as waited for.
    pub(super) noted: Option<u32>,
    /// Whether it waits by trying again and again.
    pub(super) polls: bool,
    /// The locks that it holds, with the pairs at which it acquired them.
    pub(super) held: Vec<(u32, u32)>,
    /// The condition that it came through, if that is a lock's, with the pair at which it waited.
    pub(super) through: Option<(u32, u32)>,
    pub(super) wait: Option<Wait>,
    pub(super) path: Option<Path>,
    /// The functions of its language in which a thread that may hold a lock ran.
    pub(super) ran_in: Option<Path>,
    /// The place of the label of the request that it works for.
    pub(super) label: Option<u32>,
    /// The part of the time since the last sample in which the thread ran, of that in which it was runnable.
    pub(super) ran_share: f64,
}

/// Returns the lock or word that a thread waits for, blocked or not.
pub(super) fn object(seen: &Seen) -> Option<Wait> {
    match (seen.wait, seen.noted) {
        (Some(wait @ (Wait::Lock(_) | Wait::Word { .. } | Wait::Call { part: Part::Lock, .. })), _) => Some(wait),
        // It spins, or it was woken and has no CPU yet.
        (None, Some(lock)) => Some(Wait::Lock(lock)),
        _ => None,
    }
}

/// Returns the threads that hold the locks that are waited for.
pub(super) fn holders(region: &Region, seen: &[Seen]) -> HashMap<u32, Held> {
    let wanted: HashSet<u32> = seen
        .iter()
        .filter_map(|seen| match object(seen) {
            Some(Wait::Lock(lock)) => Some(lock),
            _ => None,
        })
        .filter(|lock| !lock_at(region, *lock).is_folded())
        .collect();
    let mut holders = HashMap::new();
    if wanted.is_empty() {
        return holders;
    }
    // The thread that held a lock when its state was read.
    let mut note = |by: u32, lock: u32, pair: u32| {
        holders.entry(lock).or_insert(Held { by, pair, count: 0 });
    };
    for seen in seen {
        let held = seen.held.iter().chain(&seen.through).filter(|(lock, _)| wanted.contains(lock));
        held.for_each(|(lock, pair)| note(seen.sample.thread, *lock, *pair));
    }
    // Where each thread has a separate condition, the one that came through its own has what the others wait for.
    let mut guarded: HashMap<u32, Vec<u32>> = HashMap::new();
    for lock in &wanted {
        guarded.entry(lock_at(region, *lock).guard.load(Relaxed)).or_default().push(*lock);
    }
    guarded.remove(&0);
    for (seen, (own, pair)) in seen.iter().filter_map(|seen| Some((seen, seen.through?))) {
        let guard = region.pairs.get(pair as usize).map_or(0, |pair| pair.guard().load(Relaxed));
        let others = u32::try_from(guard).ok().and_then(|guard| guarded.get(&guard));
        others
            .into_iter()
            .flatten()
            .filter(|lock| **lock != own)
            .for_each(|lock| note(seen.sample.thread, *lock, pair));
    }
    // The number of holders at one time.
    for thread in region.threads() {
        let tid = thread.tid.load(Acquire);
        // A thread that holds a recursive mutex several times is one holder.
        let held = held(thread).chain(through(region, thread));
        let held: HashMap<u32, u32> = held.filter(|(lock, _)| tid != 0 && wanted.contains(lock)).collect();
        for (lock, pair) in held {
            holders.entry(lock).or_insert(Held { by: tid, pair, count: 0 }).count += 1;
        }
    }
    holders
}

/// A thread that holds a lock, the pair at which it acquired it, and how many hold it.
pub(super) struct Held {
    by: u32,
    pair: u32,
    count: usize,
}

/// Adds the activity of a lock's holder, for one thread that waits for it. A holder that waits for another lock is
/// followed to that lock's holder.
pub(super) fn judge(
    waited: &mut Waited,
    lock: u32,
    waiter: &Seen,
    holders: &HashMap<u32, Held>,
    by_thread: &HashMap<u32, &Seen>,
) {
    let holder_of = |lock: u32| holders.get(&lock).and_then(|held| by_thread.get(&held.by)).copied();
    waited.most_holders = waited.most_holders.max(holders.get(&lock).map_or(0, |held| held.count));
    let Some(mut holder) = holder_of(lock).filter(|holder| holder.sample.thread != waiter.sample.thread) else {
        let is_woken = waiter.sample.state == State::Runnable;
        let holder = match waiter.polls {
            true if !holders.contains_key(&lock) => Holder::Free,
            false if is_woken => Holder::None,
            _ => Holder::Unknown,
        };
        *waited.holders.entry(holder).or_default() += waiter.span;
        return;
    };
    if holder.sample.process != waiter.sample.process {
        *waited.other_processes.entry(holder.sample.process).or_default() += waiter.span;
    }
    let mut held = lock;
    for _ in 0..LONGEST_CHAIN {
        let Some(Wait::Lock(next)) = object(holder).filter(|next| *next != Wait::Lock(held)) else { break };
        let Some(other) = holder_of(next).filter(|next| next.sample.thread != holder.sample.thread) else { break };
        (holder, held) = (other, next);
    }
    if let Some(path) = holder.ran_in.filter(|_| holder.wait.is_none() && held == lock) {
        *waited.ran_in.entry(path).or_default() += waiter.span;
    }
    let pair = holders.get(&held).map(|held| held.pair);
    let (running_s, ready_s) = (waiter.span * holder.ran_share, waiter.span * (1.0 - holder.ran_share));
    let parts = match holder.wait {
        Some(wait) => {
            vec![(Holder::Blocked { wait, path: holder.path, held: Wait::Lock(held), pair }, waiter.span)]
        }
        None if held != lock => {
            let chained = |is_running| Holder::Chained { held: Wait::Lock(held), pair, is_running };
            vec![(chained(true), running_s), (chained(false), ready_s)]
        }
        None if ready_s > 0.0 => {
            vec![(Holder::Running, running_s), (ready(holder.sample.thread, waiter.sample.thread), ready_s)]
        }
        None => vec![(Holder::Running, running_s)],
    };
    for (holder, seconds) in parts.into_iter().filter(|(_, seconds)| *seconds > 0.0) {
        *waited.holders.entry(holder).or_default() += seconds;
    }
}

/// Returns the state of a holder that has no CPU.
pub(super) fn ready(holder: u32, waiter: u32) -> Holder {
    match (Priority::of(holder), Priority::of(waiter)) {
        (Some(holder), Some(waiter)) if holder < waiter => Holder::Outranked { holder, waiter },
        _ => Holder::Ready,
    }
}

/// Adds the activity of the other threads of the process, for one thread that waits for a word.
pub(super) fn note_peers(waited: &mut Waited, object: Wait, waiter: &Seen, by_thread: &HashMap<u32, &Seen>) {
    // Processes share files, and so the locks of them.
    let is_shared = matches!(object, Wait::Call { .. });
    let others = || {
        by_thread.values().filter(|peer| {
            (is_shared || peer.sample.process == waiter.sample.process) && peer.sample.thread != waiter.sample.thread
        })
    };
    let mut peers: Vec<(Wait, Path)> =
        others().filter_map(|peer| Some((peer.wait.filter(|wait| *wait != object)?, peer.path?))).collect();
    peers.sort_unstable();
    // Two that are alike show that neither of them excludes the other.
    let mut alike = 0;
    peers.dedup_by(|one, before| {
        alike = if one == before { alike + 1 } else { 0 };
        alike > 1
    });
    peers.truncate(MOST_PEERS);
    // One that the samples find on a CPU at all times has one at times only.
    let runnable = || others().filter(|peer| peer.sample.state == State::Runnable);
    let (count, ran) = runnable().fold((0.0, 0.0), |(count, ran), peer| (count + 1.0, ran + peer.ran_share));
    let ran_share = if count > 0.0 { ran / count } else { 0.0 };
    let is_any = if count > 0.0 { waiter.span } else { 0.0 };
    let ready_s = is_any * (1.0 - ran_share);
    let is_outranked =
        |peer: &&Seen| matches!(ready(peer.sample.thread, waiter.sample.thread), Holder::Outranked { .. });
    let are_outranked = ready_s > 0.0 && runnable().all(is_outranked);
    if waited.peers.len() < MOST_COMBINATIONS || waited.peers.contains_key(&peers) {
        waited.peers.entry(peers).or_default().add(&Peers {
            seconds: waiter.span,
            running_s: is_any * ran_share,
            ready_s,
            outranked_s: if are_outranked { ready_s } else { 0.0 },
        });
    }
}
