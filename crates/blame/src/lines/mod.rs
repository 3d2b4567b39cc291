//! Cache lines that threads use, without the processor's counters.
//!
//! An access that waits for its cache line retires late, and the timer's interrupt comes after it. So a thread that spends
//! its time on such accesses is mostly found at the instruction behind one. The operand of the instruction before,
//! computed from the registers of the sample, is the address. Samples are added up by cache line, for each window of the
//! [clock](crate::sampling::clock); the module `sharing` says how threads share one.

mod sharing;

pub use crate::code::Use;
pub use sharing::{Sharing, Word, judge, words};

use crate::code::{Before, access_before};
use crate::memory::{read, u64_at};
use crate::sampling::clock::{Instant, Window};
use crate::sampling::waited::Path;
use crate::stacks::Stacks;
use std::collections::{HashMap, HashSet};

/// Bytes of a cache line of x86-64.
pub const LINE: u64 = 64;
/// Bytes of code that are read before a sampled instruction at most, and behind it to look for loops.
const MOST_BEFORE: u64 = 16 << 10;
const BEHIND: u64 = 256;
/// Instructions and lines that are known at a time.
const MOST_KNOWN: usize = 65_536;
const MOST_LINES: usize = 2_048;
/// Lines of each window that are kept: a finding has a twentieth of the time.
const MOST_OF_WINDOW: usize = 48;

/// The sums.
#[derive(Default)]
pub struct Lines {
    known: HashMap<(u32, u64), Before>,
    lines: HashMap<(u32, u64), Line>,
    /// All samples, by process and instruction.
    instructions: HashMap<(u32, u64), u64>,
    /// The call paths of the slow samples, by process and instruction.
    paths: HashMap<(u32, u64), HashMap<Path, u64>>,
    pub totals: Totals,
}

/// All samples, by what is known of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    pub windows: u64,
    pub samples: u64,
    /// Those at times when another thread of the process ran.
    pub together: u64,
    /// Samples that found no room.
    pub lost: u64,
    /// Time that the sampled threads ran, and the part that their samples stand for, in ns.
    pub ran_ns: u64,
    pub sampled_ns: u64,
    /// With an address, and of these, on the thread's own stack.
    pub addressed: u64,
    pub own_stack: u64,
    /// The instruction before uses no memory; or it is not known, since a jump, a call or a return came between.
    pub no_access: u64,
    pub jumped: u64,
    /// The access has overwritten its address, or the code is not decodable.
    pub overwritten: u64,
    pub not_decoded: u64,
}

impl Totals {
    /// Returns the part of the threads' CPU time that their samples of user space are of; the rest is the kernel's.
    pub fn user_share(&self) -> f64 {
        if self.ran_ns > 0 { (self.sampled_ns as f64 / self.ran_ns as f64).min(1.0) } else { 1.0 }
    }
}

/// The use of a cache line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// Samples, and those in windows in which threads on several CPUs shared it and one wrote, at times when several of
    /// these threads ran.
    pub samples: u64,
    pub contended: u64,
    /// Samples of threads on whose own stack the line is.
    pub own_stack: u64,
    /// The accesses of the contended samples; of all if there is none.
    pub accesses: HashMap<Access, u64>,
}

/// An access to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Access {
    pub thread: u32,
    pub cpu: u32,
    /// The first byte in the line, and the number of bytes.
    pub offset: u8,
    pub bytes: u8,
    pub usage: Use,
    /// The address behind the instruction.
    pub instruction: u64,
}

impl Lines {
    /// Begins the next part of a trace.
    pub fn begin_part(&mut self) {
        self.lines.clear();
        self.paths.clear();
        self.instructions.clear();
        self.totals = Totals::default();
    }

    /// Returns the lines, with their processes and addresses.
    pub fn lines(&self) -> impl Iterator<Item = ((u32, u64), &Line)> {
        self.lines.iter().map(|(key, line)| (*key, line))
    }

    /// Returns how often the samples found each instruction, with its process.
    pub fn instructions(&self) -> impl Iterator<Item = ((u32, u64), u64)> {
        self.instructions.iter().map(|(key, count)| (*key, *count))
    }

    /// Returns how often the slow samples found an instruction on each call path.
    pub fn paths(&self, process: u32, instruction: u64) -> impl Iterator<Item = (Path, u64)> {
        let paths = self.paths.get(&(process, instruction)).into_iter().flatten();
        paths.map(|(path, count)| (*path, *count))
    }

    /// Notes the call path of a slow sample.
    pub fn note_path(&mut self, process: u32, instruction: u64, path: Path) {
        if self.paths.len() < MOST_KNOWN {
            *self.paths.entry((process, instruction)).or_default().entry(path).or_default() += 1;
        }
    }

