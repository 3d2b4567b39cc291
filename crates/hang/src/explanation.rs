//! Explanations: a verdict with a stable code, the threads, the objects and the places.

use crate::snapshot::{Language, Lock, Seen, Thread, Wait};
use serde::{Deserialize, Serialize};

/// The first word of an explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Threads wait for each other, or for themselves.
    Deadlock,
    /// Threads wait for what no thread that was looked at will do.
    Hang,
    NotHung,
    Unknown,
}

/// A verdict, and the other threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explanation {
    pub class: Class,
    pub finding: Finding,
    /// Threads that wait as well, with no part in the finding.
    pub others: Vec<Member>,
    /// Threads of all processes that were looked at.
    pub threads: usize,
    /// Data that were not seen.
    pub unseen: Vec<Unseen>,
    pub apart_s: f64,
}

/// Data that could not be read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Unseen {
    /// Goroutines, virtual threads, promises: waits that are not of threads.
    Runtime {
        process: u32,
        language: Language,
        #[serde(default)]
        seen: Seen,
        /// The reason why they were not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refusal: Option<String>,
    },
    /// The calls of a process of another user.
    Process { process: u32, command: String },
    /// Threads beyond the number that is looked at.
    Threads { process: u32, count: usize },
    /// The owners of these locks, which have no word for it.
    Owner { lock: Lock },
}

/// A thread of a finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Member {
    pub process: u32,
    pub command: String,
    pub thread: u32,
    /// Whether that is the number of a goroutine.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_goroutine: bool,
    pub name: String,
    pub wait: Wait,
    pub has_moved: bool,
    /// The function of the program that waits.
    pub place: Option<Place>,
    /// The function that it called.
    pub called: Option<String>,
    /// The callers of the function that waits, the innermost first.
    pub callers: Vec<Place>,
}

/// A function, with its line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Place {
    pub function: String,
    pub source: Option<String>,
}

/// The way in which a thread came to wait for its own lock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Again {
    /// In a signal handler, which interrupted the function with the lock.
    Handler {
        handler: Option<Place>,
        interrupted: Option<Place>,
        library_call: Option<String>,
    },
    /// This caller acquires locks in the same way.
    Caller {
        place: Place,
    },
    /// No caller on its stack does: it kept the lock when a function returned.
    Kept,
    Unknown,
}

/// Why the owner of a lock cannot release it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Gone {
    /// The lock was held when the process was forked; the thread is the parent's.
    Inherited { parent: u32, is_alive: bool },
    /// The thread has ended.
    Ended,
    /// The process has ended, with the lock in memory that is shared.
    Killed,
}

/// The finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "code")]
pub enum Finding {
    Missing {
        process: u32,
    },
    Refused {
        process: u32,
        command: String,
    },
    Zombie {
        process: u32,
        command: String,
        parent: u32,
        parent_command: String,
    },
    Stopped {
        process: u32,
        command: String,
        tracer: Option<(u32, String)>,
    },
    Frozen {
        process: u32,
        command: String,
    },
    /// Each waits for the next one, and the last for the first.
    Cycle {
        members: Vec<Member>,
    },
    SelfDeadlock {
        member: Member,
        again: Again,
        waiters: usize,
    },
    OwnerGone {
        members: Vec<Member>,
        lock: Lock,
        owner: u32,
        gone: Gone,
    },
    /// All workers of a pool are in tasks that wait.
    Pool {
        members: Vec<Member>,
        dispatcher: Place,
        task: Place,
    },
    /// The owner does not run, and does not wait for any of the waiters; `is_elsewhere` if it is in no function in which
    /// they acquire the lock.
    HeldLock {
        waiters: Vec<Member>,
        lock: Lock,
        owner: Member,
        is_elsewhere: bool,
    },
    /// A process at the other end does nothing.
    Peer {
        member: Member,
        peers: Vec<Member>,
    },
    /// No thread is left that could wake these.
    NoWaker {
        members: Vec<Member>,
    },
    Disk {
        member: Member,
    },
    /// Threads that go on, or wait for what comes from outside.
    Going {
        members: Vec<Member>,
    },
    /// The threads wait, and their wakers are not seen.
    NotSeen {
        members: Vec<Member>,
    },
}

impl Finding {
    /// Returns the class.
    pub fn class(&self) -> Class {
        match self {
            Self::Cycle { .. } | Self::SelfDeadlock { .. } | Self::Pool { .. } => Class::Deadlock,
            Self::OwnerGone { .. } | Self::HeldLock { .. } | Self::Peer { .. } | Self::NoWaker { .. } => Class::Hang,
            Self::Refused { .. } | Self::Missing { .. } | Self::NotSeen { .. } => Class::Unknown,
            Self::Zombie { .. }
            | Self::Stopped { .. }
            | Self::Frozen { .. }
            | Self::Disk { .. }
            | Self::Going { .. } => Class::NotHung,
        }
    }

    /// Returns the threads of the finding.
    pub fn threads(&self) -> Vec<(u32, u32)> {
        let of = |members: &[Member]| members.iter().map(|one| (one.process, one.thread)).collect::<Vec<_>>();
        match self {
            Self::Cycle { members }
            | Self::OwnerGone { members, .. }
            | Self::Pool { members, .. }
            | Self::NoWaker { members }
            | Self::Going { members }
            | Self::NotSeen { members } => of(members),
            Self::HeldLock { waiters, owner, .. } => [of(waiters), of(std::slice::from_ref(owner))].concat(),
            Self::Peer { member, peers } => [of(std::slice::from_ref(member)), of(peers)].concat(),
            Self::SelfDeadlock { member, .. } | Self::Disk { member } => of(std::slice::from_ref(member)),
            _ => Vec::new(),
        }
    }
}

impl Explanation {
    /// Returns whether it shows a thread, or one that waits for the same lock.
    pub fn has_thread(&self, thread: u32) -> bool {
        let is_in = self.finding.threads().iter().any(|(_, tid)| *tid == thread);
        is_in || self.others.iter().any(|member| member.thread == thread)
    }

    /// Returns whether it is a hang.
    pub fn is_hang(&self) -> bool {
        matches!(self.class, Class::Deadlock | Class::Hang)
    }
}

/// Callers that are shown.
const MOST_CALLERS: usize = 4;

impl Member {
    /// Returns a thread of a process as a member.
    pub fn of(process: u32, command: &str, thread: &Thread) -> Self {
        let own = thread.frames.iter().filter(|frame| frame.is_own);
        Self {
            process,
            command: command.to_owned(),
            thread: thread.tid,
            is_goroutine: thread.is_goroutine,
            name: thread.name.clone(),
            wait: thread.wait.clone(),
            has_moved: thread.has_moved,
            place: thread.place().and_then(Place::of),
            called: thread.called().map(str::to_owned),
            callers: own.skip(1).filter_map(Place::of).take(MOST_CALLERS).collect(),
        }
    }
}

impl Place {
    /// Returns the place of a frame with a name.
    pub fn of(frame: &crate::snapshot::Frame) -> Option<Self> {
        Some(Self { function: frame.function.clone()?, source: frame.source.clone() })
    }
}
