//! Sums of the samples: the waits of each thread, and for each lock the waiters and the states of its holder.
//!
//! A sample stands for the time since the thread's last one. The holder of a lock that the library notes is read from the
//! memory that the library records into, at the same time. The holder of any other futex word is known afterwards, where
//! the kernel's calls are recorded ([`super::moments`]). The calls of the threads that did not wait for it are kept for where
//! they are not: [`crate::frames`] says which of them are in the function that acquires it.

use super::budget::{Part, may_wait_for_map, moves_bytes, part_of_call};
use super::clock::{Clock, Pace};
use super::file_locks::{self, FileLocks, file_of, is_of_file};
use super::holders::{Seen, holders, judge, note_peers, object};
use super::life::{Life, allowed};
use super::modes::Accounts;
use super::moments::{Done, Moments, Turn};
use super::notes::{CONDITION, Note, size_of_lock, threads_of};
use super::priority::Priority;
use super::quota::Quotas;
use super::samples::Samples;
use super::sockets::{Awaited, Sockets};
use super::spins::{Spins, Waits};
use super::waited::{Holder, Path, Wait, Waited, room};
use super::{FileType, Sample, Sampler, State, call_of, cpu_time_of, name_of, pause};
use crate::lines::Lines;
use crate::memory::top_of_stack;
use crate::names::{Mapping, Site};
use crate::namespace::OwnNumbers;
use crate::parked::Parked;
use crate::places::lock_at;
use crate::python::Python;
use crate::stacks::{Stack, Stacks};
use instruments::clock::monotonic_raw_ns;
use interpose::{Kind, Lock, Region, Thread};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// The sums.
#[derive(Default)]
pub struct Profile {
    sampler: Sampler,
    /// The CPU time of the last sample.
    last_took: Duration,
    unwinders: HashMap<u32, Stacks>,
    lives: HashMap<u32, Life>,
    /// The numbers that threads have in the PID namespaces of their processes.
    own_numbers: HashMap<u32, OwnNumbers>,
    /// Threads that have ended.
    ended: Vec<Life>,
    /// Call paths with their processes; the innermost address first.
    paths: Vec<(u32, Vec<u64>)>,
    /// The interpreters of CPython processes.
    pythons: HashMap<u32, Python>,
    /// The functions that each path's calls name.
    called: Vec<Vec<u64>>,
    numbers: HashMap<(u32, Vec<u64>), Path>,
    waited: BTreeMap<Wait, Waited>,
    /// Waits of labelled requests for words, by the place of the label, in seconds.
    labelled: BTreeMap<(u32, Wait), f64>,
    /// Slots of locks and their sizes, by process slot and address.
    locks: BTreeMap<(u32, u64), (u32, u64)>,
    /// The mappings of files that processes can share locks in, by process.
    mappings: HashMap<u32, Vec<Mapping>>,
    /// Samples of all threads, and those that were lost because there was no room for the awaited object.
    pub samples: u64,
    pub lost: u64,
    /// The samples whose holders of words are not known yet.
    moments: Moments,
    /// Whether they will be.
    pub follows_words: bool,
    parked: Parked,
    quotas: Quotas,
    /// Whether a thread waited for the lock of a file in the last sample.
    waits_for_files: bool,
    /// The names of files whose locks were waited for, by the number in the wait, and those of the processes that had them.
    file_names: BTreeMap<u64, String>,
    owners: BTreeMap<u32, String>,
    sockets: Sockets,
    clock: Clock,
    spins: Spins,
    lines: Lines,
    /// Samples of threads on a CPU that spun for something that no call shows, by path.
    spinning: HashMap<Path, u64>,
    /// Samples of threads that gave up their CPU, by path.
    yielding: HashMap<Path, u64>,
    /// All samples of threads on a CPU, by path.
    running: HashMap<Path, u64>,
    /// The time that threads ran in functions of Python, in seconds.
    ran_python: BTreeMap<Path, f64>,
    accounts: Accounts,
}

/// Processes whose stacks are unwound.
const MOST_PROCESSES: usize = 24;

/// Processes whose shared memory is known.
const MOST_MAPPED: usize = 512;

