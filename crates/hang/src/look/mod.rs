//! The look at processes from outside.

mod call;
mod channels;
mod go;
mod guesses;
mod java;
mod process;
mod signal;
mod sources;
mod thread;
mod unix_peers;

use crate::snapshot::{Language, Owner, Presence, Process, Snapshot, Thread, Wait};
use blame::Allowance;
use blame::names::{Names, map_of, parse};
use blame::python::Python;
use blame::sampling::threads;
use blame::stacks::Stacks;
use call::activity;
use channels::Channels;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The time between two looks: a lock that is passed on within it belongs to no hang.
pub const APART: Duration = Duration::from_millis(500);
/// Threads and processes that are looked at.
const MOST_THREADS: usize = 1_024;
const MOST_PROCESSES: usize = 32;
/// Processes that are kept between looks.
const MOST_KNOWN: usize = 128;

/// Looks at processes, and remembers what their threads did at the look before.
pub struct Looker {
    names: Names,
    known: HashMap<u32, Known>,
    marks: HashMap<(u32, u32), Mark>,
    at: Instant,
    allowance: Allowance,
    asks: bool,
    goroutines: go::Marks,
}

/// The data of a process that are kept between looks.
struct Known {
    map: Vec<u8>,
    stacks: Stacks,
    python: Option<Python>,
    language: Language,
}

/// The work of a thread so far, and its wait.
#[derive(Clone, PartialEq)]
struct Mark {
    ran: [u64; 2],
    wait: Wait,
    place: Option<crate::snapshot::Frame>,
}

impl Looker {
    /// Creates one whose work ends with a run.
    pub fn within(allowance: &Allowance) -> Self {
        let (known, marks) = Default::default();
        let (at, allowance) = (Instant::now(), allowance.clone());
        Self {
            names: Names::within(&allowance),
            known,
            marks,
            at,
            allowance,
            asks: false,
            goroutines: go::Marks::default(),
        }
    }

    /// Makes it ask virtual machines of Java what their threads wait for, at the second look.
    #[must_use]
    pub fn asking(self) -> Self {
        Self { asks: true, ..self }
    }

    /// Looks at processes, and at those that their threads wait for. A thread has moved if it ran since the look before, or
    /// was not seen at it.
    pub fn look(&mut self, asked: &[u32]) -> Snapshot {
        let channels = Channels::default();
        let asked: Vec<u32> = asked.iter().map(|pid| process::process_of(*pid)).collect();
        let mut snapshot = Snapshot { asked: asked.clone(), ..Snapshot::default() };
        // Children and owners of locks are looked at like the process; the processes at the other ends of its channels
        // are the last ones on their path.
        let mut open: Vec<(u32, bool)> = asked.iter().map(|pid| (*pid, true)).collect();
        let mut marks = HashMap::new();
        let now = Instant::now();
        while let Some((pid, is_followed)) = (!open.is_empty()).then(|| open.remove(0)) {
            let is_known = snapshot.process(pid).is_some();
            if is_known || snapshot.processes.len() >= MOST_PROCESSES || self.allowance.check().is_err() {
                continue;
            }
            let process = self.process(pid, &channels, &mut marks);
            if is_followed {
                open.extend(process.threads.iter().flat_map(|thread| next(pid, thread)));
            }
            snapshot.processes.push(process);
        }
        snapshot.apart_s = (now - self.at).as_secs_f64();
        (self.marks, self.at) = (marks, now);
        if self.known.len() > MOST_KNOWN {
            self.known.retain(|pid, _| snapshot.process(*pid).is_some());
        }
        snapshot
    }

