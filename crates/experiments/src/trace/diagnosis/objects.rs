//! The objects that were waited for, with names: the locks that the library noted, futex words, and loops that spin.

use super::{Evidence, Rows};
use crate::trace::record::Row;
use blame::frames::{Frame, Frames, Kind as FrameKind, function_of};
use blame::jvm::JavaLock;
use blame::names::Site;
use blame::places::{lock_at, lock_name, type_name};
use blame::sampling::budget::{Part, call_name, is_for_requests, may_wait_for_map};
use blame::sampling::profile::{Holder, Path, Wait, Waited};
use interpose::Kind;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering::Relaxed;

pub(super) const INTERPRETER: &str = "the GIL of CPython";
/// The type of such a lock.
const PYTHON: &str = "python lock";
pub(super) const MAP: &str = "the kernel's lock of the address space (mmap_lock)";

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
    /// Data of the dumps if it is a lock of Java.
    pub(super) java: Option<JavaLock>,
}

impl Evidence<'_> {
    /// Returns the objects that were waited for, the longest first. The locks of a class are one.
    pub(super) fn objects(&mut self, rows: &Rows<'_>) -> Vec<Object> {
        let firsts: HashMap<u32, u32> =
            rows.slots.iter().flat_map(|slots| slots.iter().map(|slot| (*slot, slots[0]))).collect();
        // The allocator has several locks, and none of them is the program's.
        let mut allocator = None;
        let mut first = |evidence: &mut Self, wait: Wait, waited: &Waited| match wait {
            Wait::Lock(slot) => Wait::Lock(firsts.get(&slot).copied().unwrap_or(slot)),
            Wait::Word { .. } if evidence.kind_of(waited) == Some(FrameKind::Allocator) => {
                *allocator.get_or_insert(wait)
            }
            Wait::Call { number, part: Part::Lock } if may_wait_for_map(number) => {
                Wait::Call { number: -1, part: Part::Lock }
            }
            Wait::Word { .. } => match most_of(waited) {
                Some(path) => evidence.lock_of(wait, path),
                None => wait,
            },
            wait => wait,
        };
        let profile = self.profile;
        let mut all: Vec<(Wait, &Waited)> = profile.waited().collect();
        all.sort_by_key(|(wait, _)| *wait);
        let mut classes: BTreeMap<Wait, (Vec<(Wait, f64)>, Waited)> = BTreeMap::new();
        for (wait, waited) in all {
            let (members, sum) = classes.entry(first(self, wait, waited)).or_default();
            members.push((wait, waited.seconds));
            sum.add(waited);
        }
        let mut objects: Vec<Object> =
            classes.into_iter().map(|(wait, (members, waited))| self.object(wait, members, waited, rows)).collect();
        let seconds = |object: &Object| object.waited.seconds;
        objects.sort_by(|one, other| seconds(other).total_cmp(&seconds(one)).then(one.wait.cmp(&other.wait)));
        objects
    }

    /// Returns the lock that a thread with this path waits for: each of parking_lot's threads waits for its own word.
    pub(super) fn lock_of(&mut self, wait: Wait, path: Path) -> Wait {
        let Wait::Word { process, address } = wait else { return wait };
        match self.parked.get(&(process, address)).copied() {
            Some(address) if self.frames(path).is_in_parking_lot() => Wait::Word { process, address },
            _ => wait,
        }
    }

    /// Loops of the program's own that wait for a word on a CPU, by the function that they are in. `runnable_s` is the time
    /// that all threads had a CPU, or were ready for one: a thread that is preempted while it spins still waits.
    pub(super) fn spins(&mut self, runnable_s: f64) -> Vec<Object> {
        let profile = self.profile;
        let mut by_function: BTreeMap<String, (f64, f64, Frames)> = BTreeMap::new();
        for (path, share) in profile.spin_shares() {
            let frames = self.frames(path);
            // A thread that spins in a library's function waits for work, or the library notes its call.
            let is_lock = match frames.kind {
                None | Some(FrameKind::Mutex) => true,
                Some(FrameKind::Spin) => self.region.is_none(),
                Some(_) => false,
            };
            // The C library's loops are a part of calls that the library notes, or are none that wait.
            let is_in_loop =
                |frame: &&Frame| is_lock && (frame.is_in_c_library == (frames.kind == Some(FrameKind::Spin)));
            let Some(inner) = frames.frames.first().filter(is_in_loop) else { continue };
            let name = inner.site.label.clone();
            let (sum, most, of_most) = by_function.entry(name).or_insert((0.0, 0.0, Frames::default()));
            *sum += share;
            if share > *most {
                (*most, *of_most) = (share, frames);
            }
        }
        let object = |(name, (share, _, frames)): (String, (f64, f64, Frames))| Object {
            wait: Wait::Hidden,
            members: Vec::new(),
            waited: Waited { seconds: share * runnable_s, runnable_s: share * runnable_s, ..Waited::default() },
            name: format!("spin loop in {name}"),
            kind: "spin",
            part: Part::Lock,
            spins: true,
            frames,
            java: None,
        };
        by_function.into_iter().map(object).collect()
    }

    /// Returns the kind of a word by the path that waited most for it.
    fn kind_of(&mut self, waited: &Waited) -> Option<FrameKind> {
        most_of(waited).and_then(|path| self.frames(path).kind)
    }

    fn object(&mut self, wait: Wait, members: Vec<(Wait, f64)>, waited: Waited, rows: &Rows<'_>) -> Object {
        let frames = most_of(&waited).map(|path| self.frames(path)).unwrap_or_default();
        let site = frames.site().cloned();
        let (name, kind, part, spins) = match wait {
            Wait::Lock(slot) => self.noted_lock(slot, &frames, rows),
            // Threads that wait for a lock of contend's memory are delayed by contend.
            Wait::Word { process, address } if self.is_in_own_memory(process, address) => {
                (String::new(), "", Part::Unknown, false)
            }
            Wait::Word { .. } if python_lock(&frames).is_some() => {
                (python_lock(&frames).unwrap_or_default(), PYTHON, Part::Lock, false)
            }
            Wait::Word { process, address } => {
                let kind = self.kind_of_word(process, address, frames.kind);
                let part = match kind {
                    Some(kind) if kind.is_lock() => Part::Lock,
                    Some(_) => Part::Work,
                    None => Part::Unknown,
                };
                (
                    self.word_name(process, address, kind, site.as_ref()),
                    kind.map_or("futex", FrameKind::name),
                    part,
                    false,
                )
            }
            Wait::Call { number, part: Part::Lock } if may_wait_for_map(number) => {
                (MAP.into(), "kernel lock", Part::Lock, false)
            }
            Wait::Call { number, part: Part::Lock } => {
                (format!("a file lock ({})", call_name(number)), "file lock", Part::Lock, false)
            }
            Wait::Call { part, .. } => (String::new(), "", part, false),
            Wait::Hidden => (String::new(), "", Part::Unknown, false),
        };
        // A thread that waits for a lock whose holder waits for requests has nothing to do either: the lock is a gate.
        let part = if part == Part::Lock && is_gate(&waited) { Part::Work } else { part };
        Object { wait, members, name, kind, part, spins, waited, frames, java: None }
    }

    /// Returns the name, the type and the reason to wait of a lock that the library noted; whether its waiters spin.
    fn noted_lock(&mut self, slot: u32, frames: &Frames, rows: &Rows<'_>) -> (String, &'static str, Part, bool) {
        let Some(region) = self.region else { return (String::new(), "", Part::Unknown, false) };
        let number = lock_at(region, slot).kind.load(Relaxed);
        let (kind, word) = (Kind::of(number), type_name(number));
        let name = lock_name(region, self.names, slot);
        // CPython's global interpreter lock is made of a mutex and a condition of its run-time state.
        let is_interpreter = name.starts_with("_PyRuntime")
            || frames.frames.iter().any(|frame| function_of(&frame.site) == Some("take_gil"));
        match kind {
            Some(Kind::Cond) if is_interpreter => {
                (INTERPRETER.into(), FrameKind::Interpreter.name(), Part::Lock, false)
            }
            // All locks of Python programs are acquired by one function of the interpreter.
            Some(Kind::Sem | Kind::Mutex)
                if name.contains("PyThread_acquire_lock") && frames.own().next().is_some() =>
            {
                let label = frames.own().next().map(|frame| frame.site.label.clone()).unwrap_or_default();
                (format!("threading.Lock of {label}"), "python lock", Part::Lock, false)
            }
            Some(kind) if kind.excludes() => (name, word, Part::Lock, kind == Kind::Spin),
            // A semaphore that its waiters post themselves is a lock, or a pool.
            Some(Kind::Sem) if rows.of(Wait::Lock(slot)).is_some_and(Row::excludes) => (name, word, Part::Lock, false),
            Some(_) => (name, word, Part::Work, false),
            None => (name, word, Part::Unknown, false),
        }
    }

    /// Returns the kind of a word: the C library's streams have variables with telling names.
    fn kind_of_word(&mut self, process: u32, address: u64, kind: Option<FrameKind>) -> Option<FrameKind> {
        let known_as = self.known_as.get(&process).copied();
        let variable = known_as.and_then(|known_as| self.names.variable(known_as, address)).unwrap_or_default();
        match kind {
            Some(FrameKind::Library) if variable.starts_with("main_arena") => Some(FrameKind::Allocator),
            Some(FrameKind::Library) if variable.starts_with("_IO_stdfile") => Some(FrameKind::Stream),
            kind => kind,
        }
    }

    fn is_in_own_memory(&mut self, process: u32, address: u64) -> bool {
        let known_as = self.known_as.get(&process).copied();
        let file = known_as.and_then(|known_as| self.names.file(known_as, address));
        file.is_some_and(|file| file.starts_with("memfd:contend"))
    }

    fn word_name(&mut self, process: u32, address: u64, kind: Option<FrameKind>, site: Option<&Site>) -> String {
        let known_as = self.known_as.get(&process).copied();
        if kind == Some(FrameKind::Allocator) {
            return "the allocator's lock".into();
        }
        let variable = known_as.and_then(|known_as| self.names.variable(known_as, address));
        variable.unwrap_or_else(|| {
            let word = kind.map_or("futex", FrameKind::name);
            site.map_or_else(|| format!("{word} {address:#x}"), |site| format!("{word} of {}", site.label))
        })
    }

    pub(super) fn frames(&mut self, path: Path) -> Frames {
        if let Some(frames) = self.named.get(&path) {
            return frames.clone();
        }
        let (process, addresses, called) = self.profile.path(path);
        let python = |function| self.profile.python_site(process, function);
        let known_as = self.known_as.get(&process);
        let frames = known_as.map(|known_as| Frames::of(self.names, *known_as, addresses, called, python));
        let frames = frames.unwrap_or_default();
        self.named.insert(path, frames.clone());
        frames
    }
}

