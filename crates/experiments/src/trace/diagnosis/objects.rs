//! The objects that were waited for, with names: the locks that the library noted, futex words, and loops that spin.

use super::inner::{called_in, plain};
use super::rows::Rows;
use super::{ENOUGH_S, Evidence};
use crate::trace::evidence::NotedLock;
use crate::trace::python_locks::{PYTHON, PythonPlace, is_work};
use crate::trace::record::{HolderWait, IN_TURN, Row, UNKNOWN};
use blame::frames::{Frame, Frames, Kind as FrameKind, function_of, kind_by_use};
use blame::jvm::JavaLock;
use blame::names::{Site, short};
use blame::places::type_name;
use blame::purpose::{Purpose, block_address};
use blame::sampling::budget::{Part, call_name, is_for_requests, may_be_for_answer, may_wait_for_map};
use blame::sampling::life::Life;
use blame::sampling::waited::{Holder, Path, Wait, Waited};
use interpose::Kind;
use std::collections::{BTreeMap, BTreeSet, HashMap};

pub(super) const INTERPRETER: &str = "the GIL of CPython";
/// The variable with the lock of musl's heap.
const MUSL_HEAP: &str = "__malloc_lock";
pub(super) const MAP: &str = "the kernel's lock of the address space (mmap_lock)";

pub(super) const FILE_LOCK: &str = "file lock";
/// A lock that is handed on is free for moments alone, but samples look at one thread after the other: they find all of its threads
/// waiting for up to this part of the time.
const HANDED_ON: f64 = 0.05;

/// The reason why the purpose of an object is not known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Unclear {
    /// A thread that waited for a message may have held it, for work or for an answer.
    Gate,
    /// The threads that read from a pipe or a counter of events hardly ever waited all at once.
    Channel,
    /// Threads wake each other in turn: two, or several with an object each.
    Turns,
}

/// An object that was waited for, with names.
pub(super) struct Object {
    pub(super) wait: Wait,
    /// The locks of the class, and how long each was waited for.
    pub(super) members: Vec<(Wait, f64)>,
    pub(super) waited: Waited,
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) part: Part,
    /// Whether its waiters use a CPU while they wait.
    pub(super) spins: bool,
    /// The path that waited most.
    pub(super) frames: Frames,
    /// Why its purpose is not known, if something is known of that.
    pub(super) unclear: Option<Unclear>,
    /// Data of the dumps if it is a lock of Java.
    pub(super) java: Option<JavaLock>,
}

/// Parts of the waits for a word that workers hold while they wait for work, if it is one.
#[derive(Default)]
struct Idle {
    /// The holder waited for work or a message, in the function that acquires the word.
    held: f64,
    /// The waiters were in that function.
    here: f64,
    /// The part of `held` in which a thread elsewhere slept, or waited for I/O or a CPU: it may work for the holder, which then
    /// waits for an answer. Samples do not show for whom a thread works.
    asked: f64,
}

/// The waits for the words that are one object, by word, and their sum.
#[derive(Default)]
struct Class {
    members: Vec<(Wait, f64)>,
    waited: Waited,
}

impl Evidence {
    /// Returns the objects that were waited for, the longest first. The locks of a class are one.
    pub(super) fn objects(&self, rows: &Rows<'_>) -> Vec<Object> {
        let firsts: HashMap<u32, u32> =
            rows.slots.iter().flat_map(|slots| slots.iter().map(|slot| (*slot, slots[0]))).collect();
        // The allocator has several locks, and none of them is the program's.
        let (mut allocator, mut interpreters) = (None, HashMap::new());
        let mut first = |evidence: &Self, wait: Wait, waited: &Waited| match wait {
            Wait::Lock(slot) => Wait::Lock(firsts.get(&slot).copied().unwrap_or(slot)),
            Wait::Word { .. } if evidence.kind_of(waited) == Some(FrameKind::Allocator) => {
                *allocator.get_or_insert(wait)
            }
            Wait::Call { number, part: Part::Lock, .. } if may_wait_for_map(number) => {
                Wait::Call { number: -1, part: Part::Lock, file: 0 }
            }
            Wait::Word { process, .. } => match most_of(waited) {
                // The threads that wait for it are in several words of one condition.
                Some(path) if evidence.is_interpreter(wait, path) => *interpreters.entry(process).or_insert(wait),
                Some(path) => evidence.lock_of(wait, path),
                None => wait,
            },
            wait => wait,
        };
        let profile = &self.samples;
        // Some of the locks of Python that have no place are means to wait for work.
        let mut classes: BTreeMap<(Wait, bool), Class> = BTreeMap::new();
        for (&wait, waited) in &profile.waited {
            let is_work = most_of(waited).is_some_and(|path| self.waits_for_work(path));
            let first = first(self, wait, waited);
            let class = classes.entry((first, is_work)).or_default();
            // The words of a condition are one member.
            let member = if is_same_block(wait, first) { first } else { wait };
            match class.members.iter_mut().find(|(known, _)| *known == member) {
                Some((_, seconds)) => *seconds += waited.seconds,
                None => class.members.push((member, waited.seconds)),
            }
            class.waited.add(waited);
        }
        let mut objects: Vec<Object> = classes
            .into_iter()
            .map(|((wait, _), Class { members, waited })| self.object(wait, members, waited, rows))
            .collect();
        if self.library.is_some() {
            objects = joined(objects);
        }
        self.open_gates(&mut objects, rows);
        let seconds = |object: &Object| object.waited.seconds;
        objects.sort_by(|one, other| seconds(other).total_cmp(&seconds(one)).then(one.wait.cmp(&other.wait)));
        objects
    }

