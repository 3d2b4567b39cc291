//! The goroutines of a program of Go, in the place of the threads that serve them.
//!
//! A goroutine that waits has no thread. One in a call of the kernel has, and waits for what that thread waits for. A timer
//! that is set and a connection that is waited for leave a thread in the kernel's poll: it is kept, since it can wake
//! any goroutine. Threads without a goroutine and those of the runtime wake no one, and are omitted.
//!
//! A mutex of Go does not say who owns it. It is inferred from the code: a goroutine is in a function that acquired this
//! mutex before the place where it is, and did not release it, or acquired one so through a pointer while its stack refers
//! to this one; and no other goroutine is.

use crate::snapshot::{Frame, Lock, Owner, Process, Reason, Seen, Thread, Wait};
use blame::frames::function_of;
use blame::golang::goroutines::{ADDS, Call, Code, Goroutine, Runtime, Status};
use blame::golang::{Kind, is_standard};
use blame::memory::{read, u64_at};
use blame::names::Names;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Goroutines that are looked at, and of them those whose code is searched for owners.
const MOST: usize = 4_096;
const MOST_SEARCHED: usize = 512;
/// Functions of the standard library in which a goroutine waits, by parts of their names, and the kinds of their locks.
const READS: &str = "SemacquireRWMutexR";
const WRITES: &str = "SemacquireRWMutex";
const LOCKS: [&str; 2] = ["(*Mutex).lockSlow", "SemacquireMutex"];
/// Those that a program calls to acquire a lock.
const ACQUIRES: [&str; 6] =
    ["sync.(*Mutex).Lock", "sync.(*Mutex).lockSlow", "sync.(*RWMutex).Lock", "sync.(*RWMutex).RLock", READS, WRITES];
/// And to release one.
const RELEASES: [&str; 5] = [
    "sync.(*Mutex).Unlock",
    "sync.(*Mutex).unlockSlow",
    "sync.(*RWMutex).Unlock",
    "sync.(*RWMutex).RUnlock",
    "sync.(*RWMutex).rUnlockSlow",
];

/// The marks of goroutines at the look before.
#[derive(Default)]
pub struct Marks(HashMap<(u32, u64), u64>);

impl Marks {
    fn has_moved(&mut self, pid: u32, one: &Goroutine) -> bool {
        const MOST_MARKS: usize = 1 << 17;
        if self.0.len() > MOST_MARKS {
            self.0.clear();
        }
        self.0.insert((pid, one.number), one.mark) != Some(one.mark)
    }
}

/// The role in which a goroutine wants a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Owner,
    Reader,
    /// It has announced itself, and waits for the readers to end.
    WriterAfterReaders,
}

/// A goroutine with its functions: those of each address, the innermost first.
struct Named {
    goroutine: Goroutine,
    functions: Vec<Vec<Frame>>,
    wanted: Option<(Role, u64)>,
}

