//! The threads of Java, by a dump of its virtual machine: the kernel shows only that they wait, and not for what.

use crate::snapshot::{Frame, Lock, Owner, Process, Seen, Wait};
use blame::jvm::{JavaLook, JavaOwner, JavaThread, JavaWait, look};
use std::collections::HashMap;
use std::time::Duration;

/// The time for the dump: the first one takes longer than the others, as the machine starts a thread for it.
const PATIENCE: Duration = Duration::from_millis(1_000);
/// A thread that waits for a monitor looks at it once more now and then, up to once a second.
const MOST_LOOKS: u64 = 2;

/// The data of a thread that the kernel shows.
pub struct Native {
    /// How often it ran since the look before, if it waited in the same way then.
    pub turns: Option<u64>,
    /// The time until its wait ends.
    pub left_s: Option<f64>,
}

/// Gives the threads of a process what the virtual machine says about them. Its own threads wake no others: they are
/// omitted.
pub fn fill(process: &mut Process, map: &[u8], natives: &HashMap<u32, Native>) {
    match look(process.pid, map, PATIENCE) {
        Ok(found) => apply(process, found, natives),
        Err(why) => process.refusal = Some(terminal::shortened(&terminal::escaped(&why), 100)),
    }
}

fn apply(process: &mut Process, found: JavaLook, natives: &HashMap<u32, Native>) {
    let pid = process.pid;
    process.seen = if found.has_virtual_threads { Seen::Partly } else { Seen::Whole };
    let mut threads: HashMap<u32, JavaThread> =
        found.threads.into_iter().map(|thread| (thread.number, thread)).collect();
    process.threads.retain(|thread| {
        let of_library = |one: &JavaThread| one.frames.iter().all(blame::jvm::Frame::is_of_library);
        let waits_for_collector =
            threads.get(&thread.tid).is_some_and(|one| one.wait == JavaWait::Collector && of_library(one));
        // The first thread waits for the one that ended `main`, and that one for all others.
        let joins_it = matches!(thread.wait, Wait::Join { thread } if found.of_machine.contains(&thread));
        !waits_for_collector && !joins_it && !found.of_machine.contains(&thread.tid)
    });
    for thread in &mut process.threads {
        let Some(one) = threads.remove(&thread.tid) else { continue };
        thread.name = terminal::escaped(&one.name).into_owned();
        thread.frames = one.frames.iter().map(frame).collect();
        thread.interrupted.clear();
        let native = natives.get(&thread.tid);
        let is_blocked = !matches!(one.wait, JavaWait::Runs | JavaWait::Sleeps);
        thread.has_moved &= !(is_blocked && native.and_then(|one| one.turns).is_some_and(|turns| turns <= MOST_LOOKS));
        if let Some(wait) = wait(pid, one, native.and_then(|native| native.left_s)) {
            thread.wait = wait;
        }
    }
}

fn frame(frame: &blame::jvm::Frame) -> Frame {
    // The machine makes classes for closures, with two such signs in their names.
    let is_made = frame.method.contains("$$");
    Frame {
        function: Some(terminal::escaped(&frame.method).into_owned()),
        source: frame.source.as_deref().map(|source| terminal::escaped(source).into_owned()),
        is_own: !frame.is_of_library() && !is_made,
        ..Frame::default()
    }
}

/// Returns what a thread waits for; `None` if that is what the kernel shows.
fn wait(pid: u32, thread: JavaThread, left_s: Option<f64>) -> Option<Wait> {
    let owned = |owner: JavaOwner| match owner {
        JavaOwner::Unknown => Owner::Unknown,
        JavaOwner::Thread(thread) => Owner::Thread { process: pid, thread },
        JavaOwner::Gone => Owner::Gone { thread: 0 },
    };
    let is_timed = thread.is_timed;
    let joins = thread.frames.iter().any(|frame| frame.method == "java.lang.Thread.join");
    let lock = |kind: &str, class: &str, address, owner| {
        let (kind, name) = (kind.to_owned(), Some(plain(class)));
        Wait::Lock(Lock { address, name, kind, owner, is_timed, ..Lock::default() })
    };
    Some(match thread.wait {
        JavaWait::Runs => return None,
        JavaWait::Sleeps => Wait::Time { span_s: left_s },
        JavaWait::Lock { object, class, is_monitor: true, owner } => lock("monitor", &class, object, owned(owner)),
        JavaWait::Lock { object, class, owner, .. } => lock("synchronizer", &class, object, owned(owner)),
        JavaWait::Initialiser { class, owner } => {
            lock("class", &class, 0, owned(owner.map_or(JavaOwner::Unknown, JavaOwner::Thread)))
        }
        JavaWait::Event { object, class, is_parked } => Wait::Event {
            object: match (joins, is_parked) {
                (true, _) => "join",
                (_, true) => "park",
                _ => "notify",
            }
            .into(),
            name: (!class.is_empty()).then(|| plain(&class)),
            address: object,
            is_timed,
            is_shared: false,
        },
        JavaWait::Collector => Wait::Outside { call: "the collector".into(), is_timed },
        JavaWait::Work => {
            Wait::Event { object: "work".into(), name: None, address: 0, is_timed: false, is_shared: false }
        }
    })
}

/// Returns the class that the program knows: the synchronizer of a lock is a class in it.
fn plain(class: &str) -> String {
    let is_inner = class.starts_with("java.util.concurrent.") && !class.ends_with("ConditionObject");
    let known = if is_inner { class.split('$').next().unwrap_or(class) } else { class };
    terminal::escaped(known).into_owned()
}
