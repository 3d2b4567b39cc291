//! One dump, for a look at a process that perhaps hangs: what each of its threads waits for, and who owns that.
//!
//! A plain dump names the owners of monitors. Those of `java.util.concurrent` take a search of the heap, so they are
//! requested only if a thread waits for such a lock.

use super::attach::{Access, Machine, Refusal};
use super::dump::{Dump, Frame, MOST_THREADS, Now, Thread, waits_for_work};
use super::end::End;
use crate::namespace::OwnNumbers;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

/// The threads of a virtual machine.
#[derive(Debug, Default)]
pub struct JavaLook {
    pub threads: Vec<JavaThread>,
    /// The machine's own threads, which run no method.
    pub of_machine: Vec<u32>,
    pub has_virtual_threads: bool,
}

/// A thread.
#[derive(Debug, PartialEq)]
pub struct JavaThread {
    /// The kernel's number.
    pub number: u32,
    pub name: String,
    /// Methods, the innermost first.
    pub frames: Vec<Frame>,
    pub wait: JavaWait,
    pub is_timed: bool,
}

/// The object of a wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JavaWait {
    /// It runs, or is in native code.
    Runs,
    Sleeps,
    Lock {
        object: u64,
        class: String,
        is_monitor: bool,
        owner: JavaOwner,
    },
    /// The end of the initialiser of a class.
    Initialiser {
        class: String,
        owner: Option<u32>,
    },
    /// `Object.wait`, or a parked thread.
    Event {
        object: u64,
        class: String,
        is_parked: bool,
    },
    /// It waits for an object that the collector clears.
    Collector,
    /// A worker of a pool of the class library that has no task; one with a limit of time only ends.
    Work,
}

/// The owner of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JavaOwner {
    Unknown,
    Thread(u32),
    /// The lock has one, and no thread of the dump is it.
    Gone,
}

/// Requests a dump of a process that has this map. The answer has to come within a time.
///
/// # Errors
/// There is none, for this reason.
pub fn look(process: u32, map: &[u8], within: Duration) -> Result<JavaLook, String> {
    let machine = Machine::hold(process, map).ok_or("the process has ended")?;
    let end = Arc::new(End::new().map_err(|error| crate::names::message(&error))?);
    let (sender, answer) = channel();
    let flag = end.clone();
    // The thread that attaches becomes the user of the process for good.
    let worker = std::thread::Builder::new().name("java-dump".into()).spawn(move || {
        let _ = sender.send(dumped(process, &machine, &flag));
    });
    let worker = worker.map_err(|error| crate::names::message(&error))?;
    let found = answer.recv_timeout(within);
    // It ends at once then, and removes what it has created.
    end.request();
    let _ = worker.join();
    found.unwrap_or_else(|_| Err(format!("it did not answer within {} ms", within.as_millis())))
}

fn dumped(process: u32, machine: &Machine, end: &End) -> Result<JavaLook, String> {
    let words = |refusal| match refusal {
        Refusal::NotYet(why) | Refusal::Never(why) => why,
        Refusal::Over => "it did not answer in time".to_owned(),
    };
    let mut access = Access::find(machine, end).map_err(words)?;
    let mut numbers = OwnNumbers::of(process);
    let mut parsed = |has_owners: bool| {
        let (text, _) = access.threads(has_owners).map_err(words)?;
        let text = String::from_utf8_lossy(&text);
        let dump = Dump::parse(&text, || end.is_requested());
        let mut dump = dump.ok_or_else(|| format!("its thread dump has more than {MOST_THREADS} threads"))?;
        dump.renumber(&mut numbers);
        Ok::<_, String>(dump.look(has_owners))
    };
    let found = parsed(false)?;
    let has_lock = |thread: &JavaThread| matches!(thread.wait, JavaWait::Lock { is_monitor: false, .. });
    if !found.threads.iter().any(has_lock) {
        return Ok(found);
    }
    Ok(parsed(true).unwrap_or(found))
}

impl Dump<'_> {
    /// Returns the waits of the threads.
    pub(super) fn look(&self, has_owners: bool) -> JavaLook {
        let mut owners: HashMap<&str, u32> = HashMap::new();
        let mut initialisers: HashMap<&str, u32> = HashMap::new();
        for thread in &self.threads {
            let held = thread.held.iter().map(|(object, _)| *object).filter(|object| thread.wanted() != Some(object));
            held.chain(thread.owned.iter().copied()).for_each(|object| {
                owners.insert(object, thread.number);
            });
            for call in &thread.frames {
                if let Some(class) = call.method.strip_suffix(".<clinit>") {
                    initialisers.insert(class, thread.number);
                }
            }
        }
        let threads = self.threads.iter().map(|thread| JavaThread {
            number: thread.number,
            name: thread.name.to_owned(),
            frames: thread.frames.iter().map(|call| call.to_frame()).collect(),
            wait: wait(thread, &owners, &initialisers, has_owners),
            is_timed: thread.is_timed,
        });
        JavaLook {
            threads: threads.collect(),
            of_machine: self.of_machine.clone(),
            has_virtual_threads: self.has_virtual_threads,
        }
    }
}