    /// Finds the words that workers hold while they wait for work, like the mutex around the receiver of a channel: the
    /// others, which wait for it in the same function, would wait for work if they had it.
    fn open_gates(&self, objects: &mut [Object], rows: &Rows<'_>) {
        let is_idle = |object: &&Object| object.kind == FrameKind::Channel.name();
        let waits_of = |object: &Object| object.members.iter().map(|(wait, _)| *wait).collect::<Vec<Wait>>();
        let idle: BTreeSet<Wait> = objects.iter().filter(is_idle).flat_map(waits_of).collect();
        let is_idle = |wait: &Wait| match wait {
            Wait::Call { number, part, .. } => *part == Part::Work && is_for_requests(*number),
            wait => idle.contains(wait),
        };
        for object in objects {
            let Wait::Word { .. } = object.wait else { continue };
            let Some(acquirer) = object.frames.caller().filter(|_| object.part == Part::Lock) else { continue };
            // The kernel's record of calls is exact; where there is none, the samples say what the others did.
            let idle = match (rows.of(object.wait), function_of(&acquirer.site)) {
                (Some(row), Some(function)) => {
                    let (held, here) = (idle_share(row, function), rows.share_in(row, function));
                    // The record has futex calls alone. Connections are requests in any case.
                    let accepts = || self.idle_by_samples(object, &|wait| is_for_connection(wait), acquirer).held;
                    Idle { held: if held > 0.5 { held } else { accepts() }, here, asked: 0.0 }
                }
                _ => self.idle_by_samples(object, &is_idle, acquirer),
            };
            if idle.held <= 0.5 || idle.here <= 0.9 {
                continue;
            }
            if idle.asked > 0.5 * idle.held {
                (object.part, object.unclear) = (Part::Unknown, Some(Unclear::Gate));
            } else {
                (object.part, object.kind) = (Part::Work, FrameKind::Park.name());
            }
        }
    }

    /// Returns what the samples say of the holders of a word that this function acquires.
    fn idle_by_samples(&self, object: &Object, is_idle: &dyn Fn(&Wait) -> bool, acquirer: &Frame) -> Idle {
        let waited = &object.waited;
        let mut idle = Idle::default();
        for (peers, part) in &waited.peers {
            let (mut inside, mut works) = (Vec::new(), false);
            for (wait, path) in peers.iter().filter(|(wait, _)| *wait != object.wait) {
                if self.is_inside(*path, acquirer) {
                    inside.push(is_idle(wait));
                } else {
                    works |= matches!(wait, Wait::Call { part: Part::Io | Part::Sleep, .. });
                }
            }
            // Several are not all the holder.
            if inside == [true] {
                // A thread that runs may be it.
                let held_s = part.seconds - part.running_s;
                idle.held += held_s;
                idle.asked += if works { held_s } else { part.ready_s };
            }
        }
        for (path, seconds) in &waited.paths {
            idle.here += if self.is_inside(*path, acquirer) { *seconds } else { 0.0 };
        }
        let share = |seconds: f64| seconds / waited.seconds.max(1e-9);
        Idle { held: share(idle.held), here: share(idle.here), asked: share(idle.asked) }
    }

