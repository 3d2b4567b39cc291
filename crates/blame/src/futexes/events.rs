//! The kernel's events, from one ring for each CPU: all switches and wake-ups on it, and all futex calls, of any
//! process. The events of other processes are dropped when they are read.
//!
//! The layout of an event is that of `perf_event_open(2)`: samples have `TID | TIME | RAW`, and where a call begins
//! `REGS_USER | STACK_USER` as well; all other events end with `u32 pid, tid; u64 time`.

use crate::memory::{u16_at, u32_at, u64_at};
use crate::perf_rings::{redirect, ring, share};
use crate::stacks::Stack;
use instruments::cpus::CpuSet;
use instruments::evidence::TracepointFormat;
use perf_event::events::{Software, Tracepoint};
use perf_event::{Builder, Clock, Counter, ReadFormat, SampleFlag, Sampler};
use std::collections::HashSet;
use std::io;

/// The record, and what came out of order.
pub struct Rings {
    points: Vec<(u16, Point)>,
    targets: HashSet<u32>,
    rings: Vec<Ring>,
    /// Events for the starts of processes, which report to the rings in pauses as well; none if they are of no use.
    forks: Vec<Counter>,
    /// Events that report to the rings; none during a pause.
    followers: Vec<Counter>,
    /// Read, but later than what another CPU's ring may still have.
    early: Vec<Event>,
    /// Records that found no room.
    pub lost: u64,
    /// Futex calls of the processes that are followed.
    pub calls: u64,
    /// The time that recording took from the threads of the machine so far, in ns, by rough estimates of a record's cost.
    pub cost_ns: u64,
}

/// The cost of a call's record with its stack, and of one without.
const CALL_NS: u64 = 3_000;
const RECORD_NS: u64 = 700;

/// Room for a few thousand calls with their stacks, between two readings.
const LARGEST: usize = 8 << 20;
const SMALLEST: usize = 128 << 10;
/// Bytes that are read of a ring at a time: after a moment without a CPU, contend would else copy all that the rings hold.
const PORTION: usize = 256 << 10;
/// Bytes of each stack.
const STACK: u32 = 4_096;

/// The ring of one CPU.
struct Ring {
    cpu: usize,
    ring: Sampler,
    /// Time up to which all its events are read.
    read_to: u64,
}

impl Rings {
    /// Opens the record. The events recorded before [`Self::follow`] are read after it.
    pub fn open(cpus: &CpuSet) -> io::Result<Self> {
        let points = find_points()?;
        let largest = share(LARGEST, cpus.iter().count());
        let open = |cpu| Ok(Ring { cpu, ring: leader(cpu, largest)?, read_to: 0 });
        let rings = cpus.iter().map(open).collect::<io::Result<_>>()?;
        let (targets, forks, followers, early) = (HashSet::new(), Vec::new(), Vec::new(), Vec::new());
        let mut rings = Self { points, targets, rings, forks, followers, early, lost: 0, calls: 0, cost_ns: 0 };
        rings.resume()?;
        Ok(rings)
    }

