//! Perf events and their rings.
//!
//! Each CPU has a group. A dummy event leads it, and has the ring and the switch records. The tracepoints follow it
//! and write into the same ring. The whole group is enabled and disabled with its leader. Nothing wakes a reader: the
//! rings are read while the group is disabled.

use std::io;
use std::os::fd::AsRawFd;

use perf_event::events::{Software, Tracepoint as TracepointEvent};
use perf_event::{Builder, Clock, Counter, ReadFormat, SampleFlag, Sampler};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::record::{Content, Record, parse};
use super::tracepoints::{Decoder, Tracepoint};
use crate::cpus::{CpuSet, online};
use crate::evidence::names::Names;
use crate::evidence::track::{Event, EventKind};

/// Room for a second of a hundred thousand records.
const LARGEST: usize = 8 << 20;
/// Room of one thread's ring: the threads of a process share the memory that it may lock, and one thread has few
/// switches.
const LARGEST_OF_THREAD: usize = 2 << 20;
/// Room for a few hundred switches: sufficient for one competitor and a second.
const SMALLEST: usize = 16 << 10;
/// A ring with less room than this at the end may have refused a record without reporting the loss.
const FULL: usize = 512;

/// All rings of a recorder.
pub(in crate::evidence) struct Rings {
    rings: Vec<Ring>,
    /// Rings of the other CPUs, for the names of tasks: a task that got its name there may migrate, and end before
    /// its name is read.
    elsewhere: Vec<Ring>,
    decoder: Decoder,
}

struct Ring {
    cpu: Option<usize>,
    leader: Sampler,
    /// Events that stay open: they write to the leader's ring.
    followers: Vec<Counter>,
    bytes: usize,
    /// Bytes read since the ring was last empty.
    used: usize,
}

/// The records of one ring, timed in nanoseconds of `CLOCK_MONOTONIC_RAW`.
#[derive(Debug, Default)]
pub(in crate::evidence) struct Drained {
    pub cpu: Option<usize>,
    pub events: Vec<Event>,
    pub skipped: u64,
    /// Time since which there are no data, if the ring was full at the end.
    pub full_since: Option<u64>,
}

impl Rings {
    /// Opens a ring for each CPU with all switches on it.
    ///
    /// # Errors
    ///
    /// Returns the error of `perf_event_open(2)`: `EACCES` or `EPERM` without CAP_PERFMON, `ENODEV` for a CPU that is
    /// offline.
    pub fn of_cpus(cpus: &CpuSet) -> io::Result<Self> {
        if cpus.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the list of CPUs to trace is empty"));
        }
        allow_descriptors();
        let rings = cpus.iter().map(|cpu| {
            Ring::open(Some(cpu), LARGEST, |builder| {
                builder.any_pid().one_cpu(cpu).include_kernel().comm(true).task(true);
            })
        });
        let rings = rings.collect::<io::Result<_>>()?;
        Ok(Self { rings, elsewhere: elsewhere(cpus), decoder: Decoder::default() })
    }

    /// Opens one ring with the switches of one thread of this process.
    ///
    /// # Errors
    ///
    /// Returns the error of `perf_event_open(2)`: `EACCES` or `EPERM` if `perf_event_paranoid` is above 2 or a filter
    /// forbids it.
    pub fn of_thread(thread: u32) -> io::Result<Self> {
        let ring = Ring::open(None, LARGEST_OF_THREAD, |builder| {
            builder.observe_pid(thread as i32).any_cpu().exclude_kernel(true);
        })?;
        Ok(Self { rings: vec![ring], elsewhere: Vec::new(), decoder: Decoder::default() })
    }

    /// Adds tracepoints to every ring. Returns the names of those that the kernel refused, and the reasons.
    pub(super) fn follow(&mut self, tracepoints: &[Tracepoint]) -> Vec<(String, io::Error)> {
        let (mut opened, mut refused) = (Vec::new(), Vec::new());
        for tracepoint in tracepoints {
            match self.rings.iter_mut().try_for_each(|ring| ring.follow(tracepoint)) {
                Ok(()) => opened.push(tracepoint.clone()),
                Err(error) => refused.push((tracepoint.name.clone(), error)),
            }
        }
        self.decoder = Decoder::new(&opened);
        refused
    }

    /// Returns the size of the smallest ring in KiB.
    pub fn kib(&self) -> u64 {
        self.rings.iter().map(|ring| ring.bytes as u64 / 1024).min().unwrap_or(0)
    }

    /// Enables the leader only: followers that were enabled too wrote nothing from the second time on.
    pub fn enable(&mut self) -> io::Result<()> {
        self.elsewhere.iter_mut().chain(&mut self.rings).try_for_each(|ring| ring.leader.enable())
    }

    pub fn disable(&mut self) -> io::Result<()> {
        self.rings.iter_mut().chain(&mut self.elsewhere).try_for_each(|ring| ring.leader.disable())
    }

    /// Reads and empties all rings.
    pub fn drain(&mut self, names: &mut Names) -> Vec<Drained> {
        let Self { rings, elsewhere, decoder } = self;
        elsewhere.iter_mut().for_each(|ring| ring.drain_names(names));
        rings.iter_mut().map(|ring| ring.drain(decoder, names)).collect()
    }
}

