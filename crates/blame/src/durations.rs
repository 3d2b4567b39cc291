//! Sums and histograms of times, in the buckets of the preloaded library.

use crate::time::Ticks;
use instruments::spikes::{self, Spike};
use instruments::tally::Tally;
use interpose::{bounds, bucket};
use serde::{Deserialize, Serialize};

/// Times, in ticks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Times {
    pub ticks: u64,
    pub most: u64,
    pub count: u64,
    /// Numbers of the buckets that are not empty: where there are many thousand places, most have few waits.
    buckets: Tally,
}

/// Times as they are stored.
#[derive(Serialize, Deserialize)]
struct Stored {
    ticks: u64,
    most: u64,
    count: u64,
    /// The numbers of the buckets, each with its count.
    buckets: Vec<(u64, u64)>,
}

impl From<Times> for Stored {
    fn from(Times { ticks, most, count, buckets }: Times) -> Self {
        Self { ticks, most, count, buckets: buckets.iter().collect() }
    }
}

impl From<Stored> for Times {
    fn from(Stored { ticks, most, count, buckets }: Stored) -> Self {
        Self { ticks, most, count, buckets: Tally::from_counts(buckets) }
    }
}

/// Adds to a sum up to its largest value. The watched program can write anything into the memory: a sum that is too
/// large for its word is due to that program.
fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}

impl Times {
    /// Returns no times, of which the longest will be this.
    pub fn up_to(most: u64) -> Self {
        Self { most, ..Self::default() }
    }

    /// Adds the counts of buckets.
    pub fn add_counts(&mut self, counts: &[u64]) {
        for (bucket, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            self.buckets.add(bucket as u64, *count);
            add(&mut self.count, *count);
        }
    }

    /// Adds this number of times that were 0.
    pub fn add_zeros(&mut self, count: u64) {
        if count > 0 {
            self.buckets.add(0, count);
            add(&mut self.count, count);
        }
    }

    /// Counts one.
    pub fn note(&mut self, ticks: u64) {
        self.ticks += ticks;
        self.most = self.most.max(ticks);
        self.count += 1;
        self.buckets.add(bucket(ticks) as u64, 1);
    }

    /// Adds the data of others.
    pub fn merge(&mut self, other: &Self) {
        self.ticks += other.ticks;
        self.most = self.most.max(other.most);
        self.count += other.count;
        self.buckets.merge(&other.buckets);
    }

    /// Adds times, each of which counts as `weight` times in the buckets.
    pub fn add(&mut self, ticks: u64, most: u64, buckets: &[(usize, u64)], weight: f64) {
        add(&mut self.ticks, ticks);
        self.most = self.most.max(most);
        for (bucket, count) in buckets {
            self.buckets.add(*bucket as u64, (*count as f64 * weight).round() as u64);
            add(&mut self.count, *count);
        }
    }

    /// Returns the value that this share of all is not above, in ns: the middle of its bucket.
    pub fn quantile_ns(&self, share: f64, time: &impl Ticks) -> Option<f64> {
        let rank = (share * self.buckets.count() as f64).ceil().max(1.0) as u64;
        let (from, to) = bounds(self.buckets.at_rank(rank)? as usize);
        let middle = (from + to - 1) as f64 / 2.0;
        Some(time.span_ns(middle.min(self.most as f64).round() as u64))
    }

    pub fn most_ns(&self, time: &impl Ticks) -> Option<f64> {
        (self.count > 0).then(|| time.span_ns(self.most))
    }

    /// Returns the clusters of the times, lettered. A bucket's times are taken as spread evenly in it.
    pub fn spikes(&self, time: &impl Ticks) -> Vec<Spike> {
        const PLACES: u64 = 16;
        let spread = |(bucket, count): (u64, u64)| {
            let (from, to) = bounds(bucket as usize);
            let (from, to) = (time.span_ns(from), time.span_ns(to));
            let places = PLACES.min(count);
            let at = move |place: u64| (from + (to - from) * (place as f64 + 0.5) / places as f64).round() as u64;
            let (each, more) = (count / places, count % places);
            (0..places).map(move |place| (at(place), each + u64::from(place < more)))
        };
        spikes::find(&Tally::from_counts(self.buckets.iter().flat_map(spread)), time.span_ns(1)).spikes
    }

    /// Returns the buckets that are not empty: from, to, in ns, and the number of times.
    pub fn buckets(&self, time: &impl Ticks) -> impl Iterator<Item = (f64, f64, u64)> {
        self.buckets.iter().map(|(bucket, count)| {
            let (from, to) = bounds(bucket as usize);
            (time.span_ns(from), time.span_ns(to), count)
        })
    }
}