    /// Ends the record until [`Self::resume`]. Earlier events remain to be read.
    ///
    /// The events are closed: as long as one of system calls or of switches is open, though disabled, each system call and
    /// each switch of the machine takes longer.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn pause(&mut self) -> io::Result<()> {
        self.rings.iter_mut().try_for_each(|ring| ring.ring.disable())?;
        self.followers.clear();
        Ok(())
    }

    /// Continues the record.
    ///
    /// # Errors
    /// The kernel refuses it, for example for want of descriptors; the record is paused then.
    pub fn resume(&mut self) -> io::Result<()> {
        let mut followers = Vec::new();
        for Ring { cpu, ring: leader, .. } in &mut self.rings {
            followers.push(switches(leader, *cpu)?);
            for (id, point) in &self.points {
                followers.push(follower(leader, *cpu, *id, *point)?);
            }
        }
        self.followers = followers;
        self.rings.iter_mut().try_for_each(|ring| ring.ring.enable())
    }

    /// Sets the processes whose calls are of use.
    pub fn follow(&mut self, targets: impl Iterator<Item = u32>) {
        self.targets = targets.collect();
    }

    /// Makes the processes that a target starts from now on targets, too.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn follow_forks(&mut self) -> io::Result<()> {
        self.forks =
            self.rings.iter_mut().map(|Ring { cpu, ring, .. }| forks(ring, *cpu)).collect::<io::Result<_>>()?;
        Ok(())
    }

    /// Drops the events up to `now` on the kernel's clock, but for the starts of processes.
    pub fn skip(&mut self, now: u64) {
        // It ends: the events until `now` are in rings of a fixed size.
        let skipped = std::iter::from_fn(|| self.next(now)).flatten();
        let forks: Vec<Event> = skipped.filter(|event| matches!(event.what, What::Fork { .. })).collect();
        self.early.splice(0..0, forks);
    }

    /// Returns the next events up to `now` on the kernel's clock, in order; `None` after the last.
    ///
    /// They are read in portions. The events of a ring wait until the other rings are read as far.
    pub fn next(&mut self, now: u64) -> Option<Vec<Event>> {
        let upto = self.rings.iter().map(|ring| ring.read_to).min().filter(|upto| *upto < now)?;
        for place in 0..self.rings.len() {
            if self.rings[place].read_to == upto {
                self.read(place, now);
            }
        }
        let upto = self.rings.iter().map(|ring| ring.read_to).min()?.min(now);
        self.early.sort_by_key(|event| event.raw_ns);
        let later = self.early.split_off(self.early.partition_point(|event| event.raw_ns <= upto));
        Some(std::mem::replace(&mut self.early, later))
    }

    /// Reads a portion of a ring.
    fn read(&mut self, place: usize, now: u64) {
        let Ring { cpu, ring, read_to } = &mut self.rings[place];
        let mut bytes = 0;
        while bytes < PORTION {
            let Some(record) = ring.next_record() else {
                *read_to = now.max(*read_to);
                return;
            };
            let body = record.to_contiguous();
            bytes += body.len();
            let has_stack = body.len() > STACK as usize;
            self.cost_ns += if has_stack { CALL_NS } else { RECORD_NS };
            // Also those of other processes show how far it is read.
            *read_to = origin(record.ty(), &body).map_or(0, |(_, _, raw_ns)| raw_ns).max(*read_to);
            let Some(event) = parse(&self.points, &self.targets, *cpu, record.ty(), record.misc(), &body) else {
                continue;
            };
            match event.what {
                What::Lost { records } => self.lost += records,
                What::Fork { child } => {
                    self.targets.insert(child);
                    self.early.push(event);
                }
                _ => {
                    self.calls += u64::from(matches!(event.what, What::Call { .. }));
                    self.early.push(event);
                }
            }
        }
    }
}

fn builder(event: impl perf_event::events::Event, cpu: usize) -> Builder<'static> {
    let mut builder = Builder::new(event);
    builder.any_pid().one_cpu(cpu).include_kernel().sample(SampleFlag::TID | SampleFlag::TIME).sample_id_all(true);
    builder.clockid(Clock::MONOTONIC_RAW).read_format(ReadFormat::empty()).wakeup_watermark(u32::MAX as usize);
    builder
}

/// Opens a ring, into which nothing is written yet.
fn leader(cpu: usize, largest: usize) -> io::Result<Sampler> {
    ring(SMALLEST.min(largest)..=largest, || builder(Software::DUMMY, cpu))
}

fn switches(leader: &mut Sampler, cpu: usize) -> io::Result<Counter> {
    let mut switches = builder(Software::DUMMY, cpu);
    switches.context_switch(true).enabled(true);
    let switches = switches.build_with_group(&mut *leader)?;
    redirect(&switches, leader)?;
    Ok(switches)
}

/// Opens the event for the starts of processes. It is of no group, so that it goes on in pauses.
fn forks(ring: &Sampler, cpu: usize) -> io::Result<Counter> {
    let mut forks = builder(Software::DUMMY, cpu);
    let forks = forks.task(true).enabled(true).build()?;
    redirect(&forks, ring)?;
    Ok(forks)
}

fn follower(leader: &mut Sampler, cpu: usize, id: u16, point: Point) -> io::Result<Counter> {
    let mut follower = builder(Tracepoint::with_id(id.into()), cpu);
    let mut flags = SampleFlag::TID | SampleFlag::TIME | SampleFlag::RAW;
    if let Point::Enter { .. } = point {
        flags |= SampleFlag::REGS_USER | SampleFlag::STACK_USER;
        follower.sample_regs_user(Stack::REGISTERS).sample_stack_user(STACK);
    }
    follower.sample(flags).sample_period(1).enabled(true);
    let follower = follower.build_with_group(&mut *leader)?;
    redirect(&follower, leader)?;
    Ok(follower)
}

/// Something that happened, and when, on `CLOCK_MONOTONIC_RAW`.
#[derive(Clone, Debug)]
pub struct Event {
    pub raw_ns: u64,
    pub process: u32,
    pub thread: u32,
    pub cpu: usize,
    pub what: What,
}

