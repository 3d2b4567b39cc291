//! The sums over all threads of a lock, or of a lock at one call site, and the sum of all holds, from the holds that
//! were timed.
//!
//! At a place where holds are long each is timed; elsewhere one in 64 is. The holds that were not timed are estimated
//! by those of the sample. A sample cannot rule out a few long holds among the others (a holder that was preempted), so
//! the sum's interval allows for them: by the empirical Bernstein bound (Audibert, Munos and Szepesvári,
//! "Exploration-exploitation tradeoff using variance estimates", 2009), which holds for any distribution of bounded
//! values. Where that interval is wide, there is no sum.

use crate::trace::record::TimeSpike;
use blame::durations::Times;
use blame::time::Ticks;
use instruments::spikes;
use instruments::statistics::Interval;
use interpose::{Kind, Region};
use record::Bin;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Counts and histograms of several pairs.
#[derive(Clone, Default)]
pub struct Sum {
    pub acquisitions: u64,
    pub contended: u64,
    pub timeouts: u64,
    pub waits: Times,
    /// Hold times. In the buckets, a hold also counts for those that were not timed at its place.
    pub holds: Times,
    /// The number of holds that were timed because each was, and their sum in ticks.
    every: (u64, u64),
}

/// The counts of a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    pub acquisitions: u64,
    pub timeouts: u64,
    /// Waits, and their sum in ticks.
    pub waits: [u64; 2],
    /// Holds that were timed, or what the word counts for a condition, and their sum in ticks.
    pub holds: [u64; 2],
    every: [u64; 2],
    /// Ticks of the waits that ended without the lock.
    pub vain_ticks: u64,
}

impl Counts {
    fn of(region: &Region, place: u32) -> Self {
        let (pair, waits) = (&region.pairs[place as usize], &region.waits[place as usize]);
        let both = |times: &interpose::Times| [times.count.load(Relaxed), times.ticks.load(Relaxed)];
        let (holds, timeouts, histograms) =
            (both(&pair.holds), pair.timeouts.load(Relaxed), &region.histograms[place as usize]);
        Self {
            acquisitions: region.acquisitions(place),
            timeouts,
            waits: both(waits),
            holds,
            every: if holds[0] > 1 { histograms.every.each_ref().map(|word| word.load(Relaxed)) } else { [0; 2] },
            // A page that no thread has written to is not read, since that would take memory.
            vain_ticks: if timeouts > 0 { histograms.vain_ticks.load(Relaxed) } else { 0 },
        }
    }

    /// Returns the number of wakes for nothing, where a condition is waited for; see `interpose::Pair`.
    pub fn vain_wakes(&self) -> u64 {
        self.holds[0]
    }

    /// Returns the number of signals, at a call site that signals.
    pub fn signals(&self) -> u64 {
        self.holds[0]
    }

    /// Returns how many of those were by threads that passed on what they had waited for; see `interpose::Pair`.
    pub fn passed(&self) -> u64 {
        self.holds[1]
    }

    /// Returns how many of those were by threads that were woken from another condition of the same mutex; see
    /// `interpose::Histograms`.
    pub fn handed(&self) -> u64 {
        self.every[0]
    }

    fn since(&self, before: &Self) -> Self {
        let less = |now: [u64; 2], before: [u64; 2]| [0, 1].map(|word| now[word].saturating_sub(before[word]));
        Self {
            acquisitions: self.acquisitions.saturating_sub(before.acquisitions),
            timeouts: self.timeouts.saturating_sub(before.timeouts),
            waits: less(self.waits, before.waits),
            holds: less(self.holds, before.holds),
            every: less(self.every, before.every),
            vain_ticks: self.vain_ticks.saturating_sub(before.vain_ticks),
        }
    }
}

/// The treatment of the longest times when sums are read. The end of a part resets them; a snapshot for a live view
/// keeps them for the record of the part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Longest {
    Kept,
    Reset,
}

impl Longest {
    /// Reads the longest time. A thread that notes a longer one at this moment notes it for one of two parts.
    pub fn read(self, most: &AtomicU64) -> u64 {
        match self {
            Self::Kept => most.load(Relaxed),
            Self::Reset => most.swap(0, Relaxed),
        }
    }
}

/// The counts of all pairs at one time, by their places.
#[derive(Default)]
pub struct Snapshot(HashMap<u32, Noted>);

