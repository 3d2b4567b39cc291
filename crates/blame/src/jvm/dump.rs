//! A thread dump, as HotSpot prints it: the locks that its threads wait for, and the activity of their holders.
//!
//! The text is the process's own, and may have been made to do harm. It is read once, line by line; the threads that hold
//! an object, and those in a method, are found by an index; what is kept of it has limits.

use crate::namespace::OwnNumbers;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};

/// A lock: the class of its object, and the method that waits for it. The collector moves objects, so an address does
/// not say which one it is for longer than a dump.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LockKey {
    pub class: String,
    pub waits_in: Frame,
    pub is_monitor: bool,
}

/// The activity of a lock's holder: its state, and the method in the critical section.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JavaHolder {
    pub state: State,
    /// Whether it may be outside of the critical section: it is the only other thread in the method that waits.
    pub is_supposed: bool,
    /// The method that the critical section called, and its caller.
    pub inner: Frame,
    pub caller: Option<Frame>,
    /// The program's own methods, from the innermost to the one with the critical section. Empty while it runs a method of Java.
    pub path: Vec<Frame>,
}

/// The state of a thread.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum State {
    /// The thread is on a CPU, or ready for one.
    Runnable,
    /// It is in native code, and may be blocked in a system call.
    Native,
    Sleeping,
    /// Without work: in `Object.wait`, at a condition, parked for something that is not a lock.
    Waiting,
    /// It waits for a lock of this class.
    Blocked {
        class: String,
    },
}

/// A place of the program in which threads wait for something else than a lock, or sleep.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JavaPlace {
    pub state: State,
    pub own: Frame,
    /// The method of the class library that the program's method called.
    pub called: Option<String>,
}

/// The workers of a pool of the class library in one dump.
#[derive(Debug, Default)]
pub struct Workers {
    pub count: usize,
    /// Those without a task.
    pub idle: usize,
    /// The states of the others, with the method of the program.
    pub tasks: HashMap<(State, Frame), usize>,
}

/// A method at a line.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// `Class.method`, with the package.
    pub method: String,
    /// `File.java:line`; `None` for native code.
    pub source: Option<String>,
}

impl Frame {
    /// Returns the method and its line, for people.
    pub fn label(&self) -> String {
        match &self.source {
            Some(source) => format!("{} ({source})", self.method),
            None => self.method.clone(),
        }
    }

    /// Returns whether it belongs to the class library.
    pub fn is_of_library(&self) -> bool {
        is_of_library(&self.method)
    }
}

fn is_of_library(method: &str) -> bool {
    let is_of_package = |package: &&str| method.starts_with(*package);
    ["java.", "javax.", "jdk.", "sun.", "com.sun."].iter().any(is_of_package) || is_of_lambda(method)
}

/// Returns whether a method is of a class that the machine makes for a lambda: it only calls the program's method.
fn is_of_lambda(method: &str) -> bool {
    method.contains("$$Lambda")
}

/// The result of a dump.
#[derive(Debug, Default)]
pub struct Digest {
    /// Each thread's number for the kernel, and its state.
    pub threads: Vec<(u32, State)>,
    pub locks: HashMap<LockKey, Waiters>,
    pub places: HashMap<JavaPlace, usize>,
    /// The pools, by the names of their threads without the numbers.
    pub pools: HashMap<String, Workers>,
    /// Whether a thread carries virtual threads, or wakes them.
    pub has_virtual_threads: bool,
    /// Whether the dump names the owners of the locks of `java.util.concurrent`.
    pub has_owners: bool,
}

/// The threads that wait for a lock.
#[derive(Debug, Default)]
pub struct Waiters {
    pub count: usize,
    /// The holder's activity, and the number of them that it keeps waiting; that of the others is unknown. Several threads inside of a
    /// semaphore have an equal part each.
    pub holders: HashMap<JavaHolder, f64>,
    /// The number of them for whom several threads are inside.
    pub of_several: usize,
    /// Holders in native code, by the numbers of their threads.
    pub in_native_code: HashSet<u32>,
    /// The call path of one of them.
    pub path: Vec<Frame>,
}

/// Threads, methods of a thread, and letters of a line that are read. A dump with more threads is refused.
pub const MOST_THREADS: usize = 10_000;
const MOST_FRAMES: usize = 64;
const LONGEST_LINE: usize = 1_024;