/// Puts the goroutines of a process in the place of its threads; leaves these where the runtime has another form.
pub fn fill(process: &mut Process, names: &mut Names, marks: &mut Marks) {
    let pid = process.pid;
    let found = names.named(pid, ADDS).into_iter().find_map(|(begin, size)| Runtime::find(pid, begin, size));
    let Some((all, left_out)) = found.and_then(|runtime| runtime.goroutines(MOST)) else {
        process.refusal = Some("its runtime has a form that is not known".into());
        return;
    };
    process.left_out = left_out;
    process.seen = Seen::Whole;
    let mut names = Functions { pid, names, known: HashMap::new() };
    let all: Vec<Named> = all.into_iter().map(|one| names.named(one)).filter(|one| !is_of_runtime(one)).collect();
    let count = all.len();
    let all: Vec<Named> = all.into_iter().map(|one| Named { wanted: wanted(pid, &one, count), ..one }).collect();
    let owners = owners(&all, &mut names);
    let natives: HashMap<u32, Thread> =
        std::mem::take(&mut process.threads).into_iter().map(|thread| (thread.tid, thread)).collect();
    let poller = natives.values().find(|thread| is_polling(thread)).map(|thread| thread.wait.clone());
    let served: HashSet<u32> = all.iter().filter_map(|one| one.goroutine.thread).collect();
    for one in &all {
        let goroutine = &one.goroutine;
        let native = goroutine.thread.and_then(|thread| natives.get(&thread));
        let wait = match goroutine.status {
            Status::Runs => Wait::Nothing,
            Status::InCall if has(one, "os/signal.signal_recv") => Wait::Signal,
            Status::InCall => native.map_or_else(|| outside("a system call"), |thread| thread.wait.clone()),
            Status::Waits => {
                let name = one.wanted.and_then(|(_, lock)| names.names.variable(pid, lock));
                wait(pid, one, &owners, (poller.as_ref(), name))
            }
        };
        let frames = match goroutine.status {
            Status::Runs => native.map(|thread| thread.frames.clone()).unwrap_or_default(),
            _ => one.functions.iter().flatten().cloned().collect(),
        };
        let has_moved = marks.has_moved(pid, goroutine);
        // A goroutine in a call of C runs there.
        let runs = goroutine.status == Status::InCall && native.is_some_and(|thread| thread.has_moved);
        process.threads.push(Thread {
            tid: goroutine.number as u32,
            name: String::new(),
            state: native.map_or('S', |thread| thread.state),
            has_moved: has_moved || runs,
            wait,
            frames,
            interrupted: Vec::new(),
            is_goroutine: true,
        });
    }
    let has_c = blame::names::map_of(pid).is_some_and(|map| map.windows(8).any(|part| part == b"/libc.so"));
    let mut others: Vec<Thread> = natives
        .into_values()
        .filter(|thread| !served.contains(&thread.tid) && (is_polling(thread) || has_c && may_be_of_c(thread)))
        .collect();
    others.sort_by_key(|thread| thread.tid);
    for thread in &mut others {
        // A poll with an end, for no connection, is for a timer.
        if matches!(&thread.wait, Wait::Event { object, is_timed: true, .. } if object == "eventfd") {
            thread.wait = Wait::Time { span_s: None };
        }
    }
    process.threads.extend(others);
}

fn outside(call: &str) -> Wait {
    Wait::Outside { call: call.into(), is_timed: false }
}

fn is_polling(thread: &Thread) -> bool {
    // The poll itself can be woken by a thread: it always has a descriptor for that.
    let waits = match &thread.wait {
        Wait::Event { object, .. } => object == "eventfd",
        wait => !matches!(wait, Wait::Lock(_) | Wait::Nothing | Wait::Join { .. }),
    };
    let is_in = |part: &str| thread.frames.iter().any(|frame| frame.function.as_deref() == Some(part));
    waits && !is_in("runtime.usleep") && !is_in("runtime.sysmon")
}

/// Returns whether a thread may be one that the program's C code has begun: no function of Go is on its stack.
fn may_be_of_c(thread: &Thread) -> bool {
    let is_of_go = |frame: &Frame| frame.function.as_deref().is_some_and(|function| function.starts_with("runtime."));
    !thread.frames.iter().any(is_of_go)
}

/// The functions of a process, and what their code acquires.
struct Functions<'a> {
    pid: u32,
    names: &'a mut Names,
    known: HashMap<u64, Rc<Known>>,
}

/// The code of a function, with the calls in it that acquire locks, and those that release some.
struct Known {
    code: Code,
    acquires: Vec<Call>,
    releases: Vec<Call>,
}

/// A function of the program on a stack.
struct Active {
    known: Rc<Known>,
    /// Where it is.
    at: u64,
    /// Whether it is a caller of the innermost one.
    is_caller: bool,
}

impl Active {
    /// Returns whether it acquired one of these locks on a way to where it is, and released none of them since.
    fn has(&self, is_it: impl Fn(Option<u64>) -> bool) -> bool {
        let of = |calls: &[Call]| {
            calls.iter().filter(|call| is_it(call.variable)).map(|call| call.next).collect::<Vec<u64>>()
        };
        let releases = of(&self.known.releases);
        let acquired = of(&self.known.acquires);
        acquired.into_iter().filter(|next| *next != self.at).any(|next| self.known.code.leads(next, self.at, &releases))
    }
}