    fn process(&mut self, pid: u32, channels: &Channels, marks: &mut HashMap<(u32, u32), Mark>) -> Process {
        let facts = process::facts(pid);
        let mut process = Process {
            pid,
            parent: facts.parent,
            parent_command: process::command(facts.parent),
            command: facts.command,
            presence: facts.presence,
            is_frozen: facts.is_frozen,
            tracer: facts.tracer,
            ..Process::default()
        };
        if matches!(process.presence, Presence::Missing | Presence::Zombie) {
            return process;
        }
        self.learn(pid);
        let tids: Vec<u32> = threads(pid).collect();
        if let Some(known) = self.known.get_mut(&pid) {
            process.language = known.language;
            known.python.iter_mut().for_each(Python::begin_sample);
        }
        let alive = blame::stuck::alive(pid);
        let mut looked = Vec::new();
        for (place, tid) in tids.iter().copied().enumerate() {
            if place == MOST_THREADS || self.allowance.check().is_err() {
                process.left_out = tids.len() - place;
                break;
            }
            let has_python = process.language == Language::Python;
            let (before, Some(state)) = (activity(pid, tid), state_of(pid, tid, has_python)) else { continue };
            let Some((letter, ran)) = before else { continue };
            let known = self.known.get_mut(&pid);
            let view = thread::View { pid, tid, letter, channels, alive: &alive };
            looked.push((view.look(state, &mut self.names, known), ran));
        }
        let mut all: Vec<_> = looked.iter_mut().map(|(one, _)| one).collect();
        guesses::owners(pid, process.language, &mut all);
        guesses::acquirers(pid, &mut all, &mut self.names);
        let mut natives = HashMap::new();
        let is_known = looked.iter().any(|(one, _)| self.marks.contains_key(&(pid, one.thread.tid)));
        for (one, ran) in looked {
            let mut thread = one.thread;
            let mark = Mark { ran, wait: thread.wait.clone(), place: thread.place().cloned() };
            let before = self.marks.get(&(pid, thread.tid));
            // A thread that waits for the interpreter's lock asks for it every few milliseconds.
            let asks = matches!(&thread.wait, Wait::Lock(lock) if lock.kind == thread::INTERPRETER);
            thread.has_moved = before.is_none_or(|before| {
                before.wait != mark.wait || before.ran != mark.ran && !(asks && before.place == mark.place)
            });
            let turns = before.filter(|before| before.wait == mark.wait).map(|before| ran[1] - before.ran[1]);
            natives.insert(thread.tid, java::Native { turns, left_s: one.left_s });
            marks.insert((pid, thread.tid), mark);
            process.threads.push(thread);
        }
        if process.language == Language::Java
            && self.asks
            && is_known
            && let Some(known) = self.known.get(&pid)
        {
            java::fill(&mut process, &known.map, &natives);
        }
        if process.language == Language::Go {
            go::fill(&mut process, &mut self.names, &mut self.goroutines);
        }
        process
    }

    /// Reads the memory map of a process, if it is new or another one than before.
    fn learn(&mut self, pid: u32) {
        let Some(map) = map_of(pid) else { return };
        if self.known.get(&pid).is_some_and(|known| known.map == map) {
            return;
        }
        self.names.learn(pid, Some(pid), &map);
        let mappings = parse(&map);
        let allowance = self.names.allowance().clone();
        let before = self.known.remove(&pid);
        let is_new = before.is_none();
        let (mut stacks, python, language) = before.map_or_else(
            || (Stacks::within(&allowance).deep(), None, Language::Native),
            |known| (known.stacks, known.python, known.language),
        );
        stacks.learn(pid, &mappings);
        let is_same = python.as_ref().is_some_and(|python: &Python| python.is_of(&mappings));
        let python = if is_same { python } else { Python::of(pid, &mappings).map(|found| found.after(python)) };
        let language = if is_new { process::language(pid, &map, python.is_some()) } else { language };
        self.known.insert(pid, Known { map, stacks, python, language });
    }
}

/// Reads the state of a thread. One that waits for Python's interpreter lock runs for a moment every few milliseconds, to ask
/// for it once more.
fn state_of(pid: u32, tid: u32, has_python: bool) -> Option<call::State> {
    const LOOKS: usize = 6;
    const PAUSE: Duration = Duration::from_millis(2);
    let mut state = call::State::of(pid, tid)?;
    for _ in 0..LOOKS {
        if !has_python || !matches!(state, call::State::Running) {
            break;
        }
        std::thread::sleep(PAUSE);
        state = call::State::of(pid, tid)?;
    }
    Some(state)
}

/// Returns the processes that a thread waits for, and whether theirs count as well.
fn next(pid: u32, thread: &Thread) -> Vec<(u32, bool)> {
    match &thread.wait {
        Wait::Child { pids } => pids.iter().map(|pid| (*pid, true)).collect(),
        Wait::Peer { peers, .. } => peers.iter().map(|pid| (*pid, false)).collect(),
        Wait::FileLock { owner, .. } => owner.iter().map(|pid| (*pid, false)).collect(),
        Wait::Lock(lock) => match lock.owner {
            Owner::Thread { process, .. } if process != pid => vec![(process, true)],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}
