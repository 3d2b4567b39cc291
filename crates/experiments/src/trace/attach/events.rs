//! The kernel's rings, one for each CPU: all switches and wakes on it, and all futex calls, of whatever process. What
//! is not the watched one's is left aside when it is read.

use super::points::{Point, Points};
use super::sample::{Event, REGISTERS, What, parse};
use instruments::cpus::CpuSet;
use perf_event::events::{Software, Tracepoint};
use perf_event::{Builder, Clock, Counter, ReadFormat, SampleFlag, Sampler};
use std::io;
use std::os::fd::AsRawFd;

/// The record, and what came out of order.
pub struct Rings {
    points: Points,
    target: u32,
    rings: Vec<(usize, Sampler)>,
    /// Kept open: what they report goes to the rings.
    _followers: Vec<Counter>,
    /// Read, but perhaps before what came first: another CPU's ring was read later.
    early: Vec<Event>,
    /// Records that found no room.
    pub lost: u64,
}

/// Room for a few thousand calls with their stacks, between two readings.
const LARGEST: usize = 8 << 20;
const SMALLEST: usize = 128 << 10;
/// Records that are read of a ring at a time: as many as it can hold.
const MOST_AT_ONCE: usize = LARGEST / 32;
/// Bytes of each stack.
const STACK: u32 = 4_096;

impl Rings {
    /// Opens the record.
    ///
    /// # Errors
    /// The kernel refuses it, or lacks the tracepoints.
    pub fn open(cpus: &CpuSet, target: u32) -> io::Result<Self> {
        let points = Points::find()?;
        let (mut rings, mut followers) = (Vec::new(), Vec::new());
        for cpu in cpus.iter() {
            let mut leader = leader(cpu)?;
            for (id, point) in points.iter() {
                followers.push(follower(&mut leader, cpu, *id, *point)?);
            }
            leader.enable()?;
            rings.push((cpu, leader));
        }
        Ok(Self { points, target, rings, _followers: followers, early: Vec::new(), lost: 0 })
    }

    /// What happened since the last time, in its order, up to `now` on the kernel's clock.
    pub fn drain(&mut self, now: u64) -> Vec<Event> {
        let mut events = std::mem::take(&mut self.early);
        for (cpu, ring) in &mut self.rings {
            // A process that writes as fast as this reads must not keep contend here.
            for _ in 0..MOST_AT_ONCE {
                let Some(record) = ring.next_record() else { break };
                let body = record.to_contiguous();
                match parse(&self.points, self.target, *cpu, record.ty(), record.misc(), &body) {
                    Some(Event { what: What::Lost { records }, .. }) => self.lost += records,
                    other => events.extend(other),
                }
            }
        }
        events.sort_by_key(|event| event.raw_ns);
        let upto = events.partition_point(|event| event.raw_ns <= now);
        self.early = events.split_off(upto);
        events
    }
}

fn builder(event: impl perf_event::events::Event, cpu: usize) -> Builder<'static> {
    let mut builder = Builder::new(event);
    builder.any_pid().one_cpu(cpu).include_kernel().sample(SampleFlag::TID | SampleFlag::TIME).sample_id_all(true);
    builder.clockid(Clock::MONOTONIC_RAW).read_format(ReadFormat::empty()).wakeup_watermark(u32::MAX as usize);
    builder
}

fn leader(cpu: usize) -> io::Result<Sampler> {
    let mut bytes = LARGEST;
    loop {
        let mut leader = builder(Software::DUMMY, cpu);
        match leader.context_switch(true).build()?.sampled(bytes) {
            Ok(ring) => return Ok(ring),
            Err(error) if bytes <= SMALLEST => return Err(error),
            Err(_) => bytes /= 2,
        }
    }
}

fn follower(leader: &mut Sampler, cpu: usize, id: u16, point: Point) -> io::Result<Counter> {
    let mut follower = builder(Tracepoint::with_id(id.into()), cpu);
    let mut flags = SampleFlag::TID | SampleFlag::TIME | SampleFlag::RAW;
    if let Point::Enter { .. } = point {
        flags |= SampleFlag::REGS_USER | SampleFlag::STACK_USER;
        follower.sample_regs_user(REGISTERS).sample_stack_user(STACK);
    }
    follower.sample(flags).sample_period(1).enabled(true);
    let follower = follower.build_with_group(&mut *leader)?;
    // SAFETY: both are open perf events of one CPU, and the call takes no pointer.
    let redirected =
        unsafe { libc::ioctl(follower.as_raw_fd(), PERF_EVENT_IOC_SET_OUTPUT, leader.as_counter().as_raw_fd()) };
    if redirected == 0 { Ok(follower) } else { Err(io::Error::last_os_error()) }
}

/// `_IO('$', 5)`, the same on all processors that number their calls in the common way.
const PERF_EVENT_IOC_SET_OUTPUT: libc::Ioctl = 0x2405;
