//! The waits of goroutines, by probes (uprobes) on functions of Go's runtime.
//!
//! A goroutine waits without a thread: it parks (`runtime.gopark`), and another one makes it ready (`runtime.ready`).
//! The probes are at the instruction `push %rbp` behind the check of the stack: there the arguments are still in
//! registers, the goroutine is in `r14`, and the kernel emulates the
//! instruction, so that it maps nothing into the process. Go keeps frame pointers, so the kernel can follow the calls.
//!
//! A probe of all processes would put its breakpoint into each process that runs the file. These are opened for the
//! process's first thread instead: the kernel then changes the memory of that process alone. Such an event has the hits
//! of that thread only, but a BPF program that is attached to it runs for every thread with that memory. The program
//! writes the samples into the ring of the CPU.

mod follow;
pub mod goroutines;
mod program;
mod writer;

pub use follow::{End, Event, Follower, Single, StackNumber, Waits, What};
pub use program::{Program, Unfit, is_go};

use crate::memory::{u32_at, u64_at};
use crate::perf_rings::SampleRings;
use perf_event::events::Software;
use perf_event::{Builder, Clock, Counter, ReadFormat, SampleFlag};
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::ffi::{CStr, CString};
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use writer::Writer;

/// Open probes.
pub struct Probes {
    /// Those of `gopark` and `ready`, which are hit most, come first, and end first.
    counters: Vec<Counter>,
    process: u32,
    /// The addresses of the probes, in the order of [`program::FUNCTIONS`].
    places: [u64; 4],
    semaphore: Range<u64>,
    rings: SampleRings<Event>,
    /// It is needed as long as the probes are open.
    _writer: Writer,
    /// Hits of the probes that were read, also those of other processes with the same memory.
    pub hits: u64,
    /// Hits that did not fit into a ring.
    pub lost: u64,
}

/// The file with the kernel's number of such probes.
const KIND: &str = "/sys/bus/event_source/devices/uprobe/type";

/// Returns whether this kernel has probes on the functions of programs.
pub fn has_probes() -> bool {
    std::path::Path::new(KIND).exists()
}
const MOST_FRAMES: u16 = 40;
/// The return address, above which the registers are.
const STACK: u32 = 8;
/// `rax`, `rbx`, `rip` and `r14`, in this order in a sample.
const REGISTERS: u64 = 1 | 1 << 1 | 1 << 8 | 1 << 22;

