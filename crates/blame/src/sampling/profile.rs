//! Sums of the samples: the waits of each thread, and for each lock the waiters and the states of its holder.
//!
//! A sample stands for the time since the thread's last one. The holder of a lock that the library notes is read from the
//! memory that the library records into, at the same time. The holder of any other futex word is not known: there the
//! calls of the threads that did not wait for it are kept, and [`crate::frames`] says which of them are in the function
//! that acquires it.

use super::budget::{Budget, Part, may_wait_for_map, moves_bytes, part_of_call};
use super::spins::Spins;
use super::{Call, FileType, Sample, Sampler, State, call_of, name_of};
use crate::memory::top_of_stack;
use crate::names::{Mapping, Site};
use crate::parked::Parked;
use crate::places::lock_at;
use crate::python::Python;
use crate::stacks::{Stack, Stacks};
use interpose::{Kind, Lock, Region, Thread};
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// The object that a blocked thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Wait {
    /// A lock that the library notes, by its slot.
    Lock(u32),
    /// A futex word that is in no such lock.
    Word { process: u32, address: u64 },
    /// A system call, by its number.
    Call { number: i64, part: Part },
    /// Something that the kernel does not show.
    Hidden,
}

/// The number of a call path.
pub type Path = usize;

/// The waits for one lock or word, as far as samples show them.
#[derive(Clone, Debug, Default)]
pub struct Waited {
    /// Thread time, in seconds.
    pub seconds: f64,
    /// The part of `seconds` of threads that were on a CPU or ready for one: those that spin, and those that were
    /// woken.
    pub runnable_s: f64,
    /// Call paths that waited.
    pub paths: HashMap<Path, f64>,
    /// The states of the holder while threads waited.
    pub holders: HashMap<Holder, f64>,
    /// The part of `seconds` of waits to reacquire a mutex after a wait for a condition, by the condition's slot.
    pub after_condition: HashMap<u32, f64>,
    /// Waits, for a word, of the other blocked threads of the process at the same time, and what the rest did.
    pub peers: HashMap<Vec<(Wait, Path)>, Peers>,
    /// The largest number of threads that waited at the same time.
    pub most_waiters: usize,
    /// The largest number of threads that held it at the same time: more than one for a semaphore of a pool.
    pub most_holders: usize,
}

impl Waited {
    /// Adds the waits for another lock.
    pub fn add(&mut self, other: &Self) {
        self.seconds += other.seconds;
        self.runnable_s += other.runnable_s;
        add_all(&mut self.paths, &other.paths);
        add_all(&mut self.holders, &other.holders);
        add_all(&mut self.after_condition, &other.after_condition);
        other.peers.iter().for_each(|(peers, more)| self.peers.entry(peers.clone()).or_default().add(more));
        self.most_waiters = self.most_waiters.max(other.most_waiters);
        self.most_holders = self.most_holders.max(other.most_holders);
    }
}

fn add_all<K: Clone + Eq + Hash>(sums: &mut HashMap<K, f64>, more: &HashMap<K, f64>) {
    more.iter().for_each(|(key, seconds)| *sums.entry(key.clone()).or_default() += seconds);
}

/// The time that threads waited for a word while the same other threads were blocked.
#[derive(Clone, Debug, Default)]
pub struct Peers {
    pub seconds: f64,
    /// The parts of it in which threads that were not blocked had a CPU, and in which they were ready for one.
    pub running_s: f64,
    pub ready_s: f64,
}

impl Peers {
    fn add(&mut self, other: &Self) {
        self.seconds += other.seconds;
        self.running_s += other.running_s;
        self.ready_s += other.ready_s;
    }
}

/// The activity of a lock's holder while others waited for the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holder {
    Running,
    /// It had no CPU.
    Ready,
    Blocked {
        wait: Wait,
        path: Option<Path>,
        /// The lock that it held: another one than the waiter's if holders waited for other locks themselves.
        lock: u32,
    },
    /// The lock was released, and the thread that was woken for it did not run yet.
    None,
    /// The waiter was blocked, and no thread is known to hold the lock.
    Unknown,
}