    /// Returns the lock that a thread with this path waits for: each of parking_lot's threads waits for its own word.
    pub(super) fn lock_of(&self, wait: Wait, path: Path) -> Wait {
        let Wait::Word { process, address } = wait else { return wait };
        match self.words.get(&(process, address)).and_then(|word| word.parked) {
            Some(address) if self.frames(path).is_in_parking_lot() => Wait::Word { process, address },
            // The C library's condition has two words, which it uses in turn.
            _ if self.frames(path).kind == Some(FrameKind::Condition) => {
                Wait::Word { process, address: block_address(address) }
            }
            _ => wait,
        }
    }

    /// Loops of the program's own that wait for a word on a CPU, by the function that they are in. `runnable_s` is the time
    /// that all threads had a CPU, or were ready for one: a thread that is preempted while it spins still waits.
    pub(super) fn spins(&self, runnable_s: f64) -> Vec<Object> {
        let profile = &self.samples;
        let mut by_function: BTreeMap<String, (f64, f64, Frames)> = BTreeMap::new();
        for (path, share) in &profile.spinning {
            let frames = self.frames(*path);
            // A thread that spins in a library's function waits for work, or the library notes its call.
            let is_lock = match frames.kind {
                None | Some(FrameKind::Mutex) => true,
                Some(FrameKind::Spin) => self.library.is_none(),
                Some(_) => false,
            };
            // The C library's loops are a part of calls that the library notes, or are none that wait.
            let is_in_loop =
                |frame: &&Frame| is_lock && (frame.is_in_c_library == (frames.kind == Some(FrameKind::Spin)));
            let Some(inner) = frames.frames.first().filter(is_in_loop) else { continue };
            // The loop is in the function into which those of the language's library were inlined.
            let is_named = |frame: &&Frame| inner.is_in_c_library || !frame.is_of_library;
            let site = &frames.frames.iter().find(is_named).unwrap_or(inner).site;
            // The samples of one loop are at several of its instructions.
            let name = function_of(site).filter(|_| site.source.is_none()).unwrap_or(&site.label).to_owned();
            let (sum, most, of_most) = by_function.entry(name).or_insert((0.0, 0.0, Frames::default()));
            *sum += share;
            if share > most {
                (*most, *of_most) = (*share, frames);
            }
        }
        let object = |(name, (share, _, frames)): (String, (f64, f64, Frames))| Object {
            wait: Wait::Hidden,
            members: Vec::new(),
            waited: Waited { seconds: share * runnable_s, runnable_s: share * runnable_s, ..Waited::default() },
            name: format!("{} in {name}", if frames.is_in_library_lock() { "mutex" } else { "spin loop" }),
            kind: "spin",
            part: Part::Lock,
            spins: true,
            frames,
            unclear: None,
            java: None,
        };
        by_function.into_iter().map(object).collect()
    }

    /// Returns whether an object is a group of locks that are not kept apart, so that nothing is known of any of them.
    pub(super) fn is_group(&self, object: &Object) -> bool {
        let Wait::Lock(slot) = object.wait else { return false };
        self.library.as_ref().and_then(|library| library.locks.get(&slot)).is_some_and(|lock| lock.is_folded)
    }

    /// Returns the kind of a word by the path that waited most for it.
    fn kind_of(&self, waited: &Waited) -> Option<FrameKind> {
        most_of(waited).and_then(|path| self.frames(path).kind)
    }