    /// Adds the samples of a window; `unwinders` say where functions begin.
    pub fn note(&mut self, window: &Window, unwinders: &HashMap<u32, Stacks>) {
        self.totals.windows += 1;
        self.totals.samples += window.instants.len() as u64;
        self.totals.lost += window.lost;
        self.totals.ran_ns += window.ran_ns;
        self.totals.sampled_ns += (window.instants.len() as u64 + window.lost) * window.period_ns;
        let (mut found, mut from_memory) = (HashMap::<(u32, u64), Vec<Seen>>::new(), Vec::new());
        for instant in &window.instants {
            let key = (instant.process, instant.registers.instruction);
            if self.instructions.len() < MOST_KNOWN || self.instructions.contains_key(&key) {
                *self.instructions.entry(key).or_default() += 1;
            }
            let Some((address, access, is_from_memory)) = self.resolved(instant, unwinders) else { continue };
            let is_on_stack = is_on_stack(instant, address);
            self.totals.own_stack += u64::from(is_on_stack);
            let (key, seen) = ((instant.process, address / LINE), Seen { access, at_ns: instant.at_ns, is_on_stack });
            if is_from_memory {
                from_memory.push((key, seen));
            } else {
                found.entry(key).or_default().push(seen);
            }
        }
        // A slot of the stack that was read later may have changed. Its address counts if the same thread's registers give
        // one in the same line.
        let proven: HashSet<((u32, u64), u32)> =
            found.iter().flat_map(|(key, seen)| seen.iter().map(|seen| (*key, seen.access.thread))).collect();
        for (key, seen) in from_memory {
            if proven.contains(&(key, seen.access.thread)) {
                found.entry(key).or_default().push(seen);
            } else {
                self.totals.addressed -= 1;
                self.totals.overwritten += 1;
            }
        }
        let mut found: Vec<((u32, u64), Vec<Seen>)> = found.into_iter().collect();
        found.sort_by_key(|(key, seen)| (std::cmp::Reverse(seen.len()), *key));
        found.truncate(MOST_OF_WINDOW);
        let running = Running::of(window);
        self.totals.together += window.instants.iter().filter(|instant| running.has_another(instant)).count() as u64;
        self.merge(found.into_iter().map(|(key, seen)| (key, Line::of_window(&seen, &running))).collect());
    }

    /// Adds the lines of a window.
    fn merge(&mut self, found: Vec<((u32, u64), Line)>) {
        if self.lines.len() + found.len() > MOST_LINES {
            let mut samples: Vec<u64> = self.lines.values().map(|line| line.samples).collect();
            samples.sort_unstable();
            let least = samples[samples.len() / 2];
            self.lines.retain(|_, line| line.samples > least);
        }
        for (key, line) in found {
            self.lines.entry(key).or_default().add(line);
        }
    }

    /// Returns the address of the access before a sample, and whether that comes from memory.
    fn resolved(&mut self, instant: &Instant, unwinders: &HashMap<u32, Stacks>) -> Option<(u64, Access, bool)> {
        let (process, instruction) = (instant.process, instant.registers.instruction);
        if self.known.len() >= MOST_KNOWN {
            self.known.clear();
        }
        let before = *self
            .known
            .entry((process, instruction))
            .or_insert_with(|| decoded(process, instruction, unwinders.get(&process)));
        let operand = match before {
            Before::Access(operand) => operand,
            Before::NoAccess => {
                self.totals.no_access += 1;
                return None;
            }
            Before::Jump => {
                self.totals.jumped += 1;
                return None;
            }
            Before::Overwritten => {
                self.totals.overwritten += 1;
                return None;
            }
            Before::NotDecoded => {
                self.totals.not_decoded += 1;
                return None;
            }
        };
        let word = |address: u64| {
            let mut word = [0; 8];
            (read(process, address, &mut word) == word.len()).then(|| u64_at(&word, 0)).flatten()
        };
        let Some(address) = operand.address(&instant.registers, word) else {
            self.totals.overwritten += 1;
            return None;
        };
        self.totals.addressed += 1;
        let offset = (address % LINE) as u8;
        let access = Access {
            thread: instant.thread,
            cpu: instant.cpu,
            offset,
            // The rest of an access across two lines is left to the second one.
            bytes: operand.bytes.min(LINE as u8 - offset),
            usage: operand.usage,
            instruction,
        };
        Some((address, access, operand.is_from_memory()))
    }
}

/// A sample of an access.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub access: Access,
    pub at_ns: u64,
    pub is_on_stack: bool,
}