/// The threads in the text of a dump.
#[derive(Debug)]
pub struct Dump<'a> {
    pub(super) threads: Vec<Thread<'a>>,
    /// The numbers of the virtual machine's own threads, which run no method.
    pub(super) of_machine: Vec<u32>,
    pub(super) has_virtual_threads: bool,
    has_owners: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Thread<'a> {
    /// The kernel's number of it: in the text of a dump, that of the virtual machine's own namespace.
    pub(super) number: u32,
    pub(super) name: &'a str,
    pub(super) now: Now<'a>,
    /// Whether its wait ends at a time.
    pub(super) is_timed: bool,
    /// The object in whose `wait` it is, or that it is parked for, with its class.
    pub(super) event: Option<(&'a str, &'a str)>,
    /// The class for the end of whose initialiser it waits.
    pub(super) initialised: Option<&'a str>,
    /// Locks of `java.util.concurrent` that it owns, if the dump has them.
    pub(super) owned: Vec<&'a str>,
    /// Methods, the innermost first.
    pub(super) frames: Vec<Call<'a>>,
    /// Monitors that it holds, and the depth of the method that locked each.
    pub(super) held: Vec<(&'a str, usize)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Now<'a> {
    Runnable,
    Native,
    Sleeping,
    Waiting,
    Blocked { object: &'a str, class: &'a str, is_monitor: bool },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Call<'a> {
    pub(super) method: &'a str,
    source: Option<&'a str>,
}

impl Call<'_> {
    pub(super) fn to_frame(self) -> Frame {
        Frame { method: self.method.to_owned(), source: self.source.map(str::to_owned) }
    }
}

impl Now<'_> {
    fn to_state(self) -> State {
        match self {
            Self::Runnable => State::Runnable,
            Self::Native => State::Native,
            Self::Sleeping => State::Sleeping,
            Self::Waiting => State::Waiting,
            Self::Blocked { class, .. } => State::Blocked { class: class.to_owned() },
        }
    }
}

impl<'a> Thread<'a> {
    /// Returns the object that it waits for.
    pub(super) fn wanted(&self) -> Option<&'a str> {
        match self.now {
            Now::Blocked { object, .. } => Some(object),
            _ => None,
        }
    }

    /// Returns the method that waits for a lock: the innermost one of the program itself.
    fn waits_in(&self) -> Call<'a> {
        let own = self.frames.iter().find(|call| !is_of_library(call.method));
        own.or(self.frames.first()).copied().unwrap_or_default()
    }

    /// Returns whether it waits to read what a lock guards, next to other readers.
    fn is_reader(&self) -> bool {
        let is_read = |call: &Call<'_>| call.method.contains("ReadLock.") || call.method.ends_with(".readLock");
        self.frames.iter().take_while(|call| is_of_library(call.method)).any(is_read)
    }

    fn own_methods(&self, up_to: usize) -> Vec<Frame> {
        self.frames[..up_to].iter().filter(|call| !is_of_library(call.method)).map(|call| call.to_frame()).collect()
    }
}

impl<'a> Dump<'a> {
    /// Parses a dump. Lines that are not understood, or longer than those of a program, are passed over. `None` if
    /// `is_over` says so, or there are too many threads.
    pub fn parse(text: &'a str, is_over: impl Fn() -> bool) -> Option<Self> {
        const LINES: usize = 4_096;
        let mut threads: Vec<Thread<'a>> = Vec::new();
        for (count, line) in text.lines().enumerate() {
            if count % LINES == LINES - 1 && is_over() {
                return None;
            }
            if let Some(rest) = line.strip_prefix('"') {
                if threads.len() >= MOST_THREADS {
                    return None;
                }
                // Threads of the virtual machine itself have no state of Java.
                let number = number_of(line).unwrap_or_default();
                threads.push(Thread {
                    number,
                    name: rest.rsplit_once("\" ").map_or("", |(name, _)| name),
                    now: Now::Waiting,
                    is_timed: false,
                    event: None,
                    initialised: None,
                    owned: Vec::new(),
                    frames: Vec::new(),
                    held: Vec::new(),
                });
                continue;
            }
            let Some(thread) = threads.last_mut().filter(|_| line.len() <= LONGEST_LINE) else { continue };
            let line = line.trim_start();
            if let Some(state) = line.strip_prefix("java.lang.Thread.State: ") {
                thread.is_timed = state.starts_with("TIMED_");
                thread.now = match state {
                    "RUNNABLE" => Now::Runnable,
                    "TIMED_WAITING (sleeping)" => Now::Sleeping,
                    // The object follows, except where the dump does not know it.
                    _ => Now::Waiting,
                };
            } else if let Some(call) = line.strip_prefix("at ") {
                if thread.frames.is_empty() && thread.now == Now::Runnable && call.ends_with("Native Method)") {
                    thread.now = Now::Native;
                }
                if thread.frames.len() < MOST_FRAMES {
                    thread.frames.push(call_of(call));
                }
            } else if let Some((object, class)) = line.strip_prefix("- waiting to lock ").and_then(object_of) {
                thread.now = Now::Blocked { object, class, is_monitor: true };
            } else if let Some((object, class)) = line.strip_prefix("- parking to wait for ").and_then(object_of) {
                thread.event = Some((object, class));
                if is_lock(class) {
                    thread.now = Now::Blocked { object, class, is_monitor: false };
                }
            } else if let Some((object, class)) = line.strip_prefix("- waiting on ").and_then(object_of) {
                thread.event = Some((object, class));
            } else if let Some(class) = line.strip_prefix("- waiting on the Class initialization monitor for ") {
                thread.initialised = Some(class);
            } else if let Some((object, _)) = line.strip_prefix("- locked ").and_then(object_of) {
                // A thread in `Object.wait` has released the monitor, though the method that locked it is still there.
                let is_released = thread.now == Now::Waiting;
                if !is_released {
                    thread.held.push((object, thread.frames.len().saturating_sub(1)));
                }
            } else if let Some((object, _)) = line.strip_prefix("- ").and_then(object_of) {
                thread.owned.push(object);
            }
        }
        let of_machine = threads.iter().filter(|thread| thread.number != 0 && thread.frames.is_empty());
        let of_machine = of_machine.map(|thread| thread.number).collect();
        threads.retain(|thread| thread.number != 0 && !thread.frames.is_empty());
        let of_virtual_threads =
            ["\"VirtualThread-unparker\"", "at java.lang.VirtualThread", "at jdk.internal.vm.Continuation"];
        let has_virtual_threads = of_virtual_threads.iter().any(|words| text.contains(words));
        let has_owners = text.contains("Locked ownable synchronizers:");
        Some(Self { threads, of_machine, has_virtual_threads, has_owners })
    }

