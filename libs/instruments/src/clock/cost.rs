//! The cost of reading the clock, and its resolution.

use super::Clock;
use crate::tally::Tally;

/// The cost of one kind of read.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// Mean of 1,000 consecutive calls, in nanoseconds: the median of many such means.
    pub mean_of_1000_ns: f64,
    /// Least mean of 1,000 calls, in nanoseconds, which contains no interruption.
    pub least_ns: f64,
    /// Differences between adjacent reads, in ticks.
    pub differences: Tally,
}

/// The properties of a clock that belong to each of its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Quality {
    /// Cost of [`Clock::now`].
    pub now: Cost,
    /// Cost of [`Clock::stamp`].
    pub stamp: Cost,
    /// Step in which the counter advances, in ticks. It can be many ticks: a 2.6 GHz counter that is driven by a 100
    /// MHz crystal advances by 26.
    pub resolution_ticks: u64,
    /// The same step in nanoseconds.
    pub resolution_ns: f64,
    /// Whether the reads resolved the step; otherwise it is only known to be at least a tick, which the two fields have.
    pub is_resolved: bool,
    /// Number of adjacent reads on one CPU whose later value was smaller. Any value other than 0 is a broken clock.
    pub backward_steps: u64,
}

const CALLS: usize = 1_000;
const THOUSANDS: usize = 200;

/// Measures the calling thread's clock for about 10 ms; pin the thread first.
pub fn quality(clock: Clock) -> Quality {
    let (now, back_now) = cost(clock, Clock::now);
    let (stamp, back_stamp) = cost(clock, Clock::stamp);
    let found = step(&now.differences);
    let resolution_ticks = found.unwrap_or(1);
    Quality {
        is_resolved: found.is_some(),
        resolution_ticks,
        resolution_ns: clock.to_ns(resolution_ticks),
        backward_steps: back_now + back_stamp,
        now,
        stamp,
    }
}

fn cost(clock: Clock, read: impl Fn(&Clock) -> u64) -> (Cost, u64) {
    let mut differences = Vec::with_capacity(CALLS * THOUSANDS);
    let mut means = Vec::with_capacity(THOUSANDS);
    let mut backward_steps = 0;
    let mut reads = vec![0; CALLS + 1];
    for _ in 0..THOUSANDS {
        means.push(clock.to_ns(calls_in_a_row(&clock, &read)) / CALLS as f64);
        reads.iter_mut().for_each(|slot| *slot = read(&clock));
        backward_steps += reads.windows(2).filter(|pair| pair[1] < pair[0]).count() as u64;
        differences.extend(reads.windows(2).map(|pair| pair[1].saturating_sub(pair[0])));
    }
    means.sort_by(f64::total_cmp);
    let cost = Cost {
        mean_of_1000_ns: means[THOUSANDS / 2],
        least_ns: means[0],
        differences: differences.into_iter().collect(),
    };
    (cost, backward_steps)
}

/// Returns the cost of one [`Clock::now`] in nanoseconds: the mean of 1,000 consecutive calls, which take about ten
/// microseconds.
pub fn read_cost_ns(clock: Clock) -> f64 {
    clock.to_ns(calls_in_a_row(&clock, &Clock::now)) / CALLS as f64
}

/// Returns the cost of one [`Clock::stamp`] in nanoseconds: the mean of 1,000 consecutive calls.
pub fn ordered_read_cost_ns(clock: Clock) -> f64 {
    clock.to_ns(calls_in_a_row(&clock, &Clock::stamp)) / CALLS as f64
}

/// Returns the duration of consecutive calls in ticks. Storing each value would cost a tenth more.
#[inline(never)]
fn calls_in_a_row(clock: &Clock, read: &impl Fn(&Clock) -> u64) -> u64 {
    let first = read(clock);
    let mixed = (1..CALLS).fold(first, |mixed, _| mixed ^ read(clock));
    let last = read(clock);
    std::hint::black_box(mixed);
    last.saturating_sub(first)
}

