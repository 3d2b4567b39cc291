//! The time of each gap, divided between its causes.
//!
//! What counts is time, not presence: an interrupt at the end of a gap of milliseconds is not its cause. Inside a gap
//!
//! - another task's time is that task's, but for the handlers that ran inside it, whose time is theirs;
//! - what is left of the thread's own time is around handlers and switches, and belongs to the nearest of them as far
//!   as its [`EntryExitOverhead`] goes;
//! - of the rest, the kernel's account of the whole stretch may know that it was stolen. It does not know when, so the
//!   longest times are taken for it first, of those unexplained and of what handlers took beyond their usual;
//! - the rest is unexplained.

use std::collections::BTreeMap;

use super::cause::{Cause, CauseTime, Kind};
use super::overhead::EntryExitOverhead;
use super::shares::{Shares, match_accounts};
use super::stretch::Stretch;
use super::thread_timeline::{ThreadTimeline, What};
use super::timeline::Timeline;

/// How the gaps agree with the kernel's record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recall {
    /// Switches and interrupts that the kernel reported while the thread had the CPU.
    pub reported: u64,
    /// Those of them that fall in no gap.
    pub missed: u64,
}

impl Recall {
    /// The share of what was reported that falls in a gap; `None` if nothing was reported.
    pub fn share(&self) -> Option<f64> {
        (self.reported > 0).then(|| 1.0 - self.missed as f64 / self.reported as f64)
    }
}

/// Gaps and what they were.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attribution {
    causes: Vec<Cause>,
    parts: Vec<Part>,
    /// For each gap where its parts end.
    ends: Vec<usize>,
    /// How the gaps agree with the kernel's record.
    pub recall: Recall,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    cause: usize,
    ticks: u64,
}

impl Attribution {
    /// How many gaps.
    pub fn gaps(&self) -> usize {
        self.ends.len()
    }

    /// The causes of one gap with their ticks, which sum to its length. The greatest comes first.
    pub fn of_gap(&self, gap: usize) -> Vec<(&Cause, u64)> {
        let start = if gap == 0 { 0 } else { self.ends[gap - 1] };
        let mut parts: Vec<_> =
            self.parts[start..self.ends[gap]].iter().map(|part| (&self.causes[part.cause], part.ticks)).collect();
        parts.sort_by_key(|&(_, ticks)| std::cmp::Reverse(ticks));
        parts
    }

    /// The ticks of one gap that have no explanation.
    pub fn unexplained(&self, gap: usize) -> u64 {
        self.of_gap(gap).iter().filter(|(cause, _)| cause.kind == Kind::Unexplained).map(|(_, ticks)| ticks).sum()
    }

    /// All causes, the one that took most first.
    pub fn causes(&self) -> Vec<CauseTime> {
        let mut sums = vec![(0, 0); self.causes.len()];
        for part in &self.parts {
            sums[part.cause].0 += 1;
            sums[part.cause].1 += part.ticks;
        }
        let sums = self.causes.iter().zip(sums).filter(|(_, (count, _))| *count > 0);
        let mut all: Vec<CauseTime> =
            sums.map(|(cause, (count, ticks))| CauseTime { cause: cause.clone(), count, ticks }).collect();
        all.sort_by(|a, b| b.ticks.cmp(&a.ticks).then_with(|| a.cause.cmp(&b.cause)));
        all
    }

    /// The time in all gaps, in ticks.
    pub fn total(&self) -> u64 {
        self.parts.iter().map(|part| part.ticks).sum()
    }

    /// The share of it that has an explanation; `None` if there was no gap.
    pub fn explained_share(&self) -> Option<f64> {
        let unexplained = |part: &&Part| self.causes[part.cause].kind == Kind::Unexplained;
        let missing: u64 = self.parts.iter().filter(unexplained).map(|part| part.ticks).sum();
        let total = self.total();
        (total > 0).then(|| 1.0 - missing as f64 / total as f64)
    }