impl Probes {
    /// Opens the probes.
    ///
    /// # Errors
    /// The kernel refuses: `EACCES` and `EPERM` without `CAP_PERFMON` and `CAP_BPF`. The program's code is not that of its
    /// file any more, for example under a debugger (`EBUSY`), or the process runs another program (`ESRCH`).
    pub fn open(program: &Program, cpus: &[usize]) -> io::Result<Self> {
        program.check()?;
        let rings = SampleRings::open(cpus, ring)?;
        let fds = cpus.iter().zip(rings.rings()).map(|(cpu, ring)| (*cpu, ring.as_counter().as_raw_fd()));
        let writer = Writer::open(fds)?;
        // The descriptor that was checked: a path could lead to another file by now.
        let path = CString::new(format!("/proc/self/fd/{}", program.file().as_raw_fd())).map_err(io::Error::other)?;
        let kind = kind()?;
        let open = |offset: &u64| probe(kind, &path, *offset, program.process(), &writer);
        let counters = program.offsets().iter().map(open).collect::<io::Result<_>>()?;
        let probes = Self {
            counters,
            process: program.process(),
            places: program.addresses(),
            semaphore: program.semaphore(),
            rings,
            _writer: writer,
            hits: 0,
            lost: 0,
        };
        // The process may have become another program by now.
        if program.is_running() { Ok(probes) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
    }

    /// Returns the events until `now`, in the order of their times.
    pub fn drain(&mut self, now: u64) -> Vec<Event> {
        let hits = Cell::new(0);
        let parse = |body: &[u8]| {
            hits.set(hits.get() + 1);
            parse(body, self.process, &self.places, &self.semaphore)
        };
        let events = self.rings.drain(now, parse, |event| event.at_ns);
        self.hits += hits.get();
        self.lost = self.rings.lost;
        events
    }

    /// Closes the probes, which takes some tenths of a second; returns the number of hits since the last [`Self::drain`].
    pub fn close(mut self) -> u64 {
        let before = self.hits + self.lost;
        self.counters.clear();
        self.drain(u64::MAX);
        self.hits + self.lost - before
    }
}

/// Checks that this process may open probes, by one in its own file.
///
/// No code is at the probed offset, so that the probe is never hit.
///
/// # Errors
/// The kernel has no probes, or refuses: `EACCES` and `EPERM` without `CAP_PERFMON` and `CAP_BPF`.
pub fn may_probe(cpu: usize) -> io::Result<()> {
    let rings = SampleRings::<()>::open(&[cpu], ring)?;
    let writer = Writer::open(rings.rings().iter().map(|ring| (cpu, ring.as_counter().as_raw_fd())))?;
    probe(kind()?, c"/proc/self/exe", 0, std::process::id(), &writer).map(drop)
}

fn kind() -> io::Result<u32> {
    std::fs::read_to_string(KIND)?.trim().parse().map_err(io::Error::other)
}

/// Returns the event of a ring of one CPU, whose samples are those that the BPF program writes.
fn ring(cpu: usize) -> Builder<'static> {
    let mut builder = Builder::new(Software::BPF_OUTPUT);
    builder.any_pid().one_cpu(cpu).include_kernel().exclude_callchain_kernel(true).sample_period(1).enabled(true);
    builder.clockid(Clock::MONOTONIC_RAW).read_format(ReadFormat::empty());
    builder.sample(SampleFlag::TID | SampleFlag::TIME | SampleFlag::CALLCHAIN | SampleFlag::RAW);
    builder.sample(SampleFlag::REGS_USER | SampleFlag::STACK_USER).sample_max_stack(MOST_FRAMES);
    builder.sample_regs_user(REGISTERS).sample_stack_user(STACK).wakeup_watermark(u32::MAX as usize);
    builder
}

/// Opens a probe at an offset of a file, in the memory of one process. `kind` is the kernel's number of such probes.
fn probe(kind: u32, path: &CStr, offset: u64, process: u32, writer: &Writer) -> io::Result<Counter> {
    // The event of a probe is that of another kind of unit of the kernel, with the path and the offset in the file.
    let mut builder = Builder::new(Software::DUMMY);
    let attributes = builder.attrs_mut();
    (attributes.type_, attributes.config) = (kind, 0);
    attributes.kprobe_func = path.as_ptr().expose_provenance() as u64;
    attributes.probe_offset = offset;
    builder.observe_pid(process as i32).any_cpu().include_kernel().sample_period(1).read_format(ReadFormat::empty());
    let mut probe = builder.build()?;
    probe.set_bpf(writer.program())?;
    Ok(probe)
}

