//! The machine: cores, cache lines, run queues and futexes, and the events that change them.
//!
//! # Cache lines
//! A line has holders: one core that wrote it, or several that read it. An access by a core that holds it is a hit. Any
//! other access is a transfer, which takes longer from another NUMA node. The transfers of a line are serialised, as by
//! its home directory: Boyd-Wickizer, Kaashoek, Morris and Zeldovich, "Non-scalable locks are dangerous" (Linux
//! Symposium 2012), explain the collapse of ticket locks by this. A write makes all cores that spin on the line read it
//! again, in random order.
//!
//! # Scheduler
//! Each core has a queue of runnable threads, first in, first out. A thread runs until it blocks or yields, or until its
//! time slice ends while another thread waits. A core without threads takes one from the longest queue. A woken thread
//! starts on its last core if that is idle, else on another idle core, first of the same node, else it queues on its
//! last core. A woken thread preempts no other thread.

use fastrand::Rng;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The costs of a machine, in nanoseconds: every time of the model follows from them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Costs {
    /// An atomic read-modify-write on a line that the core alone has.
    pub atomic_ns: f64,
    /// The transfer of a cache line from another core of the same NUMA node.
    pub line_ns: f64,
    /// The transfer of a cache line from another NUMA node: assumed unless it was given.
    pub remote_line_ns: f64,
    /// A system call that does nothing.
    pub syscall_ns: f64,
    /// The waking thread's time to wake a blocked thread.
    pub wake_ns: f64,
    /// The time from a wake-up until the thread runs on a core that was idle.
    pub wake_latency_ns: f64,
    /// The time from the call that blocks until the core is free.
    pub sleep_ns: f64,
    /// A switch from one thread to another on a core.
    pub switch_ns: f64,
    /// The time slice after which a thread makes way for another thread of its core.
    pub slice_ns: f64,
}

/// A time in picoseconds.
pub type Ps = u64;

pub fn ps(ns: f64) -> Ps {
    (ns * 1e3).round() as Ps
}

/// The number of words of a line.
pub const WORDS: usize = 4;
/// The maximum number of cores: the bits of [`Cores`].
pub const MOST_CORES: usize = 256;
/// A load or a plain store that hits.
const HIT: Ps = 500;

/// A word of memory in a cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    line: usize,
    slot: usize,
}

impl Word {
    /// Returns the word with this number in the same line.
    pub fn neighbour(self, slot: usize) -> Self {
        assert!(slot < WORDS, "a line has {WORDS} words");
        Self { slot, ..self }
    }
}

/// The end of a spin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    Is(u64),
    IsNot(u64),
}

impl Until {
    pub fn holds(self, value: u64) -> bool {
        match self {
            Self::Is(wanted) => value == wanted,
            Self::IsNot(unwanted) => value != unwanted,
        }
    }
}

/// An operation of a thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Request {
    /// Computes for this time.
    Work(Ps),
    Load(Word),
    Store(Word, u64),
    Swap(Word, u64),
    Add(Word, u64),
    SetBits(Word, u64),
    /// Compares and swaps; the reply is the value that was found.
    Replace(Word, u64, u64),
    /// The same by a restartable sequence, which needs no atomic instruction.
    ReplaceRestartably(Word, u64, u64),
    /// Spins on the word, at most until the time; the reply is its value.
    Spin(Word, Until, Option<Ps>),
    /// Blocks if the word has this value; the reply is 1 if the thread was woken.
    Sleep(Word, u64, Place),
    /// Wakes threads that are blocked on the word, at this place or any, longest blocked first; the reply is their number.
    Wake(Word, Option<Place>, usize),
    Yield,
}

/// A set of cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cores([u64; MOST_CORES / 64]);

impl Cores {
    fn only(core: usize) -> Self {
        let mut cores = Self::default();
        cores.insert(core);
        cores
    }

    fn insert(&mut self, core: usize) {
        self.0[core / 64] |= 1 << (core % 64);
    }

    fn contains(&self, core: usize) -> bool {
        self.0[core / 64] & (1 << (core % 64)) != 0
    }

    fn and(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|part| self.0[part] & other.0[part]))
    }

    fn is_empty(&self) -> bool {
        self.0 == [0; MOST_CORES / 64]
    }
}