/// Returns the step of a counter by the differences between its reads; `None` if they do not resolve it.
///
/// Interruptions lengthen differences by any number of steps, so a divisor of all of them is the step. A hypervisor may
/// scale the counter, so that a step of 26 ticks is sometimes 25: the differences then have no common divisor, but form
/// clusters near the multiples of the step, and the distance between clusters is the step. Rare differences may be
/// interruptions. A counter of single ticks shows consecutive differences, more than a scaled step has.
pub(crate) fn step(differences: &Tally) -> Option<u64> {
    let divisor = differences.iter().map(|(difference, _)| difference).fold(0, greatest_common_divisor);
    let is_varied = differences.iter().take(FEWEST_DIFFERENT).count() == FEWEST_DIFFERENT;
    if divisor > 1 && is_varied {
        return Some(divisor);
    }
    let often = differences.count() / 1000;
    let common = || differences.iter().filter(|&(_, count)| count > often);
    let mut clusters: Vec<Cluster> = Vec::new();
    for (difference, count) in common() {
        match clusters.last_mut() {
            Some(cluster) if difference - cluster.to <= CLUSTERED_TICKS => cluster.add(difference, count),
            _ => clusters.push(Cluster { to: difference, sum: difference * count, count }),
        }
    }
    let distances = clusters.windows(2).map(|pair| pair[1].centre() - pair[0].centre());
    if let Some(step) = distances.min_by(f64::total_cmp) {
        let is_multiple = |cluster: &Cluster| {
            let steps = cluster.centre() / step;
            (steps - steps.round()).abs() < 0.15
        };
        if clusters.iter().all(is_multiple) {
            return Some(step.round() as u64);
        }
    }
    let values: Vec<u64> = common().map(|(difference, _)| difference).collect();
    values.windows(3).any(|three| three[2] - three[0] == 2).then_some(1)
}

/// The fewest different differences whose common divisor is the step: fewer may share one by chance, since reads mostly
/// take the same time.
const FEWEST_DIFFERENT: usize = 16;

fn greatest_common_divisor(mut one: u64, mut other: u64) -> u64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

/// Distance below which differences are one unevenly scaled step. A finer step never limits the resolution, because a
/// read itself takes longer.
const CLUSTERED_TICKS: u64 = 3;

/// Adjacent differences and their number.
struct Cluster {
    to: u64,
    sum: u64,
    count: u64,
}

impl Cluster {
    fn add(&mut self, difference: u64, count: u64) {
        self.to = difference;
        self.sum += difference * count;
        self.count += count;
    }

    fn centre(&self) -> f64 {
        self.sum as f64 / self.count as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_is_found_among_multiples() {
        let mut seen = vec![26; 7000];
        seen.extend([52; 3000]);
        seen.push(7919);
        assert_eq!(step(&seen.into_iter().collect()), Some(26));
        let scaled = Tally::from_counts([(25, 300), (26, 6_000), (51, 200), (52, 3_000), (78, 40)]);
        assert_eq!(step(&scaled), Some(26));
        // Consecutive differences show single ticks.
        assert_eq!(step(&Tally::from_counts([(20, 300), (21, 400), (22, 300), (37, 1)])), Some(1));
    }

    /// A counter of two ticks was once called one of a single tick: none of 40 million of its readings was odd.
    #[test]
    fn common_divisor_of_reads_and_interruptions_is_the_step() {
        let common = [(18, 70_000), (20, 90_000), (22, 30_000), (24, 9_000)];
        let interruptions = (0..40_u64).map(|place| (1_000 + 2 * place * place, 1));
        assert_eq!(step(&Tally::from_counts(common.into_iter().chain(interruptions))), Some(2));
    }

    #[test]
    fn step_that_no_read_resolves_is_unknown() {
        // A read that costs 19 or 27 ticks does not reveal the counter's step.
        assert_eq!(step(&Tally::from_counts([(18, 500), (19, 4_000), (27, 3_000)])), None);
        // Few different reads share a divisor by chance.
        assert_eq!(step(&Tally::from_counts([(20, 9_000), (60, 3)])), None);
        assert_eq!(step(&Tally::new()), None);
    }
}

#[cfg(test)]
mod measured {
    use super::*;

    #[test]
    #[ignore = "measured: needs a CPU"]
    fn an_ordered_read_costs_something_and_never_goes_back() {
        let clock = Clock::calibrate(std::time::Duration::from_millis(20)).clock;
        let quality = quality(clock);
        assert_eq!(quality.backward_steps, 0);
        assert!(quality.stamp.least_ns > 0.0 && quality.now.least_ns > 0.0);
        assert!(quality.resolution_ns > 0.0);
        assert_eq!(quality.now.differences.count(), 200_000);
    }
}
