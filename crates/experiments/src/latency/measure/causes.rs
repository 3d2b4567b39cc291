//! Why rounds took as long as they did: from the other threads' own timestamps, and from the kernel's record.
//!
//! A round is *free* if nobody else had the lock when it was asked for. What a round took beyond what it takes without
//! a lock is its excess, and is divided: while another thread had the lock, or this one slept for it, it waited for the
//! holder; the kernel's record says which task or interrupt had the CPU; the rest is unexplained. In less than
//! `MARGIN_NS` the kernel can have had no part: its shortest visit takes longer.

use super::other_threads::{OtherThreads, OthersProbes, Sweep};
use crate::latency::record::Operation;
use harness::label;
use instruments::evidence::{Cause, EntryExitOverhead, Kind, Stretch, Timeline, attribute};
use instruments::gaps::Gap;
use loops::latency::{Round, Trace};
use std::collections::{BTreeMap, HashMap};
use std::ops::{Range, RangeInclusive};

/// An excess below this is too short for anything of the kernel's.
const MARGIN_NS: f64 = 1_000.0;
/// Waking a waiter is a system call, and takes no longer than this.
const WAKING_NS: f64 = 20_000.0;

/// What is known of the rounds of one operation, by their net latency in ticks.
#[derive(Clone, Debug, Default)]
pub struct Causes {
    values: HashMap<u64, Value>,
    overhead: EntryExitOverhead,
}

/// Rounds of one latency.
#[derive(Clone, Debug, Default)]
struct Value {
    rounds: u64,
    /// Nobody else had, or wanted, the lock, and nothing of the kernel's came between.
    free: u64,
    /// Rounds that this took most of the excess of, and the excess that it took, in ticks.
    by_cause: BTreeMap<DelayCause, (u64, u64)>,
}

impl Operation {
    /// When the operation began in a round, and when it ended.
    pub fn span(self, round: &Round) -> (u64, u64) {
        match self {
            Self::Lock => (round.began, round.locked),
            Self::Unlock => (round.releasing, round.ended),
            Self::RoundTrip => (round.began, round.ended),
        }
    }
}

/// What one slice knows of one thread.
pub struct SliceEvidence<'a> {
    pub timeline: &'a Timeline,
    /// The thread's id.
    pub task: u32,
    pub trace: &'a Trace,
    /// Rounds that began in it count.
    pub window: Range<u64>,
    /// The clock's step, in ticks.
    pub resolution: u64,
    /// The rounds of the threads that it shares the lock with, and when those probed.
    pub others: &'a OtherThreads,
    pub probes: &'a OthersProbes,
}

/// A round that took long enough for the kernel to have had a part.
struct Long {
    net: u64,
    gap: Gap,
    /// Ticks that may be due to the other threads.
    others: u64,
}

impl Causes {
    /// Adds a slice. `usual` is what this part takes without a lock, in ticks, and `net` gives the net latency of a
    /// difference of timestamps.
    pub fn add(&mut self, operation: Operation, evidence: &SliceEvidence<'_>, usual: u64, net: impl Fn(u64) -> u64) {
        let clock = evidence.timeline.clock;
        let spoiled = evidence.probes.spoiled(operation, evidence.trace.rounds());
        let counts = |(place, round): &(usize, &Round)| {
            evidence.window.contains(&round.began) && spoiled.binary_search(place).is_err()
        };
        let rounds = evidence.trace.rounds().iter().enumerate().filter(counts).map(|(_, round)| round);
        let (margin, waking) = (clock.to_ticks(MARGIN_NS), clock.to_ticks(WAKING_NS));
        let mut holds = Sweep::over(&evidence.others.holds);
        let mut waits = Sweep::over(&evidence.others.waits);
        let usual_cause = if operation == Operation::Unlock { DelayCause::Waiter } else { DelayCause::Holder };
        let mut long = Vec::new();
        for round in rounds {
            let (start, end) = operation.span(round);
            let held = holds.overlap(round.began, round.locked);
            let others = match operation {
                Operation::Unlock if waits.overlap(round.ended - 1, round.ended) > 0 => waking,
                Operation::Unlock => 0,
                // A release is timed a little after it.
                Operation::Lock | Operation::RoundTrip => held.saturating_sub(4 * evidence.resolution),
            };
            let excess = (end - start).saturating_sub(usual);
            let net = net(end - start);
            if excess >= margin {
                long.push(Long { net, gap: Gap { start, length: end - start }, others });
                continue;
            }
            let value = self.value(net);
            value.rounds += 1;
            value.free += u64::from(others == 0);
            value.blame(if others == 0 { DelayCause::Unexplained } else { usual_cause.clone() }, excess);
        }
        self.explain(&long, evidence, usual, &usual_cause);
    }

