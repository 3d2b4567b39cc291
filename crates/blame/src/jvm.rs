//! The locks of Java programs: monitors, and those of `java.util.concurrent`.
//!
//! A Java thread that waits for a lock is parked on a condition that belongs to it alone, so neither the kernel nor the C
//! library's calls show which lock it waits for. The virtual machine itself does, in its thread dumps: for each thread
//! its state, its methods, and the monitors that they hold or wait for. contend requests them through the attach
//! interface, as `jcmd PID Thread.print` does, a few times a second, and adds them up: a dump stands for the
//! time since the one before it.
//!
//! Dumps were chosen over the alternatives because they need no flag at the start of the program and no agent in it. JFR
//! records waits one by one, but only those above 10 ms to 20 ms by default, and writes files; a perf map names compiled
//! methods, but no locks. The virtual machine stops its threads for each dump, so the pause between two dumps is many times
//! as long as a dump takes: ten times after the first few, then fifty, and 150 once there are dumps of some seconds. After
//! the first dump it keeps one thread more, the `Attach Listener`.

use crate::namespace::{OwnNumbers, own_number};
use crate::sampling::profile::is_alive;
use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions, read, read_to_string};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Requests dumps of a virtual machine in a thread of contend.
struct Dumper {
    is_over: Arc<AtomicBool>,
    dumps: Receiver<Result<Dump, String>>,
    worker: Option<JoinHandle<()>>,
    /// Sums of all dumps.
    waits: JavaWaits,
}

/// The shortest pause between two dumps, and the pause as a multiple of a dump's duration.
const PERIOD: Duration = Duration::from_millis(100);
const PAUSE: u32 = 50;
/// The first dumps follow each other sooner: a short program ends before there are enough of them otherwise.
const FIRST: usize = 5;
const FIRST_PAUSE: u32 = 10;
/// Time after which dumps follow each other later: a service that is watched for long is not to become slower.
const SETTLED: Duration = Duration::from_secs(4);
const SETTLED_PAUSE: u32 = 150;
/// Dumps whose shortest one counts.
const RECENT: usize = 20;
/// The longest pause: a machine that takes so long for a dump has many threads, and is not to be stopped often.
const LONGEST: Duration = Duration::from_secs(30);
/// Period at which the end is looked for during a pause.
const LOOK: Duration = Duration::from_millis(20);

/// Returns whether a process is a Java virtual machine, by a file that it has mapped.
fn is_jvm(map: &[u8]) -> bool {
    map.windows(LIBRARY.len()).any(|window| window == LIBRARY)
}

const LIBRARY: &[u8] = b"/libjvm.so";

impl Dumper {
    /// Begins to request dumps of a process.
    fn begin(process: u32) -> Self {
        let (sender, dumps) = channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let flag = is_over.clone();
        let worker = std::thread::Builder::new().name("java-dumps".into());
        let worker = worker.spawn(move || request(process, &flag, &sender)).ok();
        Self { is_over, dumps, worker, waits: JavaWaits::default() }
    }

    /// Adds the dumps that have come.
    fn read(&mut self) {
        for dump in self.dumps.try_iter() {
            match dump {
                Ok(dump) => self.waits.add(&dump),
                Err(why) => self.waits.refusal = Some(why),
            }
        }
    }
}

impl Drop for Dumper {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
        // The thread does not wait for an answer for longer than a moment after this.
        drop(self.worker.take());
    }
}

fn request(process: u32, is_over: &AtomicBool, dumps: &Sender<Result<Dump, String>>) {
    let (mut access, mut numbers) = (Access::new(process), OwnNumbers::of(process));
    let (began, mut taken) = (Instant::now(), Vec::new());
    while !is_over.load(Relaxed) {
        let pause = match access.threads() {
            Ok((text, at)) => {
                if taken.len() >= RECENT {
                    taken.remove(0);
                }
                taken.push(at.elapsed());
                let mut dump = parse(&text, at);
                dump.renumber(&mut numbers);
                if dumps.send(Ok(dump)).is_err() {
                    return;
                }
                pause_after(&taken, began.elapsed())
            }
            // It has only just started.
            Err(Refusal::NotYet) => PERIOD,
            Err(Refusal::Never(why)) => {
                let _ = dumps.send(Err(why));
                return;
            }
        };
        let until = Instant::now() + pause;
        while Instant::now() < until && !is_over.load(Relaxed) {
            std::thread::sleep(LOOK.min(until.saturating_duration_since(Instant::now())));
        }
    }
}