    /// Gives the threads the numbers that the kernel's events have. Those that have ended are omitted.
    pub fn renumber(&mut self, numbers: &mut OwnNumbers) {
        let own: Vec<u32> = self.threads.iter().map(|thread| thread.number).collect();
        let threads = std::mem::take(&mut self.threads).into_iter().zip(numbers.outside(&own));
        self.threads = threads.filter_map(|(thread, number)| Some(Thread { number: number?, ..thread })).collect();
        self.of_machine = numbers.outside(&self.of_machine).into_iter().flatten().collect();
    }

    /// Returns the states of the threads, and the waits for each lock with the activity of its holder; `None` if
    /// `is_over` says so.
    pub fn digest(&self, is_over: impl Fn() -> bool) -> Option<Digest> {
        const THREADS: usize = 256;
        let mut holders = Holders::of(self);
        /// The waiters for a lock: their number, the place of the first, and how many of them a holder keeps waiting.
        struct Found {
            count: usize,
            first: usize,
            holders: HashMap<Holding, f64>,
            of_several: usize,
        }
        let mut locks: HashMap<(&str, Call<'_>, bool), Found> = HashMap::new();
        for (place, thread) in self.threads.iter().enumerate() {
            if place % THREADS == THREADS - 1 && is_over() {
                return None;
            }
            let Now::Blocked { class, is_monitor, .. } = thread.now else { continue };
            let lock = locks.entry((class, thread.waits_in(), is_monitor));
            let lock = lock.or_insert_with(|| Found { count: 0, first: place, holders: HashMap::new(), of_several: 0 });
            lock.count += 1;
            let holding = holders.holding(place);
            lock.of_several += usize::from(holding.len() > 1);
            for one in &holding {
                *lock.holders.entry(*one).or_default() += 1.0 / holding.len() as f64;
            }
        }
        let locks = locks.into_iter().map(|((class, waits_in, is_monitor), found)| {
            let Found { count, first, holders, of_several } = found;
            let key = LockKey { class: class.to_owned(), waits_in: waits_in.to_frame(), is_monitor };
            let holder = |holding: &Holding| &self.threads[holding.thread];
            let in_native_code = holders.keys().map(holder).filter(|holder| holder.now == Now::Native);
            let in_native_code = in_native_code.map(|holder| holder.number).collect();
            let mut sums: HashMap<JavaHolder, f64> = HashMap::new();
            for (holding, count) in holders {
                *sums.entry(self.activity(&holding)).or_default() += count;
            }
            let waiter = &self.threads[first];
            let path = waiter.own_methods(waiter.frames.len());
            (key, Waiters { count, holders: sums, of_several, in_native_code, path })
        });
        Some(Digest {
            locks: locks.collect(),
            threads: self.threads.iter().map(|thread| (thread.number, thread.now.to_state())).collect(),
            places: self.places(),
            pools: self.pools(),
            has_virtual_threads: self.has_virtual_threads,
            has_owners: self.has_owners,
        })
    }

    /// Returns the places in which threads wait or sleep. Threads that are in no method of the program are the class library's, or
    /// workers without a task.
    fn places(&self) -> HashMap<JavaPlace, usize> {
        let mut places = HashMap::new();
        for thread in self.threads.iter().filter(|thread| matches!(thread.now, Now::Waiting | Now::Sleeping)) {
            let Some(own) = thread.frames.iter().position(|call| !is_of_library(call.method)) else { continue };
            let called = own.checked_sub(1).map(|called| thread.frames[called].method.to_owned());
            let place = JavaPlace { state: thread.now.to_state(), own: thread.frames[own].to_frame(), called };
            *places.entry(place).or_default() += 1;
        }
        places
    }

    /// Returns the pools of the class library, as the names of threads show them.
    fn pools(&self) -> HashMap<String, Workers> {
        let is_worker = |thread: &&Thread<'_>| {
            thread.frames.iter().any(|call| call.method == "java.util.concurrent.ThreadPoolExecutor.runWorker")
        };
        let mut pools: HashMap<String, Workers> = HashMap::new();
        for thread in self.threads.iter().filter(is_worker) {
            let stem = thread.name.trim_end_matches(|end: char| end.is_ascii_digit() || "-_#: ".contains(end));
            let pool = pools.entry(stem.to_owned()).or_default();
            pool.count += 1;
            if waits_for_work(thread) {
                pool.idle += 1;
            } else {
                *pool.tasks.entry((thread.now.to_state(), thread.waits_in().to_frame())).or_default() += 1;
            }
        }
        pools
    }

