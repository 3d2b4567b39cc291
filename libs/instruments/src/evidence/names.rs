//! Names of tasks by thread id, and of handlers by number; the causes that take a thread's time.

use super::track::ENDING;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A thread as the kernel reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Process of the thread.
    pub pid: u32,
    /// Name, at most 15 bytes; `None` if the thread ended before its name was read.
    pub name: Option<String>,
    /// Whether it has real-time priority, as far as is known.
    pub realtime: bool,
}

/// A handler that interrupts tasks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Handler {
    /// Kind of handler.
    pub kind: HandlerKind,
    /// Name in the kernel: `local_timer`, `virtio1-req.0`, `net_rx`.
    pub name: String,
}

/// The kinds of handlers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HandlerKind {
    /// Handler of an interrupt.
    Interrupt,
    /// Handler of work that interrupts deferred.
    Softirq,
}

/// The names of all recorded tasks and handlers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Names {
    tasks: BTreeMap<u32, Task>,
    handlers: Vec<Handler>,
    parents: BTreeMap<u32, u32>,
    /// Threads that appeared since names were last read.
    met: BTreeSet<u32>,
}

impl Names {
    /// Returns the number of a handler, and assigns a new one to an unknown handler.
    pub fn handler(&mut self, kind: HandlerKind, name: &str) -> u32 {
        let known = self.handlers.iter().position(|handler| handler.kind == kind && handler.name == name);
        let number = known.unwrap_or_else(|| {
            self.handlers.push(Handler { kind, name: name.to_owned() });
            self.handlers.len() - 1
        });
        number as u32
    }

    /// Records a task's name.
    pub fn name_task(&mut self, thread: u32, pid: u32, name: &str) {
        self.tasks.insert(thread, Task { pid, name: Some(name.to_owned()), realtime: false });
    }

    /// Records that a task exists, whatever its name.
    pub(super) fn meet(&mut self, thread: u32, pid: u32) {
        if thread == 0 || thread == ENDING {
            return;
        }
        let task = self.tasks.entry(thread).or_insert(Task { pid, name: None, realtime: false });
        if task.pid != pid {
            // The number was given to a new thread.
            *task = Task { pid, name: None, realtime: false };
        }
        self.met.insert(thread);
    }

    /// Records a new thread, which has its parent's name until it gets its own.
    pub(super) fn descend(&mut self, thread: u32, pid: u32, parent: u32) {
        self.meet(thread, pid);
        self.parents.insert(thread, parent);
    }

    /// Reads from `/proc` the names of the threads that appeared since the last call.
    ///
    /// A thread may have been renamed on a CPU that is not watched. One that has ended keeps the name it had, or its
    /// process's, or its parent's.
    pub(super) fn ask_proc(&mut self) {
        let met = std::mem::take(&mut self.met);
        for &thread in &met {
            let Some(Task { pid, name, realtime }) = self.tasks.get(&thread).cloned() else { continue };
            let parent = self.parents.get(&thread);
            let inherited = || {
                let known = parent.and_then(|parent| self.tasks.get(parent)?.name.clone());
                known.or_else(|| read_name(&format!("/proc/{}/comm", parent?)))
            };
            let name = read_name(&format!("/proc/{pid}/task/{thread}/comm"))
                .or(name)
                .or_else(|| read_name(&format!("/proc/{pid}/comm")))
                .or_else(inherited);
            let realtime = is_realtime(thread).unwrap_or(realtime);
            self.tasks.insert(thread, Task { pid, name, realtime });
        }
        self.forget_but(&met);
    }

    /// Keeps only these threads if there are more than fit: a long measurement meets more than any machine has at
    /// once. The name of a thread that returns is read again.
    fn forget_but(&mut self, met: &BTreeSet<u32>) {
        if self.tasks.len() + self.parents.len() > ROOM {
            self.tasks.retain(|thread, _| met.contains(thread));
            self.parents.retain(|thread, _| met.contains(thread));
        }
    }

    /// Returns the name and the class of a thread, if known.
    pub fn task(&self, thread: u32) -> Option<&Task> {
        self.tasks.get(&thread)
    }