/// Parses `TID | TIME | CALLCHAIN | RAW | REGS_USER | STACK_USER`.
fn parse(body: &[u8], process: u32, places: &[u64; 4], semaphore: &Range<u64>) -> Option<Event> {
    let (ids, at_ns, count) = (u64_at(body, 0)?, u64_at(body, 8)?, u64_at(body, 16)?);
    (ids as u32 == process).then_some(())?;
    let count = usize::try_from(count).ok().filter(|count| *count < body.len())?;
    let raw_at = 24 + 8 * count;
    let raw = usize::try_from(u32_at(body, raw_at)?).ok().filter(|raw| *raw < body.len())?;
    let registers_at = raw_at + 4 + raw;
    // Without registers of user space there is nothing to know.
    (u64_at(body, registers_at)? != 0).then_some(())?;
    let register = |place: usize| u64_at(body, registers_at + 8 + 8 * place);
    let (first, second, instruction, goroutine) = (register(0)?, register(1)?, register(2)?, register(3)?);
    let place = places.iter().position(|address| *address == instruction)?;
    // Marks of the kernel are the highest addresses.
    const MARKS: u64 = u64::MAX - 4_095;
    let chain = (0..count).filter_map(|place| u64_at(body, 24 + 8 * place)).filter(|address| *address < MARKS);
    let mut frames: Vec<u64> = chain.collect();
    // The frame pointer is still the caller's. Before Linux 6.11 the kernel omits the caller for this reason.
    let back = u64_at(body, registers_at + 8 + 8 * REGISTERS.count_ones() as usize + 8);
    if let Some(back) = back.filter(|back| frames.get(1) != Some(back)) {
        frames.insert(frames.len().min(1), back);
    }
    let what = match place {
        0 => {
            let is_semaphore = frames.get(1).is_some_and(|back| semaphore.contains(back));
            What::Parks { object: second, is_semaphore, frames }
        }
        1 => What::Readies { goroutine: first, frames },
        2 => What::Acquires { semaphore: first },
        _ => What::Releases,
    };
    Some(Event { at_ns, thread: (ids >> 32) as u32, goroutine, what })
}

/// Packages of Go's standard library, by the first part of their path.
const STANDARD: [&str; 44] = [
    "archive",
    "bufio",
    "bytes",
    "cmp",
    "compress",
    "container",
    "context",
    "crypto",
    "database",
    "debug",
    "embed",
    "encoding",
    "errors",
    "expvar",
    "flag",
    "fmt",
    "go",
    "hash",
    "html",
    "image",
    "index",
    "internal",
    "io",
    "iter",
    "log",
    "maps",
    "math",
    "mime",
    "net",
    "os",
    "path",
    "plugin",
    "reflect",
    "regexp",
    "runtime",
    "slices",
    "sort",
    "strconv",
    "strings",
    "sync",
    "syscall",
    "text",
    "time",
    "vendor",
];

/// Returns whether a function belongs to Go's standard library.
pub fn is_standard(function: &str) -> bool {
    let head = function.split(['(', '[']).next().unwrap_or_default();
    let first = head.split_once('/').map_or_else(|| head.split('.').next().unwrap_or_default(), |(first, _)| first);
    STANDARD.contains(&first)
}

/// The kind of object that a goroutine waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    Mutex,
    RwLock,
    Condition,
    WaitGroup,
    Semaphore,
    Channel,
    Select,
    Sleep,
    /// The network, a file.
    Io,
    /// The runtime's own goroutines.
    Runtime,
}

/// Parts of functions' names on a path that parks, in this order.
const KINDS: [(&str, Kind); 14] = [
    ("sync.(*RWMutex)", Kind::RwLock),
    ("sync.(*Mutex)", Kind::Mutex),
    // Not all of its functions: `WaitGroup.Go` is at the end of the path of each goroutine that it starts.
    ("sync.(*WaitGroup).Wait", Kind::WaitGroup),
    ("sync.(*Cond)", Kind::Condition),
    ("notifyListWait", Kind::Condition),
    ("runtime.semacquire", Kind::Semaphore),
    ("runtime.selectgo", Kind::Select),
    ("runtime.chansend", Kind::Channel),
    ("runtime.chanrecv", Kind::Channel),
    ("runtime.block", Kind::Select),
    ("time.Sleep", Kind::Sleep),
    ("runtime.timeSleep", Kind::Sleep),
    ("netpollblock", Kind::Io),
    ("internal/poll", Kind::Io),
];

