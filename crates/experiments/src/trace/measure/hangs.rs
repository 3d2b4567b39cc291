//! Threads that wait and wait: which of them wait for each other.

use blame::time::Time;
use interpose::{HELD, Kind, Region, Thread};
use std::collections::HashSet;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::Duration;

/// A thread that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct Stuck {
    pub thread: u32,
    /// The place of the pair that it waits at, and of its lock.
    pub pair: u32,
    pub lock: u32,
    /// Since when, in ticks.
    since: u64,
    pub waited: f64,
    /// The pairs at which it took what it holds, and their locks.
    pub holds: Vec<(u32, u32)>,
}

/// What was found.
#[derive(Clone, Debug)]
pub enum Hang {
    /// Each waits for what the next one holds, and the last for what the first one holds.
    Circle(Vec<Stuck>),
    /// It waits; whoever holds the lock may be known.
    Alone(Stuck, Option<Stuck>),
}

/// All hangs that were found, each once.
#[derive(Default)]
pub struct Hangs {
    pub found: Vec<Hang>,
    known: HashSet<(u32, u32, u64)>,
}

/// Waits that are no deadlock are named up to this many.
const MOST: usize = 200;
/// Threads that wait for each other for so long are no accident of reading one after another what each is at.
const CIRCLE: Duration = Duration::from_millis(500);

impl Hangs {
    /// Those that are new: circles of waits which are longer than [`CIRCLE`], and other waits beyond the deadline.
    pub fn note_new(&mut self, region: &Region, time: &Time, deadline: Duration) -> Vec<Hang> {
        let circles = self.noted(region, time, CIRCLE.min(deadline), false);
        [circles, self.noted(region, time, deadline, true)].concat()
    }

    fn noted(&mut self, region: &Region, time: &Time, longer: Duration, is_any: bool) -> Vec<Hang> {
        let everyone: Vec<Stuck> = region.threads().filter_map(|thread| stuck(region, thread, time)).collect();
        let long = |stuck: &&Stuck| stuck.waited > longer.as_secs_f64() * 1e9 && stuck.is_for_exclusion(region);
        let stuck: Vec<&Stuck> = everyone.iter().filter(|one| one.pair != u32::MAX).filter(long).collect();
        let mut new = Vec::new();
        for first in &stuck {
            if self.known.contains(&first.key()) || self.found.len() + new.len() >= MOST {
                continue;
            }
            let hang = match circle(first, &stuck) {
                Some(circle) => Hang::Circle(circle.into_iter().cloned().collect()),
                None if !is_any => continue,
                None => Hang::Alone((*first).clone(), everyone.iter().find(|other| other.has(first)).cloned()),
            };
            let members: &[Stuck] =
                if let Hang::Circle(circle) = &hang { circle } else { std::slice::from_ref(*first) };
            self.known.extend(members.iter().map(Stuck::key));
            new.push(hang);
        }
        self.found.extend(new.iter().cloned());
        new
    }
}

impl Stuck {
    fn key(&self) -> (u32, u32, u64) {
        (self.thread, self.lock, self.since)
    }

    /// Whether it holds what another waits for.
    fn has(&self, other: &Stuck) -> bool {
        self.holds.iter().any(|(_, lock)| *lock == other.lock)
    }

    /// A thread that waits for work, a signal, waits as long as there is none.
    fn is_for_exclusion(&self, region: &Region) -> bool {
        let pair = region.pairs.get(self.pair as usize);
        pair.and_then(|pair| Kind::of(pair.kind.load(Relaxed))).is_some_and(Kind::excludes)
    }
}

/// The threads from this one on, each of which waits for what the next holds, back to it.
fn circle<'a>(first: &'a Stuck, stuck: &[&'a Stuck]) -> Option<Vec<&'a Stuck>> {
    fn walk<'a>(path: &mut Vec<&'a Stuck>, stuck: &[&'a Stuck]) -> bool {
        let (first, last) = (path[0], path[path.len() - 1]);
        if first.has(last) {
            return true;
        }
        for next in stuck.iter().filter(|next| next.has(last)) {
            if path.iter().any(|seen| seen.thread == next.thread) {
                continue;
            }
            path.push(next);
            if walk(path, stuck) {
                return true;
            }
            path.pop();
        }
        false
    }
    let mut path = vec![first];
    walk(&mut path, stuck).then_some(path)
}

/// A thread as it stands: what it waits for, and what it holds. One that does not wait has no pair.
fn stuck(region: &Region, thread: &Thread, time: &Time) -> Option<Stuck> {
    let tid = thread.tid.load(Acquire);
    if tid == 0 {
        return None;
    }
    let depth = (thread.depth() as usize).min(HELD);
    let held = thread.held[..depth].iter().map(|held| (held.pair.load(Relaxed), held.place.load(Relaxed))).collect();
    let waiting = thread.waiting.load(Acquire).checked_sub(1);
    let since = thread.waiting_since.load(Relaxed);
    let lock = waiting.map_or(u32::MAX, |pair| blame::waits::lock_of(region, pair));
    let pair = waiting.unwrap_or(u32::MAX);
    Some(Stuck { thread: tid, pair, lock, since, waited: time.now() - time.of_ticks(since), holds: held })
}
