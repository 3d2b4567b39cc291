//! Deadlocks: threads that wait for each other; and other long waits for locks.

use blame::time::Time;
use interpose::{HELD, Kind, Lock, Region, Thread};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::Duration;

/// A thread that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct Stuck {
    pub thread: u32,
    /// The place of the pair that it waits at, and of its lock.
    pub pair: u32,
    pub lock: u32,
    /// Whether the wait ends at a time that the program sets.
    is_timed: bool,
    /// Begin of the wait, in ticks.
    since: u64,
    pub waited: f64,
    /// The pairs at which it acquired the locks that it holds, and those locks.
    pub holds: Vec<(u32, u32)>,
}

/// A deadlock, or a long wait.
#[derive(Clone, Debug)]
pub enum Hang {
    /// Each waits for a lock that the next one holds, and the last for a lock that the first one holds.
    Circle(Vec<Stuck>),
    /// It waits; the thread that holds the lock may be known.
    Alone(Stuck, Option<Stuck>),
}

/// All hangs that were found, each once.
#[derive(Default)]
pub struct Hangs {
    pub found: Vec<Hang>,
    known: HashSet<(u32, u32, u64)>,
}

/// Waits that are not a deadlock are named up to this number.
const MOST: usize = 200;
/// Shorter circles may come from reading the states of the threads one after another.
const CIRCLE: Duration = Duration::from_millis(500);

impl Hangs {
    /// Notes and returns new hangs: circles of waits which are longer than [`CIRCLE`], and other waits beyond the
    /// deadline.
    pub fn note_new(&mut self, region: &Region, time: &Time, deadline: Duration) -> Vec<Hang> {
        let circles = self.noted(region, time, CIRCLE.min(deadline), false);
        [circles, self.noted(region, time, deadline, true)].concat()
    }

    fn noted(&mut self, region: &Region, time: &Time, longer: Duration, is_any: bool) -> Vec<Hang> {
        let everyone: Vec<Stuck> = region.threads().filter_map(|thread| stuck(region, thread, time)).collect();
        let is_long = |one: &Stuck| one.waited > longer.as_secs_f64() * 1e9 && one.is_for_exclusion(region);
        self.note_those(&everyone, is_long, is_any)
    }