    fn object(&self, wait: Wait, members: Vec<(Wait, f64)>, waited: Waited, rows: &Rows<'_>) -> Object {
        let frames = most_of(&waited).map(|path| self.frames(path)).unwrap_or_default();
        let site = frames.site().cloned();
        let (name, kind, part, spins) = match wait {
            Wait::Lock(_) | Wait::Word { .. } if self.waits_for_collector(&frames) => {
                (String::new(), FrameKind::Machine.name(), Part::Work, false)
            }
            Wait::Lock(slot) => self.noted_lock(slot, &frames, rows),
            // Threads that wait for a lock of contend's memory are delayed by contend.
            Wait::Word { process, address } if self.is_in_own_memory(process, address) => {
                (String::new(), "", Part::Unknown, false)
            }
            Wait::Word { .. } if most_of(&waited).is_some_and(|path| self.is_interpreter(wait, path)) => {
                (INTERPRETER.into(), FrameKind::Interpreter.name(), Part::Lock, false)
            }
            Wait::Word { process, address } => {
                if let Some(place) = PythonPlace::of(&frames) {
                    let (name, kind, part) = (place.name.clone(), place.kind(), place.part());
                    let (spins, unclear, java) = (false, None, None);
                    return Object { wait, members, name, kind, part, spins, waited, frames, unclear, java };
                }
                let purpose = self.words.get(&(process, address)).and_then(|word| word.purpose);
                let kind = kind_by_use(purpose, frames.kind, frames.is_named_lock);
                let kind = self.kind_of_word(process, address, kind);
                let part = match (kind, purpose) {
                    (Some(FrameKind::Semaphore), Some(Purpose::Exclusion | Purpose::Pool)) => Part::Lock,
                    (Some(FrameKind::Semaphore), Some(Purpose::Work | Purpose::Poll)) => Part::Work,
                    (Some(FrameKind::Semaphore), _) => self.part_of_semaphore(wait, &waited, &frames, rows),
                    (Some(kind), _) if kind.is_lock() => Part::Lock,
                    (Some(_), _) => Part::Work,
                    (None, _) => Part::Unknown,
                };
                let call = frames.library_call().filter(|_| kind == Some(FrameKind::Library));
                let name = match call {
                    Some(call) => format!("the C library's lock in {call}"),
                    None => self.word_name(process, address, kind, site.as_ref()),
                };
                (name, kind.map_or("futex", FrameKind::name), part, false)
            }
            Wait::Call { number, part: Part::Lock, .. } if may_wait_for_map(number) => {
                (MAP.into(), "kernel lock", Part::Lock, false)
            }
            Wait::Call { number, part: Part::Lock, file } => {
                let of = self.samples.file_name(file).map_or("a file", short);
                (format!("the lock of {of} ({})", call_name(number)), FILE_LOCK, Part::Lock, false)
            }
            Wait::Call { part: Part::Work, file: 1.., .. } if self.takes_turns(wait, &waited) => {
                (String::new(), "", Part::Unknown, false)
            }
            // What a thread with a lock awaits is a question for those that wait for the lock. It does not wait for one itself.
            Wait::Call { number, part: Part::Unknown, .. } if is_for_requests(number) => {
                (String::new(), "", Part::Work, false)
            }
            Wait::Call { part, .. } => (String::new(), "", part, false),
            Wait::Hidden => (String::new(), "", Part::Unknown, false),
        };
        // A thread that waits for a lock whose holder waits for requests has nothing to do either: the lock is a gate.
        let gate = if part == Part::Lock { gate(&waited, self.library.is_some()) } else { None };
        let is_channel = matches!(wait, Wait::Call { file: 1.., .. }) && part == Part::Unknown;
        let unclear = match gate {
            Some(Part::Unknown) => Some(Unclear::Gate),
            _ if is_channel => Some(Unclear::Channel),
            _ if self.is_in_turn(wait, rows) && part == Part::Unknown => Some(Unclear::Turns),
            _ => None,
        };
        let part = gate.unwrap_or(part);
        Object { wait, members, name, kind, part, spins, waited, frames, unclear, java: None }
    }

    /// Returns whether several threads have a semaphore at a time: they were seen to, or its use shows it.
    pub(super) fn is_pool(&self, object: &Object) -> bool {
        let by_use = match object.wait {
            Wait::Word { process, address } => {
                self.words.get(&(process, address)).is_some_and(|word| word.purpose == Some(Purpose::Pool))
            }
            _ => false,
        };
        object.kind == FrameKind::Semaphore.name() && (object.waited.most_holders > 1 || by_use)
    }

    /// Returns whether two threads, or threads with an object each, wake each other in turn.
    fn is_in_turn(&self, wait: Wait, rows: &Rows<'_>) -> bool {
        match wait {
            Wait::Word { process, address } => {
                self.words.get(&(process, address)).is_some_and(|word| word.purpose == Some(Purpose::Turns))
            }
            Wait::Lock(_) => rows.of(wait).is_some_and(|row| row.lock_type == IN_TURN),
            Wait::Call { .. } | Wait::Hidden => false,
        }
    }