/// One thread.
#[derive(Clone, Debug)]
pub struct Life {
    pub process: u32,
    pub thread: u32,
    /// The name that it gave itself, as it was seen last.
    pub name: String,
    /// A path of it, as far as the function that the thread began with.
    pub path: Option<Path>,
    pub waits: HashMap<Wait, f64>,
    /// Time on a CPU while it waited for a lock, by the samples.
    pub spun_s: f64,
    began_s: f64,
    seen_s: f64,
    /// The kernel's sums at the first sample and at the last.
    before: [u64; 2],
    sums: [u64; 2],
    /// The place where it was blocked the last time.
    blocked: Option<(Call, [u64; 2], Option<Path>)>,
}

/// The sums.
#[derive(Default)]
pub struct Profile {
    sampler: Sampler,
    unwinders: HashMap<u32, Stacks>,
    lives: HashMap<u32, Life>,
    /// Threads that have ended.
    ended: Vec<Life>,
    /// Call paths with their processes; the innermost address first.
    paths: Vec<(u32, Vec<u64>)>,
    /// The interpreters of CPython processes.
    pythons: HashMap<u32, Python>,
    /// The functions that each path's calls name.
    called: Vec<Vec<u64>>,
    numbers: HashMap<(u32, Vec<u64>), Path>,
    waited: HashMap<Wait, Waited>,
    /// Waits of labelled requests for words, by the place of the label, in seconds.
    labelled: HashMap<(u32, Wait), f64>,
    /// Slots of locks and their sizes, by process slot and address.
    locks: BTreeMap<(u32, u64), (u32, u64)>,
    /// Samples of all threads, and those that were lost because there was no room for the awaited object.
    pub samples: u64,
    pub lost: u64,
    parked: Parked,
    spins: Spins,
    /// Samples of threads on a CPU that spun for something that no call shows, by path.
    spinning: HashMap<Path, u64>,
}

/// Processes whose stacks are unwound.
const MOST_PROCESSES: usize = 24;
const MOST_PATHS: usize = 8_192;
const MOST_OBJECTS: usize = 4_096;
const MOST_ENDED: usize = 4_096;
/// Different calls of other threads that are kept with a wait for a word, and combinations of them.
const MOST_PEERS: usize = 8;
const MOST_COMBINATIONS: usize = 512;
/// Holders that wait for other locks, one after another, are followed so far.
const LONGEST_CHAIN: usize = 8;
/// Samples after which the name of a thread is read again, which may change at any time.
const NAME_PERIOD: u64 = 64;

/// A sample with its content.
struct Seen {
    sample: Sample,
    span: f64,
    /// The lock that the thread's library notes as waited for.
    noted: Option<u32>,
    wait: Option<Wait>,
    path: Option<Path>,
    /// The place of the label of the request that it works for.
    label: Option<u32>,
    /// The part of the time since the last sample in which the thread ran, of that in which it was runnable.
    ran_share: f64,
}

impl Profile {
    /// Learns the memory map of a process, whose stacks are unwound from now on.
    pub fn learn(&mut self, process: u32, mappings: &[Mapping]) {
        if self.unwinders.len() < MOST_PROCESSES || self.unwinders.contains_key(&process) {
            self.unwinders.entry(process).or_default().learn(process, mappings);
            if !self.pythons.contains_key(&process)
                && let Some(python) = Python::of(process, mappings)
            {
                self.pythons.insert(process, python);
            }
        }
    }

    /// Begins the next part of the trace: the sums are those of its samples alone.
    pub fn begin_part(&mut self) {
        self.ended.clear();
        self.waited.clear();
        self.parked.clear();
        self.labelled.clear();
        self.spinning.clear();
        (self.samples, self.lost, self.spins.count) = (0, 0, 0);
        self.lives.values_mut().for_each(Life::begin_part);
    }

