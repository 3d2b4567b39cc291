//! The use of each CPU during a period: by task and handler, and as one thread saw it.

use super::names::{Cause, Kind, Names};
use super::quality::{EvidenceQuality, Source};
use super::track::{Event, Segment, SwitchOut, Track, Who};
use crate::clock::Clock;
use crate::gaps::{Gap, Watch};

/// All known events of a period.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// Clock that converts its ticks.
    pub clock: Clock,
    /// Start, in ticks.
    pub start: u64,
    /// End, in ticks.
    pub end: u64,
    /// Thread that opened the recorder.
    pub thread: u32,
    /// Whether that thread had real-time priority at the end.
    pub realtime: bool,
    /// Tracks: one for each CPU; one without a CPU for [`Source::ThreadRecord`]; none for the sources without events.
    pub tracks: Vec<Track>,
    /// Names of tasks and handlers.
    pub names: Names,
    /// Quality of the events.
    pub quality: EvidenceQuality,
}

impl Timeline {
    /// Returns whether it contains any interrupt or softirq.
    pub fn has_handlers(&self) -> bool {
        self.tracks.iter().any(|track| track.segments.iter().any(|segment| segment.handler.is_some()))
    }

    /// Returns a timeline of events whose times are in ticks already. They may be in any order, and on several CPUs.
    pub fn of_events(
        clock: Clock,
        source: Source,
        span: std::ops::Range<u64>,
        thread: u32,
        names: Names,
        events: &[(Option<usize>, Vec<Event>)],
    ) -> Self {
        let tracks: Vec<Track> =
            events.iter().map(|(cpu, events)| Track::of(*cpu, span.start, span.end, events)).collect();
        let count = events.iter().map(|(_, events)| events.len() as u64).sum();
        let quality = EvidenceQuality::of_tracks(clock, source, span.clone(), count, &tracks);
        Self { clock, start: span.start, end: span.end, thread, realtime: false, tracks, names, quality }
    }

    /// Returns the largest error of an event's time, in ticks.
    pub fn slack(&self) -> u64 {
        self.clock.to_ticks(self.quality.clock_residual_ns + self.quality.clock_uncertainty_ns) + 1
    }
}

// A period from the view of one thread: the use of the CPU on which it ran, or for which it waited.

/// A part of a thread's timeline in which nothing changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub start: u64,
    pub end: u64,
    pub owner: Owner,
}

/// The owner of the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// The thread itself.
    Own,
    /// A handler, by number.
    Handler(u32),
    /// Another thread.
    Task(u32),
    /// A cause without a name.
    Unnamed(Kind),
    /// Unknown.
    Unknown,
}

impl Owner {
    /// Returns whether it took the CPU from the thread.
    pub fn takes(self) -> bool {
        !matches!(self, Self::Own | Self::Unknown)
    }

    pub fn cause(self, timeline: &Timeline) -> Cause {
        match self {
            Self::Own | Self::Unknown => Cause::unnamed(Kind::Unexplained),
            Self::Handler(handler) => timeline.names.handler_cause(handler),
            Self::Task(task) => timeline.names.task_cause(task),
            Self::Unnamed(kind) => Cause::unnamed(kind),
        }
    }
}

/// The use of one thread's CPU, from the start of a period to its end.
#[derive(Debug, Default)]
pub(super) struct ThreadTimeline {
    /// Pieces in order, without holes.
    pub pieces: Vec<Piece>,
    /// Times at which a handler or a switch took the CPU from the thread while it ran.
    pub takings: Vec<u64>,
}

impl ThreadTimeline {
    pub fn of(timeline: &Timeline, task: u32) -> Self {
        let mut thread_timeline = Self::default();
        for residency in residencies(timeline, task) {
            thread_timeline.extend(timeline, task, &residency);
        }
        thread_timeline
    }

    /// Returns the pieces that overlap with `start..end`.
    pub fn between(&self, start: u64, end: u64) -> &[Piece] {
        let first = self.pieces.partition_point(|piece| piece.end <= start && piece.start < start);
        let last = self.pieces.partition_point(|piece| piece.start < end);
        &self.pieces[first..last.max(first)]
    }