    /// Returns the name, the type and the reason to wait of a lock that the library noted; whether its waiters spin.
    fn noted_lock(&self, slot: u32, frames: &Frames, rows: &Rows<'_>) -> (String, &'static str, Part, bool) {
        let lock = self.library.as_ref().and_then(|library| library.locks.get(&slot));
        let Some(NotedLock { name, kind, is_folded }) = lock.cloned() else {
            return (String::new(), "", Part::Unknown, false);
        };
        let (kind, word) = (Kind::of(kind), type_name(kind));
        if is_folded {
            let part = if kind.is_some_and(Kind::excludes) { Part::Lock } else { Part::Work };
            return (name, word, part, false);
        }
        // CPython's global interpreter lock is made of a mutex and a condition of its run-time state.
        let is_interpreter = name.starts_with("_PyRuntime")
            || frames.frames.iter().any(|frame| function_of(&frame.site) == Some("take_gil"));
        let python = PythonPlace::of(frames).filter(|_| matches!(kind, Some(Kind::Sem | Kind::Mutex)));
        if let Some(place) = python {
            return (place.name.clone(), place.kind(), place.part(), false);
        }
        match kind {
            Some(Kind::Cond) if is_interpreter => {
                (INTERPRETER.into(), FrameKind::Interpreter.name(), Part::Lock, false)
            }
            Some(Kind::Cond | Kind::Sem) if frames.kind == Some(FrameKind::Machine) => {
                (name, FrameKind::Machine.name(), Part::Work, false)
            }
            Some(Kind::Sem | Kind::Mutex) if is_work(frames) => (name, FrameKind::Park.name(), Part::Work, false),
            Some(kind) if kind.excludes() => (name, word, Part::Lock, kind == Kind::Spin),
            // So is a condition that its waiters pass on.
            Some(Kind::Cond) if rows.of(Wait::Lock(slot)).is_some_and(Row::excludes) => {
                (name, FrameKind::Lock.name(), Part::Lock, false)
            }
            Some(Kind::Cond) if rows.of(Wait::Lock(slot)).is_some_and(|row| row.lock_type == IN_TURN) => {
                (name, IN_TURN, Part::Unknown, false)
            }
            // A semaphore that its waiters post themselves is a lock, or a pool.
            Some(Kind::Sem) if rows.of(Wait::Lock(slot)).is_some_and(Row::excludes) => (name, word, Part::Lock, false),
            Some(_) => (name, word, Part::Work, false),
            None => (name, word, Part::Unknown, false),
        }
    }

    /// Returns the kind of a word: the C library's heap and streams have variables with telling names.
    fn kind_of_word(&self, process: u32, address: u64, kind: Option<FrameKind>) -> Option<FrameKind> {
        let variable = self.variable(process, address).unwrap_or_default();
        match kind {
            Some(FrameKind::Library) if variable.starts_with("main_arena") => Some(FrameKind::Allocator),
            Some(FrameKind::Library) if variable.starts_with("_IO_stdfile") => Some(FrameKind::Stream),
            None | Some(FrameKind::Lock | FrameKind::Mutex) if variable == MUSL_HEAP => Some(FrameKind::Allocator),
            kind => kind,
        }
    }

    /// Returns whether it is the one lock of musl's heap.
    pub(super) fn is_heap_of_musl(&self, object: &Object) -> bool {
        let Wait::Word { process, address } = object.wait else { return false };
        self.variable(process, address) == Some(MUSL_HEAP)
    }

    /// Returns the reason to wait for a semaphore. Each thread that waits for a lock or a pool releases it later, and so
    /// wakes another one; the threads that wait for work are woken by others.
    fn part_of_semaphore(&self, wait: Wait, waited: &Waited, frames: &Frames, rows: &Rows<'_>) -> Part {
        let is_held = self.is_held(wait, waited, frames);
        let longest = rows.of(wait).map(|row| &row.longest[..]).unwrap_or_default();
        let waits = |thread: u32| {
            let is_seen = |life: &Life| life.thread == thread && life.waits.contains_key(&wait);
            longest.iter().any(|long| long.thread == thread) || self.samples.lives.iter().any(is_seen)
        };
        let posters: BTreeSet<u32> = longest.iter().filter_map(|long| long.holder_thread).collect();
        let are_waiters = (!posters.is_empty()).then(|| posters.into_iter().any(waits));
        part_of_semaphore(are_waiters, is_held, waited.most_waiters)
    }