    /// Samples the threads of these processes; `now_s` is the time since the start.
    pub fn sample(&mut self, processes: &[u32], region: Option<&Region>, now_s: f64) {
        let samples = self.sampler.sample(processes);
        self.samples += 1;
        let noted: HashMap<u32, &Thread> = region.map(threads_of).unwrap_or_default();
        let seen: Vec<Seen> = samples
            .into_iter()
            .map(|sample| self.note(sample, noted.get(&sample.thread).copied(), region, now_s))
            .collect();
        self.forget_ended(&seen);
        self.sample_spins(&seen, now_s);
        let by_thread: HashMap<u32, &Seen> = seen.iter().map(|seen| (seen.sample.thread, seen)).collect();
        let holders = region.map(|region| holders(region, &seen)).unwrap_or_default();
        let mut waiters: HashMap<Wait, usize> = HashMap::new();
        for seen in seen.iter().filter(|seen| seen.span > 0.0) {
            let Some(object) = object(seen) else { continue };
            *waiters.entry(object).or_default() += 1;
            let Some(waited) = room(&mut self.waited, object) else {
                self.lost += 1;
                continue;
            };
            waited.seconds += seen.span;
            if let (Some(label), Wait::Word { .. }) = (seen.label, object) {
                *self.labelled.entry((label, object)).or_default() += seen.span;
            }
            let is_runnable = seen.sample.state == State::Runnable;
            waited.runnable_s += if is_runnable { seen.span } else { 0.0 };
            seen.path.iter().for_each(|path| *waited.paths.entry(*path).or_default() += seen.span);
            if let (Some(condition), Wait::Lock(lock)) = (seen.noted, object)
                && condition != lock
            {
                *waited.after_condition.entry(condition).or_default() += seen.span;
            }
            match object {
                Wait::Lock(lock) => judge(waited, lock, seen, &holders, &by_thread),
                _ => note_peers(waited, object, seen, &by_thread),
            }
        }
        for (object, count) in waiters {
            if let Some(waited) = self.waited.get_mut(&object) {
                waited.most_waiters = waited.most_waiters.max(count);
            }
        }
    }

    /// Samples the instructions of threads on a CPU. Those whose waits the library notes are known without.
    fn sample_spins(&mut self, seen: &[Seen], now_s: f64) {
        for (process, stack) in self.spins.end(now_s) {
            let path = self.unwound(process, None, &stack);
            path.into_iter().for_each(|path| *self.spinning.entry(path).or_default() += 1);
        }
        let is_candidate = |seen: &&Seen| seen.sample.state == State::Runnable && seen.noted.is_none();
        let runnable: Vec<(u32, u32)> =
            seen.iter().filter(is_candidate).map(|seen| (seen.sample.process, seen.sample.thread)).collect();
        self.spins.begin(&runnable, now_s);
    }

    /// Updates a thread's account.
    fn note(&mut self, sample: Sample, thread: Option<&Thread>, region: Option<&Region>, now_s: f64) -> Seen {
        let sums = [sample.ran_ns, sample.ready_ns];
        let is_another =
            |life: &Life| life.process != sample.process || life.sums.iter().zip(sums).any(|(old, new)| new < *old);
        if self.lives.get(&sample.thread).is_some_and(is_another)
            && let Some(life) = self.lives.remove(&sample.thread)
        {
            self.end(life);
        }
        let noted = thread.zip(region).and_then(|(thread, region)| noted(region, thread));
        let wait = self.wait_of(&sample, thread.zip(region), noted);
        if let Some(Wait::Word { process, address }) = wait
            && !self.is_same_call(&sample, sums)
        {
            self.parked.note(process, address);
        }
        let path = self.path_of(&sample, sums);
        let name_is_due = self.samples % NAME_PERIOD == 1;
        let life = self.lives.entry(sample.thread).or_insert_with(|| Life {
            process: sample.process,
            thread: sample.thread,
            name: String::new(),
            path: None,
            waits: HashMap::new(),
            spun_s: 0.0,
            began_s: now_s,
            seen_s: now_s,
            before: sums,
            sums,
            blocked: None,
        });
        if life.name.is_empty() || name_is_due {
            life.name = name_of(sample.process, sample.thread).unwrap_or_else(|| std::mem::take(&mut life.name));
        }
        let span = now_s - life.seen_s;
        let [ran, ready] = [0, 1].map(|part| (sums[part] - life.sums[part]) as f64);
        let ran_share = if ran + ready > 0.0 { ran / (ran + ready) } else { 1.0 };
        (life.seen_s, life.sums) = (now_s, sums);
        if let Some(wait) = wait {
            *life.waits.entry(wait).or_default() += span;
        } else if noted.is_some() {
            life.spun_s += span * ran_share;
        }
        life.path = path.or(life.path);
        life.blocked = match sample.state {
            State::Blocked(call) => Some((call, sums, path)),
            _ => None,
        };
        let label = thread.and_then(|thread| thread.request.label.load(Relaxed).checked_sub(1));
        Seen { sample, span, noted: noted.map(|(lock, _)| lock), wait, path, label, ran_share }
    }