    fn extend(&mut self, timeline: &Timeline, task: u32, residency: &Residency) {
        let segments = &residency.track.segments;
        let first =
            segments.partition_point(|segment| segment.end <= residency.start && segment.start < residency.start);
        let mut off = None;
        for segment in segments[first..].iter().take_while(|segment| segment.start < residency.end) {
            let (start, end) = (segment.start.max(residency.start), segment.end.min(residency.end));
            let here = segment.who == Who::Task(task);
            if here && segment.begins {
                self.takings.push(start);
            }
            if here && segment.switch_out.is_some() {
                self.takings.push(end);
            }
            off = if here { segment.switch_out } else { off };
            let owner = owner(timeline, segment, here, off);
            if end > start || segment.begins {
                self.pieces.push(Piece { start, end, owner });
            }
        }
    }
}

/// Returns the meaning of a segment for a thread that is `here`, or was descheduled in the way `off`.
fn owner(timeline: &Timeline, segment: &Segment, here: bool, off: Option<SwitchOut>) -> Owner {
    match (segment.who, segment.handler) {
        (Who::Unknown, _) => Owner::Unknown,
        (_, Some(handler)) if here => Owner::Handler(handler),
        _ if here => Owner::Own,
        _ if off == Some(SwitchOut::Blocked) => Owner::Unnamed(Kind::Blocked),
        (_, Some(handler)) => Owner::Handler(handler),
        // A real-time thread that wants to run precedes all others, unless it is not permitted to run.
        (Who::Task(other), None) if timeline.realtime && !timeline.names.is_realtime(other) => {
            Owner::Unnamed(Kind::RealtimeThrottling)
        }
        (Who::Task(other), None) => Owner::Task(other),
        (Who::Other, None) => Owner::Unnamed(Kind::SwitchedOut),
        // The thread wants to run, and the CPU is idle. If a quota is used up and other threads run in the meantime,
        // those are named: no event reports when the quota was refilled.
        (Who::Idle, None) if timeline.realtime => Owner::Unnamed(Kind::RealtimeThrottling),
        (Who::Idle, None) if timeline.quality.account.throttled_ns > Some(0) => Owner::Unnamed(Kind::CgroupThrottling),
        (Who::Idle, None) => Owner::Unknown,
    }
}

/// A time in which the thread belongs to one CPU, whose track contains the owners.
struct Residency<'a> {
    start: u64,
    end: u64,
    track: &'a Track,
}

/// Returns the residencies: the thread belongs to the CPU on which it runs, and otherwise to the one on which it ran
/// last.
fn residencies(timeline: &Timeline, task: u32) -> Vec<Residency<'_>> {
    let mut seen: Vec<(u64, &Track)> = Vec::new();
    for track in &timeline.tracks {
        let own = track.segments.iter().filter(|segment| segment.who == Who::Task(task));
        seen.extend(own.map(|segment| (segment.start, track)));
    }
    seen.sort_by_key(|&(start, _)| start);
    seen.dedup_by(|later, earlier| std::ptr::eq(later.1, earlier.1));
    let starts = seen.iter().enumerate().map(|(place, &(start, _))| if place == 0 { timeline.start } else { start });
    let ends = seen.iter().skip(1).map(|&(start, _)| start).chain([timeline.end]);
    let times = starts.zip(ends);
    times.zip(&seen).map(|((start, end), &(_, track))| Residency { start, end, track }).collect()
}

// The tasks and handlers that had a CPU around one point in time, in order: the event timeline.

/// A task or handler that had the CPU for some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// Start, in ticks.
    pub start: u64,
    /// End, in ticks.
    pub end: u64,
    /// Owner: a task, a handler, the recorded thread itself ([`Kind::Own`]), the idle task ([`Kind::Idle`]), or
    /// unknown.
    pub who: Cause,
}

