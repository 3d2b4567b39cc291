//! Watching words of another process by the processor's debug registers (`perf_event_open` with a breakpoint).
//!
//! Each access by any thread interrupts that thread after the instruction, and the kernel notes the time, the registers
//! and the top of the stack. That takes microseconds, and in a virtual machine tens of them. So words are watched in
//! short windows within a budget, and the cost of an access is measured first, on a word of contend's own.

mod decode;
mod follow;

pub use decode::Operation;
pub use follow::{Access, Follower, Limits, MOST_HOLDS, Schedule, Tries, Usage};

use crate::code::{LONGEST, Registers};
use crate::memory::{read, u64_at};
use crate::names::Mapping;
use crate::perf_rings::{LARGEST, SampleRings, redirect};
use crate::sampling::threads;
use crate::stacks::{Stack, Stacks};
use decode::decode;
use perf_event::events::{Breakpoint, Software};
use perf_event::{Builder, Clock, Counter, ReadFormat, SampleFlag};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::ops::Range;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// A word of the watched process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    pub address: u64,
    /// 1, 2, 4 or 8.
    pub bytes: u64,
}

/// Words that the debug registers of x86-64 have room for.
pub const MOST_WORDS: usize = 4;

/// Bytes of each stack.
const STACK: u32 = 512;
/// Times that the threads are listed, until there is no new one.
const LISTINGS: usize = 4;

/// The watchpoints of one process.
pub struct Watchpoints {
    process: u32,
    words: Vec<Word>,
    rings: SampleRings<Sample>,
    counters: Vec<Counter>,
    /// The thread that each event was opened for: threads that it starts inherit it.
    opened_for: HashMap<u64, u32>,
    /// The event whose accesses count, for each thread that inherited several.
    chosen: HashMap<u32, u32>,
    /// Instructions that were decoded are read once.
    code: HashMap<u64, Vec<u8>>,
    stacks: Paths,
    /// Events that did not fit into a ring.
    pub lost: u64,
}

struct Sample {
    opened_for: u32,
    at_ns: u64,
    thread: u32,
    word: u64,
    registers: Registers,
    stack: Stack,
}

/// Call paths by number.
#[derive(Default)]
struct Paths {
    unwinder: Stacks,
    code: Vec<Range<u64>>,
    /// Paths by the instruction and the addresses of code in the top of the stack.
    known: HashMap<u64, usize>,
    numbers: HashMap<Vec<u64>, usize>,
    paths: Vec<Vec<u64>>,
}

const MOST_PATHS: usize = 16_384;

impl Watchpoints {
    /// Opens the watchpoints of all threads, closed at first.
    ///
    /// # Errors
    /// The kernel refuses: `EPERM` and `EACCES` without the right to trace the process, `ENOSPC` if the debug registers
    /// are in use.
    pub fn open(process: u32, words: &[Word], cpus: &[usize]) -> io::Result<Self> {
        let mut watchpoints = Self {
            process,
            words: words.to_vec(),
            rings: SampleRings::open(cpus, ring)?,
            counters: Vec::new(),
            opened_for: HashMap::new(),
            chosen: HashMap::new(),
            code: HashMap::new(),
            stacks: Paths::default(),
            lost: 0,
        };
        let mut known = HashSet::new();
        for listing in 0..LISTINGS {
            let new: Vec<u32> = threads(process).filter(|thread| known.insert(*thread)).collect();
            if new.is_empty() {
                break;
            }
            for thread in new {
                match watchpoints.open_thread(thread, cpus) {
                    // The thread has ended, or has inherited the watchpoints.
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) || listing > 0 => {}
                    opened => opened?,
                }
            }
        }
        Ok(watchpoints)
    }

    fn open_thread(&mut self, thread: u32, cpus: &[usize]) -> io::Result<()> {
        for word in &self.words {
            for (cpu, ring) in cpus.iter().zip(self.rings.rings()) {
                let counter = watchpoint(*word, thread, *cpu)?;
                redirect(&counter, ring)?;
                self.opened_for.insert(counter.id(), thread);
                self.counters.push(counter);
            }
        }
        Ok(())
    }

    /// Learns the memory map, for the call paths.
    pub fn learn(&mut self, mappings: &[Mapping]) {
        self.stacks.learn(self.process, mappings);
    }

    /// Opens a window: from now on each access is noted.
    pub fn begin(&mut self) {
        // A counter whose thread has ended cannot be enabled.
        self.counters.iter_mut().for_each(|counter| drop(counter.enable()));
    }

    /// Closes the window.
    pub fn end(&mut self) {
        self.counters.iter_mut().for_each(|counter| drop(counter.disable()));
    }

    /// Returns the accesses until `now`, in the order of their times.
    pub fn drain(&mut self, now: u64) -> Vec<Access> {
        let parse = |body: &[u8]| parse(body, self.process, &self.opened_for);
        let samples = self.rings.drain(now, parse, |sample| sample.at_ns);
        self.lost = self.rings.lost;
        samples.iter().filter_map(|sample| self.access(sample)).collect()
    }

    fn access(&mut self, sample: &Sample) -> Option<Access> {
        // A thread that was started while the watchpoints were opened can have its own and inherited ones.
        let chosen = self.chosen.entry(sample.thread).or_insert(sample.opened_for);
        if *chosen != sample.opened_for {
            return None;
        }
        let word = self.words.iter().position(|word| word.address == sample.word)?;
        let instruction = sample.registers.instruction;
        if self.code.len() >= MOST_PATHS {
            self.code.clear();
        }
        let code = self.code.entry(instruction).or_insert_with(|| {
            let mut code = vec![0; LONGEST];
            let length = read(self.process, instruction.saturating_sub(LONGEST as u64), &mut code);
            if length == LONGEST { code } else { Vec::new() }
        });
        let operation = decode(code, &sample.registers, sample.word);
        let stack = self.stacks.number(&sample.stack);
        Some(Access { word, at_ns: sample.at_ns, thread: sample.thread, operation, stack })
    }

    /// Returns the addresses of a call path.
    pub fn path(&self, number: usize) -> &[u64] {
        self.stacks.paths.get(number).map_or(&[], Vec::as_slice)
    }

    /// Reads a word without stopping any thread.
    pub fn value(&self, word: usize) -> Option<u64> {
        value(self.process, *self.words.get(word)?)
    }
}