impl Functions<'_> {
    fn named(&mut self, goroutine: Goroutine) -> Named {
        let named = |(depth, address): (usize, &u64)| {
            let sites = self.names.inlined(self.pid, address + u64::from(depth == 0));
            let frame = |site: &blame::names::Site| Frame {
                function: function_of(site).map(|name| terminal::escaped(name).into_owned()),
                source: site.source.clone(),
                is_own: function_of(site).is_some_and(|name| !is_standard(name)),
                ..Frame::default()
            };
            sites.iter().map(frame).collect()
        };
        let functions = goroutine.frames.iter().enumerate().map(named).collect();
        Named { goroutine, functions, wanted: None }
    }

    /// Returns the function that has this address.
    fn known(&mut self, address: u64) -> Option<Rc<Known>> {
        const LARGEST: usize = 16 << 10;
        let begin = self.names.function(self.pid, address)?;
        if let Some(known) = self.known.get(&begin) {
            return Some(known.clone());
        }
        let mut code = vec![0; LARGEST];
        let length = read(self.pid, begin, &mut code);
        let code = Code::of(&code[..length], begin, |next| self.names.function(self.pid, next) == Some(begin));
        let (mut acquires, mut releases) = (Vec::new(), Vec::new());
        for call in code.calls() {
            let site = self.names.site(self.pid, call.called + 1);
            let is =
                |parts: &[&str]| function_of(&site).is_some_and(|name| parts.iter().any(|part| name.contains(part)));
            if is(&ACQUIRES) {
                acquires.push(call);
            } else if is(&RELEASES) {
                releases.push(call);
            }
        }
        let known = Rc::new(Known { code, acquires, releases });
        self.known.insert(begin, known.clone());
        Some(known)
    }
}

fn has(one: &Named, part: &str) -> bool {
    let is_it = |frame: &Frame| frame.function.as_deref().is_some_and(|function| function.contains(part));
    one.functions.iter().flatten().any(is_it)
}

/// Returns whether a goroutine is one of the runtime itself.
fn is_of_runtime(one: &Named) -> bool {
    let is_of_it = |frame: &Frame| frame.function.as_deref().is_some_and(|function| function.starts_with("runtime."));
    one.goroutine.status != Status::Runs && one.functions.iter().flatten().all(is_of_it)
}

/// Returns the lock that a goroutine waits for, by the words on the stack of the functions that wait.
///
/// The words of the lock have to be those of one that is held and waited for: a word that is left from another call is
/// not taken for it.
fn wanted(pid: u32, one: &Named, count: usize) -> Option<(Role, u64)> {
    let (goroutine, memory) = (&one.goroutine, |address: u64| {
        let mut bytes = [0; 4];
        (read(pid, address, &mut bytes) == bytes.len()).then(|| i32::from_ne_bytes(bytes))
    });
    let is_mutex = LOCKS.iter().any(|part| has(one, part));
    if goroutine.status != Status::Waits || !(is_mutex || has(one, WRITES)) {
        return None;
    }
    let own = one.functions.iter().position(|functions| functions.iter().any(|frame| frame.is_own))?;
    /// Bytes in which a function keeps the arguments of the one that it calls.
    const ARGUMENTS: usize = 64;
    let end = goroutine.ends.get(own.checked_sub(1)?)? + ARGUMENTS;
    let words = goroutine.stack[..end.min(goroutine.stack.len())].chunks_exact(8).filter_map(|word| u64_at(word, 0));
    let mut semaphores = words.filter(|word| *word > 1 << 12 && word % 4 == 0);
    let is_free = |semaphore: u64| memory(semaphore) == Some(0);
    if is_mutex {
        const HELD: i32 = 1;
        const ONE_WAITER: i32 = 8;
        let is_held = |semaphore: &u64| {
            let waiters = |state: i32| state / ONE_WAITER;
            memory(semaphore - 4).is_some_and(|state| state & HELD != 0 && (1..=count as i32).contains(&waiters(state)))
        };
        let found = semaphores.find(|semaphore| is_free(*semaphore) && is_held(semaphore));
        return found.map(|semaphore| (Role::Owner, semaphore - 4));
    }
    // The mutex of the writers, their semaphore, that of the readers, the count of readers, and of those to wait for.
    let is_announced = |lock: u64| memory(lock + 16).is_some_and(|readers| readers < 0);
    if has(one, READS) {
        let found = semaphores.find(|semaphore| *semaphore > 12 && is_free(*semaphore) && is_announced(semaphore - 12));
        return found.map(|semaphore| (Role::Reader, semaphore - 12));
    }
    let is_awaited = |lock: u64| memory(lock + 20).is_some_and(|readers| (1..=count as i32).contains(&readers));
    let found = semaphores.find(|semaphore| {
        let lock = semaphore - 8;
        is_free(*semaphore) && is_announced(lock) && is_awaited(lock)
    });
    found.map(|semaphore| (Role::WriterAfterReaders, semaphore - 8))
}