    /// Returns the object that a thread waits for, if it is blocked.
    fn wait_of(
        &self,
        sample: &Sample,
        noted_in: Option<(&Thread, &Region)>,
        noted: Option<(u32, Kind)>,
    ) -> Option<Wait> {
        let State::Blocked(call) = sample.state else {
            return match (sample.state, noted) {
                (State::Hidden, Some((lock, _))) => Some(Wait::Lock(lock)),
                (State::Hidden, None) => Some(Wait::Hidden),
                _ => None,
            };
        };
        if call.number == libc::SYS_futex {
            let word = call.arguments[0];
            if let (Some((lock, kind)), Some((thread, region))) = (noted, noted_in) {
                let address = lock_at(region, lock).address.load(Relaxed);
                // To wait for a condition ends with getting the mutex back.
                let is_in_it = kind != Kind::Cond || (address..address + CONDITION).contains(&word);
                let mutex = || self.lock_around(thread.process.load(Relaxed), word).unwrap_or(lock);
                return Some(Wait::Lock(if is_in_it { lock } else { mutex() }));
            }
            // The library notes a wait a moment before the call.
            let lock = noted_in.and_then(|(thread, _)| self.lock_around(thread.process.load(Relaxed), word));
            return Some(lock.map_or(Wait::Word { process: sample.process, address: word }, Wait::Lock));
        }
        // A library call that waits may sleep in another call than a futex's, for example a spinlock's that yields.
        if let Some((lock, _)) = noted
            .filter(|_| matches!(call.number, libc::SYS_sched_yield | libc::SYS_nanosleep | libc::SYS_clock_nanosleep))
        {
            return Some(Wait::Lock(lock));
        }
        let file =
            if moves_bytes(call.number) { FileType::of(sample.process, call.arguments[0]) } else { FileType::Unknown };
        let part = if may_wait_for_map(call.number) && waits_for_map(sample.process, sample.thread) {
            Part::Lock
        } else {
            part_of_call(call.number, &call.arguments, file)
        };
        Some(Wait::Call { number: call.number, part })
    }

    /// Returns whether a blocked thread is in the call in which it was seen the last time, and did not run since then.
    fn is_same_call(&self, sample: &Sample, sums: [u64; 2]) -> bool {
        let blocked = self.lives.get(&sample.thread).and_then(|life| life.blocked);
        blocked.is_some_and(|(before, sums_before, _)| (State::Blocked(before), sums_before) == (sample.state, sums))
    }

    /// Returns the call path of a blocked thread. One that did not run since the last sample has the same.
    fn path_of(&mut self, sample: &Sample, sums: [u64; 2]) -> Option<Path> {
        let State::Blocked(call) = sample.state else { return None };
        if let Some((before, sums_before, Some(path))) = self.lives.get(&sample.thread).and_then(|life| life.blocked)
            && (before, sums_before) == (call, sums)
            // One of the first instruction alone was cut off before the files of the process were known.
            && self.paths[path].1.len() > 1
        {
            return Some(path);
        }
        let bytes = top_of_stack(sample.process, call.pointer);
        // A thread that ran since its state was read has another stack.
        let is_still_there = call_of(sample.process, sample.thread) == Some(call);
        let stack = Stack { instruction: call.instruction, pointer: call.pointer, frame: 0, link: 0, bytes };
        is_still_there.then(|| self.unwound(sample.process, Some(sample.thread), &stack)).flatten()
    }