    /// Returns whether, for most of the waits, a thread was blocked elsewhere in the function that acquires a semaphore: it
    /// has acquired it. Workers that wait for work are all in the semaphore mostly.
    fn is_held(&self, wait: Wait, waited: &Waited, frames: &Frames) -> bool {
        let Some(acquirer) = frames.caller() else { return false };
        // Where one thread alone waits, the others have not acquired it: they bring it something.
        if self.waiters(wait) < 2 {
            return false;
        }
        let all_s: f64 = waited.peers.values().map(|part| part.seconds).sum();
        let held = waited.peers.iter().filter(|(peers, _)| {
            // A thread that waits for another semaphore in the same call has not acquired this one.
            let is_elsewhere = |path: &Path| !waited.paths.contains_key(path);
            let mut peers = peers.iter().filter(|(other, path)| *other != wait && is_elsewhere(path));
            peers.any(|(_, path)| self.is_inside(*path, acquirer))
        });
        held.map(|(_, part)| part.seconds).sum::<f64>() > 0.5 * all_s
    }

    /// Returns whether all threads that read from a pipe or a counter of events hardly ever waited at once: they may pass it on as a
    /// lock, or one of them has work at any time. Those that wait for work all do so at some time.
    fn takes_turns(&self, wait: Wait, waited: &Waited) -> bool {
        let readers = self.waiters(wait);
        readers > 1 && (waited.most_waiters < readers || waited.most_waiters_s < HANDED_ON * self.elapsed_s)
    }

    /// Returns the number of threads that samples found waiting.
    fn waiters(&self, wait: Wait) -> usize {
        self.samples.lives.iter().filter(|life| life.waits.contains_key(&wait)).count()
    }

    fn is_in_own_memory(&self, process: u32, address: u64) -> bool {
        self.words.get(&(process, address)).is_some_and(|word| word.is_own)
    }

    fn word_name(&self, process: u32, address: u64, kind: Option<FrameKind>, site: Option<&Site>) -> String {
        if kind == Some(FrameKind::Allocator) {
            return "the allocator's lock".into();
        }
        let variable = self.variable(process, address).map(str::to_owned);
        variable.unwrap_or_else(|| {
            let word = kind.map_or("futex", FrameKind::name);
            site.map_or_else(|| format!("{word} {address:#x}"), |site| format!("{word} of {}", site.label))
        })
    }
}

impl Object {
    /// Returns the object's own wait for a word of it.
    pub(super) fn as_member(&self, wait: Wait) -> Wait {
        if is_same_block(wait, self.wait) { self.wait } else { wait }
    }

    /// Returns whether functions of Python wait for it: the interpreter's modules acquire and release it for them.
    pub(super) fn is_of_python(&self) -> bool {
        self.kind == PYTHON || self.frames.own().next().is_some_and(Frame::is_python)
    }

    /// Returns the part of the waits whose call paths are of a kind.
    pub(super) fn share_of(&self, evidence: &Evidence, kind: FrameKind) -> f64 {
        let paths = &self.waited.paths;
        let is_of_kind = |path: Path, evidence: &Evidence| evidence.frames(path).kind == Some(kind);
        let seconds: f64 =
            paths.iter().filter(|(path, _)| is_of_kind(**path, evidence)).map(|(_, seconds)| seconds).sum();
        seconds / self.waited.seconds.max(1e-9)
    }

    /// Returns the lock that has most of the waits of a class of `instances` locks.
    pub(super) fn hottest(&self, instances: u32) -> Option<String> {
        let most = self.members.iter().map(|(_, seconds)| *seconds).fold(0.0, f64::max);
        let is_one = instances > 1 && most > 0.5 * self.waited.seconds;
        is_one.then(|| {
            let share = terminal::percent(most / self.waited.seconds);
            format!("; one of {} such locks has {share} of the wait", terminal::count(instances.into()))
        })
    }

