//! The attribution of the time of each gap to its causes.
//!
//! The amount of time counts, not the presence of an event: an interrupt at the end of a gap of milliseconds is not
//! its cause. Inside a gap:
//!
//! - The time of another task belongs to that task, except for the handlers that ran inside it, whose time belongs to
//!   them.
//! - The rest of the thread's own time is around handlers and switches, and belongs to the nearest of them up to its
//!   [`EntryExitOverhead`].
//! - The kernel's account of the whole period may show that a part of the rest was stolen, but not when. It is
//!   therefore assigned to the longest times first: those that are unexplained, and those that handlers took beyond
//!   their usual time.
//! - The remaining time is unexplained.

use super::names::{Cause, CauseTime, Handler, Kind, Names};
use super::quality::Source;
use super::timeline::{Owner, Piece, Stretch, ThreadTimeline, Timeline};
use crate::clock::Clock;
use crate::gaps::Gap;
use std::collections::BTreeMap;

/// The agreement of the gaps with the kernel trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recall {
    /// Number of switches and interrupts that the kernel reported while the thread had the CPU.
    pub reported: u64,
    /// Number of those that are in no gap.
    pub missed: u64,
}

impl Recall {
    /// Returns the share of the reported events that are in a gap; `None` if none was reported.
    pub fn share(&self) -> Option<f64> {
        (self.reported > 0).then(|| 1.0 - self.missed as f64 / self.reported as f64)
    }
}

/// Gaps and their causes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attribution {
    causes: Vec<Cause>,
    parts: Vec<Part>,
    /// End of each gap's parts.
    ends: Vec<usize>,
    /// Agreement of the gaps with the kernel trace.
    pub recall: Recall,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    cause: usize,
    ticks: u64,
}

impl Attribution {
    /// Returns the number of gaps.
    pub fn gaps(&self) -> usize {
        self.ends.len()
    }

    /// Returns the causes of one gap with their ticks, which sum to its length, the largest first.
    pub fn of_gap(&self, gap: usize) -> Vec<(&Cause, u64)> {
        let start = if gap == 0 { 0 } else { self.ends[gap - 1] };
        let mut parts: Vec<_> =
            self.parts[start..self.ends[gap]].iter().map(|part| (&self.causes[part.cause], part.ticks)).collect();
        parts.sort_by_key(|&(_, ticks)| std::cmp::Reverse(ticks));
        parts
    }

    /// Returns the ticks of one gap without an explanation.
    pub fn unexplained(&self, gap: usize) -> u64 {
        self.of_gap(gap).iter().filter(|(cause, _)| cause.kind == Kind::Unexplained).map(|(_, ticks)| ticks).sum()
    }

    /// Returns all causes, the one with most time first.
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

    /// Returns the time in all gaps, in ticks.
    pub fn total(&self) -> u64 {
        self.parts.iter().map(|part| part.ticks).sum()
    }

    /// Returns the share of that time with an explanation; `None` if there was no gap.
    pub fn explained_share(&self) -> Option<f64> {
        let unexplained = |part: &&Part| self.causes[part.cause].kind == Kind::Unexplained;
        let missing: u64 = self.parts.iter().filter(unexplained).map(|part| part.ticks).sum();
        let total = self.total();
        (total > 0).then(|| 1.0 - missing as f64 / total as f64)
    }