#[derive(Default)]
struct Line {
    values: [u64; WORDS],
    holders: Cores,
    /// The end of the last transfer that has been requested.
    busy_until: Ps,
    /// The threads that spin on it with a valid copy.
    spinners: Vec<usize>,
    /// The threads that are blocked on a word of it, longest first.
    sleepers: VecDeque<Sleeper>,
}

/// The place of a blocked thread among those of its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Among those that are woken before the others.
    First,
    InTurn,
}

struct Sleeper {
    thread: usize,
    slot: usize,
    place: Place,
}

impl Sleeper {
    fn is_at(&self, word: Word, place: Option<Place>) -> bool {
        self.slot == word.slot && place.is_none_or(|place| place == self.place)
    }
}

#[derive(Default)]
struct Core {
    running: Option<usize>,
    queue: VecDeque<usize>,
    /// The thread that runs makes way after its current operation.
    preempts: bool,
    /// The number of the current stay of a thread, to ignore ends of earlier slices.
    stay: u64,
}

/// The activity of a thread on its core, or the way in which it continues there.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Doing {
    /// Its operation is complete, and it has the reply.
    Ready,
    /// It computes until this time.
    Working(Ps),
    /// It has this much computing left.
    Interrupted(Ps),
    /// An access or a system call is in progress.
    Busy,
    /// It has a valid copy of the line that it spins on.
    Spinning,
    /// It spun when it lost the core.
    Pending,
    /// It is about to block: the futex has it in its queue.
    Blocking,
    Blocked,
}

struct Thread {
    core: usize,
    request: Request,
    reply: u64,
    doing: Doing,
    /// The number of its operation, to ignore events of earlier ones.
    operation: u64,
    /// Whether it was woken before its core was free.
    is_woken: bool,
    /// The result of an access that hit: it took effect when it began.
    hit: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Done { thread: usize, operation: u64 },
    SpinEnds { thread: usize, operation: u64 },
    SliceEnds { core: usize, stay: u64 },
    Starts { thread: usize, core: usize },
}

pub struct Machine {
    costs: Costs,
    /// The cores of each NUMA node.
    nodes: Vec<Cores>,
    now: Ps,
    events: BinaryHeap<Reverse<(Ps, u64, Event)>>,
    /// The number of events so far, which orders those of one time.
    count: u64,
    lines: Vec<Line>,
    cores: Vec<Core>,
    threads: Vec<Thread>,
    pub rng: Rng,
    switches: u64,
}

impl Machine {
    /// Creates a machine of at most [`MOST_CORES`] cores, with its threads on them in rotation, about to start.
    pub fn new(costs: Costs, cores: usize, nodes: usize, threads: usize, seed: u64) -> Self {
        assert!((1..=MOST_CORES).contains(&cores) && (1..=cores).contains(&nodes), "{cores} cores in {nodes} nodes");
        let mut sets = vec![Cores::default(); nodes];
        (0..cores).for_each(|core| sets[core * nodes / cores].insert(core));
        let mut machine = Self {
            costs,
            nodes: sets,
            now: 0,
            events: BinaryHeap::new(),
            count: 0,
            lines: Vec::new(),
            cores: (0..cores).map(|_| Core::default()).collect(),
            threads: Vec::new(),
            rng: Rng::with_seed(seed),
            switches: 0,
        };
        for thread in 0..threads {
            let core = thread % cores;
            let request = Request::Work(0);
            let doing = Doing::Ready;
            machine.threads.push(Thread { core, request, reply: 0, doing, operation: 0, is_woken: false, hit: None });
            if thread < cores {
                machine.cores[core].running = Some(thread);
                // Not all at the same moment, which no real machine can do.
                let at = machine.rng.u64(0..1_000_000);
                machine.push(at, Event::Starts { thread, core });
            } else {
                machine.cores[core].queue.push_back(thread);
            }
        }
        machine
    }

    /// Returns the first word of a new line, which no core holds.
    pub fn line(&mut self) -> Word {
        self.lines.push(Line::default());
        Word { line: self.lines.len() - 1, slot: 0 }
    }

    pub fn now(&self) -> Ps {
        self.now
    }

    pub fn core(&self, thread: usize) -> usize {
        self.threads[thread].core
    }

    /// Returns the NUMA node on which the thread runs.
    pub fn node(&self, thread: usize) -> usize {
        self.node_of(self.threads[thread].core)
    }

