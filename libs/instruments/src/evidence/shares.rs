//! One gap's time, shared out.

use super::cause::Kind;
use super::overhead::{Limits, scale};
use super::source::Source;
use super::thread_timeline::{Piece, ThreadTimeline, What};
use super::timeline::Timeline;
use crate::gaps::Gap;

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
