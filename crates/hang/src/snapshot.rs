//! The evidence: what the threads of some processes did at two looks, and what could not be read.
//!
//! The rules read nothing else, so a recorded snapshot always leads to the same explanation.

use serde::{Deserialize, Serialize};

/// Processes at two looks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The processes that the user asked about.
    pub asked: Vec<u32>,
    /// These, and those that their threads wait for.
    pub processes: Vec<Process>,
    /// The time between the two looks.
    pub apart_s: f64,
}

/// A process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    pub parent_command: String,
    pub command: String,
    pub presence: Presence,
    pub is_frozen: bool,
    /// The process that traces it, such as a debugger.
    pub tracer: Option<(u32, String)>,
    pub language: Language,
    pub threads: Vec<Thread>,
    /// Threads that were not looked at, because there are too many.
    pub left_out: usize,
    /// How far the waits of its runtime were seen; only of languages whose runtime hides them from the kernel.
    #[serde(default)]
    pub seen: Seen,
    /// The reason why they were not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
}

/// How far the waits of a runtime are seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Seen {
    #[default]
    Not,
    /// Other waits exist than those that are seen.
    Partly,
    Whole,
}

/// Whether a process can be looked at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    #[default]
    Present,
    Missing,
    /// It has ended, and its parent has not collected its exit status.
    Zombie,
    /// The kernel shows the calls of its threads only to its own user, or to root.
    Refused,
}

/// A language whose runtime has threads or locks that the kernel does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Language {
    #[default]
    Native,
    Python,
    Java,
    Go,
    Node,
}

/// A thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Thread {
    pub tid: u32,
    pub name: String,
    /// The letter of the kernel.
    pub state: char,
    /// Whether it ran between the two looks.
    pub has_moved: bool,
    pub wait: Wait,
    /// The call path, the innermost function first; below a signal handler, up to the handler.
    pub frames: Vec<Frame>,
    /// The path that a signal handler interrupted.
    pub interrupted: Vec<Frame>,
    /// Whether it is a goroutine; its number is that of Go's runtime then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_goroutine: bool,
}

/// A function of a call path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Frame {
    pub function: Option<String>,
    /// `file:line`.
    pub source: Option<String>,
    /// Whether it is the program's own, and of no library.
    pub is_own: bool,
    /// Whether it calls the function inside of it through a pointer, as a pool calls its tasks.
    #[serde(default)]
    pub calls_by_pointer: bool,
    /// The `with` statements of Python around the line, as the source has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<String>,
    /// Whether its code has a call, other than the one that it is in, of the function by which the thread acquires the lock
    /// that it waits for; `None` where that could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acquires_elsewhere: Option<bool>,
    /// The lock that the line acquires, as Python's source has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acquires: Option<String>,
}

/// The object of a wait.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "for")]
pub enum Wait {
    /// It runs, or is ready to.
    #[default]
    Nothing,
    Lock(Lock),
    /// A condition, a futex, a barrier: something that another thread signals.
    Event {
        /// `cond`, `park`, `eventfd` and so on.
        object: String,
        /// The variable, if it is one.
        name: Option<String>,
        address: u64,
        is_timed: bool,
        /// Whether other processes may have the memory, and signal it.
        is_shared: bool,
    },
    /// The end of a thread.
    Join {
        thread: u32,
    },
    /// The end of a child.
    Child {
        pids: Vec<u32>,
    },
    /// A point in time; of a sleep, its whole length, where it can be read.
    Time {
        span_s: Option<f64>,
    },
    /// Connections, at these addresses.
    Requests {
        addresses: Vec<String>,
    },
    /// The keyboard.
    Terminal,
    /// Data of these processes, or room for it.
    Peer {
        channel: Channel,
        writes: bool,
        is_timed: bool,
        peers: Vec<u32>,
    },
    /// A lock of a file.
    FileLock {
        path: String,
        owner: Option<u32>,
    },
    /// Storage; the state in which even a signal has to wait.
    Disk {
        path: Option<String>,
    },
    Signal,
    /// Something outside of the processes: a connection to another machine, a device, an event of the kernel.
    Outside {
        call: String,
        is_timed: bool,
    },
    /// The kernel does not show the call.
    Hidden,
}

/// A channel between processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    Pipe,
    Socket,
}

/// A lock that is waited for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lock {
    pub address: u64,
    /// The variable, if it is one; the function of the C library whose lock it is.
    pub name: Option<String>,
    /// `mutex`, `rwlock`, `interpreter` and so on.
    pub kind: String,
    pub owner: Owner,
    pub is_timed: bool,
    /// Whether other processes may have the memory.
    #[serde(default)]
    pub is_shared: bool,
    /// Whether a function on the owner's stack calls the function by which the waiter acquires the lock; `None` where that
    /// could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_acquires: Option<bool>,
}

/// The owner of a lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    #[default]
    Unknown,
    /// This thread, by the word in the lock.
    Thread {
        process: u32,
        thread: u32,
    },
    /// A thread of this number, by the word in the lock: the process has no thread of this number.
    Gone {
        thread: u32,
    },
    Readers,
    /// This thread, inferred for this reason.
    Likely {
        process: u32,
        thread: u32,
        reason: Reason,
    },
}

/// The reason why a thread is likely to own a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The only other thread whose stack has the lock's address.
    Stack,
    /// The only thread of Python that is blocked outside of the interpreter.
    Interpreter,
    /// The `with` statements of Python around its line.
    With,
    /// It runs the initialiser that the others wait for.
    Initialiser,
    /// Only its code and stack, of all goroutines, acquire this lock.
    Goroutine,
    /// Its signal handler interrupted a function that takes the lock, and no other thread can have it.
    Handler,
}

impl Snapshot {
    /// Returns a process.
    pub fn process(&self, pid: u32) -> Option<&Process> {
        self.processes.iter().find(|process| process.pid == pid)
    }

    /// Returns a thread.
    pub fn thread(&self, process: u32, tid: u32) -> Option<&Thread> {
        self.process(process)?.threads.iter().find(|thread| thread.tid == tid)
    }
}

impl Process {
    /// Returns whether it has waits that were not seen, and that are not those of its threads.
    pub fn hides_waits(&self) -> bool {
        matches!(self.language, Language::Go | Language::Java) && self.seen != Seen::Whole
    }
}

impl Thread {
    /// Returns the innermost function of the program's own, or else the innermost that has a name.
    pub fn place(&self) -> Option<&Frame> {
        let named = |frame: &&Frame| frame.function.is_some();
        self.frames.iter().find(|frame| frame.is_own).or_else(|| self.frames.iter().find(named))
    }

    /// Returns the function that the program called, and that waits: the last one before [`Self::place`].
    pub fn called(&self) -> Option<&str> {
        let place = self.frames.iter().position(|frame| frame.is_own)?;
        let is_python = |frame: &Frame| frame.source.as_deref().is_some_and(|source| source.contains(".py:"));
        let called = self.frames.get(place.checked_sub(1)?)?;
        // Python calls the functions of its interpreter.
        let is_interpreter = is_python(&self.frames[place]) && !is_python(called);
        called.function.as_deref().filter(|_| !is_interpreter)
    }

    /// Returns the first function of the program's own, which the thread began with.
    pub fn start(&self) -> Option<&Frame> {
        let path = if self.interrupted.is_empty() { &self.frames } else { &self.interrupted };
        path.iter().rev().find(|frame| frame.is_own)
    }
}