/// Returns the pause after dumps that took so long, at this time after the first. The shortest one says for how long the machine stops its threads:
/// the others waited for a CPU as well.
fn pause_after(taken: &[Duration], elapsed: Duration) -> Duration {
    let shortest = taken.iter().min().copied().unwrap_or_default();
    let pause = match taken.len() {
        ..FIRST => FIRST_PAUSE,
        _ if elapsed < SETTLED => PAUSE,
        _ => SETTLED_PAUSE,
    };
    PERIOD.max((shortest * pause).min(LONGEST))
}

/// The virtual machines among the processes of a program.
#[derive(Default)]
pub struct Machines(HashMap<u32, Dumper>);

impl Machines {
    /// Begins to request dumps of a process, if its map shows that it is a virtual machine.
    pub fn learn(&mut self, process: u32, map: &[u8]) {
        const MOST: usize = 8;
        if self.0.len() >= MOST {
            self.0.retain(|process, _| is_alive(*process));
        }
        if is_jvm(map) && self.0.len() < MOST && !self.0.contains_key(&process) {
            self.0.insert(process, Dumper::begin(process));
        }
    }

    /// Adds the dumps that have come.
    pub fn read(&mut self) {
        self.0.values_mut().for_each(Dumper::read);
    }

    /// Begins the next part of the trace: the sums are those of its dumps alone.
    pub fn begin_part(&mut self) {
        for dumper in self.0.values_mut() {
            let JavaWaits { refusal, last, .. } = std::mem::take(&mut dumper.waits);
            dumper.waits = JavaWaits { refusal, last, ..JavaWaits::default() };
        }
    }

    /// Returns the sums of each process.
    pub fn waits(&self) -> impl Iterator<Item = (u32, &JavaWaits)> {
        self.0.iter().map(|(process, dumper)| (*process, &dumper.waits))
    }

    /// Returns the sums of a process; `None` if it is not a virtual machine.
    pub fn of(&self, process: u32) -> Option<&JavaWaits> {
        self.0.get(&process).map(|dumper| &dumper.waits)
    }
}

/// Sums of the dumps of a process.
#[derive(Default)]
pub struct JavaWaits {
    pub dumps: u64,
    /// Locks, by class and by the method that waited for it.
    pub locks: BTreeMap<LockKey, JavaLock>,
    /// Shares of each thread, by the kernel's number of the thread.
    pub threads: HashMap<u32, Shares>,
    /// The reason why there are no dumps.
    pub refusal: Option<String>,
    /// Whether virtual threads were seen, which no dump lists.
    pub has_virtual_threads: bool,
    last: Option<Instant>,
}

/// A lock: the class of its object, and the method that waits for it. The collector moves objects, so an address does
/// not say which one it is for longer than a dump.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockKey {
    pub class: String,
    pub waits_in: Frame,
    pub is_monitor: bool,
}

/// The waits for a lock, in seconds.
#[derive(Clone, Debug, Default)]
pub struct JavaLock {
    pub seconds: f64,
    /// Times, by the holder's activity; the rest is unknown.
    pub holders: HashMap<JavaHolder, f64>,
    pub most_waiters: usize,
    /// The call path that waited at last.
    pub path: Vec<Frame>,
}

/// The activity of a lock's holder: its state, and the method in the critical section.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JavaHolder {
    pub state: State,
    /// Whether it may be outside of the critical section: it is the only other thread in the method that waits.
    pub is_supposed: bool,
    /// The method that the critical section called, and its caller.
    pub inner: Frame,
    pub caller: Option<Frame>,
    /// The program's own methods, from the innermost to the one with the critical section. Empty while it runs.
    pub path: Vec<Frame>,
}