#[derive(Clone, Debug)]
pub enum What {
    /// A futex call begins.
    Call { word: u64, operation: u32, value: u32, may_time_out: bool, stack: Stack },
    /// It ends with this.
    Return { result: i64 },
    /// The thread wakes another.
    Wakes { thread: u32 },
    /// It leaves the CPU.
    Out { is_preempted: bool },
    /// It comes to the CPU.
    In,
    /// A target starts a process.
    Fork { child: u32 },
    /// This number of events did not fit into the ring.
    Lost { records: u64 },
}

const LOST: u32 = 2;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
const SWITCH_CPU_WIDE: u32 = 15;
const SWITCH_OUT: u16 = 1 << 13;
const SWITCH_OUT_PREEMPT: u16 = 1 << 14;

/// Length of the data that ends every record but a sample.
const TRAILER: usize = 16;

/// Parses the data after a record's header. Calls of other processes than `targets` are dropped.
fn parse(
    points: &[(u16, Point)],
    targets: &HashSet<u32>,
    cpu: usize,
    kind: u32,
    misc: u16,
    body: &[u8],
) -> Option<Event> {
    let (process, thread, raw_ns) = origin(kind, body)?;
    let what = match kind {
        SAMPLE => sample(points, targets.contains(&process), body.get(TRAILER..)?)?,
        SWITCH_CPU_WIDE if misc & SWITCH_OUT == 0 => What::In,
        SWITCH_CPU_WIDE => What::Out { is_preempted: misc & SWITCH_OUT_PREEMPT != 0 },
        FORK => {
            let (child, parent) = (u32_at(body, 0)?, u32_at(body, 4)?);
            // A thread is started by its process itself.
            (child != parent && targets.contains(&parent)).then_some(What::Fork { child })?
        }
        LOST => What::Lost { records: u64_at(body, 8)? },
        _ => return None,
    };
    Some(Event { raw_ns, process, thread, cpu, what })
}

/// Returns the process, the thread and the time of a record.
fn origin(kind: u32, body: &[u8]) -> Option<(u32, u32, u64)> {
    let at = if kind == SAMPLE { 0 } else { body.len().checked_sub(TRAILER)? };
    Some((u32_at(body, at)?, u32_at(body, at + 4)?, u64_at(body, at + 8)?))
}

fn sample(points: &[(u16, Point)], is_ours: bool, body: &[u8]) -> Option<What> {
    let length = u32_at(body, 0)? as usize;
    let raw = body.get(4..)?.get(..length)?;
    let id = u16_at(raw, 0)?;
    match points.iter().find(|(known, _)| *known == id)?.1 {
        Point::Waking { thread_at } => Some(What::Wakes { thread: u32_at(raw, thread_at)? }),
        Point::Exit { result_at } => is_ours.then_some(What::Return { result: u64_at(raw, result_at)? as i64 }),
        Point::Enter { word_at, operation_at, value_at, time_at } => {
            let stack = if is_ours { Stack::of_sample(body.get(4 + length..)?)? } else { return None };
            let (word, operation, value) = (u64_at(raw, word_at)?, u32_at(raw, operation_at)?, u32_at(raw, value_at)?);
            Some(What::Call { word, operation, value, may_time_out: u64_at(raw, time_at)? != 0, stack })
        }
    }
}

/// The event that a tracepoint reports, and the offsets of its fields.
#[derive(Clone, Copy, Debug)]
enum Point {
    /// A futex call begins.
    Enter { word_at: usize, operation_at: usize, value_at: usize, time_at: usize },
    /// It ends.
    Exit { result_at: usize },
    /// A thread wakes another.
    Waking { thread_at: usize },
}

