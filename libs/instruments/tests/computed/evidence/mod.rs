//! The time of a gap is divided by the owners of the CPU in it, and every tick of it is accounted for.

mod account;
mod any_events;
mod causes;

use instruments::clock::Clock;
use instruments::evidence::EventKind::{Entered, Exited, Left, Took};
use instruments::evidence::{
    Attribution, EntryExitOverhead, Event, EventKind, HandlerKind, Kind, Names, Source, Stretch, Timeline, attribute,
};
use instruments::gaps::Gap;
use std::time::Duration;

const READER: u32 = 100;
const COMPETITOR: u32 = 200;
const END: u64 = 10_000_000;

/// The data of one test: handlers, and a timeline on one CPU.
struct Scene {
    names: Names,
    timer: u32,
    disk: u32,
    softirq: u32,
}

fn scene() -> Scene {
    let mut names = Names::default();
    names.name_task(COMPETITOR, 199, "competitor");
    let timer = names.handler(HandlerKind::Interrupt, "local_timer");
    let disk = names.handler(HandlerKind::Interrupt, "disk");
    let softirq = names.handler(HandlerKind::Softirq, "sched");
    Scene { names, timer, disk, softirq }
}

fn clock() -> Clock {
    Clock::calibrate(Duration::from_millis(2)).clock
}

impl Scene {
    fn timeline(&self, events: &[(u64, EventKind)]) -> Timeline {
        let events = events.iter().map(|&(at, kind)| Event { at, kind }).collect();
        let names = self.names.clone();
        Timeline::of_events(clock(), Source::CpuRecord, 0..END, READER, names, &[(Some(0), events)])
    }
}

fn stretch<'a>(timeline: &'a Timeline, gaps: &'a [Gap]) -> Stretch<'a> {
    Stretch { timeline, task: READER, start: 0, end: END, gaps, usual: 0, preempted: &[], looks: &[] }
}

fn gap(start: u64, end: u64) -> Gap {
    Gap { start, length: end - start }
}

/// Attributes with the limits that the gaps themselves provide.
fn attributed(timeline: &Timeline, gaps: &[Gap]) -> Attribution {
    let stretch = stretch(timeline, gaps);
    let mut overhead = EntryExitOverhead::default();
    overhead.learn(&stretch);
    attribute(&stretch, &overhead)
}

/// Returns the ticks of a cause in all gaps.
fn taken(attribution: &Attribution, kind: Kind, name: Option<&str>) -> u64 {
    let causes = attribution.causes();
    let with_name = causes.iter().filter(|cause| cause.cause.kind == kind && cause.cause.name.as_deref() == name);
    with_name.map(|cause| cause.ticks).sum()
}

fn handler(from: u64, to: u64, handler: u32) -> [(u64, EventKind); 2] {
    [(from, Entered { task: READER, handler }), (to, Exited { task: READER, handler })]
}

fn turn(from: u64, to: u64, preempted: bool) -> [(u64, EventKind); 2] {
    [
        (from, Left { task: READER, next: Some(COMPETITOR), preempted }),
        (to, Took { task: READER, previous: Some(COMPETITOR) }),
    ]
}