    /// Returns its type in records. One that may be for a lock, or for work, is not in the table of locks.
    pub(super) fn type_name(&self) -> &'static str {
        match (self.part, self.kind) {
            (Part::Unknown, "futex" | "") => UNKNOWN,
            (Part::Work, "futex" | "") => FrameKind::Park.name(),
            (_, kind) => kind,
        }
    }

    /// Returns whether most of its waits are those of threads that try again and again.
    pub(super) fn is_polled(&self) -> bool {
        self.waited.polled_s > 0.5 * self.waited.seconds
    }

    /// Returns whether a library acquires it for itself: the threads that wait for it have no function of the program's own, or
    /// one of an interpreter only.
    pub(super) fn is_of_library(&self) -> bool {
        let mut own = self.frames.own().peekable();
        own.peek().is_some() && own.all(|frame| frame.is_of_library)
    }

    /// Returns the words for its holders, which can be in another process than the waiters.
    pub(super) fn holder(&self) -> String {
        let others = &self.waited.other_processes;
        let held_s: f64 = self.waited.holders.iter().filter(|one| is_held(one.0)).map(|one| one.1).sum();
        let other_s: f64 = others.values().sum();
        let most = others.iter().max_by(|one, other| one.1.total_cmp(other.1).then(other.0.cmp(one.0)));
        match most.filter(|_| other_s > 0.5 * held_s) {
            Some((process, seconds)) if *seconds > 0.5 * held_s => format!("the holder, in process {process},"),
            Some(_) => "the holder, in another process,".into(),
            None => "the holder".into(),
        }
    }

    /// Returns whether the holders of a word are known for most of the samples in which its waits were recorded.
    pub(super) fn has_known_holders(&self) -> bool {
        let known_s: f64 = self.waited.holders.iter().filter(|one| *one.0 != Holder::Unknown).map(|one| one.1).sum();
        let all_s: f64 = self.waited.holders.values().sum();
        all_s >= ENOUGH_S && known_s > 0.5 * all_s
    }

    /// Returns the innermost function of the program's own on a path that is on the path of most waits, too.
    pub(super) fn shared_function(&self, path: &Frames) -> Option<String> {
        let waits: Vec<&str> = self.frames.own().filter_map(|frame| function_of(&frame.site)).collect();
        let mut functions = path.own().filter_map(|frame| function_of(&frame.site));
        functions.find(|function| waits.contains(function)).map(str::to_owned)
    }

    /// Returns the name of the first function of the program's own that waits.
    pub(super) fn function(&self) -> String {
        let first = self.frames.own().next().map(|frame| &frame.site).or_else(|| self.frames.site());
        first.map_or_else(
            || "an unknown function".into(),
            |site| plain(function_of(site).unwrap_or(&site.label)).to_owned(),
        )
    }

    /// Returns the first function of the program's own that waits, and its caller.
    pub(super) fn place(&self) -> String {
        let place = called_in(&self.frames, None);
        let around = || self.frames.site().map_or_else(|| "an unknown place".into(), |site| site.label.clone());
        if place.is_empty() { around() } else { place }
    }
}

/// Returns whether a thread is known to have held the lock.
fn is_held(holder: &Holder) -> bool {
    !matches!(holder, Holder::None | Holder::Free | Holder::Unknown)
}

/// Returns the objects without those words that have the name and the type of another: the locks that one function
/// acquires, which are one class.
fn joined(objects: Vec<Object>) -> Vec<Object> {
    let mut joined: Vec<Object> = Vec::new();
    let is_word = |object: &Object| matches!(object.wait, Wait::Word { .. }) && object.part == Part::Lock;
    for object in objects {
        let is_same = |other: &&mut Object| is_word(other) && (other.name == object.name && other.kind == object.kind);
        match joined.iter_mut().find(is_same).filter(|_| is_word(&object)) {
            Some(first) => {
                first.waited.add(&object.waited);
                first.members.extend(object.members);
            }
            None => joined.push(object),
        }
    }
    joined
}

/// Returns the reason to wait for a semaphore. `are_waiters` if a thread that posts it waits for it as well, and `None` if
/// no thread is known that posts it. `is_held` if a thread has acquired it while others wait.
fn part_of_semaphore(are_waiters: Option<bool>, is_held: bool, most_waiters: usize) -> Part {
    match are_waiters {
        Some(true) => Part::Lock,
        None if is_held => Part::Lock,
        // One waiter wakes no other one.
        Some(false) if most_waiters > 1 => Part::Work,
        _ => Part::Unknown,
    }
}

/// Returns the part of the waits in which the holder waited for work in this function.
fn idle_share(row: &Row, function: &str) -> f64 {
    let is_work = |wait: &&HolderWait| wait.lock_type == FrameKind::Channel.name() && !wait.after_wake;
    let idle = row.holder_waits.iter().filter(is_work).filter(|wait| is_in(&wait.site, function));
    idle.map(|wait| wait.share).sum()
}

/// Returns whether a call site, `write_log (log.c:3)`, is in a function.
fn is_in(site: &str, function: &str) -> bool {
    site.strip_prefix(function).is_some_and(|line| line.is_empty() || line.starts_with(" ("))
}

