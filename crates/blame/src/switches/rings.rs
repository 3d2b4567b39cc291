//! The kernel's rings, one for each CPU, and the events that write into them.

use crate::memory::{u32_at, u64_at};
use crate::perf_rings::{self, redirect};
use instruments::cpus::CpuSet;
use perf_event::events::Software;
use perf_event::{Builder, Clock, Counter, ReadFormat, SampleFlag, Sampler};
use std::io;

/// The rings, which stay, and the events, which come and go.
pub struct Rings {
    rings: Vec<(usize, Sampler)>,
    /// Event counters, by thread.
    events: Vec<(u32, Counter)>,
    most_events: usize,
    /// Event counters of all switches on each CPU, if they are wanted.
    competitors: Vec<Counter>,
}

/// A thread left a CPU or came to one.
pub struct Change {
    pub raw_ns: u64,
    pub cpu: usize,
    pub process: u32,
    pub thread: u32,
    pub is_out: bool,
    /// It would have gone on.
    pub is_preempted: bool,
}

/// A thread left a CPU, and another came in its place.
pub struct Succession {
    pub raw_ns: u64,
    pub thread: u32,
    /// The process and the thread that came.
    pub next: (u32, u32),
}

/// Records read from the rings.
#[derive(Default)]
pub struct Drained {
    pub changes: Vec<Change>,
    pub successions: Vec<Succession>,
    /// The number of changes that the CPU wrote that wrote most.
    pub most: usize,
    /// Records that found no room.
    pub lost: u64,
}

/// The most memory that any user may lock, and the least that is of use.
const LARGEST: usize = 512 << 10;
const SMALLEST: usize = 32 << 10;
/// Number of records read from a ring at a time: as many as it can hold.
const MOST_AT_ONCE: usize = LARGEST / 24;
/// Threads times CPUs: each has a descriptor while the record is open.
const MOST_EVENTS: usize = 4_096;

const LOST: u32 = 2;
const SWITCH: u32 = 14;
const SWITCH_CPU_WIDE: u32 = 15;
const SWITCH_OUT: u16 = 1 << 13;
const SWITCH_OUT_PREEMPT: u16 = 1 << 14;

impl Rings {
    /// Opens one ring for each of these CPUs.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn open(cpus: &CpuSet) -> io::Result<Self> {
        let rings = cpus.iter().map(|cpu| Ok((cpu, ring(cpu)?))).collect::<io::Result<_>>()?;
        Ok(Self { rings, events: Vec::new(), most_events: most_events(), competitors: Vec::new() })
    }

    /// Also records, of each switch on the CPUs, the thread that comes.
    ///
    /// # Errors
    /// The kernel refuses it: it needs root or CAP_PERFMON.
    pub fn record_competitors(&mut self) -> io::Result<()> {
        for (cpu, ring) in &self.rings {
            let mut builder = builder(*cpu);
            let event = builder.context_switch(true).any_pid().enabled(true).build()?;
            redirect(&event, ring)?;
            self.competitors.push(event);
        }
        Ok(())
    }

    /// Records a thread, and those that it starts.
    ///
    /// # Errors
    /// The kernel refuses it, or there are too many.
    pub fn follow(&mut self, thread: u32) -> io::Result<()> {
        if self.events.len() + self.rings.len() > self.most_events {
            return Err(io::Error::other("too many threads"));
        }
        match self.add(thread) {
            // The thread has ended in the meantime.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            Err(error) => {
                self.events.retain(|(other, _)| *other != thread);
                Err(error)
            }
            Ok(()) => Ok(()),
        }
    }

    /// Returns whether more than half of the room is taken by such threads.
    pub fn is_half_taken_by(&self, is_such: impl Fn(u32) -> bool) -> bool {
        2 * self.events.iter().filter(|(thread, _)| is_such(*thread)).count() > self.most_events
    }

    /// Records nothing until [`Self::follow`].
    pub fn rest(&mut self) {
        self.events.clear();
    }

    pub fn cpus(&self) -> usize {
        self.rings.len()
    }

    fn add(&mut self, thread: u32) -> io::Result<()> {
        for (cpu, ring) in &self.rings {
            let mut builder = builder(*cpu);
            builder.context_switch(true).observe_pid(thread as i32).inherit(true).enabled(true);
            let event = builder.build()?;
            redirect(&event, ring)?;
            self.events.push((thread, event));
        }
        Ok(())
    }

    /// Returns the records written since the last time.
    pub fn drain(&mut self) -> Drained {
        let mut drained = Drained::default();
        for (cpu, ring) in &mut self.rings {
            let before = drained.changes.len();
            // A thread that writes as fast as this loop reads must not keep it here.
            for _ in 0..MOST_AT_ONCE {
                let Some(record) = ring.next_record() else { break };
                let (kind, misc, body) = (record.ty(), record.misc(), record.to_contiguous());
                let word = |at: usize| u32_at(&body, at);
                let long = |at: usize| u64_at(&body, at);
                // A record ends with its process, its thread and its time.
                let Some(end) = body.len().checked_sub(16) else { continue };
                let (Some(process), Some(thread)) = (word(end), word(end + 4)) else { continue };
                let Some(raw_ns) = long(end + 8) else { continue };
                let (is_out, is_preempted) = (misc & SWITCH_OUT != 0, misc & SWITCH_OUT_PREEMPT != 0);
                match kind {
                    SWITCH => {
                        drained.changes.push(Change { raw_ns, cpu: *cpu, process, thread, is_out, is_preempted });
                    }
                    SWITCH_CPU_WIDE if is_preempted => {
                        let next = word(0).zip(word(4));
                        drained.successions.extend(next.map(|next| Succession { raw_ns, thread, next }));
                    }
                    LOST => drained.lost += long(8).unwrap_or(0),
                    _ => {}
                }
            }
            drained.most = drained.most.max(drained.changes.len() - before);
        }
        drained
    }
}

/// Returns the most events to open: half of the descriptors that this process may have are for all else.
fn most_events() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is to a whole limit.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    MOST_EVENTS.min(limit.rlim_cur as usize / 2)
}

fn builder(cpu: usize) -> Builder<'static> {
    let mut builder = Builder::new(Software::DUMMY);
    builder.one_cpu(cpu).exclude_kernel(true).sample(SampleFlag::TID | SampleFlag::TIME).sample_id_all(true);
    builder.clockid(Clock::MONOTONIC_RAW).read_format(ReadFormat::empty()).wakeup_watermark(u32::MAX as usize);
    builder
}

/// Returns a ring into which nothing is written but the records of events that are redirected to it.
fn ring(cpu: usize) -> io::Result<Sampler> {
    let holder = || {
        let mut holder = builder(cpu);
        holder.observe_self().enabled(false);
        holder
    };
    perf_rings::ring(SMALLEST..=LARGEST, holder)
}