    /// Returns the handler of this number.
    pub fn handler_of(&self, number: u32) -> Option<&Handler> {
        self.handlers.get(number as usize)
    }

    pub(super) fn is_realtime(&self, thread: u32) -> bool {
        self.tasks.get(&thread).is_some_and(|task| task.realtime)
    }

    pub(super) fn task_cause(&self, thread: u32) -> Cause {
        let task = self.tasks.get(&thread);
        Cause { kind: Kind::Task, name: task.and_then(|task| task.name.clone()), pid: task.map(|task| task.pid) }
    }

    pub(super) fn handler_cause(&self, number: u32) -> Cause {
        match self.handler_of(number) {
            Some(Handler { kind: HandlerKind::Interrupt, name }) => {
                Cause { kind: Kind::Interrupt, name: Some(name.clone()), pid: None }
            }
            Some(Handler { kind: HandlerKind::Softirq, name }) => {
                Cause { kind: Kind::Softirq, name: Some(name.clone()), pid: None }
            }
            None => Cause::unnamed(Kind::Interrupt),
        }
    }
}

/// Largest number of threads that are remembered.
const ROOM: usize = 8_192;

fn read_name(path: &str) -> Option<String> {
    let name = std::fs::read_to_string(path).ok()?;
    Some(name.trim_end_matches('\n').to_owned())
}

/// Returns whether a thread has real-time priority; `None` if it has ended.
pub(super) fn is_realtime(thread: u32) -> Option<bool> {
    // SAFETY: the call takes a thread id and no pointer. It is the bare system call, because musl's wrapper always
    // returns ENOSYS.
    let policy = unsafe { libc::syscall(libc::SYS_sched_getscheduler, thread) };
    let policy = policy as libc::c_int & !libc::SCHED_RESET_ON_FORK;
    (policy >= 0).then_some(matches!(policy, libc::SCHED_FIFO | libc::SCHED_RR | libc::SCHED_DEADLINE))
}

/// A cause of lost time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cause {
    /// Kind of cause.
    pub kind: Kind,
    /// Name, if it has one.
    pub name: Option<String>,
    /// Process, if it is a task.
    pub pid: Option<u32>,
}

/// The kinds of causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Another thread, which ran in the meantime.
    Task,
    /// An interrupt.
    Interrupt,
    /// Work that an interrupt deferred.
    Softirq,
    /// A task whose name this source does not report.
    SwitchedOut,
    /// The thread itself released the CPU: it slept or waited.
    Blocked,
    /// The hypervisor; if the kernel accounts for interrupts apart from threads, unseen interrupts too.
    Steal,
    /// The kernel's limit on real-time threads.
    RealtimeThrottling,
    /// The control group's quota.
    CgroupThrottling,
    /// The delay of a timer that the kernel may choose by the thread's timer slack.
    TimerSlack,
    /// A timer expired and its interrupt did not come, although the CPU was awake.
    TimerLate,
    /// The CPU was idle, or left its idle state.
    Idle,
    /// The thread's own work, up to the usual amount.
    Own,
    /// No known cause.
    Unexplained,
}

impl Cause {
    /// Returns a cause without a name.
    pub const fn unnamed(kind: Kind) -> Self {
        Self { kind, name: None, pid: None }
    }
}

/// The time of one cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CauseTime {
    /// The cause.
    pub cause: Cause,
    /// Number of gaps in which it had a part.
    pub count: u64,
    /// Time in ticks.
    pub ticks: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_threads_fit_and_the_last_keep_their_names() {
        let mut names = Names::default();
        // Numbers that no thread of this machine has, so that no name is found.
        let first = 1 << 23;
        for second in 0..40 {
            for number in 0..500 {
                let thread = first + second * 500 + number;
                names.descend(thread, thread, first);
                names.name_task(thread, thread, "job");
            }
            names.ask_proc();
        }
        assert!(names.tasks.len() + names.parents.len() <= ROOM + 1_000);
        assert_eq!(names.task(first + 19_999).unwrap().name.as_deref(), Some("job"));
    }
}