/// Returns whether two words are in one block: the words of a condition are one object.
pub(super) fn is_same_block(one: Wait, other: Wait) -> bool {
    match (one, other) {
        (Wait::Word { process, address }, Wait::Word { process: of, address: with }) => {
            process == of && block_address(address) == block_address(with)
        }
        _ => false,
    }
}

/// Returns the path that waited most.
fn most_of(waited: &Waited) -> Option<Path> {
    let most = waited.paths.iter().max_by(|one, other| one.1.total_cmp(other.1).then(other.0.cmp(one.0)));
    most.map(|(path, _)| *path)
}

/// Returns the reason to wait for a lock whose holders wait for requests for most of the time in which others wait for it;
/// `Unknown` if they may wait for replies. `None` for other locks.
fn gate(waited: &Waited, knows_sockets: bool) -> Option<Part> {
    // Where the library notes what a thread holds, its sockets say for what it waits. A thread that polls may wait for an answer, too;
    // one that waits for the next event of many, or for a connection, hardly does.
    let part_of = |number: i64, part: Part| match part {
        Part::Work if !knows_sockets && may_be_for_answer(number) => Part::Unknown,
        part => part,
    };
    let idle_s = |wanted: Part| {
        let is_idle = |holder: &Holder| match holder {
            Holder::Blocked { wait: Wait::Call { number, part, .. }, .. } => {
                is_for_requests(*number) && part_of(*number, *part) == wanted
            }
            _ => false,
        };
        waited.holders.iter().filter(|(holder, _)| is_idle(holder)).map(|(_, seconds)| seconds).sum::<f64>()
    };
    let [work_s, unknown_s] = [Part::Work, Part::Unknown].map(idle_s);
    let part = if unknown_s > work_s { Part::Unknown } else { Part::Work };
    (work_s + unknown_s > 0.5 * waited.seconds).then_some(part)
}

/// Returns whether a thread waits for the next connection.
fn is_for_connection(wait: &Wait) -> bool {
    matches!(wait, Wait::Call { number, .. } if [libc::SYS_accept, libc::SYS_accept4].contains(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channel_whose_readers_hardly_ever_all_wait_may_be_a_lock() {
        let read = Wait::Call { number: 0, part: Part::Work, file: 7 };
        let mut reader = Life::default();
        reader.waits.insert(read, 1.0);
        let mut evidence = Evidence { elapsed_s: 2.0, ..Evidence::default() };
        evidence.samples.lives = vec![reader; 2];
        let takes_turns = |most_waiters, most_waiters_s| {
            evidence.takes_turns(read, &Waited { most_waiters, most_waiters_s, ..Waited::default() })
        };
        assert!(takes_turns(1, 1.5), "one of them has it");
        assert!(takes_turns(2, 0.05), "it was handed on between the looks at two threads");
        assert!(!takes_turns(2, 0.5), "both wait for work");
    }

    #[test]
    fn semaphore_that_its_waiters_do_not_post_is_not_a_lock() {
        assert_eq!(part_of_semaphore(Some(true), false, 4), Part::Lock);
        assert_eq!(part_of_semaphore(Some(false), true, 4), Part::Work);
        assert_eq!(part_of_semaphore(Some(false), false, 1), Part::Unknown);
        assert_eq!(part_of_semaphore(None, true, 4), Part::Lock);
        assert_eq!(part_of_semaphore(None, false, 4), Part::Unknown, "an idle queue looks like this, too");
    }

    #[test]
    fn holder_that_waits_for_work_where_the_others_wait_is_idle() {
        let idle = |lock_type: &str, site: &str, after_wake| {
            let (lock_type, site) = (lock_type.to_owned(), site.to_owned());
            let waits = vec![HolderWait { lock_type, site, after_wake, share: 0.75 }];
            idle_share(&Row { holder_waits: waits, ..Row::default() }, "pool::worker")
        };
        assert_eq!(idle("channel", "pool::worker (pool.rs:20)", false), 0.75);
        assert_eq!(
            idle("channel", "pool::worker (pool.rs:20)", true),
            0.0,
            "it has sent a request, and waits for an answer"
        );
        assert_eq!(idle("channel", "pool::worker_of (pool.rs:40)", false), 0.0, "another function");
        assert_eq!(idle("mutex", "pool::worker (pool.rs:20)", false), 0.0, "for another lock");
        assert_eq!(idle("cond", "pool::worker (pool.rs:20)", false), 0.0, "for an event that is perhaps no work");
    }
}