/// The times at which each thread was seen on a CPU, in order, with its process.
#[derive(Debug, Default)]
pub struct Running {
    times: HashMap<u32, (u32, Vec<u64>)>,
    /// Samples of a thread that runs are nearer to each other.
    distance_ns: u64,
}

impl Running {
    /// Returns those of all samples of a window.
    pub fn of(window: &Window) -> Self {
        let times = window.instants.iter().map(|instant| (instant.process, instant.thread, instant.at_ns));
        Self::at(times, window.period_ns)
    }

    fn at(times: impl Iterator<Item = (u32, u32, u64)>, period_ns: u64) -> Self {
        let mut running = Self { times: HashMap::new(), distance_ns: period_ns + period_ns / 2 };
        for (process, thread, at_ns) in times {
            running.times.entry(thread).or_insert_with(|| (process, Vec::new())).1.push(at_ns);
        }
        running.times.values_mut().for_each(|(_, times)| times.sort_unstable());
        running
    }

    /// Returns whether a thread ran at that time: it was seen shortly before and shortly after. One that gets a lock from
    /// another was only seen after, and that one only before.
    fn ran(&self, thread: u32, at_ns: u64) -> bool {
        let Some((_, times)) = self.times.get(&thread) else { return false };
        let next = times.partition_point(|time| *time < at_ns);
        let is_near = |time: &u64| time.abs_diff(at_ns) <= self.distance_ns;
        times.get(next).is_some_and(is_near) && next.checked_sub(1).is_some_and(|last| is_near(&times[last]))
    }

    /// Returns whether another thread of the process ran at the time of a sample.
    fn has_another(&self, instant: &Instant) -> bool {
        let others = self.times.iter().filter(|(thread, _)| **thread != instant.thread);
        let mut others = others.filter(|(_, (process, _))| *process == instant.process);
        others.any(|(thread, _)| self.ran(*thread, instant.at_ns))
    }
}

impl Line {
    /// Returns the use of a line in a window. Threads that run in turn, such as those that pass on the lock of an interpreter,
    /// do not fight for it.
    pub fn of_window(seen: &[Seen], running: &Running) -> Self {
        let mut threads: Vec<u32> = seen.iter().map(|seen| seen.access.thread).collect();
        threads.sort_unstable();
        threads.dedup();
        let is_concurrent =
            |seen: &&Seen| threads.iter().any(|other| *other != seen.access.thread && running.ran(*other, seen.at_ns));
        let counted = |seen: &mut dyn Iterator<Item = &Seen>| {
            let mut accesses = HashMap::new();
            seen.for_each(|seen| *accesses.entry(seen.access).or_default() += 1);
            accesses
        };
        let concurrent = counted(&mut seen.iter().filter(is_concurrent));
        let is_contended = judge(&concurrent).is_contended();
        Self {
            samples: seen.len() as u64,
            contended: if is_contended { concurrent.values().sum() } else { 0 },
            own_stack: seen.iter().filter(|seen| seen.is_on_stack).count() as u64,
            accesses: if is_contended { concurrent } else { counted(&mut seen.iter()) },
        }
    }

    /// Adds the use of this line in another window.
    pub fn add(&mut self, window: Self) {
        // The use of a line at other times, by other threads for other things, says nothing of this.
        if window.contended > 0 && self.contended == 0 {
            self.accesses.clear();
        }
        if window.contended > 0 || self.contended == 0 {
            window.accesses.into_iter().for_each(|(access, count)| *self.accesses.entry(access).or_default() += count);
        }
        self.samples += window.samples;
        self.contended += window.contended;
        self.own_stack += window.own_stack;
    }
}

/// Returns whether an address is in the innermost frames of the thread's stack.
fn is_on_stack(instant: &Instant, address: u64) -> bool {
    const BELOW: u64 = 256;
    const FRAMES: u64 = 64 << 10;
    let stack = instant.registers.general[4];
    (stack.saturating_sub(BELOW)..stack.saturating_add(FRAMES)).contains(&address)
}

/// Reads and decodes the code before an instruction of a process.
fn decoded(process: u32, instruction: u64, unwinder: Option<&Stacks>) -> Before {
    const WITHOUT_BEGIN: u64 = 256;
    let begin = unwinder.and_then(|unwinder| unwinder.function_at(instruction)).map(|function| function.start);
    let begin = begin.filter(|begin| instruction - begin <= MOST_BEFORE);
    let from = begin.unwrap_or_else(|| instruction.saturating_sub(WITHOUT_BEGIN));
    let mut code = vec![0; (instruction - from + BEHIND) as usize];
    let length = read(process, from, &mut code);
    code.truncate(length);
    access_before(&code, from, begin.is_some(), instruction)
}