/// Parts of the dumps of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shares {
    pub all: f64,
    pub lock: f64,
    pub sleep: f64,
    pub work: f64,
}

/// Locks that are kept apart.
const MOST_LOCKS: usize = 2_000;

impl JavaWaits {
    fn add(&mut self, dump: &Dump) {
        let span = self.last.map_or(PERIOD, |last| dump.at.saturating_duration_since(last)).as_secs_f64();
        self.last = Some(dump.at);
        self.dumps += 1;
        self.has_virtual_threads |= dump.has_virtual_threads;
        let mut waiters: HashMap<LockKey, usize> = HashMap::new();
        for thread in &dump.threads {
            let shares = self.threads.entry(thread.number).or_default();
            shares.all += span;
            match &thread.state {
                State::Blocked { .. } => shares.lock += span,
                State::Sleeping => shares.sleep += span,
                State::Waiting => shares.work += span,
                State::Runnable => {}
            }
            let (Some(key), State::Blocked { object, .. }) = (key_of(thread), &thread.state) else { continue };
            if self.locks.len() >= MOST_LOCKS && !self.locks.contains_key(&key) {
                continue;
            }
            let count = waiters.entry(key.clone()).or_default();
            *count += 1;
            let lock = self.locks.entry(key.clone()).or_default();
            lock.seconds += span;
            lock.most_waiters = lock.most_waiters.max(*count);
            lock.path = own_methods(&thread.frames);
            if let Some(holder) = dump.holder(object, thread, &key.waits_in) {
                *lock.holders.entry(holder).or_default() += span;
            }
        }
    }

    /// Returns whether the dumps stand for too little time to say what threads wait for.
    pub fn are_few(&self) -> bool {
        const FEWEST_S: f64 = 0.3;
        self.threads.values().all(|shares| shares.all < FEWEST_S)
    }
}

fn key_of(thread: &JavaThread) -> Option<LockKey> {
    let State::Blocked { class, is_monitor, .. } = &thread.state else { return None };
    let own = thread.frames.iter().find(|frame| !frame.is_of_library());
    let waits_in = own.or(thread.frames.first()).cloned().unwrap_or_default();
    Some(LockKey { class: class.clone(), waits_in, is_monitor: *is_monitor })
}

fn own_methods(frames: &[Frame]) -> Vec<Frame> {
    frames.iter().filter(|frame| !frame.is_of_library()).cloned().collect()
}

impl Dump {
    /// Gives the threads the numbers that the kernel's events have. Those that have ended are omitted.
    fn renumber(&mut self, numbers: &mut OwnNumbers) {
        let own: Vec<u32> = self.threads.iter().map(|thread| thread.number).collect();
        let threads = std::mem::take(&mut self.threads).into_iter().zip(numbers.outside(&own));
        self.threads = threads.filter_map(|(thread, number)| Some(JavaThread { number: number?, ..thread })).collect();
    }

