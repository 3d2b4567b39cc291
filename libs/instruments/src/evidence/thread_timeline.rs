//! A stretch as one thread lived it: what had the CPU that it ran on, or waited for.

use super::cause::{Cause, Kind};
use super::timeline::Timeline;
use super::track::{Segment, SwitchOut, Track, Who};

/// A part of a thread's timeline in which nothing changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub start: u64,
    pub end: u64,
    pub what: What,
}

/// What had the CPU.
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
    /// Nobody knows.
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

/// What had the CPU of one thread, from the beginning of a stretch to its end.
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
        // The thread wants to run, and the CPU has nothing to do. Where a quota is used up and others run meanwhile,
        // they are named: when the quota was refilled nobody reports.
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