    fn note_those(&mut self, everyone: &[Stuck], is_long: impl Fn(&Stuck) -> bool, is_any: bool) -> Vec<Hang> {
        let is_for_ever = |one: &Stuck| is_any || !one.is_timed;
        let stuck = everyone.iter().filter(|one| one.pair != u32::MAX && is_long(one) && is_for_ever(one));
        let stuck: Vec<&Stuck> = stuck.collect();
        if stuck.is_empty() {
            return Vec::new();
        }
        let for_ever: Vec<&Stuck> = stuck.iter().copied().filter(|one| !one.is_timed).collect();
        let (circles, holders) = (Circles::of(&for_ever), holders(everyone.iter()));
        let mut places = (0..).take(for_ever.len());
        let mut new = Vec::new();
        for first in &stuck {
            let place = if first.is_timed { None } else { places.next() };
            if self.known.contains(&first.key()) || self.found.len() + new.len() >= MOST {
                continue;
            }
            let circle = place.and_then(|place| circles.through(place));
            let hang = match circle {
                Some(circle) => Hang::Circle(circle.into_iter().map(|place| for_ever[place].clone()).collect()),
                None if !is_any => continue,
                None => {
                    let holder = holders.get(&first.lock).and_then(|holders| holders.first());
                    Hang::Alone((*first).clone(), holder.map(|holder| everyone[*holder].clone()))
                }
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

impl Hangs {
    /// Returns the threads of all deadlocks that were found.
    pub fn threads(&self) -> HashSet<u32> {
        let circle = |hang: &Hang| match hang {
            Hang::Circle(circle) => circle.iter().map(|one| one.thread).collect(),
            Hang::Alone(..) => Vec::new(),
        };
        self.found.iter().flat_map(circle).collect()
    }
}

/// Returns the threads that have waited for longer than a deadlock takes to be seen, with locks held.
pub fn waits_with_locks(region: &Region, time: &Time) -> impl Iterator<Item = u32> {
    let everyone = region.threads().filter_map(|thread| stuck(region, thread, time));
    let waits = |one: &Stuck| one.pair != u32::MAX && !one.holds.is_empty() && one.waited > CIRCLE.as_secs_f64() * 1e9;
    everyone.filter(waits).map(|one| one.thread).collect::<Vec<u32>>().into_iter()
}

impl Stuck {
    fn key(&self) -> (u32, u32, u64) {
        (self.thread, self.lock, self.since)
    }

    /// Returns whether the wait is for a lock that excludes: a thread that waits for work, a signal, waits as long as
    /// there is none.
    fn is_for_exclusion(&self, region: &Region) -> bool {
        let pair = region.pairs.get(self.pair as usize);
        let lock = pair.and_then(|pair| region.locks.get(pair.lock.load(Relaxed) as usize));
        pair.and_then(|pair| Kind::of(pair.kind.load(Relaxed))).is_some_and(Kind::excludes)
            && !lock.is_some_and(Lock::is_folded)
    }
}

/// Returns a circle of waits of which each is longer than this, if there is one.
pub fn lasting_circle(region: &Region, time: &Time, longer: Duration) -> Option<Vec<Stuck>> {
    Hangs::default().noted(region, time, longer, false).into_iter().find_map(|hang| match hang {
        Hang::Circle(circle) => Some(circle),
        Hang::Alone(..) => None,
    })
}

/// Returns the threads that hold a lock, by the lock, as their numbers in the order given.
fn holders<'a>(threads: impl Iterator<Item = &'a Stuck>) -> HashMap<u32, Vec<usize>> {
    let mut holders: HashMap<u32, Vec<usize>> = HashMap::new();
    for (place, thread) in threads.enumerate() {
        for (_, lock) in &thread.holds {
            holders.entry(*lock).or_default().push(place);
        }
    }
    holders
}

/// The threads that can be on a circle of waits.
///
/// A waiting thread leads to its lock, and a lock to all threads that hold it, of which readers can be many. So the
/// graph has a node for each lock, too: it has no more edges than there are waits and holds, and each is looked at
/// once.
struct Circles<'a> {
    stuck: &'a [&'a Stuck],
    holders: HashMap<u32, Vec<usize>>,
    /// The number of each thread's strongly connected component, in which all threads reach each other.
    component: Vec<usize>,
}

impl<'a> Circles<'a> {
    fn of(stuck: &'a [&'a Stuck]) -> Self {
        let holders = holders(stuck.iter().copied());
        let (order, mut waiters) = (Self::finished(stuck, &holders), Self::waiters(stuck));
        // Kosaraju and Sharir: the last finished first, along the edges backwards.
        let mut component = vec![usize::MAX; stuck.len()];
        for (number, &root) in order.iter().rev().enumerate() {
            let mut open = vec![root];
            // It ends: the waiters for a lock are taken once.
            while let Some(place) = open.pop() {
                if component[place] != usize::MAX {
                    continue;
                }
                component[place] = number;
                // All threads that wait for a lock are in this component, or already in another: no other holder need
                // look.
                open.extend(stuck[place].holds.iter().filter_map(|(_, lock)| waiters.remove(lock)).flatten());
            }
        }
        Self { stuck, holders, component }
    }

    /// Threads by the lock that they wait for.
    fn waiters(stuck: &[&Stuck]) -> HashMap<u32, Vec<usize>> {
        let mut waiters: HashMap<u32, Vec<usize>> = HashMap::new();
        stuck.iter().enumerate().for_each(|(place, one)| waiters.entry(one.lock).or_default().push(place));
        waiters
    }

    /// Returns the threads in the order in which a depth-first search is done with them. Each lock's list of
    /// holders is read once, for all threads that wait for it together.
    fn finished(stuck: &[&Stuck], holders: &HashMap<u32, Vec<usize>>) -> Vec<usize> {
        let (mut order, mut is_seen) = (Vec::new(), vec![false; stuck.len()]);
        let mut gone_through: HashMap<u32, usize> = HashMap::new();
        for first in 0..stuck.len() {
            let mut path = if is_seen[first] { Vec::new() } else { vec![first] };
            // It ends: each thread is entered once, and left once.
            while let Some(&place) = path.last() {
                is_seen[place] = true;
                let lock = stuck[place].lock;
                let next = gone_through.entry(lock).or_default();
                let rest = holders.get(&lock).and_then(|all| all.get(*next..)).unwrap_or_default();
                match rest.iter().position(|holder| !is_seen[*holder]) {
                    Some(at) => {
                        *next += at + 1;
                        path.push(rest[at]);
                    }
                    None => {
                        *next += rest.len();
                        path.pop();
                        order.push(place);
                    }
                }
            }
        }
        order
    }