    /// Returns the number of the path that a stack shows, and the Python functions of a blocked thread.
    fn unwound(&mut self, process: u32, thread: Option<u32>, stack: &Stack) -> Option<Path> {
        let unwinder = self.unwinders.get_mut(&process)?;
        let mut path = unwinder.frames(stack);
        path.extend(
            self.pythons.get_mut(&process).zip(thread).into_iter().flat_map(|(python, thread)| python.frames(thread)),
        );
        let key = (process, path);
        if let Some(path) = self.numbers.get(&key) {
            return Some(*path);
        }
        (self.paths.len() < MOST_PATHS).then(|| {
            self.called.push(unwinder.called(&key.1));
            self.paths.push(key.clone());
            self.numbers.insert(key, self.paths.len() - 1);
            self.paths.len() - 1
        })
    }

    /// Learns where the locks lie that the library has noted so far: the word that a thread waits for may be all that says
    /// which lock it waits for, for example when it gets a mutex back after a condition.
    pub fn learn_locks(&mut self, region: &Region) {
        for (_, pair) in region.pairs() {
            let slot = pair.lock.load(Relaxed);
            let lock = lock_at(region, slot);
            // Another lock may have the place of one that was destroyed.
            let is_there = lock.key.load(Relaxed) != Lock::ENDED;
            let size = Kind::of(lock.kind.load(Relaxed)).filter(|_| is_there).map(size_of_lock);
            let Some(size) = size else { continue };
            self.locks.insert((lock.process.load(Relaxed), lock.address.load(Relaxed)), (slot, size));
        }
    }

    /// Returns the lock that a word is in.
    fn lock_around(&self, process: u32, word: u64) -> Option<u32> {
        let ((of, address), (slot, size)) = self.locks.range(..=(process, word)).next_back()?;
        (*of == process && word < address + size).then_some(*slot)
    }

    fn forget_ended(&mut self, seen: &[Seen]) {
        let alive: std::collections::HashSet<u32> = seen.iter().map(|seen| seen.sample.thread).collect();
        let gone: Vec<u32> = self.lives.keys().filter(|thread| !alive.contains(thread)).copied().collect();
        for thread in gone {
            if let Some(life) = self.lives.remove(&thread) {
                self.end(life);
            }
        }
    }

    /// Keeps an ended thread; where there are too many, it is added to one of the same process and name.
    fn end(&mut self, life: Life) {
        let is_kin = |other: &&mut Life| other.process == life.process && other.name == life.name;
        if self.ended.len() >= MOST_ENDED
            && let Some(kin) = self.ended.iter_mut().find(is_kin)
        {
            kin.absorb(life);
        } else if self.ended.len() < 2 * MOST_ENDED {
            self.ended.push(life);
        } else if let Some(other) = self.ended.last_mut() {
            other.absorb(life);
        }
    }

    /// Returns all threads that were seen.
    pub fn lives(&self) -> impl Iterator<Item = &Life> {
        self.ended.iter().chain(self.lives.values())
    }

    /// Returns how long all threads ran on a CPU, by the samples so far.
    pub fn ran_s(&self) -> f64 {
        self.lives().fold(0.0, |sum, life| sum + (life.sums[0] - life.before[0]) as f64 / 1e9)
    }

    /// Returns the samples of the waits for each lock and word.
    pub fn waited(&self) -> impl Iterator<Item = (Wait, &Waited)> {
        self.waited.iter().map(|(wait, waited)| (*wait, waited))
    }

    /// Returns how long labelled requests waited for words, by the place of the label.
    pub fn labelled(&self) -> impl Iterator<Item = (u32, Wait, f64)> {
        self.labelled.iter().map(|((label, wait), seconds)| (*label, *wait, *seconds))
    }

    /// Returns the locks of parking_lot, by the process and the word that a thread blocks in.
    pub fn parking_locks(&self) -> HashMap<(u32, u64), u64> {
        self.parked.locks()
    }