fn wait(
    thread: &Thread<'_>,
    owners: &HashMap<&str, u32>,
    initialisers: &HashMap<&str, u32>,
    has_owners: bool,
) -> JavaWait {
    if let Some(class) = thread.initialised {
        return JavaWait::Initialiser { class: class.to_owned(), owner: initialisers.get(class).copied() };
    }
    let is_in = |method: &str| thread.frames.iter().any(|call| call.method == method);
    match (thread.now, thread.event) {
        (Now::Blocked { object, class, is_monitor }, _) => {
            let owner = match owners.get(object) {
                Some(owner) => JavaOwner::Thread(*owner),
                None if has_owners && class.contains(".ReentrantLock$") => JavaOwner::Gone,
                None => JavaOwner::Unknown,
            };
            JavaWait::Lock { object: address(object), class: class.to_owned(), is_monitor, owner }
        }
        (Now::Runnable | Now::Native, _) if is_in("java.lang.ref.Reference.waitForReferencePendingList") => {
            JavaWait::Collector
        }
        (Now::Runnable | Now::Native, _) => JavaWait::Runs,
        (Now::Sleeping, _) => JavaWait::Sleeps,
        _ if is_in("java.lang.ref.ReferenceQueue.remove") => JavaWait::Collector,
        _ if waits_for_work(thread) => JavaWait::Work,
        (Now::Waiting, event) => {
            let is_parked = thread.frames.first().is_some_and(|call| call.method.ends_with(".park"));
            let (object, class) = event.unwrap_or(("", ""));
            JavaWait::Event { object: address(object), class: class.to_owned(), is_parked }
        }
    }
}

fn address(object: &str) -> u64 {
    u64::from_str_radix(object.trim_start_matches("0x"), 16).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::dump::tests::MONITOR;
    use super::*;

    fn waits(text: &str, has_owners: bool) -> Vec<JavaWait> {
        Dump::parse(text, || false).unwrap().look(has_owners).threads.into_iter().map(|thread| thread.wait).collect()
    }

    #[test]
    fn monitors_have_owners_and_waits_have_objects() {
        let waits = waits(MONITOR, false);
        let object = "java.lang.Object".to_owned();
        let lock = JavaWait::Lock {
            object: 0x6_9ec1_92a0,
            class: object.clone(),
            is_monitor: true,
            owner: JavaOwner::Thread(17),
        };
        let event = JavaWait::Event { object: 0x6_9000_0000, class: object, is_parked: false };
        assert_eq!(waits, [lock, JavaWait::Sleeps, event]);
    }

    const PARKED: &str = "\"a\" #1 nid=1 waiting on condition [0]\n   java.lang.Thread.State: WAITING (parking)\n\
        \tat jdk.internal.misc.Unsafe.park(java.base@17/Native Method)\n\
        \t- parking to wait for  <0x6> (a java.util.concurrent.locks.ReentrantLock$NonfairSync)\n\tat A.a(A.java:1)\n\n\
        \"b\" #2 nid=2 runnable [0]\n   java.lang.Thread.State: RUNNABLE\n\tat A.<clinit>(A.java:3)\n\n   \
        Locked ownable synchronizers:\n\t- <0x6> (a java.util.concurrent.locks.ReentrantLock$NonfairSync)\n\n\
        \"c\" #3 nid=3 in Object.wait() [0]\n   java.lang.Thread.State: RUNNABLE\n\tat A.c(A.java:4)\n\
        \t- waiting on the Class initialization monitor for A\n\n";

    #[test]
    fn concurrent_locks_and_initialisers_have_owners() {
        let owner = |text: &str, has_owners| match &waits(text, has_owners)[0] {
            JavaWait::Lock { owner, is_monitor: false, .. } => *owner,
            other => panic!("{other:?}"),
        };
        assert_eq!(owner(PARKED, true), JavaOwner::Thread(2));
        let without = PARKED.replace("\t- <0x6> (a", "\t- <0x9> (a");
        assert_eq!((owner(&without, true), owner(&without, false)), (JavaOwner::Gone, JavaOwner::Unknown));
        assert_eq!(waits(PARKED, true)[2], JavaWait::Initialiser { class: "A".into(), owner: Some(2) });
    }

    #[test]
    fn worker_without_a_task_is_recognised() {
        let worker = |queue: &str| {
            format!(
                "\"a\" nid=1\n   java.lang.Thread.State: TIMED_WAITING (parking)\n\tat jdk.internal.misc.Unsafe.park(Native)\n\
                 \t- parking to wait for  <0x6> (a java.util.concurrent.SynchronousQueue$TransferStack)\n\tat {queue}(A.java:1)\n\
                 \tat java.util.concurrent.ThreadPoolExecutor.getTask(ThreadPoolExecutor.java:1)\n"
            )
        };
        assert_eq!(waits(&worker("java.util.concurrent.SynchronousQueue.poll"), false), [JavaWait::Work]);
        let scheduled = "java.util.concurrent.ScheduledThreadPoolExecutor$DelayedWorkQueue.take";
        assert!(matches!(waits(&worker(scheduled), false)[..], [JavaWait::Event { .. }]));
    }
}