    /// Returns the number of switches between threads.
    pub fn switches(&self) -> u64 {
        self.switches
    }

    /// Returns the result of the thread's last operation.
    pub fn reply(&self, thread: usize) -> u64 {
        self.threads[thread].reply
    }

    /// Sets the thread's next operation.
    pub fn request(&mut self, thread: usize, request: Request) {
        self.threads[thread].request = request;
    }

    /// Lets time pass until a thread's operation is complete, and returns that thread; `None` at the end.
    pub fn next(&mut self, end: Ps) -> Option<usize> {
        while let Some(Reverse((at, _, event))) = self.events.pop() {
            if at > end {
                self.now = end;
                return None;
            }
            self.now = at;
            let ready = match event {
                Event::Done { thread, operation } if self.threads[thread].operation == operation => {
                    self.complete(thread)
                }
                Event::SpinEnds { thread, operation } if self.is_spinning(thread, operation) => {
                    self.stop_spinning(thread);
                    let Request::Spin(word, ..) = self.threads[thread].request else { unreachable!("it spins") };
                    let value = self.value(word);
                    self.finish(thread, value)
                }
                Event::SliceEnds { core, stay } if self.cores[core].stay == stay => {
                    self.end_slice(core);
                    None
                }
                Event::Starts { thread, core } => self.start(thread, core),
                _ => None,
            };
            if ready.is_some() {
                return ready;
            }
        }
        None
    }

    /// Begins the operation that the thread has requested.
    pub fn begin(&mut self, thread: usize) {
        self.threads[thread].operation += 1;
        self.threads[thread].doing = Doing::Busy;
        let core = self.threads[thread].core;
        let syscall = ps(self.costs.syscall_ns);
        let done = match self.threads[thread].request {
            Request::Work(length) => {
                self.threads[thread].doing = Doing::Working(self.now + length);
                self.now + length
            }
            Request::Load(word) | Request::Spin(word, ..) => self.access(core, word, None),
            Request::Store(word, _) | Request::ReplaceRestartably(word, ..) => self.write(thread, word, HIT),
            Request::Swap(word, _) | Request::Add(word, _) | Request::SetBits(word, _) | Request::Replace(word, ..) => {
                self.write(thread, word, ps(self.costs.atomic_ns))
            }
            Request::Sleep(word, ..) => self.access(core, word, None) + syscall,
            Request::Wake(word, place, most) => {
                let sleepers = self.lines[word.line].sleepers.iter().filter(|one| one.is_at(word, place)).count();
                self.now + syscall + ps(self.costs.wake_ns) * sleepers.min(most) as Ps
            }
            Request::Yield => self.now + syscall,
        };
        if let Request::Spin(_, _, Some(end)) = self.threads[thread].request {
            let operation = self.threads[thread].operation;
            self.push(end.max(done), Event::SpinEnds { thread, operation });
        }
        self.push_done(thread, done);
    }

    /// Returns when an access that begins now is complete; `write` is the time of one that hits.
    ///
    /// The core holds the line from the time when the transfer ends: [`Self::complete`].
    fn access(&mut self, core: usize, word: Word, write: Option<Ps>) -> Ps {
        let line = &self.lines[word.line];
        match write {
            Some(hit) if line.holders == Cores::only(core) => return self.now + hit,
            None if line.holders.contains(core) => return self.now + HIT,
            _ => {}
        }
        let near = self.nodes[self.node_of(core)];
        let is_near = match write {
            // A copy in the same node is enough for a reader; a writer waits for all copies.
            None => line.holders.is_empty() || !line.holders.and(&near).is_empty(),
            Some(_) => line.holders.and(&near) == line.holders,
        };
        let length = if is_near { self.costs.line_ns } else { self.costs.remote_line_ns };
        let end = line.busy_until.max(self.now) + ps(length);
        self.lines[word.line].busy_until = end;
        end
    }