/// An owner: the number of its goroutine, and whether it is inferred.
type Owners = HashMap<(u64, Kept), (u64, bool)>;

/// Whether readers or a writer keep others from a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kept {
    ByReaders,
    ByOne,
}

fn kept(role: Role) -> Kept {
    if role == Role::WriterAfterReaders { Kept::ByReaders } else { Kept::ByOne }
}

fn owners(all: &[Named], names: &mut Functions<'_>) -> Owners {
    let mut owners = Owners::new();
    let wanted: HashSet<(u64, Kept)> =
        all.iter().filter_map(|one| one.wanted).map(|(role, lock)| (lock, kept(role))).collect();
    if wanted.is_empty() || all.len() > MOST_SEARCHED {
        return owners;
    }
    let active: Vec<Vec<Active>> = all.iter().map(|one| active(one, names)).collect();
    for (lock, kept) in wanted {
        let waits = |one: &Named, role: Role| one.wanted == Some((role, lock));
        // A writer that waits for the readers keeps all later ones waiting.
        let writer = all.iter().find(|one| waits(one, Role::WriterAfterReaders)).filter(|_| kept == Kept::ByOne);
        if let Some(writer) = writer {
            owners.insert((lock, kept), (writer.goroutine.number, false));
            continue;
        }
        let is_waiter = |one: &Named| one.wanted.is_some_and(|(role, of)| of == lock && self::kept(role) == kept);
        // The code names the lock, or the semaphore in it.
        let is_mutex = all.iter().any(|one| waits(one, Role::Owner));
        let of_it = lock..lock + if is_mutex { 8 } else { 24 };
        let matches = |place: usize, is_near: bool| {
            let names_it = |variable: Option<u64>| variable.is_some_and(|one| of_it.contains(&one));
            // A waiter refers to what it waits for in any case: only a caller says something.
            let counts = |one: &&Active| one.is_caller || !is_waiter(&all[place]);
            active[place].iter().any(|one| one.has(names_it))
                || active[place].iter().filter(counts).any(|one| one.has(|variable| variable.is_none()))
                    && refers(&all[place].goroutine, lock, is_near)
        };
        // Another one that refers to the lock may have acquired it in a function that has returned.
        let may_be_elsewhere = all.iter().any(|one| !is_waiter(one) && refers(&one.goroutine, lock, false));
        let single = |is_waiting: bool, is_near: bool| {
            let mut found = (0..all.len()).filter(|one| is_waiter(&all[*one]) == is_waiting && matches(*one, is_near));
            let first = found.next();
            (first, found.next().is_some())
        };
        for (is_waiting, is_near) in [(false, false), (false, true), (true, false)] {
            match single(is_waiting, is_near) {
                (Some(_), false) if is_waiting && may_be_elsewhere => break,
                (Some(one), false) => {
                    owners.insert((lock, kept), (all[one].goroutine.number, true));
                    break;
                }
                (Some(_), true) => break,
                (None, _) => {}
            }
        }
    }
    owners
}