    /// Adds the gaps of a further stretch; they are numbered on.
    pub fn absorb(&mut self, other: &Self) {
        let mut index = Index::of(&self.causes);
        let renamed: Vec<usize> = other.causes.iter().map(|cause| index.number(cause, &mut self.causes)).collect();
        let shift = self.parts.len();
        self.parts.extend(other.parts.iter().map(|part| Part { cause: renamed[part.cause], ticks: part.ticks }));
        self.ends.extend(other.ends.iter().map(|end| end + shift));
        self.recall.reported += other.recall.reported;
        self.recall.missed += other.recall.missed;
    }
}

/// Finds a cause's number.
struct Index(BTreeMap<Cause, usize>);

impl Index {
    fn of(causes: &[Cause]) -> Self {
        Self(causes.iter().cloned().zip(0..).collect())
    }

    fn number(&mut self, cause: &Cause, causes: &mut Vec<Cause>) -> usize {
        *self.0.entry(cause.clone()).or_insert_with(|| {
            causes.push(cause.clone());
            causes.len() - 1
        })
    }
}

/// Divides the time of each gap between its causes.
pub fn attribute(stretch: &Stretch, overhead: &EntryExitOverhead) -> Attribution {
    let timeline = stretch.timeline;
    let thread_timeline = ThreadTimeline::of(timeline, stretch.task);
    let limits = overhead.limits(timeline.clock, &timeline.names);
    let mut shares: Vec<Shares> = Vec::with_capacity(stretch.gaps.len());
    for (number, gap) in stretch.gaps.iter().enumerate() {
        let flagged = stretch.preempted.get(number).copied().unwrap_or(false);
        shares.push(Shares::of(gap, &thread_timeline, &limits, stretch.usual, flagged));
    }
    // The account is that of the thread which opened the recorder; another one may have slept all the while.
    if stretch.task == timeline.thread {
        match_accounts(timeline, &thread_timeline, &mut shares);
    }
    let mut attribution = gather(timeline, &shares);
    attribution.recall = recall(stretch, &thread_timeline);
    attribution
}

fn gather(timeline: &Timeline, shares: &[Shares]) -> Attribution {
    let mut attribution = Attribution::default();
    let mut index = Index::of(&[]);
    // Looking up a taker is cheaper than naming it.
    let mut known: Vec<(What, usize)> = Vec::new();
    let mut number = |what: What, causes: &mut Vec<Cause>| match known.iter().find(|(taker, _)| *taker == what) {
        Some(&(_, number)) => number,
        None => {
            let number = index.number(&what.cause(timeline), causes);
            known.push((what, number));
            number
        }
    };
    for gap in shares {
        let own = (What::Unnamed(Kind::Own), gap.own);
        let unexplained = (What::Unnamed(Kind::Unexplained), gap.unexplained);
        let rest = [own, unexplained].into_iter().filter(|(_, ticks)| *ticks > 0);
        for (what, ticks) in gap.taken.iter().copied().chain(rest) {
            attribution.parts.push(Part { cause: number(what, &mut attribution.causes), ticks });
        }
        attribution.ends.push(attribution.parts.len());
    }
    attribution
}

/// Counts the reports that fall in a gap.
fn recall(stretch: &Stretch, thread_timeline: &ThreadTimeline) -> Recall {
    let slack = stretch.timeline.slack();
    let inside = stretch.start..=stretch.end;
    let mut recall = Recall::default();
    let mut takings = thread_timeline.takings.clone();
    takings.sort_unstable();
    let (mut gaps, mut looks) = (stretch.gaps.iter().peekable(), stretch.looks.iter().peekable());
    for taking in takings.into_iter().filter(|taking| inside.contains(taking)) {
        while gaps.next_if(|gap| gap.start + gap.length + slack < taking).is_some() {}
        while looks.next_if(|look| look.end() + slack < taking).is_some() {}
        // Nobody watched, so nobody can have missed it.
        if looks.peek().is_some_and(|look| look.start <= taking + slack) {
            continue;
        }
        recall.reported += 1;
        recall.missed += u64::from(gaps.peek().is_none_or(|gap| gap.start > taking + slack));
    }
    recall
}
