//! A run that is watched for a deadlock.

use super::aim::{Aim, FileSite, StepSites, noted_map};
use crate::trace::measure::deadlocks::{Stuck, lasting_circle, waits_with_locks};
use crate::trace::measure::{has_library, signal_if};
use crate::trace::record::{Frame, Step, ThreadStack};
use crate::trace::stuck::frames;
use blame::names::map_of;
use blame::names::{Names, parse};
use blame::places::{lock_at, lock_name, site_label};
use blame::stacks::Stacks;
use blame::stuck::{self, Blocked};
use blame::time::Time;
use blame::waits::lock_of;
use instruments::clock::Clock;
use interpose::{HELD, Memory, Region};
use rustix::process::Signal;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant};

/// Threads that wait for each other.
pub struct Deadlock {
    /// The call sites of each thread: where it acquired the lock that the one before it wants, and where it waits.
    pub sites: Vec<StepSites>,
    pub steps: Vec<Step>,
    pub stacks: Vec<ThreadStack>,
}

/// A thread of a circle.
struct Member {
    thread: u32,
    /// The pair at which it acquired the lock that the thread before it wants, and the one at which it waits.
    held: u32,
    waits: u32,
    /// The slots of these locks.
    holds: u32,
    wants: u32,
}

/// Period at which new processes and deadlocks are looked for.
const LOOK: Duration = Duration::from_millis(2);
const LOOK_FOR_CIRCLES: Duration = Duration::from_millis(50);
/// Waits that are as long as this, and in a circle, are a deadlock.
const LASTS: Duration = Duration::from_millis(300);
/// Period at which the threads are examined from outside, which finds waits that the library does not note.
const LOOK_FROM_OUTSIDE: Duration = Duration::from_millis(500);

/// Watches the processes of a run.
pub struct Watcher<'a> {
    pub memory: &'a Memory,
    pub names: &'a mut Names,
    time: Time,
    aim: Option<&'a Aim>,
    stacks: HashMap<u32, Stacks>,
    aimed: HashSet<usize>,
    /// The threads that were blocked when they were looked at from outside, and how often each was switched out.
    before: HashMap<u32, u64>,
}

impl<'a> Watcher<'a> {
    /// Begins to watch; the names of an earlier run's processes are forgotten.
    pub fn begin(memory: &'a Memory, names: &'a mut Names, clock: Clock, aim: Option<&'a Aim>) -> Self {
        names.forget_processes();
        aim.iter().for_each(|aim| aim.begin(memory.region()));
        let time = Time::begin(clock);
        Self { memory, names, time, aim, stacks: HashMap::new(), aimed: HashSet::new(), before: HashMap::new() }
    }

    /// Watches until the run is over. A deadlock ends it: its processes are killed.
    pub fn watch(&mut self, is_over: impl Fn() -> bool) -> Option<Deadlock> {
        let region = self.memory.region();
        let (mut next_circle, mut next_outside) = (Instant::now() + LASTS, Instant::now() + LASTS);
        while !is_over() {
            self.look_for_processes();
            let now = Instant::now();
            let mut found = None;
            if now >= next_circle {
                next_circle = now + LOOK_FOR_CIRCLES;
                self.time.renew();
                found = lasting_circle(region, &self.time, LASTS).map(|circle| of_stuck(&circle));
            }
            if found.is_none() && now >= next_outside {
                next_outside = now + LOOK_FROM_OUTSIDE;
                found = self.circle_from_outside();
            }
            if let Some(members) = found {
                let deadlock = self.describe(&members);
                end_all(region);
                return Some(deadlock);
            }
            std::thread::sleep(LOOK);
        }
        self.learn_ended();
        None
    }

    /// Learns the maps of new processes, and writes the targets for them.
    fn look_for_processes(&mut self) {
        let region = self.memory.region();
        for (slot, process) in region.processes().enumerate() {
            let map = noted_map(process);
            if map.is_empty() || !self.aimed.insert(slot) {
                continue;
            }
            let pid = process.pid.load(Relaxed);
            self.names.learn(slot as u32, Some(pid), &map);
            match self.aim {
                Some(aim) => aim.aim_at(region, slot as u32, process, &map, self.names),
                None => process.is_aimed_at.store(1, Relaxed),
            }
        }
    }

    /// Learns the maps that processes noted at their ends, which have the libraries that they loaded since.
    fn learn_ended(&mut self) {
        for (slot, process) in self.memory.region().processes().enumerate() {
            self.names.learn(slot as u32, None, &noted_map(process));
        }
    }

    /// Reads the current map of a process.
    fn learn_current(&mut self, slot: u32, pid: u32) {
        if let Some(map) = map_of(pid) {
            self.names.learn(slot, Some(pid), &map);
            self.stacks.entry(pid).or_default().learn(pid, &parse(&map));
        }
    }

