//! A thread dump, as HotSpot prints it.

use std::time::Instant;

/// The threads at one time.
pub struct Dump {
    pub at: Instant,
    pub threads: Vec<JavaThread>,
}

/// A thread.
#[derive(Clone, Debug)]
pub struct JavaThread {
    /// The kernel's number of it, as the virtual machine knows it.
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
    Dump { at, threads }
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