    /// Returns the part of the samples of threads on a CPU that spun, by path.
    pub fn spin_shares(&self) -> impl Iterator<Item = (Path, f64)> {
        let all = self.spins.count.max(1) as f64;
        self.spinning.iter().map(move |(path, count)| (*path, *count as f64 / all))
    }

    /// Returns the Python function that a number in a path of this process is of.
    pub fn python_site(&self, process: u32, number: u64) -> Option<&Site> {
        self.pythons.get(&process)?.site(number)
    }

    /// Returns the process and the addresses of a path, the innermost first, and the functions that its calls name.
    pub fn path(&self, path: Path) -> (u32, &[u64], &[u64]) {
        let (process, addresses) = &self.paths[path];
        (*process, addresses, &self.called[path])
    }
}

impl Life {
    /// Divides the life. `part` says why a wait is one; `kin` are the waits of threads of the same group, which count
    /// where no sample found this one blocked. `shares` divide the waits for futex words of a thread whose language says
    /// more of them than the kernel.
    pub fn budget(&self, part: &dyn Fn(Wait) -> Part, kin: &HashMap<Wait, f64>, shares: &[(Part, f64)]) -> Budget {
        let [ran, ready] = [0, 1].map(|sum| (self.sums[sum] - self.before[sum]) as f64 / 1e9);
        let waits = if self.waits.values().sum::<f64>() > 0.0 { &self.waits } else { kin };
        let blocked = waits.iter().flat_map(|(wait, seconds)| {
            let is_shared = !shares.is_empty() && matches!(wait, Wait::Lock(_) | Wait::Word { .. });
            let by_kernel = (!is_shared).then(|| (part(*wait), *seconds));
            let by_language =
                shares.iter().filter(move |_| is_shared).map(move |(part, share)| (*part, share * seconds));
            by_kernel.into_iter().chain(by_language)
        });
        Budget::of(self.seen_s - self.began_s, ran, ready, blocked)
    }

    fn begin_part(&mut self) {
        self.waits.clear();
        (self.spun_s, self.began_s, self.before) = (0.0, self.seen_s, self.sums);
    }

    fn absorb(&mut self, other: Self) {
        self.seen_s += other.seen_s - other.began_s;
        self.spun_s += other.spun_s;
        other.waits.into_iter().for_each(|(wait, seconds)| *self.waits.entry(wait).or_default() += seconds);
        for sum in 0..2 {
            self.sums[sum] += other.sums[sum] - other.before[sum];
        }
    }
}

/// Size of glibc's `pthread_cond_t`.
const CONDITION: u64 = 48;

/// Returns the part of a lock in which a thread can wait for a word, as glibc has it on 64-bit machines.
fn size_of_lock(kind: Kind) -> u64 {
    match kind {
        Kind::Mutex | Kind::Spin => 4,
        Kind::Read | Kind::Write => 56,
        Kind::Cond | Kind::Broadcast | Kind::Signal => CONDITION,
        Kind::Sem | Kind::Barrier => 32,
    }
}

/// Returns the threads that have a slot, by their numbers.
fn threads_of(region: &Region) -> HashMap<u32, &Thread> {
    let threads = region.threads().map(|thread| (thread.tid.load(Acquire), thread));
    threads.filter(|(thread, _)| *thread != 0).collect()
}

/// Returns the lock that a thread notes that it waits for.
fn noted(region: &Region, thread: &Thread) -> Option<(u32, Kind)> {
    let pair = region.pairs.get(thread.waiting.load(Acquire).checked_sub(1)? as usize)?;
    Some((pair.lock.load(Relaxed), Kind::of(pair.kind.load(Relaxed))?))
}

/// Returns the lock or word that a thread waits for, blocked or not.
fn object(seen: &Seen) -> Option<Wait> {
    match (seen.wait, seen.noted) {
        (Some(wait @ (Wait::Lock(_) | Wait::Word { .. } | Wait::Call { part: Part::Lock, .. })), _) => Some(wait),
        // It spins, or it was woken and has no CPU yet.
        (None, Some(lock)) => Some(Wait::Lock(lock)),
        _ => None,
    }
}

