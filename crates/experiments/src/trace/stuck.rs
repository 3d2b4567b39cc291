//! Threads that are stuck, by what can be seen from outside: a process need not have been watched before.
//!
//! The owner of a lock is read from the words that glibc keeps in it ([`blame::stuck`]). A thread is stuck while the
//! kernel's count of its switches stays the same: it did not run.

use super::record::{Frame, Row, RowKind, Step, ThreadStack};
use blame::frames::function_of;
use blame::names::Names;
use blame::stacks::Stacks;
use blame::stuck::{self, Blocked, Owner, Wanted};
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// Circles that are as old as this are deadlocks.
const CIRCLE: Duration = Duration::from_millis(500);
/// The period of looks, and the pause after a look as a multiple of its duration.
const PERIOD: Duration = Duration::from_millis(600);
const PAUSE: u32 = 20;
/// The first look reads the files of the process, and says little about the next ones.
const LONGEST_PAUSE: Duration = Duration::from_millis(1_500);
/// A process that is watched for longer is looked at less often: each look unwinds all of its blocked threads.
const SETTLED: Duration = Duration::from_secs(3);
const LESS_OFTEN: u32 = 4;

/// The stuck threads of a process.
pub struct StuckThreads {
    /// Waits that are not in a circle are reported after this time.
    pub deadline: Duration,
    began: Instant,
    next: Instant,
    /// Time since which each thread did not run, and how often it was switched out by then.
    since: HashMap<u32, (u64, Instant)>,
    told: HashSet<u32>,
    pub rows: Vec<Row>,
}

impl StuckThreads {
    pub fn new(deadline: Duration) -> Self {
        let (since, told, rows) = Default::default();
        let began = Instant::now();
        Self { deadline, began, next: began, since, told, rows }
    }

    /// Begins the next part of the trace: threads that are still stuck are found once more.
    pub fn begin_part(&mut self) {
        self.told.clear();
        self.rows.clear();
    }

    /// Looks at a process, whose map `names` and `stacks` know, if that is due; returns the rows that are new.
    pub fn look(&mut self, pid: u32, slot: u32, names: &mut Names, stacks: &mut Stacks) -> Vec<Row> {
        let now = Instant::now();
        if now < self.next {
            return Vec::new();
        }
        let blocked = stuck::blocked(pid, slot, names, stacks);
        let mut since = HashMap::new();
        for one in &blocked {
            let known = self.since.get(&one.thread).filter(|(switches, _)| *switches == one.switches);
            since.insert(one.thread, (one.switches, known.map_or(now, |(_, since)| *since)));
        }
        self.since = since;
        let age = |one: &Blocked| now - self.since[&one.thread].1;
        let mut new = Vec::new();
        for circle in stuck::circles(&blocked) {
            let youngest = circle.iter().map(|one| age(one)).min().unwrap_or_default();
            if youngest >= CIRCLE && circle.iter().all(|one| !self.told.contains(&one.thread)) {
                self.told.extend(circle.iter().map(|one| one.thread));
                new.push(row(RowKind::Deadlock, pid, slot, names, &circle, youngest));
            }
        }
        for one in blocked.iter().filter(|one| one.wanted.is_some_and(|wanted| wanted.kind.is_lock())) {
            if age(one) >= self.deadline && self.told.insert(one.thread) {
                new.push(hang(pid, slot, names, &blocked, one, age(one)));
            }
        }
        self.rows.extend(new.iter().cloned());
        let took = now.elapsed();
        let less_often = if now - self.began > SETTLED { LESS_OFTEN } else { 1 };
        self.next = now + took + PERIOD.max((took * PAUSE).min(LONGEST_PAUSE)) * less_often;
        new
    }
}

/// Returns the row of a wait that is in no circle: its chain of owners as far as they are blocked in locks, too.
fn hang(pid: u32, slot: u32, names: &mut Names, all: &[Blocked], first: &Blocked, age: Duration) -> Row {
    let mut chain = vec![first];
    let next = |one: &Blocked| match one.wanted {
        Some(Wanted { owner: Owner::Thread(owner), .. }) => all.iter().find(|other| other.thread == owner),
        _ => None,
    };
    while let Some(owner) = next(chain[chain.len() - 1])
        && !chain.iter().any(|one| one.thread == owner.thread)
    {
        chain.push(owner);
    }
    let last = chain[chain.len() - 1];
    let place = (last.wanted.is_none() && chain.len() > 1).then(|| {
        let function = last.frames.frames.first().and_then(|frame| function_of(&frame.site)).map(str::to_owned);
        let site = last.frames.site().map(|site| site.label.clone());
        let words = [function, site].into_iter().flatten().collect::<Vec<String>>();
        format!("thread {} is blocked in {}", last.thread, words.join(", called by "))
    });
    Row { place, ..row(RowKind::Hang, pid, slot, names, &chain, age) }
}

fn row(kind: RowKind, pid: u32, slot: u32, names: &mut Names, threads: &[&Blocked], age: Duration) -> Row {
    let waiting: Vec<(&Blocked, Wanted)> = threads.iter().filter_map(|one| Some((*one, one.wanted?))).collect();
    let steps: Vec<Step> = waiting.iter().map(|(one, wanted)| step(slot, names, one, wanted)).collect();
    let (address, lock_type) = waiting
        .first()
        .map_or_else(Default::default, |(_, wanted)| (format!("{:#x}", wanted.address), wanted.kind.name().to_owned()));
    let lock = steps.first().map(|step| step.takes.clone()).unwrap_or_default();
    let stack = |one: &&Blocked| ThreadStack { thread: one.thread, frames: frames(one) };
    Row {
        address,
        lock_type,
        wait_total_s: age.as_secs_f64(),
        wait_max_ns: Some(age.as_secs_f64() * 1e9),
        locks: steps.iter().map(|step| step.takes.clone()).collect(),
        stacks: threads.iter().map(stack).collect(),
        steps,
        ..Row::new(kind, pid, lock)
    }
}

fn step(slot: u32, names: &mut Names, one: &Blocked, wanted: &Wanted) -> Step {
    let name = names.variable(slot, wanted.address);
    Step {
        thread: one.thread,
        takes: name.unwrap_or_else(|| format!("{} at {:#x}", wanted.kind.name(), wanted.address)),
        taken_site: one.frames.site().map(|site| site.label.clone()).unwrap_or_else(|| "an unknown place".into()),
        holds: match wanted.owner {
            Owner::Thread(thread) | Owner::Gone(thread) => format!("thread {thread}"),
            Owner::Readers => "a reader".into(),
            Owner::Unknown => "unknown".into(),
        },
        held_site: String::new(),
    }
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
