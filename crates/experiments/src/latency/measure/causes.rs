//! The causes of the latency of iterations: from the other threads' own timestamps, and from the kernel trace.
//!
//! An iteration is *free* if no other thread had the lock when it was requested. The time of an iteration beyond that
//! without a lock is its excess, and is divided. While another thread had the lock, or this one was blocked for it, it
//! waited for the holder; the kernel trace names the task or interrupt that had the CPU; the rest is unexplained. In
//! less than `MARGIN_NS` the kernel can have had no part: its shortest visit takes longer.

use super::other_threads::{OtherThreads, OthersProbes, Sweep};
use crate::latency::record::Operation;
use harness::label;
use instruments::evidence::{Cause, EntryExitOverhead, Kind, Stretch, Timeline, attribute};
use instruments::gaps::Gap;
use loops::latency::{Round, Trace};
use std::collections::{BTreeMap, HashMap};
use std::ops::{Range, RangeInclusive};

/// The excess below which the kernel can have had no part.
const MARGIN_NS: f64 = 1_000.0;
/// The maximum time of waking a waiter, which is a system call.
const WAKING_NS: f64 = 20_000.0;

/// The evidence about the iterations of one operation, by their net latency in ticks.
#[derive(Clone, Debug, Default)]
pub struct Causes {
    values: HashMap<u64, Value>,
    overhead: EntryExitOverhead,
}

/// The iterations of one latency.
#[derive(Clone, Debug, Default)]
struct Value {
    rounds: u64,
    /// The number of free ones: no other thread had, or wanted, the lock, and the kernel had no part.
    free: u64,
    /// The iterations for which this was the main cause of the excess, and the excess that it took, in ticks.
    by_cause: BTreeMap<DelayCause, (u64, u64)>,
}

impl Operation {
    /// Returns the begin and the end of the operation in an iteration.
    pub fn span(self, round: &Round) -> (u64, u64) {
        match self {
            Self::Lock => (round.began, round.locked),
            Self::Unlock => (round.releasing, round.ended),
            Self::RoundTrip => (round.began, round.ended),
        }
    }
}

/// The evidence of one window about one thread.
pub struct SliceEvidence<'a> {
    pub timeline: &'a Timeline,
    /// The thread's ID.
    pub task: u32,
    pub trace: &'a Trace,
    /// The range in which iterations that begin count.
    pub window: Range<u64>,
    /// The clock's step, in ticks.
    pub resolution: u64,
    /// The iterations of the threads that it shares the lock with, and the times of their probes.
    pub others: &'a OtherThreads,
    pub probes: &'a OthersProbes,
}

/// An iteration that took long enough for the kernel to have had a part.
struct Long {
    net: u64,
    gap: Gap,
    /// The ticks that the other threads may have caused.
    others: u64,
}

impl Causes {
    /// Adds a window.
    ///
    /// `usual` is the time of this part without a lock, in ticks, and `net` returns the net latency of a difference of
    /// timestamps.
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
                // The timestamp of a release is a little after it.
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

    /// Returns the value of one latency; beyond the maximum number of different ones, that of nearly equal latencies.
    fn value(&mut self, net: u64) -> &mut Value {
        let is_full = self.values.len() >= MOST_VALUES && !self.values.contains_key(&net);
        self.values.entry(if is_full { coarse(net) } else { net }).or_default()
    }

    /// Divides the excess of the long iterations between the other threads and the causes in the kernel trace.
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
                    // A thread that sleeps while it acquires a lock is blocked for the lock.
                    Kind::Blocked => *shares.entry(usual_cause.clone()).or_default() += ticks,
                    Kind::Unexplained => {
                        let due = ticks.min(long.others);
                        *shares.entry(usual_cause.clone()).or_default() += due;
                        *shares.entry(DelayCause::Unexplained).or_default() += ticks - due;
                    }
                    // For several processes of one name the record needs only the name.
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

    /// Returns the cause of the iterations with these net latencies, whose usual latency is at most `fast`; `None` if
    /// no window with evidence had such iterations.
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

    /// Returns the maximum of nine in ten free iterations, in net ticks, with some steps of the clock to spare.
    ///
    /// Their median would not do: an uncontended lock may have two speeds, as the core has, and both are usual.
    pub fn fast_limit(&self, resolution: u64) -> u64 {
        let mut free: Vec<(u64, u64)> = self.values.iter().map(|(&net, value)| (net, value.free)).collect();
        weighted_quantile(&mut free, 0.9).unwrap_or(0) + 3 * resolution
    }
}

/// The cause of a spike.
#[derive(Clone, Debug, PartialEq)]
pub struct SpikeCause {
    pub cause: String,
    /// The cause's share of the excess of the spike's iterations; `None` for a spike without excess.
    pub cause_share: Option<f64>,
    /// The share of the iterations with evidence for this cause.
    pub evidence_share: f64,
    /// The median of these iterations in the windows with evidence, in net ticks.
    pub median: u64,
}

/// The number of different latencies that are kept exactly.
const MOST_VALUES: usize = 1 << 15;
/// The maximum number of causes of one latency.
const MOST_CAUSES: usize = 32;

/// Rounds to seven significant bits: within a hundredth.
fn coarse(net: u64) -> u64 {
    let surplus = (u64::BITS - net.leading_zeros()).saturating_sub(7);
    (net >> surplus) << surplus
}

impl Value {
    /// Returns the sum of a cause; beyond the maximum number of causes, new ones are unexplained, since they are not
    /// printed anyway.
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

/// Returns a quantile of values with these counts.
fn weighted_quantile(values: &mut [(u64, u64)], q: f64) -> Option<u64> {
    values.sort_unstable();
    let rank = (q * values.iter().map(|(_, count)| count).sum::<u64>() as f64).ceil() as u64;
    let mut seen = 0;
    values.iter().filter(|(_, count)| *count > 0).find_map(|&(value, count)| {
        seen += count;
        (seen >= rank).then_some(value)
    })
}

/// The cause of an iteration's excess.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DelayCause {
    /// Another thread had the lock.
    Holder,
    /// Another thread waited for it, and had to be woken.
    Waiter,
    /// A task or an interrupt of the kernel.
    Kernel(Cause),
    /// No known cause.
    Unexplained,
}

impl DelayCause {
    /// Returns the label in the record.
    pub fn label(&self) -> String {
        match self {
            Self::Holder => "waited for the holder".into(),
            Self::Waiter => "another thread waited".into(),
            Self::Kernel(Cause { kind: Kind::Task, name: Some(name), .. }) => format!("switched out to {name}"),
            Self::Kernel(cause) => label(cause),
            Self::Unexplained => UNEXPLAINED.into(),
        }
    }
}

/// The label of a time without evidence.
pub const UNEXPLAINED: &str = "unexplained";
/// The label of the fast path.
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
    fn fast_path_is_uncontended_and_other_spikes_have_causes() {
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
    fn slow_uncontended_iteration_is_unexplained() {
        let found =
            causes(vec![(100, value(90, 90, &[])), (400, value(10, 10, &[(DelayCause::Unexplained, 10, 3_000)]))]);
        let slow = found.cause_of(300..=500, found.fast_limit(10)).unwrap();
        assert_eq!((slow.cause.as_str(), slow.evidence_share), (UNEXPLAINED, 0.0));
    }
}
