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

use super::names::{Cause, CauseTime, Handler, Kind, Names};
use super::quality::Source;
use super::timeline::{Piece, Stretch, ThreadTimeline, Timeline, What};
use crate::clock::Clock;
use crate::gaps::Gap;
use std::collections::BTreeMap;

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
        // No recorder ran, so it did not miss the event.
        if looks.peek().is_some_and(|look| look.start <= taking + slack) {
            continue;
        }
        recall.reported += 1;
        recall.missed += u64::from(gaps.peek().is_none_or(|gap| gap.start > taking + slack));
    }
    recall
}

// The time that is usual for a handler, and that is lost around it or a switch beyond the kernel's reports.
//
// A handler's begin and end are reported from inside it. Getting there and back costs time too: the entry into the
// kernel, a virtual machine's exits, a cold cache. That time belongs to the handler, but not without limit: a handler
// may have been late because the hypervisor had the CPU. The limit is learnt from the gaps themselves: a few times the
// median of the time before the first report in a gap, after the last, and between two. So it is with the time inside
// a handler: one that sets the next timer of a virtual machine leaves the machine, and may come back late.

/// Time up to this multiple of the median belongs to the handler.
const MULTIPLE: u64 = 4;
/// A median of fewer gaps says too little.
const FEWEST: usize = 8;
/// More gaps make the median no better.
const MOST: usize = 4096;
/// The limit where nothing could be learnt.
const UNLEARNT_NS: f64 = 10_000.0;

/// The usual times, learnt from any number of stretches.
#[derive(Clone, Debug, Default)]
pub struct EntryExitOverhead {
    /// By handler; `None` for switches.
    before: BTreeMap<Option<Handler>, Vec<u64>>,
    after: BTreeMap<Option<Handler>, Vec<u64>>,
    /// By what came before.
    between: BTreeMap<Option<Handler>, Vec<u64>>,
    inside: BTreeMap<Option<Handler>, Vec<u64>>,
}

impl EntryExitOverhead {
    /// Learns from the gaps of a stretch.
    pub fn learn(&mut self, stretch: &Stretch) {
        self.learn_from(stretch, &ThreadTimeline::of(stretch.timeline, stretch.task));
    }

    pub(super) fn learn_from(&mut self, stretch: &Stretch, thread_timeline: &ThreadTimeline) {
        let names = &stretch.timeline.names;
        for gap in stretch.gaps {
            let end = gap.start + gap.length;
            let pieces = thread_timeline.between(gap.start, end);
            let (Some(first), Some(last)) = (edge(pieces.iter()), edge(pieces.iter().rev())) else { continue };
            // The usual work of the thread in this time has no known position, so it is spread evenly.
            let own = |piece: &&Piece| piece.what == What::Own;
            let bare: u64 =
                pieces.iter().filter(own).map(|piece| piece.end.min(end) - piece.start.max(gap.start)).sum();
            let scaled = |ticks: u64| scale(ticks, bare.saturating_sub(stretch.usual), bare);
            let before = scaled(first.start.saturating_sub(gap.start));
            let after = scaled(end.saturating_sub(last.end));
            note(&mut self.before, first.what, names, before);
            note(&mut self.after, last.what, names, after);
            for inner in pieces.windows(3).filter(|inner| is_between(inner)) {
                let ticks = scaled(inner[1].end - inner[1].start);
                note(&mut self.between, inner[0].what, names, ticks);
            }
            for handler in pieces.iter().filter(|piece| matches!(piece.what, What::Handler(_))) {
                note(&mut self.inside, handler.what, names, handler.end - handler.start);
            }
        }
    }

    /// The limits for the handlers of these names, by number, and for switches.
    pub(super) fn limits(&self, clock: Clock, names: &Names) -> Limits {
        let of = |side: &BTreeMap<Option<Handler>, Vec<u64>>| {
            let all: Vec<u64> = side.values().flatten().copied().collect();
            let fallback = limit(&all).unwrap_or(clock.to_ticks(UNLEARNT_NS));
            let one = |key: &Option<Handler>| side.get(key).and_then(|seen| limit(seen)).unwrap_or(fallback);
            let handlers = (0..).map_while(|number| names.handler_of(number));
            let handlers = handlers.map(|handler| one(&Some(handler.clone()))).collect();
            Side { handlers, switch: one(&None) }
        };
        let handlers = (0..).map_while(|number| names.handler_of(number));
        let inside = handlers.map(|handler| self.inside.get(&Some(handler.clone())).and_then(|seen| limit(seen)));
        Limits {
            before: of(&self.before),
            after: of(&self.after),
            between: of(&self.between),
            inside: inside.collect(),
        }
    }
}