/// Opens rings for the names that tasks get on the other CPUs, as many as the system grants; none on a large machine,
/// where each of many recorders would have one for each CPU.
fn elsewhere(cpus: &CpuSet) -> Vec<Ring> {
    const MOST: usize = 15;
    let others: Vec<usize> =
        online().map_or_else(|_| Vec::new(), |online| online.iter().filter(|&cpu| !cpus.contains(cpu)).collect());
    if others.len() > MOST {
        return Vec::new();
    }
    let open = |cpu: usize| {
        Ring::open(Some(cpu), SMALLEST, |builder| {
            builder.any_pid().one_cpu(cpu).include_kernel().context_switch(false).comm(true);
        })
    };
    others.into_iter().filter_map(|cpu| open(cpu).ok()).collect()
}

/// Raises the limit of file descriptors, up to the hard limit: about 25 descriptors per CPU soon exceed the usual
/// soft limit of 1,024.
fn allow_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    // If the limit cannot be raised, the kernel reports the event that it did not open.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

/// Returns the common part of all events of this recorder.
fn builder(event: impl perf_event::events::Event) -> Builder<'static> {
    let mut builder = Builder::new(event);
    builder.sample(SampleFlag::TID | SampleFlag::TIME).sample_id_all(true).clockid(Clock::MONOTONIC_RAW);
    // Wakes no reader: a wake-up would be an interrupt that the measurement causes.
    builder.read_format(ReadFormat::empty()).wakeup_watermark(u32::MAX as usize);
    builder
}

impl Ring {
    fn open(cpu: Option<usize>, largest: usize, target: impl Fn(&mut Builder<'static>)) -> io::Result<Self> {
        let mut bytes = largest;
        loop {
            let mut leader = builder(Software::DUMMY);
            leader.context_switch(true);
            target(&mut leader);
            // Without the right to lock more memory, a smaller ring may still be possible.
            match leader.build()?.sampled(bytes) {
                Ok(leader) => return Ok(Self { cpu, leader, followers: Vec::new(), bytes, used: 0 }),
                Err(error) if bytes <= SMALLEST => {
                    return Err(io::Error::new(error.kind(), format!("cannot map the trace buffer: {error}")));
                }
                Err(_) => bytes /= 2,
            }
        }
    }

    fn follow(&mut self, tracepoint: &Tracepoint) -> io::Result<()> {
        let mut follower = builder(TracepointEvent::with_id(tracepoint.id.into()));
        follower.sample(SampleFlag::TID | SampleFlag::TIME | SampleFlag::RAW).sample_period(1).enabled(true);
        follower.any_pid().include_kernel();
        if let Some(cpu) = self.cpu {
            follower.one_cpu(cpu);
        }
        let follower = follower.build_with_group(&mut self.leader)?;
        // SAFETY: both are open perf events, and the call takes no pointer.
        let redirected =
            unsafe { libc::ioctl(follower.as_raw_fd(), PERF_EVENT_IOC_SET_OUTPUT, self.leader.as_raw_fd()) };
        if redirected != 0 {
            return Err(io::Error::last_os_error());
        }
        self.followers.push(follower);
        Ok(())
    }

    /// Reads the ring and keeps only the names of tasks.
    fn drain_names(&mut self, names: &mut Names) {
        while let Some(bytes) = self.leader.next_record() {
            let body = bytes.to_contiguous();
            if let Some(Record { content: Content::Named { task, name }, .. }) = parse(bytes.ty(), bytes.misc(), &body)
            {
                names.name_task(task.tid, task.pid, name);
            }
        }
    }

    fn drain(&mut self, decoder: &mut Decoder, names: &mut Names) -> Drained {
        let mut drained = Drained { cpu: self.cpu, ..Drained::default() };
        self.used = 0;
        while let Some(bytes) = self.leader.next_record() {
            self.used += HEADER + bytes.len();
            let body = bytes.to_contiguous();
            match parse(bytes.ty(), bytes.misc(), &body) {
                Some(record) => drained.take(&record, decoder, names),
                None => drained.skipped += 1,
            }
        }
        if self.used + FULL > self.bytes {
            drained.full_since = drained.events.last().map(|event| event.at);
        }
        drained
    }
}

/// `_IO('$', 5)`, the same on all processors that number their calls in the common way.
const PERF_EVENT_IOC_SET_OUTPUT: libc::Ioctl = 0x2405;

/// Length of a record's header.
const HEADER: usize = 8;

impl Drained {
    fn take(&mut self, record: &Record, decoder: &mut Decoder, names: &mut Names) {
        let task = record.tid;
        let mut push = |kind| self.events.push(Event { at: record.time_ns, kind });
        match record.content {
            Content::Out { next, preempted } => {
                names.meet(task, record.pid);
                if let Some(next) = next {
                    names.meet(next.tid, next.pid);
                }
                push(EventKind::Left { task, next: next.map(|next| next.tid), preempted });
            }
            Content::In { previous } => {
                names.meet(task, record.pid);
                push(EventKind::Took { task, previous: previous.map(|previous| previous.tid) });
            }
            Content::Named { task, name } => names.name_task(task.tid, task.pid, name),
            Content::Family { task, parent } => names.descend(task.tid, task.pid, parent),
            Content::Lost { records } => push(EventKind::Lost { reports: records }),
            Content::Sample { raw } => match decoder.decode(raw, names) {
                Some(report) => {
                    let handler = report.handler;
                    push(if report.entry {
                        EventKind::Entered { task, handler }
                    } else {
                        EventKind::Exited { task, handler }
                    });
                    if report.lone {
                        push(EventKind::Exited { task, handler });
                    }
                }
                None => self.skipped += 1,
            },
        }
    }
}