    /// Returns the activity of an object's holder. The dump names the holder of a monitor, but not the holder of a lock
    /// of `java.util.concurrent`: the only thread counts that is in the method which waits, and does not wait for the lock
    /// itself. Where there are several, the holder is unknown.
    fn holder(&self, object: &str, waiter: &JavaThread, waits_in: &Frame) -> Option<JavaHolder> {
        const LONGEST_CHAIN: usize = 8;
        let is_waiting_for = |thread: &JavaThread, object: &str| matches!(&thread.state, State::Blocked { object: other, .. } if other == object);
        let find = |object: &str, waits_in: &Frame| {
            let holds = |thread: &&JavaThread| thread.held.iter().any(|(held, _)| held == object);
            let is_in_method = |thread: &&JavaThread| thread.frames.iter().any(|frame| frame.method == waits_in.method);
            let others = || {
                self.threads.iter().filter(|thread| thread.number != waiter.number && !is_waiting_for(thread, object))
            };
            others().find(holds).map(|holder| (holder, false)).or_else(|| {
                // One of several is perhaps in the method without the lock.
                let mut inside = others().filter(is_in_method);
                inside.next().filter(|_| inside.next().is_none()).map(|thread| (thread, true))
            })
        };
        let (mut object, mut method) = (object.to_owned(), waits_in.clone());
        let (mut holder, mut is_supposed) = find(&object, &method)?;
        // A holder that waits for another lock is followed to that lock's holder.
        for _ in 0..LONGEST_CHAIN {
            let State::Blocked { object: next, .. } = &holder.state else { break };
            let Some(key) = key_of(holder) else { break };
            let next_holder = find(next, &key.waits_in).filter(|(next, _)| next.number != holder.number);
            let Some((next_holder, is_next_supposed)) = next_holder else { break };
            (object, method, holder) = (next.clone(), key.waits_in, next_holder);
            is_supposed |= is_next_supposed;
        }
        // The critical section is in the method that locked the monitor; its callee is what it does.
        let locked = holder.held.iter().find(|(held, _)| *held == object).map(|(_, depth)| *depth);
        let section = locked.or_else(|| holder.frames.iter().position(|frame| frame.method == method.method))?;
        let own = holder.frames[..section].iter().rposition(|frame| !frame.is_of_library());
        let inner = own.unwrap_or(section);
        Some(JavaHolder {
            state: holder.state.clone(),
            is_supposed,
            inner: holder.frames[inner].clone(),
            caller: holder.frames.get(inner + 1).cloned(),
            path: if holder.state == State::Runnable { Vec::new() } else { own_methods(&holder.frames[..=section]) },
        })
    }
}

// The attach interface of HotSpot: a socket in the directory for temporary files of the process.
//
// The socket is there once the first client has requested it: the client creates a file, and sends SIGQUIT. A virtual
// machine that finds the file opens the socket; one that does not find it prints a thread dump to its output, and one
// that has not yet installed its handler would be killed. So the signal is sent only where the process catches it and
// the interface is not turned off.

/// The way to a virtual machine.
pub struct Access {
    process: u32,
    /// Its number in its own PID namespace.
    own_number: u32,
    was_requested: bool,
}

/// A reason why there is no dump.
pub enum Refusal {
    /// The virtual machine has only just started.
    NotYet,
    Never(String),
}

/// Time limit for the socket to appear, and for an answer to come.
const PATIENCE: Duration = Duration::from_secs(5);
const LARGEST: u64 = 16 << 20;

impl Access {
    pub fn new(process: u32) -> Self {
        let own_number = own_number(process, process).unwrap_or(process);
        Self { process, own_number, was_requested: false }
    }

    /// Requests a dump of all threads. Returns it, and when it was requested: the first connection takes much longer than
    /// a dump, and the machine does not stop its threads for it.
    fn threads(&mut self) -> Result<(String, Instant), Refusal> {
        let mut stream = self.connect()?;
        let at = Instant::now();
        let broken = |error: std::io::Error| Refusal::Never(crate::names::message(&error));
        stream.set_read_timeout(Some(PATIENCE)).map_err(broken)?;
        stream.set_write_timeout(Some(PATIENCE)).map_err(broken)?;
        // The version of the protocol, the command, and three arguments.
        stream.write_all(b"1\0threaddump\0\0\0\0").map_err(broken)?;
        let mut answer = Vec::new();
        stream.take(LARGEST).read_to_end(&mut answer).map_err(broken)?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        match answer.split_once('\n') {
            Some(("0", text)) => Ok((text.to_owned(), at)),
            _ => Err(Refusal::Never("the virtual machine refused the thread dump".into())),
        }
    }

    fn connect(&mut self) -> Result<UnixStream, Refusal> {
        let socket = self.temporary(".java_pid");
        if let Ok(stream) = UnixStream::connect(&socket) {
            return Ok(stream);
        }
        if self.was_requested {
            return Err(Refusal::Never("the virtual machine closed its attach interface".into()));
        }
        self.check()?;
        self.was_requested = true;
        let _file = Request::create(self.process, self.own_number)?;
        // SAFETY: the call takes no pointers.
        unsafe { libc::kill(self.process as libc::pid_t, libc::SIGQUIT) };
        let until = Instant::now() + PATIENCE;
        loop {
            match UnixStream::connect(&socket) {
                Ok(stream) => return Ok(stream),
                Err(_) if Instant::now() < until => std::thread::sleep(Duration::from_millis(10)),
                Err(error) => {
                    let why = crate::names::message(&error);
                    return Err(Refusal::Never(format!("no answer at {}: {why}", socket.display())));
                }
            }
        }
    }