/// Returns the program's functions on a stack.
fn active(one: &Named, names: &mut Functions<'_>) -> Vec<Active> {
    let own = |functions: &[Frame]| functions.iter().any(|frame| frame.is_own);
    let places = (0..one.functions.len()).filter(|place| own(&one.functions[*place]));
    let found = places.enumerate().filter_map(|(depth, place)| {
        let at = one.goroutine.frames[place];
        Some(Active { known: names.known(at)?, at, is_caller: depth > 0 })
    });
    found.collect()
}

/// Returns whether a goroutine's stack has the address of a lock, or of an object that it may be in.
fn refers(goroutine: &Goroutine, lock: u64, is_near: bool) -> bool {
    const LARGEST: u64 = 256;
    let mut words = goroutine.stack.chunks_exact(8).filter_map(|word| u64_at(word, 0));
    if is_near {
        words.any(|word| (lock.saturating_sub(LARGEST)..=lock).contains(&word))
    } else {
        words.any(|word| word == lock)
    }
}

fn wait(pid: u32, one: &Named, owners: &Owners, (poller, name): (Option<&Wait>, Option<String>)) -> Wait {
    let event =
        |object: &str| Wait::Event { object: object.into(), name: None, address: 0, is_timed: false, is_shared: false };
    let functions = one.functions.iter().flatten().filter_map(|frame| frame.function.as_deref());
    let is_write = has(one, WRITES) || has(one, "sync.(*RWMutex)");
    let kind = match Kind::of(functions) {
        _ if has(one, WRITES) => Kind::RwLock,
        Kind::Semaphore if LOCKS.iter().any(|part| has(one, part)) => Kind::Mutex,
        Kind::Semaphore if has(one, "SemacquireWaitGroup") => Kind::WaitGroup,
        kind => kind,
    };
    match kind {
        Kind::Mutex | Kind::RwLock => {
            let owner = one.wanted.and_then(|(role, lock)| owners.get(&(lock, kept(role))));
            let thread = owner.map(|(number, _)| *number as u32).unwrap_or_default();
            let owner = match owner {
                Some((_, true)) => Owner::Likely { process: pid, thread, reason: Reason::Goroutine },
                Some((_, false)) => Owner::Thread { process: pid, thread },
                None => Owner::Unknown,
            };
            let kind = if is_write { "sync.RWMutex" } else { "sync.Mutex" };
            let address = one.wanted.map_or(0, |(_, lock)| lock);
            Wait::Lock(Lock { address, name, kind: kind.into(), owner, ..Lock::default() })
        }
        Kind::Sleep => Wait::Time { span_s: None },
        // The poll has all connections: the one of a goroutine that does not accept new ones is not known.
        Kind::Io if has(one, ".accept") => poller.cloned().unwrap_or_else(|| outside("accept")),
        Kind::Io => outside("a connection or a file"),
        kind => event(match kind {
            Kind::Channel => "channel",
            Kind::Select => "select",
            Kind::WaitGroup => "group",
            Kind::Condition => "cond",
            _ => "park",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stack_refers_to_a_lock_or_to_an_object_around_it() {
        let words = [0x7000_u64, 0x9000].iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
        let one = Goroutine {
            number: 1,
            status: Status::Waits,
            thread: None,
            frames: Vec::new(),
            stack: words,
            pointer: 0,
            ends: Vec::new(),
            mark: 0,
        };
        assert!(refers(&one, 0x7000, false) && !refers(&one, 0x7008, false));
        assert!(refers(&one, 0x7008, true) && !refers(&one, 0x8000, true));
    }

    #[test]
    fn goroutine_has_moved_unless_its_mark_is_the_same() {
        let one = |mark| Goroutine {
            number: 1,
            status: Status::Waits,
            thread: None,
            frames: Vec::new(),
            stack: Vec::new(),
            pointer: 0,
            ends: Vec::new(),
            mark,
        };
        let mut marks = Marks::default();
        assert!(marks.has_moved(7, &one(1)) && !marks.has_moved(7, &one(1)) && marks.has_moved(7, &one(2)));
    }
}
