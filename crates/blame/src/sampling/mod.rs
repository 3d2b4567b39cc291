//! The states of a program's threads, sampled from `/proc` every few milliseconds.
//!
//! Sampling needs no privilege for one's own processes and sees every thread, whatever its language and its locks: the
//! allocator's lock, `std::atomic::wait`, a futex of the program's own. Times on a CPU and on a run queue are the
//! kernel's own sums (`schedstat`). The rest of a thread's life is divided by the calls that the samples found it
//! blocked in (`syscall`). [`profile`] adds the samples up, and [`budget`] divides the time.

pub mod budget;
pub mod clock;
pub mod file_locks;
mod holders;
pub mod life;
pub mod modes;
pub mod moments;
mod notes;
pub mod priority;
pub mod profile;
mod quota;
pub mod samples;
mod sockets;
mod spins;
pub mod waited;

use instruments::clock::thread_cpu_ns;
use std::collections::HashMap;
use std::fs::{File, read_dir, read_link};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// A thread at the time of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    pub process: u32,
    pub thread: u32,
    /// The kernel's sum of its time on a CPU, in ns.
    pub ran_ns: u64,
    /// The kernel's sum of its time on a run queue without a CPU, in ns.
    pub ready_ns: u64,
    /// How often it came to a CPU.
    pub turns: u64,
    pub state: State,
}

/// The state of a thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum State {
    /// The thread is on a CPU, or ready for one.
    Runnable,
    Blocked(Call),
    /// The state is not readable: another user's process, or a kernel without the file.
    Hidden,
}

/// The system call that a thread is blocked in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call {
    /// Its number; -1 for a thread that is blocked in the kernel outside of a call, for example in a page fault.
    pub number: i64,
    /// The first ones.
    pub arguments: [u64; 4],
    /// The stack pointer and the instruction pointer of user space.
    pub pointer: u64,
    pub instruction: u64,
}

/// Reads the states of all threads of some processes.
#[derive(Default)]
pub struct Sampler {
    tasks: HashMap<u32, Task>,
    turn: u64,
    /// Number of tasks whose files are open.
    open: usize,
}

/// A thread, and its two files, which stay open where there are not too many of them.
struct Task {
    process: u32,
    turn: u64,
    files: Option<Files>,
}

struct Files {
    sums: File,
    /// `None` where the kernel refuses it.
    call: Option<File>,
}

/// Threads whose files stay open: a process can have 1,024 descriptors by default.
const MOST_OPEN: usize = 96;

impl Sampler {
    /// Reads the state of each thread of these processes, and right after it `more` of the thread: contend can lose its
    /// CPU between two threads.
    pub fn sample<More>(&mut self, processes: &[u32], more: impl Fn(&Sample) -> More) -> Vec<(Sample, More)> {
        self.turn += 1;
        let threads = processes.iter().flat_map(|&process| threads(process).map(move |thread| (process, thread)));
        let with_more = |sample: Sample| {
            let more = more(&sample);
            (sample, more)
        };
        let samples = threads.filter_map(|(process, thread)| self.read(process, thread).map(with_more)).collect();
        let turn = self.turn;
        self.tasks.retain(|_, task| task.turn == turn);
        self.open = self.tasks.values().filter(|task| task.files.is_some()).count();
        samples
    }

    fn read(&mut self, process: u32, thread: u32) -> Option<Sample> {
        if self.tasks.get(&thread).is_none_or(|task| task.process != process) {
            let files = (self.open < MOST_OPEN).then(|| open_files(process, thread)).flatten();
            self.open += usize::from(files.is_some());
            self.tasks.insert(thread, Task { process, turn: self.turn, files });
        }
        let task = self.tasks.get_mut(&thread)?;
        let sample = match &task.files {
            Some(files) => sample(process, thread, files),
            None => sample(process, thread, &open_files(process, thread)?),
        };
        match sample {
            Some(_) => task.turn = self.turn,
            // The thread has ended; another one may get its number.
            None => drop(self.tasks.remove(&thread)),
        }
        sample
    }
}

/// Mean period at which the states are sampled where there are few threads.
const PERIOD: Duration = Duration::from_millis(5);
/// The pause after a sample, as a multiple of its CPU time: the program shares its CPUs with contend.
const PAUSE: u32 = 60;
/// The longest pause after a sample, unless ten times its CPU time are longer.
const LONGEST: Duration = Duration::from_millis(100);
const LEAST_PAUSE: u32 = 10;

/// Returns the CPU time of a sample.
///
/// No other time counts: on a busy machine a sample often loses the CPU, which costs the program nothing.
fn cpu_time_of(sample: impl FnOnce()) -> Duration {
    let before = thread_cpu_ns();
    sample();
    Duration::from_nanos(thread_cpu_ns() - before)
}