    fn temporary(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root/tmp/{name}{}", self.process, self.own_number))
    }

    /// Checks that the signal opens the socket, and does no harm.
    fn check(&self) -> Result<(), Refusal> {
        let process = self.process;
        let status = read_to_string(format!("/proc/{process}/status"));
        let status = status.map_err(|error| Refusal::Never(crate::names::message(&error)))?;
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
        let words = read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        let has = |word: &[u8]| words.split(|byte| *byte == 0).any(|other| other == word);
        if has(b"-XX:+DisableAttachMechanism") {
            return Err(Refusal::Never("it runs with -XX:+DisableAttachMechanism".into()));
        }
        if has(b"-Xrs") {
            return Err(Refusal::Never("it runs with -Xrs".into()));
        }
        if caught & 1 << (libc::SIGQUIT - 1) == 0 { Err(Refusal::NotYet) } else { Ok(()) }
    }
}

/// The file that requests the socket, as long as it is needed.
struct Request(PathBuf);

impl Request {
    fn create(process: u32, own_number: u32) -> Result<Self, Refusal> {
        let places = [format!("/proc/{process}/cwd"), format!("/proc/{process}/root/tmp")];
        let mut why = String::new();
        for place in places {
            let path = PathBuf::from(place).join(format!(".attach_pid{own_number}"));
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Ok(file) => return Self(path).owned_by(process, &file),
                Err(error) => why = crate::names::message(&error),
            }
        }
        Err(Refusal::Never(format!("cannot create .attach_pid{own_number} in its directory or in /tmp: {why}")))
    }

    /// Gives the file the owner of the process, since the virtual machine trusts only files of the user that runs it.
    fn owned_by(self, process: u32, file: &File) -> Result<Self, Refusal> {
        use std::os::unix::fs::MetadataExt;
        let Ok(owner) = std::fs::metadata(format!("/proc/{process}")) else {
            return Err(Refusal::Never("the process has ended".into()));
        };
        if rustix::process::geteuid().is_root() {
            let _ = std::os::unix::fs::fchown(file, Some(owner.uid()), Some(owner.gid()));
        }
        Ok(self)
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

// A thread dump, as HotSpot prints it.

/// The threads at one time.
pub struct Dump {
    pub at: Instant,
    pub threads: Vec<JavaThread>,
    /// Whether a thread carries virtual threads, or wakes them.
    pub has_virtual_threads: bool,
}

/// A thread.
#[derive(Clone, Debug)]
pub struct JavaThread {
    /// The kernel's number of it: in the text of a dump, that of the virtual machine's own namespace.
    pub number: u32,
    pub state: State,
    /// Methods, the innermost first.
    pub frames: Vec<Frame>,
    /// Monitors that it holds, and the depth of the method that locked each.
    pub held: Vec<(String, usize)>,
}

/// The state of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// The thread is on a CPU, ready for one, or in a system call.
    Runnable,
    Sleeping,
    /// Without work: in `Object.wait`, at a condition, parked for something that is not a lock.
    Waiting,
    Blocked {
        object: String,
        class: String,
        is_monitor: bool,
    },
}

/// A method at a line.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
        ["java.", "javax.", "jdk.", "sun.", "com.sun."].iter().any(|package| self.method.starts_with(package))
    }
}

/// Threads and methods of a thread that are read.
const MOST_THREADS: usize = 10_000;
const MOST_FRAMES: usize = 64;