/// The counts of a pair, those of its buckets that are not empty, and the longest times of the part.
struct Noted {
    counts: Counts,
    waits: Vec<(usize, u64)>,
    holds: Vec<(usize, u64)>,
    longest: [u64; 2],
}

impl Snapshot {
    /// Reads the counts.
    pub fn now(region: &Region, longest: Longest) -> Self {
        let noted = |place: u32| {
            let (pair, waits) = (&region.pairs[place as usize], &region.waits[place as usize]);
            let histograms = &region.histograms[place as usize];
            Noted {
                counts: Counts::of(region, place),
                waits: waits.in_buckets(&histograms.waits).collect(),
                holds: pair.holds.in_buckets(&histograms.holds).collect(),
                longest: [waits, &pair.holds].map(|times| longest.read(&times.most)),
            }
        };
        Self(region.pairs().map(|(place, _)| (place, noted(place))).collect())
    }
}

/// The part of the trace that a record is of, by the counts at its begin and at its end: the library only adds, so the
/// part has the differences. Without a snapshot at its begin it is the first part.
#[derive(Clone, Copy, Default)]
pub struct Window<'a> {
    pub before: Option<&'a Snapshot>,
    pub after: Option<&'a Snapshot>,
}

impl Window<'_> {
    fn noted(snapshot: Option<&Snapshot>, place: u32) -> Option<&Noted> {
        snapshot?.0.get(&place)
    }

    /// Returns the counts of a pair in the part.
    pub fn counts(&self, place: u32) -> Counts {
        let counts = |snapshot| Self::noted(snapshot, place).map(|noted| noted.counts).unwrap_or_default();
        counts(self.after).since(&counts(self.before))
    }

    /// Returns the numbers in the buckets of a pair.
    fn buckets(&self, place: u32, of: fn(&Noted) -> &Vec<(usize, u64)>) -> Vec<(usize, u64)> {
        let before = Self::noted(self.before, place).map(of);
        let before: HashMap<usize, u64> = before.into_iter().flatten().copied().collect();
        let after = Self::noted(self.after, place).map(of).into_iter().flatten();
        let since =
            |(bucket, count): &(usize, u64)| (*bucket, count.saturating_sub(before.get(bucket).copied().unwrap_or(0)));
        after.map(since).filter(|(_, count)| *count > 0).collect()
    }
}

impl Sum {
    /// Adds up pairs, by their places.
    pub fn of(region: &Region, window: Window<'_>, places: &[u32]) -> Self {
        let mut sum = Self::default();
        places.iter().for_each(|place| sum.add(region, window, *place));
        sum
    }

    fn add(&mut self, region: &Region, window: Window<'_>, place: u32) {
        let counts = window.counts(place);
        let [longest_wait, longest_hold] = Window::noted(window.after, place).map_or([0; 2], |noted| noted.longest);
        add(&mut self.acquisitions, counts.acquisitions);
        add(&mut self.contended, counts.waits[0]);
        add(&mut self.timeouts, counts.timeouts);
        self.waits.add(counts.waits[1], longest_wait, &window.buckets(place, |noted| &noted.waits), 1.0);
        // A condition is not held, and those words count other things.
        if Kind::of(region.pairs[place as usize].kind.load(Relaxed)).is_some_and(Kind::is_of_condition) {
            return;
        }
        let weight = (counts.acquisitions as f64 / counts.holds[0].max(1) as f64).max(1.0);
        self.holds.add(counts.holds[1], longest_hold, &window.buckets(place, |noted| &noted.holds), weight);
        add(&mut self.every.0, counts.every[0]);
        add(&mut self.every.1, counts.every[1]);
    }

    /// Returns the sum of all holds, if it is known.
    pub fn hold_total(&self, time: &impl Ticks) -> Option<Total> {
        let timed = Timed {
            acquisitions: self.acquisitions,
            timed: self.holds.count,
            timed_ns: time.span_ns(self.holds.ticks),
            every: self.every.0,
            every_ns: time.span_ns(self.every.1),
            longest_ns: time.span_ns(self.holds.most),
        };
        timed.total()
    }
}

/// Adds to a sum up to its largest value. The watched program can write anything into the memory: a sum that is too
/// large for its word is due to that program.
fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}