    fn complete(&mut self, thread: usize) -> Option<usize> {
        let core = self.threads[thread].core;
        match self.threads[thread].request {
            Request::Work(_) => self.finish(thread, 0),
            Request::Load(word) => {
                self.lines[word.line].holders.insert(core);
                self.finish(thread, self.value(word))
            }
            Request::Store(word, _)
            | Request::Swap(word, _)
            | Request::Add(word, _)
            | Request::SetBits(word, _)
            | Request::Replace(word, ..)
            | Request::ReplaceRestartably(word, ..) => {
                let hit = self.threads[thread].hit.take();
                let reply = hit.unwrap_or_else(|| self.change(thread, word));
                self.finish(thread, reply)
            }
            Request::Spin(word, until, end) => {
                self.lines[word.line].holders.insert(core);
                let value = self.value(word);
                if until.holds(value) || end.is_some_and(|end| end <= self.now) {
                    return self.finish(thread, value);
                }
                self.threads[thread].doing = Doing::Spinning;
                self.lines[word.line].spinners.push(thread);
                if self.cores[core].preempts {
                    self.stop_spinning(thread);
                    self.threads[thread].doing = Doing::Pending;
                    self.deschedule(thread);
                }
                None
            }
            Request::Sleep(word, expected, place) => self.sleep(thread, word, expected, place),
            Request::Wake(word, place, most) => {
                let woken = self.wake(word, place, most);
                self.finish(thread, woken)
            }
            Request::Yield => {
                self.cores[core].preempts = true;
                self.finish(thread, 0)
            }
        }
    }

    fn value(&self, word: Word) -> u64 {
        self.lines[word.line].values[word.slot]
    }

    /// Begins to write, and returns when that is complete. A hit takes effect now, a transfer at its end.
    fn write(&mut self, thread: usize, word: Word, hit: Ps) -> Ps {
        let core = self.threads[thread].core;
        let is_hit = self.lines[word.line].holders == Cores::only(core);
        self.threads[thread].hit = is_hit.then(|| self.change(thread, word));
        self.access(core, word, Some(hit))
    }

    /// Changes the word as requested, and returns its former value; all other copies of its line become invalid.
    fn change(&mut self, thread: usize, word: Word) -> u64 {
        let before = self.value(word);
        let after = match self.threads[thread].request {
            Request::Store(_, value) | Request::Swap(_, value) => value,
            Request::Add(_, more) => before + more,
            Request::SetBits(_, bits) => before | bits,
            Request::Replace(_, expected, new) | Request::ReplaceRestartably(_, expected, new) => {
                if before == expected { new } else { before }
            }
            request => unreachable!("{request:?} writes nothing"),
        };
        let line = &mut self.lines[word.line];
        line.values[word.slot] = after;
        line.holders = Cores::only(self.threads[thread].core);
        let mut spinners = std::mem::take(&mut line.spinners);
        self.rng.shuffle(&mut spinners);
        for spinner in spinners {
            self.threads[spinner].doing = Doing::Busy;
            let done = self.access(self.threads[spinner].core, word, None);
            self.push_done(spinner, done);
        }
        before
    }

    /// Blocks the thread in two steps: it is in the futex's queue at once, and its core is free later.
    fn sleep(&mut self, thread: usize, word: Word, expected: u64, place: Place) -> Option<usize> {
        if self.threads[thread].doing == Doing::Busy {
            self.lines[word.line].holders.insert(self.threads[thread].core);
            if self.value(word) != expected {
                return self.finish(thread, 0);
            }
            self.lines[word.line].sleepers.push_back(Sleeper { thread, slot: word.slot, place });
            self.threads[thread].doing = Doing::Blocking;
            self.threads[thread].is_woken = false;
            self.push_done(thread, self.now + ps(self.costs.sleep_ns));
            return None;
        }
        if self.threads[thread].is_woken {
            return self.finish(thread, 1);
        }
        self.threads[thread].doing = Doing::Blocked;
        self.switches += 1;
        self.dispatch(self.threads[thread].core);
        None
    }

    fn wake(&mut self, word: Word, place: Option<Place>, most: usize) -> u64 {
        let mut woken = 0;
        while woken < most as u64 {
            let sleepers = &mut self.lines[word.line].sleepers;
            let Some(first) = sleepers.iter().position(|one| one.is_at(word, place)) else { break };
            let thread = sleepers.remove(first).expect("it was found").thread;
            woken += 1;
            if self.threads[thread].doing == Doing::Blocking {
                self.threads[thread].is_woken = true;
            } else {
                self.threads[thread].doing = Doing::Ready;
                self.threads[thread].reply = 1;
                self.make_runnable(thread);
            }
        }
        woken
    }