/// Parses a dump. Lines that are not understood are passed over.
pub fn parse(text: &str, at: Instant) -> Dump {
    let mut threads: Vec<JavaThread> = Vec::new();
    for line in text.lines() {
        if line.starts_with('"') {
            if threads.len() >= MOST_THREADS {
                break;
            }
            // Threads of the virtual machine itself have no state of Java.
            let number = number_of(line).unwrap_or_default();
            threads.push(JavaThread { number, state: State::Waiting, frames: Vec::new(), held: Vec::new() });
            continue;
        }
        let Some(thread) = threads.last_mut() else { continue };
        let line = line.trim_start();
        if let Some(state) = line.strip_prefix("java.lang.Thread.State: ") {
            thread.state = match state {
                "RUNNABLE" => State::Runnable,
                "TIMED_WAITING (sleeping)" => State::Sleeping,
                // The object follows, except where the dump does not know it.
                _ => State::Waiting,
            };
        } else if let Some(frame) = line.strip_prefix("at ") {
            if thread.frames.len() < MOST_FRAMES {
                thread.frames.push(frame_of(frame));
            }
        } else if let Some((object, class)) = line.strip_prefix("- waiting to lock ").and_then(object_of) {
            thread.state = State::Blocked { object, class, is_monitor: true };
        } else if let Some((object, class)) = line.strip_prefix("- parking to wait for ").and_then(object_of) {
            if is_lock(&class) {
                thread.state = State::Blocked { object, class, is_monitor: false };
            }
        } else if let Some((object, _)) = line.strip_prefix("- locked ").and_then(object_of) {
            // A thread in `Object.wait` has released the monitor, though the method that locked it is still there.
            let is_released = thread.state == State::Waiting;
            if !is_released {
                thread.held.push((object, thread.frames.len().saturating_sub(1)));
            }
        }
    }
    threads.retain(|thread| thread.number != 0 && !thread.frames.is_empty());
    let of_virtual_threads =
        ["\"VirtualThread-unparker\"", "at java.lang.VirtualThread", "at jdk.internal.vm.Continuation"];
    let has_virtual_threads = of_virtual_threads.iter().any(|words| text.contains(words));
    Dump { at, threads, has_virtual_threads }
}

/// Parses a thread's number: `nid=0x4327`, or from version 21 on `nid=17191`.
fn number_of(line: &str) -> Option<u32> {
    let number = line.rsplit_once(" nid=")?.1.split(' ').next()?;
    match number.strip_prefix("0x") {
        Some(number) => u32::from_str_radix(number, 16).ok(),
        None => number.parse().ok(),
    }
}

/// Parses a frame: `JLock.request(JLock.java:3)`, `java.lang.Thread.sleep(java.base@17.0.15/Native Method)`.
fn frame_of(text: &str) -> Frame {
    let (method, place) = text.split_once('(').unwrap_or((text, ""));
    let place = place.trim_end_matches(')');
    let place = place.rsplit('/').next().unwrap_or(place);
    let source =
        (place.contains(".java:") || place.contains(".kt:") || place.contains(".scala:")).then(|| place.to_owned());
    Frame { method: method.to_owned(), source }
}

/// Parses an object and its class: `<0x000000069ec192a0> (a java.lang.Object)`.
fn object_of(text: &str) -> Option<(String, String)> {
    let (object, class) = text.trim_start().strip_prefix('<')?.split_once('>')?;
    let class = class.trim_start().strip_prefix("(a ")?.strip_suffix(')')?;
    Some((object.to_owned(), class.to_owned()))
}