    /// Adds the gaps of a further period; their numbers continue.
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

/// A map from causes to their numbers.
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

/// Attributes the time of each gap to its causes.
pub fn attribute(stretch: &Stretch, overhead: &EntryExitOverhead) -> Attribution {
    let timeline = stretch.timeline;
    let thread_timeline = ThreadTimeline::of(timeline, stretch.task);
    let limits = overhead.limits(timeline.clock, &timeline.names);
    let mut shares: Vec<Shares> = Vec::with_capacity(stretch.gaps.len());
    for (number, gap) in stretch.gaps.iter().enumerate() {
        let flagged = stretch.preempted.get(number).copied().unwrap_or(false);
        shares.push(Shares::of(gap, &thread_timeline, &limits, stretch.usual, flagged));
    }
    // The account is that of the thread that opened the recorder; another one may have slept for the whole time.
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
    // Looking up an owner is cheaper than naming it.
    let mut known: Vec<(Owner, usize)> = Vec::new();
    let mut number = |owner: Owner, causes: &mut Vec<Cause>| match known.iter().find(|(taker, _)| *taker == owner) {
        Some(&(_, number)) => number,
        None => {
            let number = index.number(&owner.cause(timeline), causes);
            known.push((owner, number));
            number
        }
    };
    for gap in shares {
        let own = (Owner::Unnamed(Kind::Own), gap.own);
        let unexplained = (Owner::Unnamed(Kind::Unexplained), gap.unexplained);
        let rest = [own, unexplained].into_iter().filter(|(_, ticks)| *ticks > 0);
        for (owner, ticks) in gap.taken.iter().copied().chain(rest) {
            attribution.parts.push(Part { cause: number(owner, &mut attribution.causes), ticks });
        }
        attribution.ends.push(attribution.parts.len());
    }
    attribution
}

/// Counts the events that are in a gap.
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

// The usual time of a handler, and the time that is lost around a handler or a switch beyond the kernel's events.
//
// A handler's begin and end are reported from inside it. Its entry and exit cost time too: the entry into the kernel,
// exits of a virtual machine, a cold cache. That time belongs to the handler, but with a limit, because a handler may
// have been late when the hypervisor had the CPU. The limit is learned from the gaps themselves. It is a multiple of
// the median of the time before the first event in a gap, after the last, and between two. The same applies to the
// time inside a handler: one that sets the next timer of a virtual machine leaves the machine, and may return late.

/// Multiple of the median up to which time belongs to the handler.
const MULTIPLE: u64 = 4;
/// Least number of gaps for a median.
const FEWEST: usize = 8;
/// Number of gaps above which the median does not improve.
const MOST: usize = 4096;
/// Limit in nanoseconds if none could be learned.
const UNLEARNT_NS: f64 = 10_000.0;

/// The usual times, learned from any number of periods.
#[derive(Clone, Debug, Default)]
pub struct EntryExitOverhead {
    /// Times by handler; `None` for switches.
    before: BTreeMap<Option<Handler>, Vec<u64>>,
    after: BTreeMap<Option<Handler>, Vec<u64>>,
    /// Times by the preceding handler.
    between: BTreeMap<Option<Handler>, Vec<u64>>,
    inside: BTreeMap<Option<Handler>, Vec<u64>>,
}

impl EntryExitOverhead {
    /// Learns from the gaps of a period.
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
            let own = |piece: &&Piece| piece.owner == Owner::Own;
            let bare: u64 =
                pieces.iter().filter(own).map(|piece| piece.end.min(end) - piece.start.max(gap.start)).sum();
            let scaled = |ticks: u64| scale(ticks, bare.saturating_sub(stretch.usual), bare);
            let before = scaled(first.start.saturating_sub(gap.start));
            let after = scaled(end.saturating_sub(last.end));
            note(&mut self.before, first.owner, names, before);
            note(&mut self.after, last.owner, names, after);
            for inner in pieces.windows(3).filter(|inner| is_between(inner)) {
                let ticks = scaled(inner[1].end - inner[1].start);
                note(&mut self.between, inner[0].owner, names, ticks);
            }
            for handler in pieces.iter().filter(|piece| matches!(piece.owner, Owner::Handler(_))) {
                note(&mut self.inside, handler.owner, names, handler.end - handler.start);
            }
        }
    }

    /// Returns the limits for the handlers of these names, by number, and for switches.
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