/// Returns the clusters of times, lettered.
pub fn time_spikes(times: &Times, time: &impl Ticks) -> Vec<TimeSpike> {
    let row = |spike: spikes::Spike| TimeSpike {
        label: spike.label,
        share: spike.share,
        count: spike.count,
        median_ns: spike.median,
        from_ns: spike.from,
        to_ns: spike.to,
        echo_of: spike.echo_of,
        delay_ns: spike.delay,
    };
    times.spikes(time).into_iter().map(row).collect()
}

/// Returns the buckets of times that are not empty.
pub fn bins(times: &Times, time: &impl Ticks) -> Vec<Bin> {
    let bins = times.buckets(time);
    bins.map(|(from_ns, to_ns, count)| Bin { from_ns, to_ns, count }).collect()
}

/// Shares of each kind at most: a record is to be read.
const MOST_SHARES: usize = 8;

/// Returns the shares of parts in their sum, by name: the largest first, and equal ones in the order of their names.
pub fn shares<K: Ord>(parts: impl Iterator<Item = (K, f64)>) -> Vec<(K, f64)> {
    let mut sums: BTreeMap<K, f64> = BTreeMap::new();
    parts.for_each(|(name, part)| *sums.entry(name).or_default() += part);
    let all: f64 = sums.values().sum();
    let share = |(name, part)| (name, if all > 0.0 { part / all } else { 0.0 });
    let mut shares: Vec<(K, f64)> = sums.into_iter().map(share).collect();
    shares.sort_by(|one, other| other.1.total_cmp(&one.1));
    shares.truncate(MOST_SHARES);
    shares
}

/// Time waited so far, by a lock's slot: for locks that have a holder, not for signals.
#[derive(Default)]
pub struct Totals(HashMap<u32, u64>);

impl Totals {
    pub fn of(region: &Region) -> Self {
        let mut totals = HashMap::new();
        for (place, pair) in region.pairs() {
            let kind = interpose::Kind::of(pair.kind.load(Relaxed));
            if kind.is_some_and(interpose::Kind::excludes) {
                let waited = region.waits[place as usize].ticks.load(Relaxed);
                add(totals.entry(pair.lock.load(Relaxed)).or_default(), waited);
            }
        }
        Self(totals)
    }

    pub fn waited(&self) -> u64 {
        self.0.values().fold(0, |sum, ticks| sum.saturating_add(*ticks))
    }

    /// Returns the lock that was waited for most since then.
    pub fn most_since(&self, before: &Self) -> Option<(u32, u64)> {
        let since = |(lock, ticks): (&u32, &u64)| (*lock, ticks - before.0.get(lock).copied().unwrap_or(0).min(*ticks));
        self.0.iter().map(since).filter(|(_, ticks)| *ticks > 0).max_by_key(|(_, ticks)| *ticks)
    }
}

/// The holds of one or several places. Times are in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Timed {
    pub acquisitions: u64,
    /// All that were timed, and their sum.
    pub timed: u64,
    pub timed_ns: f64,
    /// Those of them that were timed because each was.
    pub every: u64,
    pub every_ns: f64,
    pub longest_ns: f64,
}

/// The sum, with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Total {
    pub ns: f64,
    pub interval_ns: Interval,
}

/// A hold that was not timed is taken as no longer than this, or than the longest that was: about what a preempted
/// holder waits until it runs again.
const PREEMPTED_NS: f64 = 10e6;
/// A sum whose interval is wider than this part of it is not given.
const WIDEST: f64 = 0.5;
/// One less 95 %.
const ERROR: f64 = 0.05;

impl Timed {
    /// Returns the sum of all holds; `None` if too few of them were timed to tell.
    pub fn total(&self) -> Option<Total> {
        let estimated = self.estimated()?;
        (estimated.interval_ns.width() <= WIDEST * estimated.ns).then_some(estimated)
    }

