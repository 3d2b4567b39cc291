//! Test whether events on several CPUs coincide more often than by chance.
//!
//! For each train of times, the events within a window of an event of another train are counted. The expected count
//! by chance is computed from the trains themselves: one train is shifted against the others, around the whole time,
//! by random amounts, and the events are counted again. A shift preserves the number of events, their clusters and
//! their rhythm, and breaks only their relation to the other trains. (The method is that for spike trains: Grün and
//! Rotter, "Analysis of Parallel Spike Trains", 2010.) Two rhythms that tick together are therefore distinguished
//! from two that only have the same period.
//!
//! ```
//! use instruments::coincidence::coincidences;
//!
//! // Every 10 ms on both, and the second has its own moments too.
//! let one: Vec<f64> = (1..90).map(|n| f64::from(n) * 1e7).collect();
//! let mut other: Vec<f64> = (1..90).flat_map(|n| [f64::from(n) * 1e7 + 2e3, f64::from(n * n) * 1.1e5]).collect();
//! other.sort_by(f64::total_cmp);
//! let found = coincidences(&[one, other], 1e9, 1e4, 7);
//! assert!(found[0].is_common() && found[0].together >= 89);
//! ```

use std::ops::Range;

use fastrand::Rng;

/// The number of events of a train that coincide with events of another train.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coincidence {
    /// Number of events of this train.
    pub moments: usize,
    /// Number of events within the window of an event of another train.
    pub together: usize,
    /// Number of coincidences expected by chance.
    pub by_chance: f64,
    /// Standard deviation of that number between shifts.
    pub deviation: f64,
}

/// Number of standard deviations by which a count must exceed the expected one.
const DEVIATIONS: f64 = 5.0;
const SHIFTS: usize = 200;
/// Part of the time at either end that no shift uses, because events that belong together would coincide again.
const MARGIN: f64 = 0.01;

impl Coincidence {
    /// Returns whether the events coincide more often than by chance.
    ///
    /// A few events are never sufficient evidence.
    pub fn is_common(&self) -> bool {
        // A count deviates by at least its square root, even if the shifts scatter less.
        let deviation = self.deviation.max(self.by_chance.sqrt()).max(1.0);
        self.together as f64 - self.by_chance > DEVIATIONS * deviation
    }
}

/// Counts, for each sorted train of times from 0 to `span`, the events within `window` of an event of another train.
///
/// `seed` initialises the random shifts. All times have the same unit.
///
/// # Examples
///
/// ```
/// use instruments::coincidence::coincidences;
///
/// let one: Vec<f64> = (1..90).map(|n| f64::from(n) * 1e7).collect();
/// let found = coincidences(&[one.clone(), one], 1e9, 1e4, 7);
/// assert_eq!(found[0].together, 89);
/// ```
pub fn coincidences(trains: &[Vec<f64>], span: f64, window: f64, seed: u64) -> Vec<Coincidence> {
    let mut random = Rng::with_seed(seed);
    let of = |(place, own): (usize, &Vec<f64>)| {
        let company = trains.iter().enumerate().filter(|(other, _)| *other != place);
        let mut others: Vec<f64> = company.flat_map(|(_, train)| train.iter().copied()).collect();
        others.sort_by(f64::total_cmp);
        let together = count(own.iter().copied(), &others, window);
        let shifted = |shift: f64| count(own.iter().map(|moment| (moment + shift) % span), &others, window) as f64;
        let counts: Vec<f64> =
            (0..SHIFTS).map(|_| shifted((MARGIN + (1.0 - 2.0 * MARGIN) * random.f64()) * span)).collect();
        let by_chance = counts.iter().sum::<f64>() / SHIFTS as f64;
        let variance = counts.iter().map(|count| (count - by_chance).powi(2)).sum::<f64>() / (SHIFTS - 1) as f64;
        Coincidence { moments: own.len(), together, by_chance, deviation: variance.sqrt() }
    };
    trains.iter().enumerate().map(of).collect()
}

/// Maps the events in those periods in which every train was watched to an axis of only these periods; returns its
/// length too.
///
/// A shift may move an event to any time of the axis. On an axis with unwatched periods, which contain no events of
/// other trains, the expected count by chance would be too small.
///
/// # Examples
///
/// ```
/// use instruments::coincidence::watched_by_all;
///
/// let trains = [vec![1.0, 5.0, 12.0], vec![13.0]];
/// let watched = [vec![0.0..4.0, 10.0..20.0], vec![0.0..15.0]];
/// assert_eq!(watched_by_all(&trains, &watched), (vec![vec![1.0, 6.0], vec![7.0]], 9.0));
/// ```
pub fn watched_by_all(trains: &[Vec<f64>], watched: &[Vec<Range<f64>>]) -> (Vec<Vec<f64>>, f64) {
    let common = watched.iter().cloned().reduce(|one, other| overlaps(&one, &other)).unwrap_or_default();
    let mut span = 0.0;
    // Each period with its start on the new axis.
    let placed: Vec<(f64, Range<f64>)> = common
        .into_iter()
        .map(|stretch| {
            let begins = span;
            span += stretch.end - stretch.start;
            (begins, stretch)
        })
        .collect();
    let on_axis = |moment: &f64| {
        let next = placed.partition_point(|(_, stretch)| stretch.end <= *moment);
        let (begins, stretch) = placed.get(next)?;
        (stretch.start <= *moment).then(|| begins + moment - stretch.start)
    };
    (trains.iter().map(|train| train.iter().filter_map(on_axis).collect()).collect(), span)
}

/// Returns the intersections of two ordered lists of periods.
fn overlaps(one: &[Range<f64>], other: &[Range<f64>]) -> Vec<Range<f64>> {
    let (mut found, mut first) = (Vec::new(), 0);
    for stretch in one {
        first += other[first..].partition_point(|candidate| candidate.end <= stretch.start);
        let touching = other[first..].iter().take_while(|candidate| candidate.start < stretch.end);
        found.extend(touching.map(|both| stretch.start.max(both.start)..stretch.end.min(both.end)));
    }
    found
}

/// Returns the number of events that have an event of `others` within the window.
fn count(moments: impl Iterator<Item = f64>, others: &[f64], window: f64) -> usize {
    let has_company = |moment: &f64| {
        let next = others.partition_point(|other| *other < moment - window);
        others.get(next).is_some_and(|other| *other <= moment + window)
    };
    moments.filter(has_company).count()
}