impl Object {
    /// Returns the part of the waits whose call paths are of a kind.
    pub(super) fn share_of(&self, evidence: &mut Evidence<'_>, kind: FrameKind) -> f64 {
        let paths = &self.waited.paths;
        let is_of_kind = |path: Path, evidence: &mut Evidence<'_>| evidence.frames(path).kind == Some(kind);
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
            format!("; one of {} such locks has {share} of it", terminal::count(instances.into()))
        })
    }

    /// Returns the first function of the program's own that waits, and its caller.
    pub(super) fn place(&self) -> String {
        let place = called_in(&self.frames, None);
        let around = || self.frames.site().map_or_else(|| "an unknown place".into(), |site| site.label.clone());
        if place.is_empty() { around() } else { place }
    }
}

/// Returns the function in the critical section that blocks, and its caller: `write_log (log.c:3), called by request`.
/// It is the one that the function which acquired the lock calls; where that is not on the path, the innermost.
pub(super) fn called_in(frames: &Frames, acquired_in: Option<&str>) -> String {
    let own: Vec<&Site> = frames.own().map(|frame| &frame.site).collect();
    let acquired = own.iter().position(|site| acquired_in.is_some() && function_of(site) == acquired_in);
    let inner = acquired.map_or(0, |acquired| acquired.saturating_sub(1));
    let Some(site) = own.get(inner) else { return String::new() };
    let caller = own[inner + 1..].iter().find(|caller| function_of(caller) != function_of(site));
    match caller.and_then(|caller| function_of(caller)) {
        Some(caller) => format!("{}, called by {caller}", site.label),
        None => site.label.clone(),
    }
}