const MOST_PATHS: usize = 8_192;

const MOST_ENDED: usize = 4_096;

/// Locks of each thread whose holds are kept.
const MOST_HOLDS: usize = 256;

/// Samples after which the account of a process is read again.
const ACCOUNT_PERIOD: u64 = 16;
/// Samples after which the name, the CPUs and the limit of a thread are read again, which may change at any time.
const NAME_PERIOD: u64 = 64;

impl Profile {
    /// Learns the memory map of a process, whose stacks are unwound from now on.
    pub fn learn(&mut self, process: u32, mappings: &[Mapping]) {
        // The path of a thread that has been blocked since before was found without files that are known now.
        let own = self.lives.values_mut().filter(|life| life.process == process);
        own.filter_map(|life| life.blocked.as_mut()).for_each(|(_, _, path)| *path = None);
        if self.mappings.len() >= MOST_MAPPED {
            self.mappings.retain(|process, _| is_alive(*process));
        }
        if self.mappings.len() < MOST_MAPPED || self.mappings.contains_key(&process) {
            let is_data = |piece: &&Mapping| !piece.is_code && !piece.path.to_string_lossy().contains(".so");
            self.mappings.insert(process, mappings.iter().filter(is_data).cloned().collect());
        }
        if self.unwinders.len() >= MOST_PROCESSES {
            self.unwinders.retain(|process, _| is_alive(*process));
        }
        if self.unwinders.len() < MOST_PROCESSES || self.unwinders.contains_key(&process) {
            self.unwinders.entry(process).or_default().learn(process, mappings);
            if self.pythons.get(&process).is_none_or(|python| !python.is_of(mappings))
                && let Some(python) = Python::of(process, mappings)
            {
                let python = python.after(self.pythons.remove(&process));
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
        self.yielding.clear();
        self.lines.begin_part();
        self.running.clear();
        self.ran_python.clear();
        self.accounts.begin_part();
        (self.samples, self.lost, self.spins.count) = (0, 0, 0);
        self.lives.values_mut().for_each(Life::begin_part);
        // A service that is watched for hours has new paths all the time.
        if self.paths.len() > MOST_PATHS / 2 {
            self.paths.clear();
            self.called.clear();
            self.numbers.clear();
            self.lives.values_mut().for_each(Life::forget_paths);
        }
    }

    /// Samples the threads of these processes; `now_s` is the time since the start. Returns the time until the next sample is due,
    /// from the begin of this one.
    pub fn sample(&mut self, processes: &[u32], region: Option<&Region>, now_s: f64) -> Duration {
        let took = cpu_time_of(|| self.take_sample(processes, region, now_s));
        pause(took, std::mem::replace(&mut self.last_took, took))
    }

    fn take_sample(&mut self, processes: &[u32], region: Option<&Region>, now_s: f64) {
        let threads: HashMap<(u32, u32), &Thread> = region.map(threads_of).unwrap_or_default();
        if self.own_numbers.len() > MOST_MAPPED {
            self.own_numbers.clear();
        }
        let follows_words = self.follows_words;
        let Self { sampler, lives, own_numbers, waits_for_files, .. } = &mut *self;
        let own_numbers = RefCell::new(own_numbers);
        // The library knows a thread by its number in the PID namespace of its process.
        let noted = |sample: &Sample| {
            let mut own_numbers = own_numbers.borrow_mut();
            let of_process = own_numbers.entry(sample.process).or_insert_with(|| OwnNumbers::of(sample.process));
            threads.get(&(sample.process, of_process.own(sample.thread)?)).copied()
        };
        let more = |sample: &Sample| {
            let note = region.and_then(|region| Some(Note::of(region, noted(sample)?)));
            let known = lives.get(&sample.thread).and_then(|life| life.known_path(sample));
            // The threads that hold locks are few, and do not stay where they are. So do those that may hold a word.
            let holds_lock = note.as_ref().is_some_and(|note| !note.held.is_empty());
            let may_hold =
                follows_words && matches!(sample.state, State::Blocked(call) if call.number != libc::SYS_futex);
            let stack = if known.is_none() && (holds_lock || may_hold) { stack_of(sample) } else { None };
            (note, known, stack)
        };
        let at = monotonic_raw_ns();
        // Before the states: an owner that then waits for the lock itself has given it away.
        let file_locks = if *waits_for_files { FileLocks::read() } else { FileLocks::default() };
        let samples = sampler.sample(processes, more);
        self.samples += 1;
        if self.samples % ACCOUNT_PERIOD == 1 {
            processes.iter().for_each(|process| self.accounts.learn(*process));
        }
        self.pythons.values_mut().for_each(Python::begin_sample);
        let seen: Vec<Seen> = samples
            .into_iter()
            .map(|(sample, (note, known, stack))| {
                let stack = || stack.or_else(|| stack_of(&sample));
                let path = known.or_else(|| self.unwound(sample.process, Some(sample.thread), &stack()?));
                let may_hold = follows_words || note.as_ref().is_some_and(|note| !note.held.is_empty());
                let is_runnable = sample.state == State::Runnable;
                let is_python = self.pythons.contains_key(&sample.process);
                let ran_in = (is_runnable && (may_hold || is_python))
                    .then(|| self.python_path(sample.process, sample.thread))
                    .flatten();
                let seen = Seen { ran_in, ..self.note(sample, note, path, region, now_s) };
                if let Some(path) = ran_in.filter(|_| is_python) {
                    *self.ran_python.entry(path).or_default() += seen.span * seen.ran_share;
                }
                seen
            })
            .collect();
        self.waits_for_files = seen.iter().any(|seen| seen.wait.is_some_and(is_of_file));
        self.forget_ended(&seen);
        self.sample_cpus(&seen, now_s);
        let by_thread: HashMap<u32, &Seen> = seen.iter().map(|seen| (seen.sample.thread, seen)).collect();
        let holders = region.map(|region| holders(region, &seen)).unwrap_or_default();
        // The number of threads that wait at once, and the time that the sample is of.
        let mut waiters: HashMap<Wait, (usize, f64)> = HashMap::new();
        let mut count = |wait: Wait, span: f64| {
            let (count, seconds) = waiters.entry(wait).or_default();
            (*count, *seconds) = (*count + 1, seconds.max(span));
        };
        for seen in seen.iter().filter(|seen| seen.span > 0.0) {
            // Where the threads spend their time, locks or not; and some locks sleep between two tries, which the path shows.
            if let Some(call @ Wait::Call { .. }) = seen.wait
                && object(seen) != seen.wait
                && let Some(waited) = room(&mut self.waited, call)
            {
                waited.seconds += seen.span;
                seen.path.iter().for_each(|path| *waited.paths.entry(*path).or_default() += seen.span);
                if matches!(call, Wait::Call { file: 1.., .. }) {
                    count(call, seen.span);
                }
            }
            let Some(object) = object(seen) else { continue };
            count(object, seen.span);
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
            waited.polled_s += if seen.polls { seen.span } else { 0.0 };
            seen.path.iter().for_each(|path| *waited.paths.entry(*path).or_default() += seen.span);
            if let (Some(condition), Wait::Lock(lock)) = (seen.noted, object)
                && condition != lock
            {
                *waited.after_condition.entry(condition).or_default() += seen.span;
            }
            match object {
                Wait::Lock(lock) => judge(waited, lock, seen, &holders, &by_thread),
                wait if is_of_file(wait)
                    && let Some(owner) = file_locks.owner(&seen.sample) =>
                {
                    if !file_locks::judge(waited, seen, owner, &by_thread) {
                        note_peers(waited, object, seen, &by_thread);
                    }
                    if self.owners.len() < file_locks::MOST_NAMES && !self.owners.contains_key(&owner) {
                        self.owners.insert(owner, name_of(owner, owner).unwrap_or_default());
                    }
                }
                _ => note_peers(waited, object, seen, &by_thread),
            }
        }
        if self.follows_words {
            let lost = self.moments.keep(at, &seen, object);
            self.note_unknown(lost);
        }
        for (object, (count, seconds)) in waiters {
            if let Some(waited) = self.waited.get_mut(&object) {
                waited.note_waiters(count, seconds);
            }
        }
    }

    /// Notes which thread had a word for which another thread waited.
    pub fn held(&mut self, turn: &Turn) {
        let other = turn.by.and_then(|by| self.moments.process_of(by)).filter(|process| *process != turn.process);
        for Done { object, holder, seconds, ran_in } in self.moments.note(turn) {
            let Some(waited) = room(&mut self.waited, object) else { continue };
            *waited.holders.entry(holder).or_default() += seconds;
            ran_in.into_iter().for_each(|path| *waited.ran_in.entry(path).or_default() += seconds);
            other.into_iter().for_each(|process| *waited.other_processes.entry(process).or_default() += seconds);
        }
    }

    /// Notes that nothing more will be known of the holders in the samples up to now.
    pub fn end_turns(&mut self) {
        let lost = self.moments.give_up();
        self.note_unknown(lost);
    }

    fn note_unknown(&mut self, lost: Vec<(Wait, f64)>) {
        for (object, seconds) in lost {
            if let Some(waited) = room(&mut self.waited, object) {
                *waited.holders.entry(Holder::Unknown).or_default() += seconds;
            }
        }
    }

    /// Ends a window in which threads on a CPU are sampled, if it is over. [`Self::sample`] does so as well, but may come
    /// much later.
    pub fn end_window(&mut self, now_s: f64) {
        let Some(window) = self.clock.end(now_s) else { return };
        self.lines.note(&window, &self.unwinders);
        for (process, thread, stack) in window.stacks {
            let waits = self.spins.waits(process, stack.instruction);
            let Some(path) = self.unwound(process, None, &stack) else { continue };
            self.lines.note_path(process, stack.instruction, path);
            *self.running.entry(path).or_default() += 1;
            self.lives.get_mut(&thread).into_iter().for_each(|life| life.ran_at(path));
            match waits {
                Some(Waits::Spins) => *self.spinning.entry(path).or_default() += 1,
                Some(Waits::Yields) => *self.yielding.entry(path).or_default() += 1,
                None => {}
            }
        }
    }

    /// Samples the instructions of threads on a CPU. Those whose waits the library notes are known without.
    fn sample_cpus(&mut self, seen: &[Seen], now_s: f64) {
        self.end_window(now_s);
        let is_candidate = |seen: &&Seen| seen.sample.state == State::Runnable && seen.noted.is_none();
        let runnable: Vec<(u32, u32)> =
            seen.iter().filter(is_candidate).map(|seen| (seen.sample.process, seen.sample.thread)).collect();
        self.clock.begin(&runnable, now_s);
    }

    /// Updates a thread's account.
    fn note(
        &mut self,
        sample: Sample,
        note: Option<Note>,
        path: Option<Path>,
        region: Option<&Region>,
        now_s: f64,
    ) -> Seen {
        let sums = [sample.ran_ns, sample.ready_ns];
        let is_another =
            |life: &Life| life.process != sample.process || life.sums.iter().zip(sums).any(|(old, new)| new < *old);
        if self.lives.get(&sample.thread).is_some_and(is_another)
            && let Some(life) = self.lives.remove(&sample.thread)
        {
            self.end(life);
        }
        let noted = note.as_ref().and_then(|note| note.waits);
        let wait = self.wait_of(&sample, note.as_ref().zip(region));
        if let Some(Wait::Word { process, address }) = wait
            && !self.is_same_call(&sample, sums)
        {
            self.parked.note(process, address);
        }
        // Programs begin threads, move themselves and execute others at the start mostly.
        let name_is_due = self.samples % NAME_PERIOD == 1 || self.samples.is_power_of_two();
        let life = self.lives.entry(sample.thread).or_insert_with(|| Life {
            process: sample.process,
            thread: sample.thread,
            turns_before: sample.turns,
            turns: sample.turns,
            began_s: now_s,
            seen_s: now_s,
            before: sums,
            sums,
            ..Life::default()
        });
        life.is_noted |= note.is_some();
        if life.name.is_empty() || name_is_due {
            life.allowed = allowed(sample.thread).unwrap_or(life.allowed);
            life.priority = Priority::of(sample.thread).or(life.priority);
            life.name = name_of(sample.process, sample.thread).unwrap_or_else(|| std::mem::take(&mut life.name));
            if sample.thread == sample.process {
                self.quotas.learn(sample.process);
            }
        }
        let span = now_s - life.seen_s;
        let [ran, ready] = [0, 1].map(|part| (sums[part] - life.sums[part]) as f64);
        let ran_share = if ran + ready > 0.0 { ran / (ran + ready) } else { 1.0 };
        life.yielded_s += if life.yields(&sample, span * 1e9) { span } else { 0.0 };
        (life.seen_s, life.sums, life.turns) = (now_s, sums, sample.turns);
        let polled = note.as_ref().filter(|_| noted.is_none()).and_then(|note| note.polled);
        let (wait, noted, polls) = match (polled, sample.state) {
            (Some(polled), State::Runnable) if life.tries.next(polled.number, polled.tries, ran) => {
                (wait, Some((polled.lock, polled.kind)), true)
            }
            (Some(polled), State::Blocked(_)) => {
                let _ = life.tries.next(polled.number, polled.tries, ran);
                let is_asleep = matches!(wait, Some(Wait::Call { part: Part::Sleep, .. }));
                let near = path.is_some_and(|path| is_near(&self.paths[path].1, polled.site));
                let polls = is_asleep && near && polled.tries >= 2;
                if polls {
                    life.tries.sleeps();
                }
                (if polls { Some(Wait::Lock(polled.lock)) } else { wait }, noted, polls)
            }
            _ => (wait, noted, false),
        };
        if let Some(wait) = wait {
            *life.waits.entry(wait).or_default() += span;
            path.into_iter().for_each(|path| life.waited_at(wait, path, span));
        } else if noted.is_some() {
            life.spun_s += span * ran_share;
        }
        life.path = path.or(life.path);
        life.blocked = match sample.state {
            State::Blocked(call) => Some((call, sums, path)),
            _ => None,
        };
        let (label, mut held, through) =
            note.map_or((None, Vec::new(), None), |note| (note.label, note.held, note.through));
        // A thread that waited when its state was read can have the lock since then.
        held.retain(|(lock, _)| wait != Some(Wait::Lock(*lock)));
        for (lock, _) in &held {
            if life.holds.len() < MOST_HOLDS || life.holds.contains_key(lock) {
                *life.holds.entry(*lock).or_default() += span;
            }
        }
        let noted = noted.map(|(lock, _)| lock);
        Seen { sample, span, noted, polls, held, through, wait, path, ran_in: None, label, ran_share }
    }

    /// Returns the object that a thread waits for, if it is blocked.
    fn wait_of(&mut self, sample: &Sample, note_in: Option<(&Note, &Region)>) -> Option<Wait> {
        let noted = note_in.and_then(|(note, _)| note.waits);
        let State::Blocked(call) = sample.state else {
            return match (sample.state, noted) {
                (State::Hidden, Some((lock, _))) => Some(Wait::Lock(lock)),
                (State::Hidden, None) => Some(Wait::Hidden),
                _ => None,
            };
        };
        if call.number == libc::SYS_futex {
            let word = call.arguments[0];
            if let (Some((lock, kind)), Some((note, region))) = (noted, note_in) {
                let address = lock_at(region, lock).address.load(Relaxed);
                // To wait for a condition ends with getting the mutex back.
                let is_in_it = kind != Kind::Cond || (address..address + CONDITION).contains(&word);
                let mutex = || self.lock_around(note.process, word).unwrap_or(lock);
                return Some(Wait::Lock(if is_in_it { lock } else { mutex() }));
            }
            // The library notes a wait a moment before the call.
            let lock = note_in.and_then(|(note, _)| self.lock_around(note.process, word));
            return Some(lock.map_or(Wait::Word { process: sample.process, address: word }, Wait::Lock));
        }
        // A library call that waits may sleep in another call than a futex's, for example a spinlock's that yields.
        if let Some((lock, _)) = noted
            .filter(|_| matches!(call.number, libc::SYS_sched_yield | libc::SYS_nanosleep | libc::SYS_clock_nanosleep))
        {
            return Some(Wait::Lock(lock));
        }
        let (file, channel) = match moves_bytes(call.number) {
            true => FileType::of(sample.process, call.arguments[0]),
            false => (FileType::Unknown, 0),
        };
        let holds_lock = note_in.is_some_and(|(note, _)| !note.held.is_empty());
        let part = if may_wait_for_map(call.number) && waits_for_map(sample.process, sample.thread) {
            Part::Lock
        } else {
            match holds_lock.then(|| self.sockets.awaited(sample.process, &call)).flatten() {
                Some(Awaited::Reply) => Part::Io,
                Some(Awaited::Request) => Part::Work,
                Some(Awaited::Unknown) => Part::Unknown,
                None => part_of_call(call.number, &call.arguments, file),
            }
        };
        let wait = Wait::Call { number: call.number, part, file: 0 };
        let file = match call.number {
            libc::SYS_read | libc::SYS_readv => channel,
            _ if is_of_file(wait) => self.locked_file(sample.process, call.arguments[0]),
            _ => 0,
        };
        Some(Wait::Call { number: call.number, part, file })
    }

    /// Returns the number of the file whose lock a thread waits for, and keeps its name.
    fn locked_file(&mut self, process: u32, descriptor: u64) -> u64 {
        let Some((file, name)) = file_of(process, descriptor) else { return 0 };
        if self.file_names.len() < file_locks::MOST_NAMES {
            self.file_names.entry(file).or_insert(name);
        }
        file
    }

    /// Returns whether a blocked thread is in the call in which it was seen the last time, and did not run since then.
    fn is_same_call(&self, sample: &Sample, sums: [u64; 2]) -> bool {
        let blocked = self.lives.get(&sample.thread).and_then(|life| life.blocked);
        blocked.is_some_and(|(before, sums_before, _)| (State::Blocked(before), sums_before) == (sample.state, sums))
    }

    /// Returns the number of the path that a stack shows, and the Python functions of a blocked thread.
    fn unwound(&mut self, process: u32, thread: Option<u32>, stack: &Stack) -> Option<Path> {
        let mut path = self.unwinders.get_mut(&process)?.frames(stack);
        path.extend(
            self.pythons.get_mut(&process).zip(thread).into_iter().flat_map(|(python, thread)| python.frames(thread)),
        );
        self.number(process, path)
    }

    /// Returns the number of the path of the Python functions that a thread is in, which has no stack to unwind while it runs.
    fn python_path(&mut self, process: u32, thread: u32) -> Option<Path> {
        let path = self.pythons.get_mut(&process)?.frames(thread);
        if path.is_empty() { None } else { self.number(process, path) }
    }

    /// Returns the number of a path; `None` where there are too many.
    fn number(&mut self, process: u32, path: Vec<u64>) -> Option<Path> {
        let unwinder = self.unwinders.get_mut(&process)?;
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
            let (owner, other) = (lock.process.load(Relaxed), pair.process.load(Relaxed));
            let address = lock.address.load(Relaxed);
            self.locks.insert((owner, address), (slot, size));
            // A process that shares the lock can have it at another address.
            let pid = |place: u32| region.processes.get(place as usize).map(|process| process.pid.load(Relaxed));
            let mappings = |place: u32| self.mappings.get(&pid(place)?);
            let there = mappings(owner).zip(mappings(other)).filter(|_| owner != other);
            if let Some(there) = there.and_then(|(own, other)| address_in(own, other, address)) {
                self.locks.insert((other, there), (slot, size));
            }
        }
    }

    /// Returns the lock that a word is in.
    fn lock_around(&self, process: u32, word: u64) -> Option<u32> {
        let ((of, address), (slot, size)) = self.locks.range(..=(process, word)).next_back()?;
        (*of == process && word < address + size).then_some(*slot)
    }

    fn forget_ended(&mut self, seen: &[Seen]) {
        let alive: HashSet<u32> = seen.iter().map(|seen| seen.sample.thread).collect();
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

    /// Returns the sums.
    pub fn samples(&self) -> Samples {
        let mut lives: Vec<Life> = self.lives().cloned().collect();
        lives.sort_by(|one, other| one.thread.cmp(&other.thread).then(one.began_s.total_cmp(&other.began_s)));
        let all = self.spins.count.max(1) as f64;
        let shares =
            |counts: &HashMap<Path, u64>| counts.iter().map(|(path, count)| (*path, *count as f64 / all)).collect();
        Samples {
            count: self.samples,
            lives,
            waited: self.waited.clone(),
            labelled: self.labelled.clone(),
            spinning: shares(&self.spinning),
            yielding: shares(&self.yielding),
            running: shares(&self.running),
            ran_python: self.ran_python.clone(),
            modes: self.accounts.modes(),
            cpu_limit: self.quotas.cpus(),
            refused_clock: self.refused_clock().map(str::to_owned),
            file_names: self.file_names.clone(),
            owners: self.owners.clone(),
        }
    }

    fn lives(&self) -> impl Iterator<Item = &Life> {
        self.ended.iter().chain(self.lives.values())
    }

    /// Returns whether a thread was seen.
    pub fn has_lives(&self) -> bool {
        self.lives().next().is_some()
    }

    /// Returns how long all threads ran on a CPU, by the samples so far.
    pub fn ran_s(&self) -> f64 {
        self.lives().map(|life| life.sum_s(0)).sum()
    }

    /// Returns the locks of parking_lot, by the process and the word that a thread blocks in.
    pub fn parking_locks(&self) -> HashMap<(u32, u64), u64> {
        self.parked.locks()
    }

    /// Returns the samples of the waits for each lock and word.
    pub fn waited(&self) -> impl Iterator<Item = (Wait, &Waited)> {
        self.waited.iter().map(|(wait, waited)| (*wait, waited))
    }

    /// Creates sums whose samples of threads on a CPU are taken at this pace.
    pub fn with_pace(pace: Pace) -> Self {
        Self { clock: Clock::with_pace(pace), ..Self::default() }
    }

    /// Returns the cache lines that threads on a CPU used.
    pub fn lines(&self) -> &Lines {
        &self.lines
    }

    /// Returns why the kernel refuses samples of threads on a CPU.
    pub fn refused_clock(&self) -> Option<&str> {
        self.clock.refusal()
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

/// Returns the address at which another process has what this one has at `address`.
fn address_in(own: &[Mapping], other: &[Mapping], address: u64) -> Option<u64> {
    let piece = own.iter().find(|piece| (piece.start..piece.end).contains(&address))?;
    let offset = address - piece.start + piece.offset;
    let there =
        |other: &Mapping| offset.checked_sub(other.offset)?.checked_add(other.start).filter(|at| *at < other.end);
    other.iter().filter(|other| other.file == piece.file).find_map(there)
}

/// Returns whether a process has not ended.
pub(crate) fn is_alive(process: u32) -> bool {
    std::path::Path::new(&format!("/proc/{process}")).exists()
}

/// Returns the stack of a blocked thread.
fn stack_of(sample: &Sample) -> Option<Stack> {
    let State::Blocked(call) = sample.state else { return None };
    // Through the thread itself, since the process's first one may have ended.
    let bytes = top_of_stack(sample.thread, call.pointer);
    // A thread that ran since its state was read has another stack.
    let is_still_there = call_of(sample.process, sample.thread) == Some(call);
    is_still_there.then_some(Stack { instruction: call.instruction, pointer: call.pointer, frame: 0, link: 0, bytes })
}

/// Returns whether a thread sleeps in the loop in which it tries: one of its innermost calls is near that of the try.
fn is_near(path: &[u64], site: u64) -> bool {
    const MOST_CALLS: usize = 6;
    const MOST_BYTES: u64 = 512;
    path.iter().take(MOST_CALLS).any(|address| address.abs_diff(site) <= MOST_BYTES)
}

/// Returns whether a thread waits for the kernel's lock of its address space, by the function of the kernel that it is
/// in.
fn waits_for_map(process: u32, thread: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{process}/task/{thread}/wchan")).is_ok_and(|function| is_of_map(&function))
}

/// Returns whether a thread that sleeps in this function of the kernel waits for the lock of its address space. Some kernels name
/// the function of the lock. Others name the one that acquires it, which is a call's own: what else that waits for is in
/// functions that it calls, and these are named then.
fn is_of_map(function: &str) -> bool {
    const ACQUIRE: [&str; 8] = ["mprotect", "munmap", "mmap", "mremap", "brk", "madvise", "lock_mm", "find_vma"];
    function.starts_with("rwsem_down_") || ACQUIRE.iter().any(|acquires| function.contains(acquires))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_lock_is_found_at_the_address_of_each_process() {
        let map = |text: &str| crate::names::parse(text.as_bytes());
        let own = map("7f0000000000-7f0000002000 rw-s 00001000 00:01 31 /dev/zero (deleted)\n");
        let other = map("7e0000000000-7e0000001000 rw-s 00000000 00:01 31 /dev/zero (deleted)\n\
             7e0000005000-7e0000007000 rw-s 00001000 00:01 31 /dev/zero (deleted)\n\
             7f0000000000-7f0000002000 rw-s 00001000 00:01 32 /dev/zero (deleted)\n");
        assert_eq!(address_in(&own, &other, 0x7f00_0000_1040), Some(0x7e00_0000_6040));
        assert_eq!(address_in(&own, &other[..1], 0x7f00_0000_1040), None);
        assert_eq!(address_in(&own, &other, 0x7f00_0000_2040), None);
    }

    #[test]
    fn lock_of_the_address_space_is_known_from_the_kernels_function() {
        let of_map =
            ["rwsem_down_write_slowpath", "do_mprotect_pkey", "__vm_munmap", "vm_mmap_pgoff", "lock_mm_and_find_vma"];
        assert!(of_map.iter().all(|function| is_of_map(function)));
        assert!(
            ["0", "", "folio_wait_bit_common", "futex_do_wait", "shrink_node"]
                .iter()
                .all(|function| !is_of_map(function))
        );
    }

    #[test]
    fn sleep_is_a_pause_between_tries_if_its_call_is_near() {
        assert!(is_near(&[0x7f00, 0x40_1180], 0x40_1150));
        assert!(!is_near(&[0x7f00, 0x40_2180], 0x40_1150) && !is_near(&[], 0x40_1150));
    }
}

#[cfg(test)]
mod measured {
    use super::*;

    /// Returns the addresses of the longest path on which threads wait for a word.
    fn longest_path(profile: &Profile) -> usize {
        let words = profile.waited().filter(|(wait, _)| matches!(wait, Wait::Word { .. }));
        words.flat_map(|(_, waited)| waited.paths.keys()).map(|path| profile.path(*path).1.len()).max().unwrap_or(0)
    }

    #[test]
    #[ignore = "measured: needs a separate process"]
    fn path_is_found_again_with_a_new_file_or_in_a_new_part() {
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let sleeper = std::thread::spawn(move || _ = receiver.recv());
        let process = std::process::id();
        let whole = crate::names::parse(&std::fs::read("/proc/self/maps").unwrap());
        let is_of_library = |piece: &&Mapping| piece.path.to_string_lossy().contains("libc.so");
        let library: Vec<Mapping> = whole.iter().filter(is_of_library).cloned().collect();
        let mut profile = Profile::default();
        let sample = |profile: &mut Profile| {
            for _ in 0..50 {
                profile.sample(&[process], None, profile.samples as f64);
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        };
        profile.learn(process, &library);
        sample(&mut profile);
        let before = longest_path(&profile);
        profile.learn(process, &whole);
        sample(&mut profile);
        let after = longest_path(&profile);
        assert!((1..after).contains(&before), "{before} calls, then {after}");
        // There is no room for another path, until the next part of a long trace.
        profile.begin_part();
        (profile.paths, profile.called) = (vec![(0, Vec::new()); MOST_PATHS], vec![Vec::new(); MOST_PATHS]);
        profile.numbers.clear();
        profile.lives.values_mut().for_each(Life::forget_paths);
        sample(&mut profile);
        assert_eq!(longest_path(&profile), 0);
        profile.begin_part();
        sample(&mut profile);
        assert_eq!(longest_path(&profile), after);
        drop(sender);
        sleeper.join().unwrap();
    }
}