fn room(waited: &mut HashMap<Wait, Waited>, object: Wait) -> Option<&mut Waited> {
    let has_room = waited.len() < MOST_OBJECTS || waited.contains_key(&object);
    has_room.then(|| waited.entry(object).or_default())
}

/// Returns the threads that hold the locks that are waited for.
fn holders(region: &Region, seen: &[Seen]) -> HashMap<u32, Held> {
    let wanted: std::collections::HashSet<u32> = seen
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
    for thread in region.threads() {
        let tid = thread.tid.load(Acquire);
        let held = thread.held.iter().take(thread.depth() as usize).map(|held| held.place.load(Relaxed));
        // A thread that holds a recursive mutex several times is one holder.
        let held: std::collections::HashSet<u32> = held.filter(|lock| tid != 0 && wanted.contains(lock)).collect();
        for lock in held {
            holders.entry(lock).or_insert(Held { by: tid, count: 0 }).count += 1;
        }
    }
    holders
}

/// A thread that holds a lock, and how many hold it.
struct Held {
    by: u32,
    count: usize,
}

/// Adds the activity of a lock's holder, for one thread that waits for it. A holder that waits for another lock is
/// followed to that lock's holder.
fn judge(waited: &mut Waited, lock: u32, waiter: &Seen, holders: &HashMap<u32, Held>, by_thread: &HashMap<u32, &Seen>) {
    let holder_of = |lock: u32| holders.get(&lock).and_then(|held| by_thread.get(&held.by)).copied();
    waited.most_holders = waited.most_holders.max(holders.get(&lock).map_or(0, |held| held.count));
    let Some(mut holder) = holder_of(lock).filter(|holder| holder.sample.thread != waiter.sample.thread) else {
        let is_woken = waiter.sample.state == State::Runnable;
        *waited.holders.entry(if is_woken { Holder::None } else { Holder::Unknown }).or_default() += waiter.span;
        return;
    };
    let mut held = lock;
    for _ in 0..LONGEST_CHAIN {
        let Some(Wait::Lock(next)) = object(holder).filter(|next| *next != Wait::Lock(held)) else { break };
        let Some(other) = holder_of(next).filter(|next| next.sample.thread != holder.sample.thread) else { break };
        (holder, held) = (other, next);
    }
    match holder.wait {
        Some(wait) => {
            let blocked = Holder::Blocked { wait, path: holder.path, lock: held };
            *waited.holders.entry(blocked).or_default() += waiter.span;
        }
        None => {
            *waited.holders.entry(Holder::Running).or_default() += waiter.span * holder.ran_share;
            *waited.holders.entry(Holder::Ready).or_default() += waiter.span * (1.0 - holder.ran_share);
        }
    }
}

/// Adds the activity of the other threads of the process, for one thread that waits for a word.
fn note_peers(waited: &mut Waited, object: Wait, waiter: &Seen, by_thread: &HashMap<u32, &Seen>) {
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
    peers.dedup();
    peers.truncate(MOST_PEERS);
    // One that the samples find on a CPU at all times has one at times only.
    let runnable = others().filter(|peer| peer.sample.state == State::Runnable);
    let (count, ran) = runnable.fold((0.0, 0.0), |(count, ran), peer| (count + 1.0, ran + peer.ran_share));
    let ran_share = if count > 0.0 { ran / count } else { 0.0 };
    let is_any = if count > 0.0 { waiter.span } else { 0.0 };
    if waited.peers.len() < MOST_COMBINATIONS || waited.peers.contains_key(&peers) {
        waited.peers.entry(peers).or_default().add(&Peers {
            seconds: waiter.span,
            running_s: is_any * ran_share,
            ready_s: is_any * (1.0 - ran_share),
        });
    }
}

/// Returns whether a thread waits for the kernel's lock of its address space, by the function of the kernel that it is
/// in.
fn waits_for_map(process: u32, thread: u32) -> bool {
    let function = std::fs::read(format!("/proc/{process}/task/{thread}/wchan"));
    function.is_ok_and(|function| function.starts_with(b"rwsem_down_"))
}