/// Returns whether a thread that is parked for an object of this class waits for another thread to release it.
fn is_lock(class: &str) -> bool {
    let is = |part: &str| class.starts_with("java.util.concurrent.locks.") && class.contains(part);
    is("ReentrantLock$") || is("ReentrantReadWriteLock$") || is("StampedLock") || class.contains("Semaphore$")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two dumps of a program as OpenJDK 17 prints them: one thread sleeps in a critical section, two wait for it.
    const MONITOR: &str = "2026-11-25 23:49:51\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode):\n\n\
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

    #[test]
    fn virtual_threads_are_noticed_by_the_thread_that_carries_them() {
        assert!(!parse(MONITOR, Instant::now()).has_virtual_threads);
        let carrier =
            MONITOR.replace("Store.take(Store.java:9)", "java.lang.VirtualThread.runContinuation(java.base@21)");
        assert!(parse(&carrier, Instant::now()).has_virtual_threads);
    }

    #[test]
    fn a_dump_shows_the_lock_its_waiters_and_its_holder() {
        let mut waits = JavaWaits::default();
        for _ in 0..4 {
            waits.add(&parse(MONITOR, Instant::now()));
        }
        let [(key, lock)] = waits.locks.iter().collect::<Vec<_>>()[..] else { panic!("one lock") };
        assert_eq!(
            (key.class.as_str(), key.waits_in.label().as_str()),
            ("java.lang.Object", "Store.put (Store.java:3)")
        );
        assert_eq!(lock.most_waiters, 1);
        let [(holder, seconds)] = lock.holders.iter().collect::<Vec<_>>()[..] else { panic!("one holder") };
        assert_eq!((holder.inner.label().as_str(), &holder.state), ("Store.writeLog (Store.java:2)", &State::Sleeping));
        assert_eq!(*seconds, lock.seconds);
        assert!(waits.threads[&16].lock > 0.0 && waits.threads[&17].sleep > 0.0 && waits.threads[&18].work > 0.0);
    }

    #[test]
    fn threads_are_stopped_for_a_small_part_of_the_time() {
        let pause_after_s = |taken: &[u64], elapsed_s| {
            let taken: Vec<Duration> = taken.iter().copied().map(Duration::from_millis).collect();
            pause_after(&taken, Duration::from_secs(elapsed_s)).as_millis()
        };
        let pause_ms = |taken: &[u64]| pause_after_s(taken, 1);
        assert_eq!([pause_ms(&[1]), pause_ms(&[40]), pause_ms(&[40, 12])], [100, 400, 120]);
        assert_eq!([pause_ms(&[40; 5]), pause_ms(&[40, 40, 5, 40, 40, 40])], [2_000, 250]);
        assert_eq!(pause_ms(&[5_000; 9]), 30_000);
        assert_eq!([pause_after_s(&[40; 5], 60), pause_after_s(&[40; 2], 60)], [6_000, 400]);
    }

    #[test]
    fn few_dumps_say_nothing() {
        let mut waits = JavaWaits::default();
        waits.add(&parse(MONITOR, Instant::now()));
        assert!(waits.are_few());
        waits.add(&parse(MONITOR, Instant::now() + Duration::from_millis(250)));
        assert!(!waits.are_few());
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
        let mut waits = JavaWaits::default();
        waits.add(&parse(text, Instant::now()));
        let (key, lock) = waits.locks.first_key_value().unwrap();
        assert_eq!((waits.locks.len(), key.is_monitor), (1, false));
        let holder = lock.holders.keys().next().unwrap();
        assert_eq!((holder.inner.method.as_str(), &holder.state), ("Table.compute", &State::Runnable));
        assert!(waits.threads[&3].work > 0.0);
        // Another thread in the method reads a request, with or without the lock.
        let other = "\"d\" #4 nid=4 runnable [0]\n   java.lang.Thread.State: RUNNABLE\n\tat Table.read(Table.java:2)\n\
            \tat Table.update(Table.java:4)\n\n";
        let mut waits = JavaWaits::default();
        waits.add(&parse(&[text, other].concat(), Instant::now()));
        let lock = waits.locks.first_key_value().unwrap().1;
        assert!(lock.seconds > 0.0 && lock.holders.is_empty(), "which of them holds it is unknown: {:?}", lock.holders);
    }

    #[test]
    fn threads_keep_their_numbers_without_a_namespace() {
        let mut dump = parse(MONITOR, Instant::now());
        let numbers: Vec<u32> = dump.threads.iter().map(|thread| thread.number).collect();
        dump.renumber(&mut OwnNumbers::of(std::process::id()));
        assert_eq!(dump.threads.iter().map(|thread| thread.number).collect::<Vec<_>>(), numbers);
    }
}
