//! What all threads did with a lock, or with a lock at one call site, together.

use crate::trace::holds::{Timed, Total};
use crate::trace::record::TimeSpike;
use blame::time::Ticks;
use instruments::spikes;
use instruments::tally::Tally;
use interpose::{Buckets, Region, bounds, bucket};
use record::Bin;
use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;

/// Counts and histograms of several pairs.
#[derive(Clone, Default)]
pub struct Sum {
    pub acquisitions: u64,
    pub contended: u64,
    pub timeouts: u64,
    pub waits: Times,
    /// In the buckets, a hold counts for those that were not timed at its place, too.
    pub holds: Times,
    /// The number of holds that were timed because each was, and their sum in ticks.
    every: (u64, u64),
}

/// Times, in ticks.
#[derive(Clone, Default)]
pub struct Times {
    pub ticks: u64,
    pub most: u64,
    pub count: u64,
    /// Numbers of the buckets that are not empty: where there are many thousand places, most have few waits.
    buckets: Tally,
}

impl Sum {
    /// Adds up pairs, by their places.
    pub fn of(region: &Region, places: &[u32]) -> Self {
        let mut sum = Self::default();
        places.iter().for_each(|place| sum.add(region, *place));
        sum
    }

    fn add(&mut self, region: &Region, place: u32) {
        let (pair, waits) = (&region.pairs[place as usize], &region.waits[place as usize]);
        let histograms = &region.histograms[place as usize];
        let acquisitions = region.acquisitions(place);
        add(&mut self.acquisitions, acquisitions);
        add(&mut self.contended, waits.count.load(Relaxed));
        add(&mut self.timeouts, pair.timeouts.load(Relaxed));
        self.waits.add(waits, &histograms.waits, 1.0);
        let timed = pair.holds.count.load(Relaxed).max(1);
        self.holds.add(&pair.holds, &histograms.holds, (acquisitions as f64 / timed as f64).max(1.0));
        if timed > 1 {
            let [count, ticks] = &histograms.every;
            add(&mut self.every.0, count.load(Relaxed));
            add(&mut self.every.1, ticks.load(Relaxed));
        }
    }

    /// The sum of all holds, if it is known.
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

/// The watched program can write what it likes into the memory: a sum that is too large for its word is that program's.
fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}

impl Times {
    /// Counts one.
    pub fn note(&mut self, ticks: u64) {
        self.ticks += ticks;
        self.most = self.most.max(ticks);
        self.count += 1;
        self.buckets.add(bucket(ticks) as u64, 1);
    }

    /// Those of others as well.
    pub fn merge(&mut self, other: &Self) {
        self.ticks += other.ticks;
        self.most = self.most.max(other.most);
        self.count += other.count;
        self.buckets.merge(&other.buckets);
    }

    /// Adds times, each of which counts as `weight` times in the buckets.
    fn add(&mut self, times: &interpose::Times, buckets: &Buckets, weight: f64) {
        add(&mut self.ticks, times.ticks.load(Relaxed));
        self.most = self.most.max(times.most.load(Relaxed));
        for (bucket, count) in times.in_buckets(buckets) {
            self.buckets.add(bucket as u64, (count as f64 * weight).round() as u64);
            add(&mut self.count, count);
        }
    }

    /// The value that this share of all is not above, in ns: the middle of its bucket.
    pub fn quantile_ns(&self, share: f64, time: &impl Ticks) -> Option<f64> {
        let rank = (share * self.buckets.count() as f64).ceil().max(1.0) as u64;
        let (from, to) = bounds(self.buckets.at_rank(rank)? as usize);
        let middle = (from + to - 1) as f64 / 2.0;
        Some(time.span_ns(middle.min(self.most as f64).round() as u64))
    }

    pub fn most_ns(&self, time: &impl Ticks) -> Option<f64> {
        (self.count > 0).then(|| time.span_ns(self.most))
    }

    /// The clusters of the times, lettered. A bucket's times are taken as spread evenly in it.
    pub fn spikes(&self, time: &impl Ticks) -> Vec<TimeSpike> {
        const PLACES: u64 = 16;
        let spread = |(bucket, count): (u64, u64)| {
            let (from, to) = bounds(bucket as usize);
            let (from, to) = (time.span_ns(from), time.span_ns(to));
            let places = PLACES.min(count);
            let at = move |place: u64| (from + (to - from) * (place as f64 + 0.5) / places as f64).round() as u64;
            let (each, more) = (count / places, count % places);
            (0..places).map(move |place| (at(place), each + u64::from(place < more)))
        };
        let found = spikes::find(&Tally::from_counts(self.buckets.iter().flat_map(spread)), time.span_ns(1));
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
        found.spikes.into_iter().map(row).collect()
    }

    pub fn bins(&self, time: &impl Ticks) -> Vec<Bin> {
        let bin = |(bucket, count): (u64, u64)| {
            let (from, to) = bounds(bucket as usize);
            Bin { from_ns: time.span_ns(from), to_ns: time.span_ns(to), count }
        };
        self.buckets.iter().map(bin).collect()
    }
}

/// Time waited so far, by a lock's place: of locks that somebody has, not of signals.
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

    /// The lock that was waited for most since then.
    pub fn most_since(&self, before: &Self) -> Option<(u32, u64)> {
        let since = |(lock, ticks): (&u32, &u64)| (*lock, ticks - before.0.get(lock).copied().unwrap_or(0).min(*ticks));
        self.0.iter().map(since).filter(|(_, ticks)| *ticks > 0).max_by_key(|(_, ticks)| *ticks)
    }
}