    /// That of one latency; beyond so many different ones, of those that are nearly the same.
    fn value(&mut self, net: u64) -> &mut Value {
        let is_full = self.values.len() >= MOST_VALUES && !self.values.contains_key(&net);
        self.values.entry(if is_full { coarse(net) } else { net }).or_default()
    }

    /// Divides the excess of the long rounds between the other threads and what the kernel's record says.
    fn explain(&mut self, long: &[Long], evidence: &SliceEvidence<'_>, usual: u64, usual_cause: &DelayCause) {
        let gaps: Vec<Gap> = long.iter().map(|long| long.gap).collect();
        let stretch = Stretch {
            timeline: evidence.timeline,
            task: evidence.task,
            start: evidence.window.start,
            end: evidence.window.end,
            gaps: &gaps,
            usual,
            preempted: &[],
            looks: &[],
        };
        self.overhead.learn(&stretch);
        let attribution = attribute(&stretch, &self.overhead);
        for (number, long) in long.iter().enumerate() {
            let mut shares: BTreeMap<DelayCause, u64> = BTreeMap::new();
            for (cause, ticks) in attribution.of_gap(number) {
                match cause.kind {
                    Kind::Own => {}
                    // Who sleeps while it takes a lock sleeps for the lock.
                    Kind::Blocked => *shares.entry(usual_cause.clone()).or_default() += ticks,
                    Kind::Unexplained => {
                        let due = ticks.min(long.others);
                        *shares.entry(usual_cause.clone()).or_default() += due;
                        *shares.entry(DelayCause::Unexplained).or_default() += ticks - due;
                    }
                    // Of several processes of one name the record needs only the name.
                    _ => *shares.entry(DelayCause::Kernel(Cause { pid: None, ..cause.clone() })).or_default() += ticks,
                }
            }
            let value = self.value(long.net);
            value.rounds += 1;
            let most = shares.iter().max_by_key(|(_, ticks)| **ticks).map(|(cause, _)| cause.clone());
            for (cause, ticks) in shares {
                let sum = value.sum_of(&cause);
                sum.0 += u64::from(Some(&cause) == most.as_ref());
                sum.1 += ticks;
            }
        }
    }

    /// The cause of the rounds with these net latencies, the usual latency of which is `fast` at most; `None` if no
    /// slice with evidence had such rounds.
    pub fn cause_of(&self, latencies: RangeInclusive<u64>, fast: u64) -> Option<SpikeCause> {
        let values = self.values.iter().filter(|(net, _)| latencies.contains(net));
        let mut all = Value::default();
        let mut nets = Vec::new();
        for (&net, value) in values {
            all.absorb(value);
            nets.push((net, value.rounds));
        }
        let median = weighted_quantile(&mut nets, 0.5)?;
        let share = |part: u64, whole: u64| if whole > 0 { part as f64 / whole as f64 } else { 0.0 };
        if median <= fast && 2 * all.free >= all.rounds {
            let free = share(all.free, all.rounds);
            return Some(SpikeCause { cause: UNCONTENDED.into(), cause_share: None, evidence_share: free, median });
        }
        let excess: u64 = all.by_cause.values().map(|(_, ticks)| ticks).sum();
        let (cause, (rounds, ticks)) = all.by_cause.iter().max_by_key(|(_, (_, ticks))| *ticks)?;
        let known = if *cause == DelayCause::Unexplained { 0 } else { *rounds };
        Some(SpikeCause {
            cause: cause.label(),
            cause_share: Some(share(*ticks, excess)),
            evidence_share: share(known, all.rounds),
            median,
        })
    }

    /// What nine in ten free rounds take at most, in net ticks, with some steps of the clock to spare. Not their
    /// median: a free lock may have two speeds, as the core has, and the slower is as usual as the faster.
    pub fn fast_limit(&self, resolution: u64) -> u64 {
        let mut free: Vec<(u64, u64)> = self.values.iter().map(|(&net, value)| (net, value.free)).collect();
        weighted_quantile(&mut free, 0.9).unwrap_or(0) + 3 * resolution
    }
}

/// Why a spike is where it is.
#[derive(Clone, Debug, PartialEq)]
pub struct SpikeCause {
    pub cause: String,
    /// Of the excess of the spike's rounds; `None` for what has none.
    pub cause_share: Option<f64>,
    /// Of the rounds: those with evidence for this cause.
    pub evidence_share: f64,
    /// The median of these rounds in the slices with evidence, in net ticks.
    pub median: u64,
}

/// Different latencies that are kept exactly.
const MOST_VALUES: usize = 1 << 15;
/// Causes that one latency may have.
const MOST_CAUSES: usize = 32;

