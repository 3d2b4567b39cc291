//! Hangs of the processes that are traced, by the rules of `contend hang`, and their rows.

use super::record::{Frame, Row, RowKind, Step, ThreadStack};
use blame::Allowance;
use blame::frames::function_of;
use blame::stuck::Blocked;
use hang::explanation::{Member, Place};
use hang::snapshot::{Lock, Owner, Wait};
use hang::{Explanation, Finding, Still};
use std::time::Duration;

/// The stuck threads of the processes.
pub struct StuckThreads {
    deadline: Duration,
    still: Still,
    /// The hang at the end.
    pub found: Option<Explanation>,
    /// The last one that was reported.
    last: Option<Explanation>,
    pub rows: Vec<Row>,
}

impl StuckThreads {
    /// Creates one that reports other hangs than deadlocks after the deadline.
    pub fn new(deadline: Duration, allowance: &Allowance) -> Self {
        Self { deadline, still: Still::within(allowance), found: None, last: None, rows: Vec::new() }
    }

    /// Begins the next part of the trace.
    pub fn begin_part(&mut self) {
        self.rows.clear();
        self.found = None;
    }

    /// Looks at the processes, if that is due; returns a hang that is new.
    pub fn look(&mut self, pids: &[u32]) -> Option<Explanation> {
        let found = self.still.look(pids, self.deadline)?;
        self.rows.extend(row(&found));
        self.last = Some(found.clone());
        Some(found)
    }

    /// Looks again as early as a hang can be recognised.
    pub fn hurry(&mut self) {
        self.still.hurry();
    }

    /// Returns whether the last report shows all threads of a row.
    pub fn has_reported(&self, row: &Row) -> bool {
        self.last.as_ref().is_some_and(|last| row.steps.iter().all(|step| last.has_thread(step.thread)))
    }

    /// Notes the hang in which the processes are now, if they are in one.
    pub fn finish(&mut self, pids: &[u32]) {
        self.found = self.still.finish(pids);
        if let Some(found) = &self.found
            && self.rows.is_empty()
        {
            self.rows.extend(row(found));
        }
    }
}

/// Returns the row of a deadlock of locks.
fn row(found: &Explanation) -> Option<Row> {
    let members = match &found.finding {
        Finding::Cycle { members } => members.iter().collect(),
        Finding::SelfDeadlock { member, .. } => vec![member],
        _ => Vec::new(),
    };
    let locks: Vec<(&Member, &Lock)> = members.iter().filter_map(|member| Some((*member, lock_of(member)?))).collect();
    let (first, lock) = *locks.first()?;
    let steps: Vec<Step> = locks.iter().map(|(member, lock)| step(member, lock)).collect();
    Some(Row {
        address: format!("{:#x}", lock.address),
        lock_type: lock.kind.clone(),
        wait_total_s: found.apart_s,
        wait_max_ns: Some(found.apart_s * 1e9),
        locks: steps.iter().map(|step| step.takes.clone()).collect(),
        stacks: locks.iter().map(|(member, _)| stack(member)).collect(),
        steps: steps.clone(),
        ..Row::new(RowKind::Deadlock, first.process, steps[0].takes.clone())
    })
}

fn lock_of(member: &Member) -> Option<&Lock> {
    match &member.wait {
        Wait::Lock(lock) => Some(lock),
        _ => None,
    }
}

fn step(member: &Member, lock: &Lock) -> Step {
    let name = lock.name.clone().unwrap_or_else(|| format!("{} at {:#x}", lock.kind, lock.address));
    let site = member.place.as_ref().map_or_else(|| "an unknown place".into(), label);
    let holds = match lock.owner {
        Owner::Thread { thread, .. } | Owner::Likely { thread, .. } | Owner::Gone { thread } => {
            format!("thread {thread}")
        }
        Owner::Readers => "a reader".into(),
        Owner::Unknown => "unknown".into(),
    };
    Step { thread: member.thread, takes: name, taken_site: site, holds, held_site: String::new() }
}

fn label(place: &Place) -> String {
    match &place.source {
        Some(source) => format!("{} ({})", place.function, blame::names::short(source)),
        None => place.function.clone(),
    }
}

fn stack(member: &Member) -> ThreadStack {
    let called = member.called.iter().map(|function| Frame { function: Some(function.clone()), source: None });
    let places = member.place.iter().chain(&member.callers);
    let own = places.map(|place| Frame { function: Some(place.function.clone()), source: place.source.clone() });
    ThreadStack { thread: member.thread, frames: called.chain(own).collect() }
}

/// Returns the functions of a blocked thread, the innermost first.
pub fn frames(blocked: &Blocked) -> Vec<Frame> {
    let frame = |frame: &blame::frames::Frame| Frame {
        function: function_of(&frame.site).map(str::to_owned),
        source: frame.site.source.clone(),
    };
    let frames = blocked.frames.frames.iter().map(frame);
    frames.filter(|frame| frame.function.is_some() || frame.source.is_some()).collect()
}