/// Returns the owners of this CPU between `from` and `to`, in order and without holes; parts outside the timeline are
/// omitted.
///
/// Without a trace of the whole CPU, only the recorded thread is known, and `cpu` does not matter.
///
/// # Examples
///
/// ```
/// use instruments::clock::Clock;
/// use instruments::evidence::{Event, EventKind, Kind, Names, Source, Timeline, ran};
///
/// let clock = Clock::calibrate(std::time::Duration::from_millis(5)).clock;
/// let mut names = Names::default();
/// names.name_task(7, 7, "culprit");
/// let took = Event { at: 100, kind: EventKind::Took { task: 7, previous: Some(0) } };
/// let left = Event { at: 140, kind: EventKind::Left { task: 7, next: Some(0), preempted: false } };
/// let events = [(Some(0), vec![took, left])];
/// let timeline = Timeline::of_events(clock, Source::CpuRecord, 0..200, 1, names, &events);
/// let owners = ran(&timeline, 0, 90, 200);
/// let kinds: Vec<Kind> = owners.iter().map(|ran| ran.who.kind).collect();
/// assert_eq!(kinds, [Kind::Idle, Kind::Task, Kind::Idle]);
/// assert_eq!((owners[1].start, owners[1].end), (100, 140));
/// assert_eq!(owners[1].who.name.as_deref(), Some("culprit"));
/// ```
pub fn ran(timeline: &Timeline, cpu: usize, from: u64, to: u64) -> Vec<Ran> {
    let Some(track) = timeline.tracks.iter().find(|track| track.cpu.is_none_or(|of| of == cpu)) else {
        return Vec::new();
    };
    let first = track.segments.partition_point(|segment| segment.end < from);
    let mut owners: Vec<Ran> = Vec::new();
    for segment in track.segments[first..].iter().take_while(|segment| segment.start < to) {
        let (start, end) = (segment.start.max(from), segment.end.min(to));
        let who = owner_cause(timeline, segment);
        match owners.last_mut() {
            // A handler that begins is a new one, even of the same kind.
            Some(last) if last.who == who && !segment.begins => last.end = end,
            _ if end > start || segment.begins && segment.start >= from => owners.push(Ran { start, end, who }),
            _ => {}
        }
    }
    owners
}

fn owner_cause(timeline: &Timeline, segment: &Segment) -> Cause {
    match (segment.handler, segment.who) {
        (_, Who::Unknown) => Cause::unnamed(Kind::Unexplained),
        (Some(handler), _) => timeline.names.handler_cause(handler),
        (None, Who::Task(task)) if task == timeline.thread => Cause::unnamed(Kind::Own),
        (None, Who::Task(task)) => timeline.names.task_cause(task),
        (None, Who::Idle) => Cause::unnamed(Kind::Idle),
        (None, Who::Other) => Cause::unnamed(Kind::SwitchedOut),
    }
}

/// The gaps of one thread in one period, and the kernel events of that period.
#[derive(Clone, Copy, Debug)]
pub struct Stretch<'a> {
    /// Kernel events.
    pub timeline: &'a Timeline,
    /// Thread, by its id.
    pub task: u32,
    /// Start of the search for gaps, in ticks.
    pub start: u64,
    /// End of the search for gaps, in ticks.
    pub end: u64,
    /// Gaps, in order.
    pub gaps: &'a [Gap],
    /// Part of each gap that is the thread's own work, in ticks: zero for gaps between readings of a clock, the usual
    /// time of an operation if a gap is one operation.
    pub usual: u64,
    /// Whether the [`PreemptionFlag`](super::preemption::PreemptionFlag) was cleared in each gap; empty if it was not
    /// read.
    pub preempted: &'a [bool],
    /// Times within it in which gaps were not searched, in order.
    pub looks: &'a [Gap],
}

impl<'a> Stretch<'a> {
    /// Returns the period of a watch by the thread that opened the recorder.
    pub fn of_watch(timeline: &'a Timeline, watch: &'a Watch) -> Self {
        Self {
            timeline,
            task: timeline.thread,
            start: watch.start,
            end: watch.start + watch.span,
            gaps: &watch.gaps,
            usual: 0,
            preempted: &[],
            looks: &watch.looks,
        }
    }
}