/// Returns the name of a lock of a Python program, by the Python function that acquires it: all such locks are acquired
/// by one function of the interpreter.
fn python_lock(frames: &Frames) -> Option<String> {
    let acquires = |frame: &blame::frames::Frame| {
        function_of(&frame.site).is_some_and(|function| function.starts_with("PyThread_acquire_lock"))
    };
    let own = frames.own().next().filter(|_| frames.frames.iter().any(acquires))?;
    Some(format!("threading.Lock of {}", own.site.label))
}

/// Returns the path that waited most.
fn most_of(waited: &Waited) -> Option<Path> {
    let most = waited.paths.iter().max_by(|one, other| one.1.total_cmp(other.1).then(other.0.cmp(one.0)));
    most.map(|(path, _)| *path)
}

/// Returns whether the holders of a lock wait for requests for most of the time in which others wait for it.
fn is_gate(waited: &Waited) -> bool {
    let is_idle = |holder: &Holder| match holder {
        Holder::Blocked { wait: Wait::Call { number, .. }, .. } => is_for_requests(*number),
        _ => false,
    };
    let idle_s: f64 = waited.holders.iter().filter(|(holder, _)| is_idle(holder)).map(|(_, seconds)| seconds).sum();
    idle_s > 0.5 * waited.seconds
}