    /// Returns the shortest circle through a thread: the threads from it on, each of which waits for a lock of the
    /// next.
    fn through(&self, first: usize) -> Option<Vec<usize>> {
        let (mut came_from, mut open) = (HashMap::<usize, usize>::new(), VecDeque::from([first]));
        let mut seen_locks = HashSet::new();
        // It ends: each thread is reached once.
        while let Some(place) = open.pop_front() {
            let lock = self.stuck[place].lock;
            for &next in self.holders.get(&lock).filter(|_| seen_locks.insert(lock)).into_iter().flatten() {
                if next == first {
                    let mut circle = vec![place];
                    // It ends: each thread was reached from one that was reached before.
                    while let Some(before) = came_from.get(&circle[circle.len() - 1]) {
                        circle.push(*before);
                    }
                    circle.reverse();
                    return Some(circle);
                }
                if self.component[next] == self.component[first] && !came_from.contains_key(&next) {
                    came_from.insert(next, place);
                    open.push_back(next);
                }
            }
        }
        None
    }
}

/// Returns the state of a thread: the lock that it waits for, and those that it holds. One that does not wait has no
/// pair.
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
    let (waited, is_timed) = (time.now() - time.of_ticks(since), thread.is_timed.load(Relaxed) != 0);
    Some(Stuck { thread: tid, pair, lock, is_timed, since, waited, holds: held })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads that wait for a lock and hold others.
    fn threads(threads: &[(u32, &[u32])]) -> Vec<Stuck> {
        let stuck = |(place, (lock, holds)): (usize, &(u32, &[u32]))| Stuck {
            thread: place as u32,
            pair: 0,
            lock: *lock,
            is_timed: false,
            since: 0,
            waited: 1e9,
            holds: holds.iter().map(|lock| (0, *lock)).collect(),
        };
        threads.iter().enumerate().map(stuck).collect()
    }

    fn circles(everyone: &[Stuck]) -> Vec<Vec<u32>> {
        let threads = |hang: &Hang| match hang {
            Hang::Circle(circle) => circle.iter().map(|one| one.thread).collect(),
            Hang::Alone(..) => Vec::new(),
        };
        Hangs::default().note_those(everyone, |_| true, false).iter().map(threads).collect()
    }

    #[test]
    fn circle_is_found_once_without_its_waiters() {
        // 0 waits for 1, 1 for 2, 2 for 1: and 3 for itself.
        let everyone = threads(&[(1, &[]), (2, &[1]), (1, &[2, 7]), (9, &[9])]);
        assert_eq!(circles(&everyone), [vec![1, 2], vec![3]]);
        let chain = threads(&[(1, &[0]), (2, &[1]), (3, &[2])]);
        assert_eq!(circles(&chain), Vec::<Vec<u32>>::new());
    }

    #[test]
    fn circle_is_shortest_and_leads_from_waiter_to_holder() {
        // Two readers hold lock 1: thread 1 leads back by way of 3, thread 2 at once.
        let everyone = threads(&[(1, &[5, 6]), (4, &[1]), (5, &[1]), (6, &[4])]);
        assert_eq!(circles(&everyone), [vec![0, 2], vec![1, 3, 0]]);
    }

    #[test]
    fn a_thread_alone_is_told_with_a_holder() {
        let everyone = threads(&[(1, &[]), (u32::MAX, &[1])]);
        let mut hangs = Hangs::default();
        let found = hangs.note_those(&everyone, |one| one.thread == 0, true);
        let [Hang::Alone(one, Some(holder))] = &found[..] else { panic!("{found:?}") };
        assert_eq!((one.thread, holder.thread), (0, 1));
        assert!(hangs.note_those(&everyone, |one| one.thread == 0, true).is_empty(), "again");
    }

    /// Every simple path through these layers would be walked for as many years as there are digits in their number.
    #[test]
    fn layers_of_readers_take_linear_time() {
        let (layers, width) = (60_u32, 50_u32);
        let held: Vec<u32> = (0..=layers).collect();
        let in_layer = |layer: u32| (layer + 1, &held[layer as usize..=layer as usize]);
        let all: Vec<(u32, &[u32])> = (0..layers).flat_map(|layer| (0..width).map(move |_| in_layer(layer))).collect();
        assert_eq!(circles(&threads(&all)), Vec::<Vec<u32>>::new());
        // With one step back all of them are on circles.
        let back = [(0, &held[layers as usize..])];
        let found = circles(&threads(&[&all[..], &back].concat()));
        assert_eq!(found.len(), MOST, "{found:?}");
        assert_eq!(found[0].len(), layers as usize + 1);
    }
}