/// Reads a word of a process without stopping any thread; `None` if it has no such memory.
pub fn value(process: u32, word: Word) -> Option<u64> {
    let mut value = [0; 8];
    let length = word.bytes.min(8) as usize;
    (read(process, word.address, &mut value[..length]) == length).then(|| u64::from_le_bytes(value))
}

impl Paths {
    fn learn(&mut self, process: u32, mappings: &[Mapping]) {
        self.unwinder.learn(process, mappings);
        self.code = mappings.iter().filter(|piece| piece.is_code).map(|piece| piece.start..piece.end).collect();
    }

    fn number(&mut self, stack: &Stack) -> usize {
        let mut hasher = DefaultHasher::new();
        stack.instruction.hash(&mut hasher);
        let words = stack.bytes.chunks_exact(8).filter_map(|word| u64_at(word, 0));
        words.filter(|word| self.code.iter().any(|range| range.contains(word))).for_each(|word| word.hash(&mut hasher));
        let key = hasher.finish();
        if let Some(number) = self.known.get(&key) {
            return *number;
        }
        let mut path = self.unwinder.frames(stack);
        if self.paths.len() >= MOST_PATHS {
            path.clear();
        }
        let (paths, next) = (&mut self.paths, self.numbers.len());
        let number = *self.numbers.entry(path).or_insert_with_key(|path| {
            paths.push(path.clone());
            next
        });
        if self.known.len() < MOST_PATHS {
            self.known.insert(key, number);
        }
        number
    }
}

/// Checks that this process may watch words, by a word on its stack.
///
/// # Errors
/// The processor or the virtual machine has no debug registers, or the kernel refuses.
pub fn may_watch(cpu: usize) -> io::Result<()> {
    let word = AtomicU32::new(0);
    let word = Word { address: word.as_ptr().expose_provenance() as u64, bytes: 4 };
    let thread = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    watchpoint(word, thread, cpu).map(drop)
}

/// Returns the event of a ring of one CPU, to which the events of all threads go.
fn ring(cpu: usize) -> Builder<'static> {
    let mut builder = Builder::new(Software::DUMMY);
    builder.observe_self().one_cpu(cpu).read_format(ReadFormat::empty()).clockid(Clock::MONOTONIC_RAW);
    builder.wakeup_watermark(u32::MAX as usize);
    builder
}

/// Opens the watchpoint of a thread, and of the threads that it starts. A process that it starts has other memory at the
/// address, and so has the process itself after exec: a watchpoint there would only delay them.
fn watchpoint(word: Word, thread: u32, cpu: usize) -> io::Result<Counter> {
    match confined_watchpoint(word, thread, cpu, true) {
        // Before Linux 5.13, each process that the thread starts inherits the watchpoint.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => confined_watchpoint(word, thread, cpu, false),
        opened => opened,
    }
}

fn confined_watchpoint(word: Word, thread: u32, cpu: usize, is_confined: bool) -> io::Result<Counter> {
    let mut builder = Builder::new(Breakpoint::read_write(word.address, word.bytes));
    builder.observe_pid(thread as i32).one_cpu(cpu).exclude_kernel(true).exclude_hv(true);
    builder.inherit(true).inherit_thread(is_confined).remove_on_exec(is_confined);
    builder.clockid(Clock::MONOTONIC_RAW).read_format(ReadFormat::empty()).sample_period(1);
    builder.sample(SampleFlag::IDENTIFIER | SampleFlag::TID | SampleFlag::TIME | SampleFlag::ADDR);
    builder.sample(SampleFlag::REGS_USER | SampleFlag::STACK_USER);
    builder.sample_regs_user(Registers::MASK).sample_stack_user(STACK).wakeup_watermark(u32::MAX as usize);
    builder.build()
}