/// With seven significant bits: within a hundredth.
fn coarse(net: u64) -> u64 {
    let surplus = (u64::BITS - net.leading_zeros()).saturating_sub(7);
    (net >> surplus) << surplus
}

impl Value {
    /// Of more causes than there is room for, the new ones are unexplained: nobody tells of them anyway.
    fn sum_of(&mut self, cause: &DelayCause) -> &mut (u64, u64) {
        let is_full = self.by_cause.len() >= MOST_CAUSES && !self.by_cause.contains_key(cause);
        self.by_cause.entry(if is_full { DelayCause::Unexplained } else { cause.clone() }).or_default()
    }

    fn blame(&mut self, cause: DelayCause, ticks: u64) {
        let sum = self.by_cause.entry(cause).or_default();
        sum.0 += 1;
        sum.1 += ticks;
    }

    fn absorb(&mut self, other: &Self) {
        self.rounds += other.rounds;
        self.free += other.free;
        for (cause, (rounds, ticks)) in &other.by_cause {
            let sum = self.by_cause.entry(cause.clone()).or_default();
            sum.0 += rounds;
            sum.1 += ticks;
        }
    }
}

/// Of values that occurred so often each.
fn weighted_quantile(values: &mut [(u64, u64)], q: f64) -> Option<u64> {
    values.sort_unstable();
    let rank = (q * values.iter().map(|(_, count)| count).sum::<u64>() as f64).ceil() as u64;
    let mut seen = 0;
    values.iter().filter(|(_, count)| *count > 0).find_map(|&(value, count)| {
        seen += count;
        (seen >= rank).then_some(value)
    })
}

/// What took the excess of a round.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DelayCause {
    /// Another thread had the lock.
    Holder,
    /// Another thread waited for it, and had to be woken.
    Waiter,
    /// Something of the kernel's.
    Kernel(Cause),
    /// Nothing known.
    Unexplained,
}

impl DelayCause {
    /// As the record has it.
    pub fn label(&self) -> String {
        match self {
            Self::Holder => "waited for the holder".into(),
            Self::Waiter => "woke a waiter".into(),
            Self::Kernel(Cause { kind: Kind::Task, name: Some(name), .. }) => format!("switched out to {name}"),
            Self::Kernel(cause) => label(cause),
            Self::Unexplained => UNEXPLAINED.into(),
        }
    }
}

/// The cause of what has no evidence.
pub const UNEXPLAINED: &str = "unexplained";
/// The cause of the fast path.
const UNCONTENDED: &str = "uncontended";

#[cfg(test)]
mod tests {
    use super::{UNEXPLAINED, *};

    fn value(rounds: u64, free: u64, by_cause: &[(DelayCause, u64, u64)]) -> Value {
        let by_cause = by_cause.iter().map(|(cause, count, ticks)| (cause.clone(), (*count, *ticks))).collect();
        Value { rounds, free, by_cause }
    }

    fn causes(values: Vec<(u64, Value)>) -> Causes {
        Causes { values: values.into_iter().collect(), ..Causes::default() }
    }

    #[test]
    fn the_fast_path_is_uncontended_and_the_rest_is_what_took_most() {
        let cron = || DelayCause::Kernel(Cause { kind: Kind::Task, name: Some("cron".into()), pid: None });
        let found = causes(vec![
            (100, value(90, 85, &[(DelayCause::Unexplained, 5, 50)])),
            (50_000, value(10, 0, &[(DelayCause::Holder, 7, 300_000), (cron(), 3, 100_000)])),
            (9_000_000, value(4, 0, &[(DelayCause::Holder, 1, 9_000), (cron(), 3, 30_000_000)])),
        ]);
        let fast = found.fast_limit(10);
        let cause = |range| found.cause_of(range, fast).map(|found| found.cause);
        assert_eq!(cause(0..=1_000).as_deref(), Some(UNCONTENDED));
        assert_eq!(cause(40_000..=60_000).as_deref(), Some("waited for the holder"));
        assert_eq!(cause(1_000_000..=u64::MAX).as_deref(), Some("switched out to cron"));
        assert_eq!(cause(2_000..=3_000), None);
        let contended = found.cause_of(40_000..=60_000, fast).unwrap();
        assert_eq!((contended.cause_share, contended.evidence_share, contended.median), (Some(0.75), 0.7, 50_000));
    }

    #[test]
    fn a_free_round_that_took_longer_is_unexplained() {
        let found =
            causes(vec![(100, value(90, 90, &[])), (400, value(10, 10, &[(DelayCause::Unexplained, 10, 3_000)]))]);
        let slow = found.cause_of(300..=500, found.fast_limit(10)).unwrap();
        assert_eq!((slow.cause.as_str(), slow.evidence_share), (UNEXPLAINED, 0.0));
    }
}