    /// Returns the activity of a holder. The critical section is in the method that locked the monitor; its callee is
    /// what it does.
    fn activity(&self, holding: &Holding) -> JavaHolder {
        let (holder, section) = (&self.threads[holding.thread], holding.section);
        let own = holder.frames[..section].iter().rposition(|call| !is_of_library(call.method));
        let inner = own.unwrap_or(section);
        let runs = holder.now == Now::Runnable;
        JavaHolder {
            state: holder.now.to_state(),
            is_supposed: holding.is_supposed,
            inner: holder.frames[inner].to_frame(),
            caller: holder.frames[inner + 1..]
                .iter()
                .find(|call| !is_of_lambda(call.method))
                .map(|call| call.to_frame()),
            path: if runs { Vec::new() } else { holder.own_methods(section + 1) },
        }
    }
}

/// A thread that holds a lock, and the depth of its method with the critical section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Holding {
    thread: usize,
    section: usize,
    is_supposed: bool,
}

/// The holders of the objects in a dump.
///
/// The dump names the holder of a monitor. The owner of a lock of `java.util.concurrent` is in a dump that has owners, if one thread
/// alone has it. Without, the only thread counts that is in the method which waits, and does not wait for the lock itself. Where
/// there are several, the holder is unknown: one of them is perhaps in the method without the lock. A semaphore has several.
struct Holders<'d, 'a> {
    threads: &'d [Thread<'a>],
    has_owners: bool,
    /// The thread that holds an object, and the depth of the method that locked it.
    by_object: HashMap<&'a str, (usize, usize)>,
    /// The threads in each method that waits for a lock, with its depth.
    by_method: HashMap<&'a str, Vec<(usize, usize)>>,
    /// Those that were found, by the object and the method that waits for it.
    found: HashMap<(&'a str, &'a str), Vec<Holding>>,
    /// Threads that were looked at.
    looks: usize,
}

/// Threads inside of a semaphore that are kept for each of its waiters.
const MOST_INSIDE: usize = 32;

impl<'d, 'a> Holders<'d, 'a> {
    fn of(dump: &'d Dump<'a>) -> Self {
        let threads = &dump.threads[..];
        let waiting: HashSet<&str> =
            threads.iter().filter(|thread| thread.wanted().is_some()).map(|thread| thread.waits_in().method).collect();
        let mut by_object = HashMap::new();
        for (place, thread) in threads.iter().enumerate() {
            for (object, depth) in thread.held.iter().filter(|(object, _)| thread.wanted() != Some(object)) {
                by_object.entry(*object).or_insert((place, *depth));
            }
            // The dump does not say which method acquired it.
            let own = || thread.frames.iter().position(|call| !is_of_library(call.method));
            let section = || thread.frames.iter().position(|call| waiting.contains(call.method)).or_else(own);
            for object in &thread.owned {
                by_object.entry(*object).or_insert_with(|| (place, section().unwrap_or(0)));
            }
        }
        let mut by_method: HashMap<&str, Vec<(usize, usize)>> = HashMap::new();
        for (place, thread) in threads.iter().enumerate() {
            for (depth, call) in thread.frames.iter().enumerate().filter(|(_, call)| waiting.contains(call.method)) {
                let inside = by_method.entry(call.method).or_default();
                if inside.last().is_none_or(|(last, _)| *last != place) {
                    inside.push((place, depth));
                }
            }
        }
        Self { threads, has_owners: dump.has_owners, by_object, by_method, found: HashMap::new(), looks: 0 }
    }