/// Parses `IDENTIFIER | TID | TIME | ADDR | REGS_USER | STACK_USER`; `None` for another process: a child that was forked
/// has its own word at the same address.
fn parse(body: &[u8], process: u32, opened_for: &HashMap<u64, u32>) -> Option<Sample> {
    let opened_for = *opened_for.get(&u64_at(body, 0)?)?;
    if u64_at(body, 8)? as u32 != process {
        return None;
    }
    let (thread, at_ns, word) = ((u64_at(body, 8)? >> 32) as u32, u64_at(body, 16)?, u64_at(body, 24)?);
    let (registers, body) = Registers::of_sample(body.get(32..)?)?;
    let room = u64_at(body, 0)? as usize;
    let filled = u64_at(body, 8 + room).unwrap_or(0) as usize;
    let bytes = body.get(8..)?.get(..filled.min(room))?.to_vec();
    let [pointer, frame] = [registers.general[4], registers.general[5]];
    let stack = Stack { instruction: registers.instruction, pointer, frame, link: 0, bytes };
    Some(Sample { opened_for, at_ns, thread, word, registers, stack })
}

/// The cost of watching an access.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// Time by which it delays a thread.
    pub median_ns: f64,
    /// Distance of the quartiles.
    pub spread_ns: f64,
}

impl Cost {
    /// Returns a period in which accesses fill a quarter of a ring at most. Each reading may preempt a thread that has the
    /// lock, so there are no more than needed.
    pub fn drain_period(&self) -> Duration {
        const SAMPLE_BYTES: usize = 1_024;
        let accesses = (LARGEST / SAMPLE_BYTES / 4) as f64;
        Duration::from_secs_f64((accesses * self.median_ns / 1e9).clamp(0.001, 0.01))
    }
}

/// Accesses that are measured.
const CALIBRATED: usize = 300;

/// Measures the cost of watching, on a word of this thread's own.
///
/// # Errors
/// The kernel refuses watchpoints, or reports none.
pub fn calibrate(cpus: &[usize]) -> io::Result<Cost> {
    // Not on the stack, which the kernel reads for each event: that would be an access as well.
    let word = Box::new(AtomicU32::new(0));
    let watched = Word { address: (&raw const *word).addr() as u64, bytes: 4 };
    // SAFETY: the call takes no argument and cannot fail.
    let thread = unsafe { libc::gettid() } as u32;
    let mut rings = SampleRings::open(cpus, ring)?;
    let mut counters = Vec::new();
    for (cpu, ring) in cpus.iter().zip(rings.rings()) {
        let counter = watchpoint(watched, thread, *cpu)?;
        redirect(&counter, ring)?;
        counters.push(counter);
    }
    counters.iter_mut().try_for_each(Counter::enable)?;
    for value in 0..CALIBRATED {
        word.store(value as u32, Relaxed);
    }
    counters.iter_mut().try_for_each(Counter::disable)?;
    let times: Vec<u64> = rings.drain(u64::MAX, |body| u64_at(body, 16), |at_ns| *at_ns);
    let mut gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    gaps.sort_by(f64::total_cmp);
    if gaps.len() < CALIBRATED / 2 {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "the kernel reports no access to a watched word"));
    }
    let quantile = |share: f64| gaps[(share * (gaps.len() - 1) as f64) as usize];
    Ok(Cost { median_ns: quantile(0.5), spread_ns: quantile(0.75) - quantile(0.25) })
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn sample_is_parsed_and_truncated_ones_are_dropped() {
        let mut words: Vec<u64> = vec![77, 4 << 32 | 3, 900, 0x7000, 2];
        words.extend(100..118);
        words.extend([16, 5, 6, 8]);
        let body: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let known = HashMap::from([(77, 3)]);
        let sample = parse(&body, 3, &known).unwrap();
        assert_eq!((sample.opened_for, sample.thread, sample.at_ns, sample.word), (3, 4, 900, 0x7000));
        // rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8: perf has them as ax, bx, cx, dx, si, di, bp, sp, then r8.
        assert_eq!(sample.registers.general[..9], [100, 102, 103, 101, 107, 106, 104, 105, 110]);
        assert_eq!((sample.registers.instruction, sample.registers.flags), (108, 109));
        assert_eq!((sample.stack.pointer, sample.stack.frame, sample.stack.bytes.len()), (107, 106, 8));
        assert!(parse(&body, 3, &HashMap::new()).is_none());
        // A child's own word.
        assert!(parse(&body, 5, &known).is_none());
        for length in 0..body.len() {
            let _ = parse(&body[..length], 3, &known);
        }
    }
}
