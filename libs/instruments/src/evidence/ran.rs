//! Who had a CPU, one after the other, around one moment: the story of one event.

use super::cause::{Cause, Kind};
use super::timeline::Timeline;
use super::track::{Segment, Who};

/// Somebody who had the CPU for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// From when on, in ticks.
    pub start: u64,
    /// Until when.
    pub end: u64,
    /// Who: a task, a handler, the recorded thread itself ([`Kind::Own`]), nobody ([`Kind::Idle`]), or nobody knows
    /// who.
    pub who: Cause,
}

/// Who had this CPU between `from` and `to`, in order and without holes; what lies outside of the timeline is left out.
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