/// Returns the time until the next sample, by the CPU time of this one and of the one before: a random one, so that nothing
/// that the program does periodically is always seen at the same point.
fn pause(took: Duration, before: Duration) -> Duration {
    // A sample that takes longer than the one before read a file that it then knows, and says little about the next ones.
    let usual = took.min(before);
    let most = LONGEST.max(usual * LEAST_PAUSE);
    PERIOD.max((usual * PAUSE).min(most)).mul_f64(0.5 + fastrand::f64())
}

/// Returns whether the kernel shows the states of a process's threads.
pub fn shows_states(process: u32) -> bool {
    state_of(process, process).is_some()
}

fn state_of(process: u32, thread: u32) -> Option<State> {
    state_in(&std::fs::read_to_string(format!("/proc/{process}/task/{thread}/syscall")).ok()?)
}

/// Reads the call that a thread is blocked in; `None` if it runs, or the kernel does not show it.
pub(crate) fn call_of(process: u32, thread: u32) -> Option<Call> {
    match state_of(process, thread)? {
        State::Blocked(call) => Some(call),
        _ => None,
    }
}

/// Returns the threads of these processes with the call that each is blocked in; of threads whose state is hidden, none.
pub fn blocked_in(processes: &[u32]) -> impl Iterator<Item = (u32, u32, Option<Call>)> {
    let tasks = processes.iter().flat_map(|&process| threads(process).map(move |thread| (process, thread)));
    tasks.filter_map(|(process, thread)| match state_of(process, thread)? {
        State::Blocked(call) => Some((process, thread, Some(call))),
        State::Runnable => Some((process, thread, None)),
        State::Hidden => None,
    })
}

/// Returns the threads of a process, the first one first.
pub fn threads(process: u32) -> impl Iterator<Item = u32> {
    let tasks = read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    tasks.filter_map(|task| task.file_name().to_str()?.parse().ok())
}

/// Returns the name that a thread has given itself.
pub fn name_of(process: u32, thread: u32) -> Option<String> {
    let name = std::fs::read(format!("/proc/{process}/task/{thread}/comm")).ok()?;
    Some(String::from_utf8_lossy(&name).trim_end().to_owned())
}

fn open_files(process: u32, thread: u32) -> Option<Files> {
    let open = |name: &str| File::open(format!("/proc/{process}/task/{thread}/{name}"));
    Some(Files { sums: open("schedstat").ok()?, call: open("syscall").ok() })
}

fn sample(process: u32, thread: u32, files: &Files) -> Option<Sample> {
    let mut bytes = [0; 256];
    let [ran_ns, ready_ns, turns] = sums_in(text(&files.sums, &mut bytes)?)?;
    let state = match files.call.as_ref().map(|call| call.read_at(&mut bytes, 0)) {
        Some(Ok(length)) => std::str::from_utf8(&bytes[..length]).ok().and_then(state_in)?,
        Some(Err(error)) if error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH) => {
            return None;
        }
        _ => State::Hidden,
    };
    Some(Sample { process, thread, ran_ns, ready_ns, turns, state })
}

fn text<'a>(file: &File, bytes: &'a mut [u8]) -> Option<&'a str> {
    let length = file.read_at(bytes, 0).ok()?;
    std::str::from_utf8(&bytes[..length]).ok()
}

/// Parses `schedstat`: the time on a CPU and the time ready for one, in ns, and how often the thread came to a CPU.
pub(crate) fn sums_in(text: &str) -> Option<[u64; 3]> {
    let mut numbers = text.split_ascii_whitespace().map(|number| number.parse().ok());
    Some([numbers.next()??, numbers.next()??, numbers.next()??])
}

/// Parses `syscall`: `running`, `-1 SP PC`, or the number, six arguments, and these two.
fn state_in(text: &str) -> Option<State> {
    let mut fields = text.split_ascii_whitespace();
    let first = fields.next()?;
    if first == "running" {
        return Some(State::Runnable);
    }
    let number = first.parse().ok()?;
    let rest: Vec<u64> =
        fields.map(|field| u64::from_str_radix(field.strip_prefix("0x")?, 16).ok()).collect::<Option<_>>()?;
    let (arguments, [pointer, instruction]) = rest.split_last_chunk()?;
    // A thread that has ended before its process has no stack.
    if number == -1 && *pointer == 0 {
        return None;
    }
    let argument = |place: usize| arguments.get(place).copied().unwrap_or_default();
    Some(State::Blocked(Call {
        number,
        arguments: [0, 1, 2, 3].map(argument),
        pointer: *pointer,
        instruction: *instruction,
    }))
}