    /// Returns the holders of the lock that a thread waits for. One that waits for another lock is followed to that lock's holder.
    fn holding(&mut self, waiter: usize) -> Vec<Holding> {
        const LONGEST_CHAIN: usize = 8;
        let found = self.holders(waiter);
        let [mut holding] = found[..] else { return found };
        for _ in 0..LONGEST_CHAIN {
            let [next] = self.holders(holding.thread)[..] else { break };
            if next.thread == holding.thread || next.thread == waiter {
                break;
            }
            holding = Holding { is_supposed: holding.is_supposed || next.is_supposed, ..next };
        }
        vec![holding]
    }

    /// Returns the threads that hold what a thread waits for.
    fn holders(&mut self, waiter: usize) -> Vec<Holding> {
        let thread = &self.threads[waiter];
        let Now::Blocked { object, class, .. } = thread.now else { return Vec::new() };
        let method = thread.waits_in().method;
        if let Some(found) = self.found.get(&(object, method)) {
            return found.clone();
        }
        let found = match self.by_object.get(object) {
            Some(&(thread, section)) => vec![Holding { thread, section, is_supposed: false }],
            // It was free, or several readers had it.
            None if self.has_owners && is_owned(class) => Vec::new(),
            // Another reader keeps no reader waiting.
            None if thread.is_reader() => Vec::new(),
            None if is_semaphore(class) => self.inside(object, method, MOST_INSIDE),
            None => Some(self.inside(object, method, 2)).filter(|inside| inside.len() == 1).unwrap_or_default(),
        };
        self.found.insert((object, method), found.clone());
        found
    }

    /// Returns up to `most` threads in a method that do not wait for an object.
    fn inside(&mut self, object: &str, method: &str, most: usize) -> Vec<Holding> {
        let (threads, looks) = (self.threads, &mut self.looks);
        let inside = self.by_method.get(method).into_iter().flatten().filter(|(thread, _)| {
            *looks += 1;
            threads[*thread].wanted() != Some(object)
        });
        let holding = |&(thread, section): &(usize, usize)| Holding { thread, section, is_supposed: true };
        inside.map(holding).take(most).collect()
    }
}

/// Returns whether a worker asks its pool for a task. A pool with tasks for later waits until then.
pub(super) fn waits_for_work(thread: &Thread<'_>) -> bool {
    let is_in = |part: &str| thread.frames.iter().any(|call| call.method.starts_with(part));
    let asks = is_in("java.util.concurrent.ThreadPoolExecutor.getTask")
        && !is_in("java.util.concurrent.ScheduledThreadPoolExecutor$DelayedWorkQueue.");
    asks || is_in("java.util.concurrent.ForkJoinPool.awaitWork")
}

/// Parses a thread's number: `nid=0x4327`, or from version 21 on `nid=17191`.
fn number_of(line: &str) -> Option<u32> {
    let number = line.rsplit_once(" nid=")?.1.split(' ').next()?;
    match number.strip_prefix("0x") {
        Some(number) => u32::from_str_radix(number, 16).ok(),
        None => number.parse().ok(),
    }
}

/// Parses a call: `JLock.request(JLock.java:3)`, `java.lang.Thread.sleep(java.base@17.0.15/Native Method)`.
fn call_of(text: &str) -> Call<'_> {
    let (method, place) = text.split_once('(').unwrap_or((text, ""));
    let place = place.trim_end_matches(')');
    let place = place.rsplit('/').next().unwrap_or(place);
    let has_line = place.contains(".java:") || place.contains(".kt:") || place.contains(".scala:");
    Call { method, source: has_line.then_some(place) }
}

/// Parses an object and its class: `<0x000000069ec192a0> (a java.lang.Object)`.
fn object_of(text: &str) -> Option<(&str, &str)> {
    let (object, class) = text.trim_start().strip_prefix('<')?.split_once('>')?;
    let class = class.trim_start().strip_prefix("(a ")?.strip_suffix(')')?;
    Some((object, class))
}

/// Returns whether a thread that is parked for an object of this class waits for another thread to release it.
fn is_lock(class: &str) -> bool {
    is_owned(class) || class.starts_with("java.util.concurrent.locks.StampedLock") || is_semaphore(class)
}

/// Returns whether one thread alone can own an object of this class, so that a dump with owners names it.
pub(super) fn is_owned(class: &str) -> bool {
    let is = |part: &str| class.starts_with("java.util.concurrent.locks.") && class.contains(part);
    is("ReentrantLock$") || is("ReentrantReadWriteLock$")
}