/// Finds the tracepoints, with the kernel's numbers.
fn find_points() -> io::Result<Vec<(u16, Point)>> {
    let enter = TracepointFormat::of("syscalls/sys_enter_futex")?;
    let exit = TracepointFormat::of("syscalls/sys_exit_futex")?;
    let waking = TracepointFormat::of("sched/sched_waking")?;
    Ok(vec![
        (
            enter.id,
            Point::Enter {
                word_at: enter.offset_of("uaddr")?,
                operation_at: enter.offset_of("op")?,
                value_at: enter.offset_of("val")?,
                time_at: enter.offset_of("utime")?,
            },
        ),
        (exit.id, Point::Exit { result_at: exit.offset_of("ret")? }),
        (waking.id, Point::Waking { thread_at: waking.offset_of("pid")? }),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn call_has_its_stack_and_truncated_events_are_dropped() {
        let points = [(7, Point::Enter { word_at: 16, operation_at: 24, value_at: 32, time_at: 40 })];
        // pid 3, tid 4, at 9; 52 bytes of data; then what pads to 8.
        let mut body = words(&[4 << 32 | 3, 9]);
        body.extend(52_u32.to_ne_bytes());
        body.extend(words(&[7, 0, 0xabc, 128, 5, 77]));
        body.extend([0; 4]);
        body.extend(words(&[2, 0xf0, 0x50, 0x1c, 16, 5, 6, 8]));
        let (own, other) = (HashSet::from([3]), HashSet::from([99]));
        let event = parse(&points, &own, 1, SAMPLE, 0, &body).unwrap();
        let What::Call { word, operation, value, may_time_out, stack } = event.what else { panic!("{event:?}") };
        assert_eq!((event.raw_ns, event.thread, word, operation, value, may_time_out), (9, 4, 0xabc, 128, 5, true));
        assert_eq!((stack.instruction, stack.pointer, stack.frame, stack.bytes.len()), (0x1c, 0x50, 0xf0, 8));
        assert!(parse(&points, &other, 1, SAMPLE, 0, &body).is_none(), "another process's");
        for length in 0..body.len() {
            let _ = parse(&points, &own, 1, SAMPLE, 0, &body[..length]);
        }
    }

    #[test]
    fn switches_and_losses() {
        let (points, own) = ([], HashSet::from([3]));
        let body = words(&[0, 4 << 32 | 3, 9]);
        let what = |misc| parse(&points, &own, 0, SWITCH_CPU_WIDE, misc, &body).unwrap().what;
        assert!(matches!(what(0), What::In));
        assert!(matches!(what(SWITCH_OUT), What::Out { is_preempted: false }));
        assert!(matches!(what(SWITCH_OUT | SWITCH_OUT_PREEMPT), What::Out { is_preempted: true }));
        let lost = parse(&points, &own, 0, LOST, 0, &words(&[1, 5, 4 << 32 | 3, 9])).unwrap();
        assert!(matches!(lost.what, What::Lost { records: 5 }));
    }
}

#[cfg(test)]
mod measured {
    use super::*;
    use std::sync::atomic::AtomicU32;

    /// A program makes calls on one CPU, and then on another, while nothing reads the rings.
    #[test]
    #[ignore = "measured: needs CAP_PERFMON and tracefs"]
    fn calls_of_a_backlog_are_read_in_order_and_in_portions() {
        const CALLS: usize = 500;
        let cpus = instruments::cpus::allowed().unwrap();
        let Ok(mut rings) = Rings::open(&cpus) else {
            println!("skipped: needs CAP_PERFMON and the kernel's list of tracepoints");
            return;
        };
        rings.follow([std::process::id()].into_iter());
        let word = AtomicU32::new(0);
        let call = || {
            // SAFETY: the kernel looks for threads that wait for this word, and there are none.
            (0..CALLS).for_each(|_| _ = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1) });
        };
        let used: Vec<usize> = cpus.iter().take(2).collect();
        used.iter().for_each(|cpu| instruments::team::on_cpu(*cpu, call).unwrap());
        rings.pause().unwrap();
        let now = instruments::clock::monotonic_raw_ns();
        let portions: Vec<Vec<Event>> = std::iter::from_fn(|| rings.next(now)).collect();
        let is_call = |event: &&Event| matches!(event.what, What::Call { word: called, .. } if called == word.as_ptr().addr() as u64);
        let calls = portions.iter().flatten().filter(is_call).count();
        assert!(calls == used.len() * CALLS || rings.lost > 0, "{calls} calls, {} lost", rings.lost);
        let most = rings.rings.len() * (PORTION / STACK as usize + 1);
        let large = portions.iter().map(|portion| portion.iter().filter(is_call).count()).max().unwrap();
        assert!(large <= most, "{large} calls in a portion");
        assert!(portions.iter().flatten().is_sorted_by_key(|event| event.raw_ns));
    }

    #[test]
    #[ignore = "measured: needs CAP_PERFMON and tracefs"]
    fn processes_that_start_in_a_pause_are_followed() {
        let Ok(mut rings) = Rings::open(&instruments::cpus::allowed().unwrap()) else {
            println!("skipped: needs CAP_PERFMON and the kernel's list of tracepoints");
            return;
        };
        rings.follow_forks().unwrap();
        rings.follow([std::process::id()].into_iter());
        rings.pause().unwrap();
        let child = std::process::Command::new("true").spawn().unwrap().wait_with_output();
        assert!(child.unwrap().status.success());
        // As at the begin of a window.
        rings.skip(instruments::clock::monotonic_raw_ns());
        let now = instruments::clock::monotonic_raw_ns();
        let events: Vec<Event> = std::iter::from_fn(|| rings.next(now)).flatten().collect();
        let is_own = |event: &&Event| event.process == std::process::id();
        assert!(events.iter().filter(is_own).any(|event| matches!(event.what, What::Fork { .. })), "{events:?}");
    }
}