/// The first piece that took the CPU, unless something unknown comes before it.
fn edge<'a>(mut pieces: impl Iterator<Item = &'a Piece>) -> Option<&'a Piece> {
    pieces.find(|piece| piece.what != What::Own).filter(|piece| piece.what.takes())
}

/// The thread's own time between two that took the CPU.
fn is_between(pieces: &[Piece]) -> bool {
    pieces[0].what.takes() && pieces[1].what == What::Own && pieces[2].what.takes()
}

fn note(side: &mut BTreeMap<Option<Handler>, Vec<u64>>, what: What, names: &Names, ticks: u64) {
    let key = match what {
        What::Handler(number) => names.handler_of(number).cloned(),
        _ => None,
    };
    let seen = side.entry(key).or_default();
    if seen.len() < MOST {
        seen.push(ticks);
    }
}

fn limit(seen: &[u64]) -> Option<u64> {
    if seen.len() < FEWEST {
        return None;
    }
    let mut seen = seen.to_vec();
    let middle = seen.len() / 2;
    Some(MULTIPLE * *seen.select_nth_unstable(middle).1)
}

/// `ticks * part / whole`, exactly rounded down; all of it if there is no whole.
pub(super) fn scale(ticks: u64, part: u64, whole: u64) -> u64 {
    if whole == 0 { ticks } else { (u128::from(ticks) * u128::from(part) / u128::from(whole)) as u64 }
}

/// How much time in and around each taker of the CPU belongs to it, in ticks.
#[derive(Debug)]
pub(super) struct Limits {
    before: Side,
    after: Side,
    between: Side,
    /// By handler; `None` where too few were seen.
    inside: Vec<Option<u64>>,
}

#[derive(Debug)]
struct Side {
    handlers: Vec<u64>,
    switch: u64,
}

impl Limits {
    /// Of `ticks` of the thread's own time between these two, what belongs to the one and the other.
    pub fn split(&self, ticks: u64, before: What, after: What) -> (u64, u64) {
        match (before.takes(), after.takes()) {
            (true, true) => {
                let known = ticks.min(self.between.of(before));
                (known / 2, known - known / 2)
            }
            (true, false) => (ticks.min(self.after.of(before)), 0),
            (false, true) => (0, ticks.min(self.before.of(after))),
            (false, false) => (0, 0),
        }
    }

    /// Of `ticks` within a taker, what is more than usual for it; nothing where the usual time is not known.
    pub fn late(&self, ticks: u64, taker: What) -> u64 {
        let What::Handler(number) = taker else { return 0 };
        let limit = self.inside.get(number as usize).copied().flatten();
        limit.map_or(0, |limit| ticks.saturating_sub(limit))
    }
}

impl Side {
    fn of(&self, what: What) -> u64 {
        match what {
            What::Handler(number) => self.handlers.get(number as usize).copied().unwrap_or(0),
            What::Task(_) | What::Unnamed(_) => self.switch,
            What::Own | What::Unknown => 0,
        }
    }
}

// The time of one gap, divided among its causes.

/// One gap's time by what took it.
#[derive(Debug, Default)]
pub(super) struct Shares {
    pub taken: Vec<(What, u64)>,
    /// What of that is more than is usual for the taker: it may have been stopped in its midst.
    late: Vec<(What, u64)>,
    /// The thread's usual work.
    pub own: u64,
    pub unexplained: u64,
}

impl Shares {
    pub fn of(gap: &Gap, thread_timeline: &ThreadTimeline, limits: &Limits, usual: u64, flagged: bool) -> Self {
        let (start, end) = (gap.start, gap.start + gap.length);
        let pieces = thread_timeline.between(start, end);
        if flagged && !pieces.iter().any(|piece| piece.what.takes()) {
            let own = usual.min(gap.length);
            let taken = vec![(What::Unnamed(Kind::SwitchedOut), gap.length - own)];
            return Self { taken, own, ..Self::default() };
        }
        let mut shares = Self::default();
        let mut bare = Vec::new();
        let mut known = 0;
        for (place, piece) in pieces.iter().enumerate() {
            let ticks = piece.end.min(end).saturating_sub(piece.start.max(start));
            known += ticks;
            match piece.what {
                What::Own => bare.push((place, ticks)),
                What::Unknown => shares.unexplained += ticks,
                taker => {
                    add(&mut shares.taken, taker, ticks);
                    add(&mut shares.late, taker, limits.late(ticks, taker));
                }
            }
        }
        // Outside of the timeline, if the gap reaches out of it; all of the gap, if there is none.
        let outside = gap.length - known;
        let total = outside + bare.iter().map(|(_, ticks)| ticks).sum::<u64>();
        let excess = total.saturating_sub(usual);
        shares.own = total - excess;
        let mut left = excess;
        for (place, ticks) in bare {
            let ticks = scale(ticks, excess, total);
            left -= ticks;
            shares.share_out(pieces, place, ticks, limits);
        }
        shares.unexplained += left;
        shares
    }