fn is_semaphore(class: &str) -> bool {
    class.contains("Semaphore$")
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Two dumps of a program as OpenJDK 17 prints them: one thread sleeps in a critical section, two wait for it.
    pub const MONITOR: &str = "2026-11-25 23:49:51\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode):\n\n\
        \"worker-0\" #12 prio=5 os_prio=0 cpu=6.81ms elapsed=1.73s tid=0x00007ffa nid=0x10 waiting for monitor entry  [0x0]\n   \
        java.lang.Thread.State: BLOCKED (on object monitor)\n\tat Store.put(Store.java:3)\n\
        \t- waiting to lock <0x000000069ec192a0> (a java.lang.Object)\n\tat Store.lambda$main$0(Store.java:4)\n\n\
        \"worker-1\" #13 prio=5 os_prio=0 tid=0x00007ffb nid=17 waiting on condition  [0x0]\n   \
        java.lang.Thread.State: TIMED_WAITING (sleeping)\n\tat java.lang.Thread.sleep(java.base@17.0.15/Native Method)\n\
        \tat Store.writeLog(Store.java:2)\n\tat Store.put(Store.java:3)\n\
        \t- locked <0x000000069ec192a0> (a java.lang.Object)\n\tat Store.lambda$main$0(Store.java:4)\n\n\
        \"idle \"quoted\"\" #14 daemon nid=0x12 in Object.wait()  [0x0]\n   java.lang.Thread.State: WAITING (on object monitor)\n\
        \tat java.lang.Object.wait(java.base@17.0.15/Native Method)\n\t- waiting on <0x0000000690000000> (a java.lang.Object)\n\
        \tat Store.take(Store.java:9)\n\t- locked <0x0000000690000000> (a java.lang.Object)\n\n";

    pub fn digest(text: &str) -> Digest {
        Dump::parse(text, || false).unwrap().digest(|| false).unwrap()
    }

    #[test]
    fn virtual_threads_are_noticed_by_the_thread_that_carries_them() {
        assert!(!digest(MONITOR).has_virtual_threads);
        let carrier =
            MONITOR.replace("Store.take(Store.java:9)", "java.lang.VirtualThread.runContinuation(java.base@21)");
        assert!(digest(&carrier).has_virtual_threads);
    }

    #[test]
    fn concurrent_lock_holder_is_a_thread_in_the_same_method() {
        let text = "\"a\" #1 nid=1 waiting on condition [0]\n   java.lang.Thread.State: WAITING (parking)\n\
            \tat jdk.internal.misc.Unsafe.park(java.base@17/Native Method)\n\
            \t- parking to wait for  <0x6> (a java.util.concurrent.locks.ReentrantLock$NonfairSync)\n\
            \tat java.util.concurrent.locks.LockSupport.park(java.base@17/LockSupport.java:211)\n\tat Table.update(Table.java:4)\n\n\
            \"b\" #2 nid=2 runnable [0]\n   java.lang.Thread.State: RUNNABLE\n\tat Table.compute(Table.java:3)\n\
            \tat Table.update(Table.java:4)\n\n\
            \"c\" #3 nid=3 waiting on condition [0]\n   java.lang.Thread.State: WAITING (parking)\n\
            \tat jdk.internal.misc.Unsafe.park(java.base@17/Native Method)\n\
            \t- parking to wait for  <0x7> (a java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject)\n\n";
        let found = digest(text);
        let [(key, waiters)] = found.locks.iter().collect::<Vec<_>>()[..] else { panic!("one lock") };
        let [(holder, &1.0)] = waiters.holders.iter().collect::<Vec<_>>()[..] else { panic!("one holder") };
        assert_eq!(
            (key.is_monitor, holder.inner.method.as_str(), &holder.state),
            (false, "Table.compute", &State::Runnable)
        );
        assert!(holder.is_supposed);
        assert_eq!(found.threads[2], (3, State::Waiting));
        // Another thread in the method reads a request, with or without the lock.
        let other = "\"d\" #4 nid=4 runnable [0]\n   java.lang.Thread.State: RUNNABLE\n\tat Table.read(Table.java:2)\n\
            \tat Table.update(Table.java:4)\n\n";
        let found = digest(&[text, other].concat());
        let waiters = found.locks.values().next().unwrap();
        assert!(
            waiters.count == 1 && waiters.holders.is_empty(),
            "which of them holds it is unknown: {:?}",
            waiters.holders
        );
    }

    /// A reader and a writer wait; another thread computes in a method that neither of them is in.
    const PRICES: &str = "\"r\" #1 nid=1 waiting on condition [0]\n   java.lang.Thread.State: WAITING (parking)\n\
        \tat jdk.internal.misc.Unsafe.park(java.base@17/Native Method)\n\
        \t- parking to wait for  <0x6> (a java.util.concurrent.locks.ReentrantReadWriteLock$NonfairSync)\n\
        \tat java.util.concurrent.locks.ReentrantReadWriteLock$ReadLock.lock(java.base@17/ReentrantReadWriteLock.java:738)\n\
        \tat Prices.quote(Prices.java:7)\n\n   Locked ownable synchronizers:\n\t- None\n\n\
        \"w\" #2 nid=2 runnable [0]\n   java.lang.Thread.State: RUNNABLE\n\tat Prices.churn(Prices.java:4)\n\
        \tat Prices.rebuild(Prices.java:6)\n\n   Locked ownable synchronizers:\n\
        \t- <0x6> (a java.util.concurrent.locks.ReentrantReadWriteLock$NonfairSync)\n\n\
        \"q\" #3 nid=3 runnable [0]\n   java.lang.Thread.State: RUNNABLE\n\tat Prices.quote(Prices.java:7)\n\n   \
        Locked ownable synchronizers:\n\t- None\n\n";

    #[test]
    fn owner_in_another_method_is_the_holder_and_readers_are_not() {
        let holders = |text: &str| {
            let found = digest(text);
            let holders = found.locks.values().flat_map(|waiters| waiters.holders.keys().cloned()).collect::<Vec<_>>();
            (found.has_owners, holders)
        };
        let (true, holders_found) = holders(PRICES) else { panic!("it has owners") };
        let [holder] = &holders_found[..] else { panic!("{holders_found:?}") };
        let caller = holder.caller.as_ref().map(|caller| &*caller.method);
        assert_eq!((&*holder.inner.method, caller), ("Prices.churn", Some("Prices.rebuild")));
        assert!(!holder.is_supposed);
        // Readers have it, which no dump shows.
        let free = PRICES.replace("\t- <0x6> (a", "\t- <0x9> (a");
        assert_eq!(holders(&free), (true, Vec::new()));
        let plain: String =
            PRICES.lines().filter(|line| !line.contains("ownable")).map(|line| format!("{line}\n")).collect();
        let plain = plain.replace("\t- <0x6>", "\t-").replace("\t- None", "");
        assert_eq!(holders(&plain), (false, Vec::new()), "another reader keeps no reader waiting");
    }

    #[test]
    fn each_thread_inside_of_a_semaphore_has_a_part_of_the_wait() {
        let waiter = "\"a\" #1 nid=1 waiting on condition [0]\n   java.lang.Thread.State: WAITING (parking)\n\
            \tat jdk.internal.misc.Unsafe.park(java.base@17/Native Method)\n\
            \t- parking to wait for  <0x6> (a java.util.concurrent.Semaphore$NonfairSync)\n\tat Gate.guarded(Gate.java:5)\n\n";
        let inside = |number: usize, method: &str| {
            format!(
                "\"b\" nid={number}\n   java.lang.Thread.State: TIMED_WAITING (sleeping)\n\tat Gate.{method}(Gate.java:4)\n\
                 \tat Gate.guarded(Gate.java:5)\n\n"
            )
        };
        let found = digest(&[waiter, &inside(2, "call"), &inside(3, "call"), &inside(4, "send")].concat());
        let waiters = found.locks.values().next().unwrap();
        let part = |method: &str| {
            let its = waiters.holders.iter().filter(|(holder, _)| holder.inner.method == method);
            its.map(|(_, part)| part).sum::<f64>()
        };
        assert_eq!((waiters.count, waiters.of_several), (1, 1));
        assert!((part("Gate.call") - 2.0 / 3.0).abs() < 1e-9 && (part("Gate.send") - 1.0 / 3.0).abs() < 1e-9);
        assert_eq!(digest(&[waiter, &inside(2, "call")].concat()).locks.values().next().unwrap().of_several, 0);
    }

    #[test]
    fn holder_in_native_code_is_known_by_its_thread() {
        let text = "\"a\" nid=1\n   java.lang.Thread.State: BLOCKED (on object monitor)\n\tat Log.append(Log.java:6)\n\
            \t- waiting to lock <0x1> (a Log)\n\n\"b\" nid=2\n   java.lang.Thread.State: RUNNABLE\n\
            \tat sun.nio.ch.FileDispatcherImpl.force0(java.base@17/Native Method)\n\tat Log.persist(Log.java:5)\n\
            \tat Log.append(Log.java:6)\n\t- locked <0x1> (a Log)\n\n";
        let found = digest(text);
        let waiters = found.locks.values().next().unwrap();
        let holder = waiters.holders.keys().next().unwrap();
        assert_eq!((&holder.state, holder.path.len()), (&State::Native, 2));
        assert_eq!(waiters.in_native_code, [2].into());
        let in_java = text.replace("Native Method", "FileDispatcherImpl.java:9");
        assert!(digest(&in_java).locks.values().next().unwrap().in_native_code.is_empty());
    }

    #[test]
    fn pool_is_full_where_no_worker_waits_for_a_task() {
        let worker = |number: usize, calls: &str| {
            format!(
                "\"pool-1-thread-{number}\" nid={number}\n   java.lang.Thread.State: WAITING (parking)\n\tat java.lang.Thread.sleep(Native)\n{calls}\
                 \tat java.util.concurrent.ThreadPoolExecutor.runWorker(A.java:1)\n\n"
            )
        };
        let idle = worker(1, "\tat java.util.concurrent.ThreadPoolExecutor.getTask(A.java:1)\n");
        let found = digest(&[idle, worker(2, "\tat Backend.call(B.java:5)\n")].concat());
        let pool = &found.pools["pool-1-thread"];
        assert_eq!((pool.count, pool.idle), (2, 1));
        assert_eq!(pool.tasks.keys().next().unwrap().1.method, "Backend.call");
        // The idle worker is in no method of the program.
        let places: Vec<&str> = found.places.keys().map(|place| &*place.own.method).collect();
        assert_eq!(places, ["Backend.call"]);
    }

    fn blocked(number: usize, method: &str, wanted: usize, held: Option<usize>) -> String {
        let held = held.map(|object| format!("\t- locked <{object}> (a A)\n")).unwrap_or_default();
        format!(
            "\"a\" nid={number}\n   java.lang.Thread.State: BLOCKED\n\tat A.{method}(A.java:{number})\n\
             \t- waiting to lock <{wanted}> (a A)\n{held}"
        )
    }

    #[test]
    fn holder_at_the_end_of_a_chain_is_blamed() {
        let running = "\"r\" nid=9\n   java.lang.Thread.State: RUNNABLE\n\tat A.run(A.java:9)\n\t- locked <3> (a A)\n";
        let text =
            [&*blocked(1, "one", 1, None), &*blocked(2, "two", 2, Some(1)), &*blocked(3, "three", 3, Some(2)), running];
        for (_, waiters) in digest(&text.concat()).locks {
            let holders: Vec<&str> = waiters.holders.keys().map(|holder| &*holder.inner.method).collect();
            assert_eq!(holders, ["A.run"]);
        }
        // Two threads that wait for each other: each is the other's holder, and the search ends.
        let circle = [blocked(1, "one", 1, Some(2)), blocked(2, "two", 2, Some(1))].concat();
        assert!(digest(&circle).locks.values().all(|waiters| waiters.holders.len() == 1));
    }

    /// Each waiter has another lock and another method; or all are in one method; or all wait for one lock.
    #[test]
    fn looks_at_threads_grow_as_the_dump_does() {
        const THREADS: usize = 4_000;
        for (methods, objects) in [(THREADS, THREADS), (1, THREADS), (THREADS, 1), (1, 1), (60, 60)] {
            let waiter = |number: usize| blocked(number, &format!("m{}", number % methods), number % objects, None);
            let locked = "\t- locked <h> (a b)\n".repeat(50_000);
            let text = [(1..=THREADS).map(waiter).collect::<String>(), locked].concat();
            let dump = Dump::parse(&text, || false).unwrap();
            let mut holders = Holders::of(&dump);
            for waiter in 0..THREADS {
                holders.holding(waiter);
            }
            assert!(holders.looks <= 3 * THREADS, "{} looks, {methods} methods, {objects} objects", holders.looks);
            assert_eq!(digest(&text).locks.values().map(|waiters| waiters.count).sum::<usize>(), THREADS);
        }
    }

    #[test]
    fn hostile_dumps_are_cut_or_refused() {
        let many = (1..=MOST_THREADS + 1).map(|number| format!("\"a\" nid={number}\n")).collect::<String>();
        assert!(Dump::parse(&many, || false).is_none());
        let calls = "\tat A.a(A.java:1)\n".repeat(1_000);
        let long = format!("\tat {}(A.java:1)\n", "x".repeat(1 << 20));
        let text = format!("\"a\" nid=1\n{long}{calls}\t- locked <1> (a A)\n");
        let dump = Dump::parse(&text, || false).unwrap();
        assert_eq!((dump.threads[0].frames.len(), dump.threads[0].frames[0].method), (MOST_FRAMES, "A.a"));
        for broken in
            ["", "\"", "\" nid=", "\" nid=0x", "\" nid=99999999999", "- locked <", "\"a\" nid=1\nat \n- locked <>"]
        {
            let _ = digest(broken);
        }
    }

    #[test]
    fn the_end_of_the_trace_ends_the_analysis() {
        let text = (1..=MOST_THREADS).map(|number| blocked(number, "m", number, None)).collect::<String>();
        assert!(Dump::parse(&text, || true).is_none());
        assert!(Dump::parse(&text, || false).unwrap().digest(|| true).is_none());
    }

    #[test]
    fn threads_keep_their_numbers_without_a_namespace() {
        let mut dump = Dump::parse(MONITOR, || false).unwrap();
        let numbers = |dump: &Dump| dump.threads.iter().map(|thread| thread.number).collect::<Vec<u32>>();
        let before = numbers(&dump);
        dump.renumber(&mut OwnNumbers::of(std::process::id()));
        assert_eq!(numbers(&dump), before);
    }
}