    fn estimated(&self) -> Option<Total> {
        let Self { acquisitions, timed, timed_ns, every, every_ns, longest_ns } = *self;
        let untimed = acquisitions.saturating_sub(timed) as f64;
        if timed == 0 {
            return None;
        }
        if untimed == 0.0 {
            return Some(Total { ns: timed_ns, interval_ns: Interval::new(timed_ns, timed_ns) });
        }
        let bound = longest_ns.max(PREEMPTED_NS);
        let sampled = timed.saturating_sub(every) as f64;
        let (mean, most) = if sampled == 0.0 {
            (timed_ns / timed as f64, bound)
        } else {
            let mean = (timed_ns - every_ns).max(0.0) / sampled;
            // The variance of values of this mean is greatest if they are 0 or the longest.
            let variance = mean * longest_ns;
            let log = (3.0 / ERROR).ln();
            (mean, (mean + (2.0 * variance * log / sampled).sqrt() + 3.0 * bound * log / sampled).min(bound))
        };
        // The holds that were timed are a part of the sum, however long the others were.
        let interval_ns = Interval::new(timed_ns, timed_ns + untimed * most);
        Some(Total { ns: timed_ns + untimed * mean, interval_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a place of the library's: which holds it times, and what it notes.
    fn watched(holds: &[f64], is_full: bool) -> Timed {
        const LONG_NS: f64 = 1_500.0;
        let mut noted = Timed { acquisitions: holds.len() as u64, ..Timed::default() };
        let mut times_all = false;
        for (number, &hold) in holds.iter().enumerate() {
            if !(is_full || times_all || number % 64 == 0) {
                continue;
            }
            (noted.timed, noted.timed_ns) = (noted.timed + 1, noted.timed_ns + hold);
            noted.longest_ns = noted.longest_ns.max(hold);
            times_all = if times_all {
                (noted.every, noted.every_ns) = (noted.every + 1, noted.every_ns + hold);
                noted.every < 8 || noted.every_ns >= noted.every as f64 * LONG_NS
            } else {
                hold >= LONG_NS
            };
        }
        noted
    }

    /// Holds with heavy tails: log-normal, Pareto, short ones of which one in 2,000 is preempted, two lengths.
    fn hold(shape: usize, random: &mut fastrand::Rng) -> f64 {
        let normal = (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        match shape {
            0 => 300.0 * (1.5 * normal).exp(),
            1 => 40_000.0 * (2.0 * normal).exp(),
            2 => 200.0 * (1.0 - random.f64()).powf(-1.0 / 1.3),
            3 => 20_000.0 * (1.0 - random.f64()).powf(-1.0 / 1.3),
            4 => {
                if random.usize(..2_000) == 0 {
                    4e6 * random.f64()
                } else {
                    100.0
                }
            }
            5 => {
                if random.usize(..50) == 0 {
                    300_000.0
                } else {
                    80.0
                }
            }
            _ => 2_000.0 * (0.2 * normal).exp(),
        }
    }

    #[test]
    fn interval_contains_the_sum_in_19_of_20_cases() {
        let mut random = fastrand::Rng::with_seed(5);
        let mut given = [0; 7];
        for (shape, given) in given.iter_mut().enumerate() {
            let (mut estimated, mut inside, mut shown, mut shown_inside) = (0, 0, 0, 0);
            for case in 0..400 {
                let count = [30, 300, 3_000, 30_000][case % 4];
                let holds: Vec<f64> = (0..count).map(|_| hold(shape, &mut random)).collect();
                let (noted, sum) = (watched(&holds, false), holds.iter().sum::<f64>());
                let is_in = |total: &Total| {
                    total.interval_ns.low <= sum * 1.000_001 && sum <= total.interval_ns.high * 1.000_001
                };
                if let Some(total) = noted.estimated() {
                    (estimated, inside) = (estimated + 1, inside + usize::from(is_in(&total)));
                }
                if let Some(total) = noted.total() {
                    (shown, shown_inside) = (shown + 1, shown_inside + usize::from(is_in(&total)));
                    assert!((total.ns / sum - 1.0).abs() < 0.6, "{shape}: {total:?} for {sum}");
                }
            }
            assert!(inside * 20 >= estimated * 19, "shape {shape}: {inside} of {estimated}");
            assert!(shown_inside * 20 >= shown * 19, "shape {shape}: {shown_inside} of {shown}");
            *given = shown;
        }
        // Long holds have a sum, though they are sampled at first; short ones have none.
        assert!(given[1] > 200 && given[3] > 200 && given[6] > 300, "{given:?}");
        assert!(given[0] < 100 && given[4] < 100, "{given:?}");
    }

    #[test]
    fn with_every_hold_timed_the_sum_is_exact() {
        let holds: Vec<f64> = (0..500).map(|number| f64::from(number % 7) * 100.0).collect();
        let sum = holds.iter().sum();
        assert_eq!(watched(&holds, true).total(), Some(Total { ns: sum, interval_ns: Interval::new(sum, sum) }));
        assert_eq!(Timed::default().total(), None);
    }
}
