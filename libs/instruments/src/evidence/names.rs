//! Names of tasks by thread id, and of handlers by number; the causes that take a thread's time.

use super::track::ENDING;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A thread as the kernel knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its process.
    pub pid: u32,
    /// Its name, at most 15 bytes; `None` if it was gone before anyone asked.
    pub name: Option<String>,
    /// It has real-time priority, as far as is known.
    pub realtime: bool,
}

/// Something that interrupts tasks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Handler {
    /// What sort.
    pub kind: HandlerKind,
    /// As the kernel calls it: `local_timer`, `virtio1-req.0`, `net_rx`.
    pub name: String,
}

/// The sorts of handlers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HandlerKind {
    /// An interrupt's handler.
    Interrupt,
    /// Of work that interrupts left for later.
    Softirq,
}

/// The names of all that was recorded so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Names {
    tasks: BTreeMap<u32, Task>,
    handlers: Vec<Handler>,
    parents: BTreeMap<u32, u32>,
    /// Threads met since their names were read.
    met: BTreeSet<u32>,
}

impl Names {
    /// The number of a handler, a new one if it was not known.
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

    /// A new thread has its parent's name until it gets its own.
    pub(super) fn descend(&mut self, thread: u32, pid: u32, parent: u32) {
        self.meet(thread, pid);
        self.parents.insert(thread, parent);
    }

    /// Asks `/proc` for the names of those met since it was last asked: a thread may have been renamed on a CPU that is
    /// not watched. One that is gone keeps the name it had, or its process's, or its parent's.
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

    /// Keeps only these threads if there are more than fit: a night has more than any machine at once. The name of a
    /// thread that comes back is read again.
    fn forget_but(&mut self, met: &BTreeSet<u32>) {
        if self.tasks.len() + self.parents.len() > ROOM {
            self.tasks.retain(|thread, _| met.contains(thread));
            self.parents.retain(|thread, _| met.contains(thread));
        }
    }

    /// The name and the class of a thread, if known.
    pub fn task(&self, thread: u32) -> Option<&Task> {
        self.tasks.get(&thread)
    }

    /// The handler of this number.
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

/// Threads that are remembered.
const ROOM: usize = 8_192;

fn read_name(path: &str) -> Option<String> {
    let name = std::fs::read_to_string(path).ok()?;
    Some(name.trim_end_matches('\n').to_owned())
}

/// Whether a thread has real-time priority; `None` if it is gone.
pub(super) fn is_realtime(thread: u32) -> Option<bool> {
    // SAFETY: the call takes a thread id and no pointer. The bare system call, because musl's wrapper only says ENOSYS.
    let policy = unsafe { libc::syscall(libc::SYS_sched_getscheduler, thread) };
    let policy = policy as libc::c_int & !libc::SCHED_RESET_ON_FORK;
    (policy >= 0).then_some(matches!(policy, libc::SCHED_FIFO | libc::SCHED_RR | libc::SCHED_DEADLINE))
}

/// One taker of time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cause {
    /// What sort of taker.
    pub kind: Kind,
    /// Its name, where it has one.
    pub name: Option<String>,
    /// Its process, if it is a task.
    pub pid: Option<u32>,
}

/// The sorts of takers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Another thread, which ran in the meantime.
    Task,
    /// An interrupt.
    Interrupt,
    /// Work that an interrupt left for later.
    Softirq,
    /// A task whose name this source does not report.
    SwitchedOut,
    /// The thread itself let go of the CPU: it slept or waited.
    Blocked,
    /// The hypervisor; where the kernel accounts for interrupts apart from threads, unseen interrupts too.
    Steal,
    /// The kernel's limit on real-time threads.
    RealtimeThrottling,
    /// The control group's quota.
    CgroupThrottling,
    /// The kernel may delay a timer by this time, as the thread has set.
    TimerSlack,
    /// A timer was due and its interrupt did not come, though the CPU was awake.
    TimerLate,
    /// The CPU idled, or left its idle state.
    Idle,
    /// The thread's own work, as much as is usual.
    Own,
    /// Nothing known.
    Unexplained,
}

impl Cause {
    /// A cause without a name.
    pub const fn unnamed(kind: Kind) -> Self {
        Self { kind, name: None, pid: None }
    }
}

/// How much one cause took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CauseTime {
    /// The cause.
    pub cause: Cause,
    /// Gaps that it had a part in.
    pub count: u64,
    /// The time it took, in ticks.
    pub ticks: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_night_of_threads_has_room_and_the_last_are_known() {
        let mut names = Names::default();
        // Numbers that no thread of this machine has, so that no name is found.
        let first = 1 << 23;
        for second in 0..200 {
            for number in 0..500 {
                let thread = first + second * 500 + number;
                names.descend(thread, thread, first);
                names.name_task(thread, thread, "job");
            }
            names.ask_proc();
        }
        assert!(names.tasks.len() + names.parents.len() <= ROOM + 1_000);
        assert_eq!(names.task(first + 99_999).unwrap().name.as_deref(), Some("job"));
    }
}