    fn make_runnable(&mut self, thread: usize) {
        let last = self.threads[thread].core;
        let is_idle = |core: &usize| self.cores[*core].running.is_none();
        let node = self.node_of(last);
        let idle = Some(last)
            .filter(is_idle)
            .or_else(|| (0..self.cores.len()).filter(|core| self.node_of(*core) == node).find(is_idle))
            .or_else(|| (0..self.cores.len()).find(is_idle));
        match idle {
            Some(core) => {
                self.cores[core].running = Some(thread);
                self.push(self.now + ps(self.costs.wake_latency_ns), Event::Starts { thread, core });
            }
            None => self.cores[last].queue.push_back(thread),
        }
    }

    fn start(&mut self, thread: usize, core: usize) -> Option<usize> {
        self.threads[thread].core = core;
        self.cores[core].preempts = false;
        self.cores[core].stay += 1;
        let stay = self.cores[core].stay;
        self.push(self.now + ps(self.costs.slice_ns), Event::SliceEnds { core, stay });
        match self.threads[thread].doing {
            Doing::Ready => return Some(thread),
            Doing::Interrupted(left) => {
                self.threads[thread].doing = Doing::Working(self.now + left);
                self.push_done(thread, self.now + left);
            }
            Doing::Pending => self.begin(thread),
            doing => unreachable!("a thread that starts is not {doing:?}"),
        }
        None
    }

    fn end_slice(&mut self, core: usize) {
        if self.cores[core].queue.is_empty() {
            let stay = self.cores[core].stay;
            self.push(self.now + ps(self.costs.slice_ns), Event::SliceEnds { core, stay });
            return;
        }
        let thread = self.cores[core].running.expect("a stay has a thread");
        match self.threads[thread].doing {
            Doing::Working(end) => {
                self.threads[thread].operation += 1;
                self.threads[thread].doing = Doing::Interrupted(end - self.now);
                self.deschedule(thread);
            }
            Doing::Spinning => {
                self.stop_spinning(thread);
                self.threads[thread].doing = Doing::Pending;
                self.deschedule(thread);
            }
            _ => self.cores[core].preempts = true,
        }
    }

    fn is_spinning(&self, thread: usize, operation: u64) -> bool {
        self.threads[thread].doing == Doing::Spinning && self.threads[thread].operation == operation
    }

    fn stop_spinning(&mut self, thread: usize) {
        let Request::Spin(word, ..) = self.threads[thread].request else { unreachable!("it spins") };
        self.lines[word.line].spinners.retain(|other| *other != thread);
    }

    /// Completes the operation; the thread continues at once unless it makes way.
    fn finish(&mut self, thread: usize, reply: u64) -> Option<usize> {
        self.threads[thread].reply = reply;
        self.threads[thread].doing = Doing::Ready;
        self.threads[thread].operation += 1;
        let core = &mut self.cores[self.threads[thread].core];
        if std::mem::take(&mut core.preempts) && !core.queue.is_empty() {
            self.deschedule(thread);
            return None;
        }
        Some(thread)
    }

    fn deschedule(&mut self, thread: usize) {
        let core = self.threads[thread].core;
        self.cores[core].queue.push_back(thread);
        self.switches += 1;
        self.dispatch(core);
    }

    /// Lets the next thread of the core run, or the first one of the longest queue.
    fn dispatch(&mut self, core: usize) {
        let next = self.cores[core].queue.pop_front().or_else(|| {
            let longest = (0..self.cores.len()).rev().max_by_key(|other| self.cores[*other].queue.len());
            longest.and_then(|other| self.cores[other].queue.pop_front())
        });
        self.cores[core].stay += 1;
        self.cores[core].running = next;
        if let Some(thread) = next {
            self.push(self.now + ps(self.costs.switch_ns), Event::Starts { thread, core });
        }
    }

    fn node_of(&self, core: usize) -> usize {
        core * self.nodes.len() / self.cores.len()
    }

    fn push_done(&mut self, thread: usize, at: Ps) {
        let operation = self.threads[thread].operation;
        self.push(at, Event::Done { thread, operation });
    }

    fn push(&mut self, at: Ps, event: Event) {
        self.count += 1;
        self.events.push(Reverse((at, self.count, event)));
    }
}