    /// Returns a circle of threads that wait for each other by the words in their locks, twice the same.
    fn circle_from_outside(&mut self) -> Option<Vec<Member>> {
        let region = self.memory.region();
        self.time.renew();
        let waits = waits_with_locks(region, &self.time).next().is_some();
        let (slot, process) = region.processes().enumerate().next().filter(|_| waits)?;
        let pid = process.pid.load(Relaxed);
        self.learn_current(slot as u32, pid);
        let blocked = stuck::blocked(pid, slot as u32, self.names, self.stacks.entry(pid).or_default());
        let before = std::mem::take(&mut self.before);
        self.before = blocked.iter().map(|one| (one.thread, one.switches)).collect();
        let is_same = |one: &&Blocked| before.get(&one.thread) == Some(&one.switches);
        let circle: Vec<&Blocked> = stuck::circles(&blocked).into_iter().next()?;
        circle.iter().all(is_same).then(|| of_blocked(region, &circle)).flatten()
    }

    fn describe(&mut self, members: &[Member]) -> Deadlock {
        let region = self.memory.region();
        for (slot, process) in region.processes().enumerate() {
            self.learn_current(slot as u32, process.pid.load(Relaxed));
        }
        let sites = members.iter().map(|one| (self.file_site(one.held), self.file_site(one.waits))).collect();
        let steps = members.iter().map(|one| Step {
            thread: one.thread,
            holds: lock_name(region, self.names, one.holds),
            held_site: site_label(region, self.names, one.held),
            takes: lock_name(region, self.names, one.wants),
            taken_site: site_label(region, self.names, one.waits),
        });
        let steps = steps.collect();
        let stacks = members.iter().map(|one| self.stack(one)).collect();
        Deadlock { sites, steps, stacks }
    }

    fn file_site(&mut self, pair: u32) -> FileSite {
        let region = self.memory.region();
        let pair = region.pairs.get(pair as usize);
        let found = pair.and_then(|pair| self.names.in_file(pair.process.load(Relaxed), pair.site.load(Relaxed)));
        found.unwrap_or_default()
    }

    fn stack(&mut self, one: &Member) -> ThreadStack {
        let region = self.memory.region();
        let slot = lock_at(region, one.wants).process.load(Relaxed);
        let pid = region.processes.get(slot as usize).map_or(0, |process| process.pid.load(Acquire));
        let stacks = self.stacks.entry(pid).or_default();
        let blocked = stuck::blocked_thread(pid, one.thread, slot, self.names, stacks);
        let frames = blocked.map(|blocked| frames(&blocked)).unwrap_or_default();
        // A thread that spins is not blocked: its call site is known by the library.
        let mut site =
            || region.pairs.get(one.waits as usize).map(|pair| self.names.site(slot, pair.site.load(Relaxed)));
        let frames = match site().filter(|_| frames.is_empty()) {
            Some(site) => vec![Frame { function: site.symbol, source: site.source }],
            None => frames,
        };
        ThreadStack { thread: one.thread, frames }
    }
}

/// Kills the processes of the run.
fn end_all(region: &Region) {
    for process in region.processes() {
        let pid = process.pid.load(Acquire);
        // If it has the library, its number has not passed to another process.
        signal_if(pid, Signal::KILL, || has_library(pid));
    }
}

/// Returns the members of a circle in which each waits for a lock of the next one.
fn of_stuck(circle: &[Stuck]) -> Vec<Member> {
    let member = |(place, one): (usize, &Stuck)| {
        let before = &circle[(place + circle.len() - 1) % circle.len()];
        let held = one.holds.iter().find(|(_, lock)| *lock == before.lock);
        let (held, holds) = held.copied().unwrap_or((u32::MAX, before.lock));
        Member { thread: one.thread, held, waits: one.pair, holds, wants: one.lock }
    };
    circle.iter().enumerate().map(member).collect()
}

/// Returns the members where locks are known by their addresses; `None` if the library does not know all of them.
fn of_blocked(region: &Region, circle: &[&Blocked]) -> Option<Vec<Member>> {
    let member = |(place, one): (usize, &&Blocked)| {
        let before = circle[(place + circle.len() - 1) % circle.len()].wanted?;
        let thread = region.threads().find(|thread| thread.tid.load(Acquire) == one.thread)?;
        let slot_of = |address: u64| {
            let mut held = thread.held[..(thread.depth() as usize).min(HELD)].iter();
            held.find(|held| held.lock.load(Relaxed) == address)
        };
        let held = slot_of(before.address)?;
        let waits = thread.waiting.load(Acquire).checked_sub(1)?;
        Some((one.thread, held.pair.load(Relaxed), waits, held.place.load(Relaxed)))
    };
    let members: Vec<(u32, u32, u32, u32)> = circle.iter().enumerate().map(member).collect::<Option<_>>()?;
    let wants = |place: usize| members[(place + 1) % members.len()].3;
    let of = |(place, &(thread, held, waits, holds)): (usize, &(u32, u32, u32, u32))| Member {
        thread,
        held,
        waits,
        holds,
        wants: if lock_of(region, waits) == u32::MAX { holds } else { wants(place) },
    };
    Some(members.iter().enumerate().map(of).collect())
}
