//! The use of each CPU during a stretch: by task and handler, and as one thread saw it.

use super::names::{Cause, Kind, Names};
use super::quality::{EvidenceQuality, Source};
use super::track::{Event, Segment, SwitchOut, Track, Who};
use crate::clock::Clock;
use crate::gaps::{Gap, Watch};

/// All that is known of a stretch.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// Converts its ticks.
    pub clock: Clock,
    /// When it began, in ticks.
    pub start: u64,
    /// When it ended, in ticks.
    pub end: u64,
    /// The thread that opened the recorder.
    pub thread: u32,
    /// It had real-time priority at the end.
    pub realtime: bool,
    /// One for each CPU; one without a CPU for [`Source::ThreadRecord`]; none for the sources that see no events.
    pub tracks: Vec<Track>,
    /// Who is who.
    pub names: Names,
    /// What the evidence may lack.
    pub quality: EvidenceQuality,
}

impl Timeline {
    /// Whether it has any interrupt, or anything that one left for later.
    pub fn has_handlers(&self) -> bool {
        self.tracks.iter().any(|track| track.segments.iter().any(|segment| segment.handler.is_some()))
    }

    /// A timeline from events whose times are in ticks already. They may be in any order, and on several CPUs.
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

    /// How far a time of an event may be off, in ticks.
    pub fn slack(&self) -> u64 {
        self.clock.to_ticks(self.quality.clock_residual_ns + self.quality.clock_uncertainty_ns) + 1
    }
}

// A stretch from the view of one thread: the use of the CPU that it ran on, or waited for.

/// A part of a thread's timeline in which nothing changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub start: u64,
    pub end: u64,
    pub what: What,
}

/// The owner of the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
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

impl What {
    /// Whether it took the CPU from the thread.
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

/// The use of one thread's CPU, from the beginning of a stretch to its end.
#[derive(Debug, Default)]
pub(super) struct ThreadTimeline {
    /// In order, without holes.
    pub pieces: Vec<Piece>,
    /// When something took the CPU from the thread while it ran: a handler's begin, a switch.
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

    /// The pieces that reach into `start..end`.
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
            let what = what(timeline, segment, here, off);
            if end > start || segment.begins {
                self.pieces.push(Piece { start, end, what });
            }
        }
    }
}

/// What a segment means to a thread that is `here`, or went `off` in this way.
fn what(timeline: &Timeline, segment: &Segment, here: bool, off: Option<SwitchOut>) -> What {
    match (segment.who, segment.handler) {
        (Who::Unknown, _) => What::Unknown,
        (_, Some(handler)) if here => What::Handler(handler),
        _ if here => What::Own,
        _ if off == Some(SwitchOut::Blocked) => What::Unnamed(Kind::Blocked),
        (_, Some(handler)) => What::Handler(handler),
        // A real-time thread that wants to run goes before all others, unless it is not allowed to.
        (Who::Task(other), None) if timeline.realtime && !timeline.names.is_realtime(other) => {
            What::Unnamed(Kind::RealtimeThrottling)
        }
        (Who::Task(other), None) => What::Task(other),
        (Who::Other, None) => What::Unnamed(Kind::SwitchedOut),
        // The thread wants to run, and the CPU has nothing to do. Where a quota is used up and other threads run in the meantime,
        // they are named: no event reports when the quota was refilled.
        (Who::Idle, None) if timeline.realtime => What::Unnamed(Kind::RealtimeThrottling),
        (Who::Idle, None) if timeline.quality.account.throttled_ns > Some(0) => What::Unnamed(Kind::CgroupThrottling),
        (Who::Idle, None) => What::Unknown,
    }
}

/// A time in which the thread belongs to one CPU: that CPU's track says what had it.
struct Residency<'a> {
    start: u64,
    end: u64,
    track: &'a Track,
}

/// The thread belongs to the CPU it runs on, and while it does not run, to the one it ran on last.
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

// The tasks and handlers that had a CPU around one moment, in order: the event timeline.

/// A task or handler that had the CPU for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// From when on, in ticks.
    pub start: u64,
    /// Until when.
    pub end: u64,
    /// A task, a handler, the recorded thread itself ([`Kind::Own`]), the idle task ([`Kind::Idle`]), or unknown.
    pub who: Cause,
}

/// Who had this CPU between `from` and `to`, in order and without holes; parts outside of the timeline are omitted.
///
/// Without a record of the whole CPU there is only the recorded thread to tell of, and `cpu` does not matter.
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
/// let story = ran(&timeline, 0, 90, 200);
/// let kinds: Vec<Kind> = story.iter().map(|ran| ran.who.kind).collect();
/// assert_eq!(kinds, [Kind::Idle, Kind::Task, Kind::Idle]);
/// assert_eq!((story[1].start, story[1].end), (100, 140));
/// assert_eq!(story[1].who.name.as_deref(), Some("culprit"));
/// ```
pub fn ran(timeline: &Timeline, cpu: usize, from: u64, to: u64) -> Vec<Ran> {
    let Some(track) = timeline.tracks.iter().find(|track| track.cpu.is_none_or(|of| of == cpu)) else {
        return Vec::new();
    };
    let first = track.segments.partition_point(|segment| segment.end < from);
    let mut story: Vec<Ran> = Vec::new();
    for segment in track.segments[first..].iter().take_while(|segment| segment.start < to) {
        let (start, end) = (segment.start.max(from), segment.end.min(to));
        let who = who(timeline, segment);
        match story.last_mut() {
            // A handler that begins is another one, even of the same kind.
            Some(last) if last.who == who && !segment.begins => last.end = end,
            _ if end > start || segment.begins && segment.start >= from => story.push(Ran { start, end, who }),
            _ => {}
        }
    }
    story
}

fn who(timeline: &Timeline, segment: &Segment) -> Cause {
    match (segment.handler, segment.who) {
        (_, Who::Unknown) => Cause::unnamed(Kind::Unexplained),
        (Some(handler), _) => timeline.names.handler_cause(handler),
        (None, Who::Task(task)) if task == timeline.thread => Cause::unnamed(Kind::Own),
        (None, Who::Task(task)) => timeline.names.task_cause(task),
        (None, Who::Idle) => Cause::unnamed(Kind::Idle),
        (None, Who::Other) => Cause::unnamed(Kind::SwitchedOut),
    }
}

/// Gaps of one thread in one stretch, and the evidence for it.
#[derive(Clone, Copy, Debug)]
pub struct Stretch<'a> {
    /// The evidence.
    pub timeline: &'a Timeline,
    /// The thread, by its id.
    pub task: u32,
    /// From when on gaps were looked for, in ticks.
    pub start: u64,
    /// Until when.
    pub end: u64,
    /// The gaps, in order.
    pub gaps: &'a [Gap],
    /// How much of each gap is the thread's own work, in ticks: nothing for gaps between readings of a clock, the usual
    /// time of an operation where a gap is one operation.
    pub usual: u64,
    /// For each gap whether the [`PreemptionFlag`](super::preemption::PreemptionFlag) was cleared in it; empty if it
    /// was not asked.
    pub preempted: &'a [bool],
    /// Stretches within it in which no gaps were looked for, in order.
    pub looks: &'a [Gap],
}

impl<'a> Stretch<'a> {
    /// A watch by the thread that opened the recorder.
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