/// The type of an open file, as far as waiting for it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileType {
    /// A file or a block device: to wait for it is I/O.
    Storage,
    /// A socket, a pipe, a terminal, an event: to wait for it is to wait for another thread or process.
    Channel,
    Unknown,
}

impl FileType {
    /// Finds the type of a descriptor of a process, and the number of a pipe or a counter of events; 0 for other files.
    pub fn of(process: u32, descriptor: u64) -> (Self, u64) {
        match read_link(format!("/proc/{process}/fd/{descriptor}")) {
            Ok(path) => {
                let path = path.as_os_str().as_encoded_bytes();
                (Self::of_path(path), channel(process, descriptor, path).unwrap_or(0))
            }
            Err(_) => (Self::Unknown, 0),
        }
    }

    fn of_path(path: &[u8]) -> Self {
        match path {
            [b'/', ..] if !path.starts_with(b"/dev/") => Self::Storage,
            _ => Self::Channel,
        }
    }
}

/// Returns the number of the pipe that a descriptor's link names; that of a counter of events, which has no number, is made of
/// the process and the descriptor.
fn channel(process: u32, descriptor: u64, path: &[u8]) -> Option<u64> {
    const OF_COUNTER: u64 = 1 << 63;
    if path == b"anon_inode:[eventfd]" {
        return Some(OF_COUNTER | u64::from(process) << 32 | descriptor & u64::from(u32::MAX));
    }
    std::str::from_utf8(path.strip_prefix(b"pipe:[")?.strip_suffix(b"]")?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read_as_the_kernel_writes_them() {
        assert_eq!(state_in("running\n"), Some(State::Runnable));
        let blocked = |number, arguments, pointer, instruction| {
            Some(State::Blocked(Call { number, arguments, pointer, instruction }))
        };
        let futex = "202 0x55d0 0x189 0x2 0x0 0x0 0xffffffff 0x7ffd10 0x7f0020\n";
        assert_eq!(state_in(futex), blocked(202, [0x55d0, 0x189, 2, 0], 0x7ffd10, 0x7f0020));
        assert_eq!(state_in("-1 0x7ffd10 0x401000\n"), blocked(-1, [0; 4], 0x7ffd10, 0x401000));
        for text in ["", "202", "202 0x1", "x 0x1 0x2", "1 0xg 0x1 0x2"] {
            assert_eq!(state_in(text), None, "{text:?}");
        }
        assert_eq!(sums_in("12 34 5\n"), Some([12, 34, 5]));
        assert_eq!(sums_in("12 34"), None);
    }

    #[test]
    fn a_sleeping_thread_is_blocked_in_its_call() {
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let (told, number) = std::sync::mpsc::channel();
        let sleeper = std::thread::spawn(move || {
            told.send(rustix::thread::gettid().as_raw_nonzero().get() as u32).unwrap();
            let _ = receiver.recv();
        });
        let (thread, mut sampler) = (number.recv().unwrap(), Sampler::default());
        let is_blocked = || {
            let samples = sampler.sample(&[std::process::id()], |_| ());
            let found = samples.iter().map(|(sample, ())| sample).find(|sample| sample.thread == thread);
            matches!(found.map(|sample| sample.state), Some(State::Blocked(Call { number: libc::SYS_futex, .. })))
        };
        let began = std::time::Instant::now();
        let mut samples = std::iter::repeat_with(is_blocked).take_while(|_| began.elapsed() < Duration::from_secs(120));
        let found = samples.any(|is_blocked| is_blocked);
        drop(sender);
        sleeper.join().unwrap();
        assert!(found);
    }

    #[test]
    fn one_expensive_sample_does_not_delay_the_next() {
        let [cheap, expensive] = [10, 200_000].map(Duration::from_micros);
        assert!(pause(expensive, cheap) < 2 * PERIOD);
        assert!(pause(expensive, expensive) >= expensive * LEAST_PAUSE / 2, "two of them are what a sample costs");
    }

    #[test]
    fn files_are_storage_and_all_else_is_a_channel() {
        for (path, file) in
            [("/tmp/x", FileType::Storage), ("/dev/pts/0", FileType::Channel), ("socket:[1]", FileType::Channel)]
        {
            assert_eq!(FileType::of_path(path.as_bytes()), file);
        }
    }
}

#[cfg(test)]
mod measured {
    use super::*;

    #[test]
    #[ignore = "measured: needs a CPU"]
    fn time_without_a_cpu_does_not_delay_the_next_sample() {
        let took = cpu_time_of(|| std::thread::sleep(Duration::from_millis(60)));
        assert!(took < Duration::from_millis(1), "{took:?}");
    }
}