impl Kind {
    /// Returns the kind of a wait, from the names of the functions that parked, the innermost first.
    pub fn of<'a>(functions: impl Iterator<Item = &'a str> + Clone) -> Self {
        let found = |part: &str| functions.clone().any(|function| function.contains(part));
        KINDS.iter().find(|(part, _)| found(part)).map_or(Self::Runtime, |(_, kind)| *kind)
    }

    /// Returns the kind's name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mutex => "mutex",
            Self::RwLock => "rwlock",
            Self::Condition => "cond",
            Self::WaitGroup => "join",
            Self::Semaphore => "sem",
            Self::Channel => "channel",
            Self::Select => "select",
            Self::Sleep => "sleep",
            Self::Io => "io",
            Self::Runtime => "runtime",
        }
    }

    /// Returns the name of its type in Go.
    pub fn type_name(self) -> &'static str {
        match self {
            Self::Mutex => "sync.Mutex",
            Self::RwLock => "sync.RWMutex",
            Self::Condition => "sync.Cond",
            Self::WaitGroup => "sync.WaitGroup",
            other => other.name(),
        }
    }

    /// Returns whether other goroutines of the program end such a wait.
    pub fn ends_by_others(self) -> bool {
        !matches!(self, Self::Sleep | Self::Io | Self::Runtime)
    }

    /// Returns whether a goroutine holds the object that others wait for.
    pub fn is_lock(self) -> bool {
        matches!(self, Self::Mutex | Self::RwLock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_the_standard_library_are_known() {
        for function in
            ["runtime.gopark", "internal/sync.(*Mutex).lockSlow", "net/http.(*conn).serve", "sync.(*Once).Do"]
        {
            assert!(is_standard(function), "{function}");
        }
        for function in ["main.request", "github.com/a/b.F", "go.uber.org/zap.New", "store/cache.(*C).Get", "timer.F"] {
            assert!(!is_standard(function), "{function}");
        }
    }

    #[test]
    fn kind_of_a_wait_is_that_of_its_functions() {
        let kind = |functions: &[&str]| Kind::of(functions.iter().copied());
        let mutex = ["runtime.gopark", "runtime.semacquire1", "internal/sync.(*Mutex).lockSlow"];
        assert_eq!(kind(&mutex), Kind::Mutex);
        assert_eq!(kind(&[&mutex[..], &["sync.(*RWMutex).Lock"]].concat()), Kind::RwLock);
        assert_eq!(kind(&["runtime.gopark", "runtime.chanrecv", "runtime.chanrecv1", "main.f"]), Kind::Channel);
        assert_eq!(kind(&["runtime.gopark", "runtime.bgsweep"]), Kind::Runtime);
        let started = ["runtime.gopark", "time.Sleep", "main.f", "sync.(*WaitGroup).Go.func1"];
        assert_eq!(kind(&started), Kind::Sleep);
        assert_eq!(kind(&["runtime.gopark", "runtime.semacquire1", "sync.(*WaitGroup).Wait"]), Kind::WaitGroup);
    }

    #[test]
    fn event_has_its_caller_and_its_goroutine() {
        // The kernel's chain lacks the caller, which is at the top of the stack.
        let words: Vec<u64> =
            vec![4 << 32 | 3, 900, 3, u64::MAX - 511, 0x100, 0x300, 12, 0, 2, 1, 2, 0x100, 0xc0, 8, 0x210, 8];
        let body: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let places = [0x100, 0x104, 0x108, 0x10c];
        let event = parse(&body, 3, &places, &(0x200..0x220)).unwrap();
        assert_eq!((event.at_ns, event.thread, event.goroutine), (900, 4, 0xc0));
        let What::Parks { object: 2, is_semaphore: true, frames } = event.what else { panic!("{event:?}") };
        assert_eq!(frames, [0x100, 0x210, 0x300]);
        assert!(parse(&body, 9, &places, &(0..1)).is_none(), "another process's");
        assert!(parse(&body, 3, &[0; 4], &(0..1)).is_none(), "at another place");
        for length in 0..body.len() {
            let _ = parse(&body[..length], 3, &places, &(0..1));
        }
    }
}