/// Returns the first piece that took the CPU, unless an unknown piece comes before it.
fn edge<'a>(mut pieces: impl Iterator<Item = &'a Piece>) -> Option<&'a Piece> {
    pieces.find(|piece| piece.owner != Owner::Own).filter(|piece| piece.owner.takes())
}

/// Returns whether the middle piece is the thread's own time between two that took the CPU.
fn is_between(pieces: &[Piece]) -> bool {
    pieces[0].owner.takes() && pieces[1].owner == Owner::Own && pieces[2].owner.takes()
}

fn note(side: &mut BTreeMap<Option<Handler>, Vec<u64>>, owner: Owner, names: &Names, ticks: u64) {
    let key = match owner {
        Owner::Handler(number) => names.handler_of(number).cloned(),
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

/// Returns `ticks * part / whole`, rounded down exactly; all of it if `whole` is 0.
pub(super) fn scale(ticks: u64, part: u64, total: u64) -> u64 {
    if total == 0 { ticks } else { (u128::from(ticks) * u128::from(part) / u128::from(total)) as u64 }
}

/// Time in and around each owner of the CPU that belongs to it, in ticks.
#[derive(Debug)]
pub(super) struct Limits {
    before: Side,
    after: Side,
    between: Side,
    /// Limits by handler; `None` if there were too few.
    inside: Vec<Option<u64>>,
}

#[derive(Debug)]
struct Side {
    handlers: Vec<u64>,
    switch: u64,
}

impl Limits {
    /// Divides `ticks` of the thread's own time between these two into the parts that belong to them.
    pub fn split(&self, ticks: u64, before: Owner, after: Owner) -> (u64, u64) {
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

    /// Returns the part of `ticks` within an owner that exceeds its usual time; zero if the usual time is unknown.
    pub fn late(&self, ticks: u64, taker: Owner) -> u64 {
        let Owner::Handler(number) = taker else { return 0 };
        let limit = self.inside.get(number as usize).copied().flatten();
        limit.map_or(0, |limit| ticks.saturating_sub(limit))
    }
}

impl Side {
    fn of(&self, owner: Owner) -> u64 {
        match owner {
            Owner::Handler(number) => self.handlers.get(number as usize).copied().unwrap_or(0),
            Owner::Task(_) | Owner::Unnamed(_) => self.switch,
            Owner::Own | Owner::Unknown => 0,
        }
    }
}

// The time of one gap, divided among its causes.

/// One gap's time by the owner of the CPU.
#[derive(Debug, Default)]
pub(super) struct Shares {
    pub taken: Vec<(Owner, u64)>,
    /// Part of that time beyond the usual time of the owner, which may have been stopped within it.
    late: Vec<(Owner, u64)>,
    /// Usual work of the thread.
    pub own: u64,
    pub unexplained: u64,
}

impl Shares {
    pub fn of(gap: &Gap, thread_timeline: &ThreadTimeline, limits: &Limits, usual: u64, flagged: bool) -> Self {
        let (start, end) = (gap.start, gap.start + gap.length);
        let pieces = thread_timeline.between(start, end);
        if flagged && !pieces.iter().any(|piece| piece.owner.takes()) {
            let own = usual.min(gap.length);
            let taken = vec![(Owner::Unnamed(Kind::SwitchedOut), gap.length - own)];
            return Self { taken, own, ..Self::default() };
        }
        let mut shares = Self::default();
        let mut bare = Vec::new();
        let mut known = 0;
        for (place, piece) in pieces.iter().enumerate() {
            let ticks = piece.end.min(end).saturating_sub(piece.start.max(start));
            known += ticks;
            match piece.owner {
                Owner::Own => bare.push((place, ticks)),
                Owner::Unknown => shares.unexplained += ticks,
                taker => {
                    add(&mut shares.taken, taker, ticks);
                    add(&mut shares.late, taker, limits.late(ticks, taker));
                }
            }
        }
        // The time outside the timeline, if the gap extends beyond it; the whole gap, if there is none.
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

    /// Assigns the thread's own time at `place` to the owners before and after it, up to their limits.
    fn share_out(&mut self, pieces: &[Piece], place: usize, ticks: u64, limits: &Limits) {
        let before = place.checked_sub(1).map_or(Owner::Unknown, |place| pieces[place].owner);
        let after = pieces.get(place + 1).map_or(Owner::Unknown, |piece| piece.owner);
        let (first, second) = limits.split(ticks, before, after);
        for (owner, ticks) in [(before, first), (after, second)] {
            if ticks > 0 {
                add(&mut self.taken, owner, ticks);
            }
        }
        self.unexplained += ticks - first - second;
    }

    /// Returns the times for which an account of the whole period may have another explanation.
    fn open(&self) -> impl Iterator<Item = (Owner, u64)> {
        self.late.iter().copied().chain([(Owner::Unknown, self.unexplained)]).filter(|(_, ticks)| *ticks > 0)
    }

    /// Moves `ticks` of such a time from one owner to another.
    fn pass(&mut self, from: Owner, to: Owner, ticks: u64) {
        if from == Owner::Unknown {
            self.unexplained -= ticks;
        } else {
            let sums = self.taken.iter_mut().chain(&mut self.late);
            sums.filter(|(taker, _)| *taker == from).for_each(|(_, sum)| *sum -= ticks);
        }
        add(&mut self.taken, to, ticks);
    }
}

fn add(sums: &mut Vec<(Owner, u64)>, owner: Owner, ticks: u64) {
    match sums.iter_mut().find(|(taker, _)| *taker == owner) {
        Some((_, sum)) => *sum += ticks,
        None => sums.push((owner, ticks)),
    }
}

/// Explains by the accounts of the whole period the times that the events left open, or that a handler took beyond
/// its usual time.
pub(super) fn match_accounts(timeline: &Timeline, thread_timeline: &ThreadTimeline, shares: &mut [Shares]) {
    let account = &timeline.quality.account;
    let ticks = |ns: u64| timeline.clock.to_ticks(ns as f64);
    if timeline.quality.source == Source::Account {
        let delay = ticks(account.run_delay_ns.unwrap_or(0));
        explain_longest(shares, Owner::Unnamed(Kind::SwitchedOut), delay);
    }
    explain_longest(shares, Owner::Unnamed(Kind::Steal), ticks(stolen_ns(timeline, thread_timeline)));
}

/// Returns the time that is missing from the account, except for known causes.
fn stolen_ns(timeline: &Timeline, thread_timeline: &ThreadTimeline) -> u64 {
    let account = &timeline.quality.account;
    let sees_switches = matches!(timeline.quality.source, Source::CpuRecord | Source::ThreadRecord);
    if !sees_switches && account.sleeps != Some(0) {
        return 0;
    }
    let is_known = |piece: &&Piece| match piece.owner {
        Owner::Unnamed(Kind::Blocked) => true,
        Owner::Handler(_) => account.interrupts_apart,
        _ => false,
    };
    let known = thread_timeline.pieces.iter().filter(is_known).map(|piece| piece.end - piece.start).sum();
    account.missing_ns().unwrap_or(0).saturating_sub(timeline.clock.to_ns(known) as u64)
}

/// Assigns `ticks` to `owner`, from the longest open times down.
fn explain_longest(shares: &mut [Shares], owner: Owner, mut ticks: u64) {
    let of_gap =
        |(gap, shares): (usize, &Shares)| shares.open().map(|(from, open)| (open, gap, from)).collect::<Vec<_>>();
    let mut open: Vec<(u64, usize, Owner)> = shares.iter().enumerate().flat_map(of_gap).collect();
    open.sort_by_key(|&(open, ..)| std::cmp::Reverse(open));
    for (open, gap, from) in open {
        let part = ticks.min(open);
        if part == 0 {
            break;
        }
        shares[gap].pass(from, owner, part);
        ticks -= part;
    }
}