    /// Gives the thread's own time at `place` to what took the CPU before and after it, as far as that may go.
    fn share_out(&mut self, pieces: &[Piece], place: usize, ticks: u64, limits: &Limits) {
        let before = place.checked_sub(1).map_or(What::Unknown, |place| pieces[place].what);
        let after = pieces.get(place + 1).map_or(What::Unknown, |piece| piece.what);
        let (first, second) = limits.split(ticks, before, after);
        for (what, ticks) in [(before, first), (after, second)] {
            if ticks > 0 {
                add(&mut self.taken, what, ticks);
            }
        }
        self.unexplained += ticks - first - second;
    }

    /// What an account of the whole stretch may have another explanation for.
    fn open(&self) -> impl Iterator<Item = (What, u64)> {
        self.late.iter().copied().chain([(What::Unknown, self.unexplained)]).filter(|(_, ticks)| *ticks > 0)
    }

    /// Takes `ticks` of what is open from one and gives them to another.
    fn pass(&mut self, from: What, to: What, ticks: u64) {
        if from == What::Unknown {
            self.unexplained -= ticks;
        } else {
            let sums = self.taken.iter_mut().chain(&mut self.late);
            sums.filter(|(taker, _)| *taker == from).for_each(|(_, sum)| *sum -= ticks);
        }
        add(&mut self.taken, to, ticks);
    }
}

fn add(sums: &mut Vec<(What, u64)>, what: What, ticks: u64) {
    match sums.iter_mut().find(|(taker, _)| *taker == what) {
        Some((_, sum)) => *sum += ticks,
        None => sums.push((what, ticks)),
    }
}

/// Explains by the accounts of the whole stretch what the reports left open, or a handler took beyond what is usual.
pub(super) fn match_accounts(timeline: &Timeline, thread_timeline: &ThreadTimeline, shares: &mut [Shares]) {
    let account = &timeline.quality.account;
    let ticks = |ns: u64| timeline.clock.to_ticks(ns as f64);
    if timeline.quality.source == Source::Account {
        let delay = ticks(account.run_delay_ns.unwrap_or(0));
        explain_longest(shares, What::Unnamed(Kind::SwitchedOut), delay);
    }
    explain_longest(shares, What::Unnamed(Kind::Steal), ticks(stolen_ns(timeline, thread_timeline)));
}

/// What the account lacks, but for what is known to be lacking.
fn stolen_ns(timeline: &Timeline, thread_timeline: &ThreadTimeline) -> u64 {
    let account = &timeline.quality.account;
    let sees_switches = matches!(timeline.quality.source, Source::CpuRecord | Source::ThreadRecord);
    if !sees_switches && account.sleeps != Some(0) {
        return 0;
    }
    let is_known = |piece: &&Piece| match piece.what {
        What::Unnamed(Kind::Blocked) => true,
        What::Handler(_) => account.interrupts_apart,
        _ => false,
    };
    let known = thread_timeline.pieces.iter().filter(is_known).map(|piece| piece.end - piece.start).sum();
    account.missing_ns().unwrap_or(0).saturating_sub(timeline.clock.to_ns(known) as u64)
}

/// Gives `ticks` to `what`, from the longest open times down.
fn explain_longest(shares: &mut [Shares], what: What, mut ticks: u64) {
    let of_gap =
        |(gap, shares): (usize, &Shares)| shares.open().map(|(from, open)| (open, gap, from)).collect::<Vec<_>>();
    let mut open: Vec<(u64, usize, What)> = shares.iter().enumerate().flat_map(of_gap).collect();
    open.sort_by_key(|&(open, ..)| std::cmp::Reverse(open));
    for (open, gap, from) in open {
        let part = ticks.min(open);
        if part == 0 {
            break;
        }
        shares[gap].pass(from, what, part);
        ticks -= part;
    }
}
