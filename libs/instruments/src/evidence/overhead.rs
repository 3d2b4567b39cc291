//! How much time is usual for a handler, and is lost around it or a switch, beyond what the kernel reports of it.
//!
//! A handler's begin and end are reported from inside it. Getting there and back costs time too: the entry into the
//! kernel, a virtual machine's exits, a cold cache. That time belongs to the handler, but not without limit: a handler
//! may have been late because the hypervisor had the CPU. The limit is learnt from the gaps themselves: a few times the
//! median of the time before the first report in a gap, after the last, and between two. So it is with the time inside
//! a handler: whoever sets the next timer of a virtual machine leaves it, and may come back late.

use std::collections::BTreeMap;

use super::names::{Handler, Names};
use super::stretch::Stretch;
use super::thread_timeline::{Piece, ThreadTimeline, What};
use crate::clock::Clock;

/// Up to so many times the median belongs to the handler.
const MULTIPLE: u64 = 4;
/// A median of fewer gaps says too little.
const FEWEST: usize = 8;
/// More gaps make the median no better.
const MOST: usize = 4096;
/// The limit where nothing could be learnt.
const UNLEARNT_NS: f64 = 10_000.0;

/// What was learnt, from any number of stretches.
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

    /// Of `ticks` within a taker, what is more than usual for it; nothing where nobody knows what is usual.
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
