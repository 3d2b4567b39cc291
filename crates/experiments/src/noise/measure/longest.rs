//! The longest gaps of a cell, each with its main cause: the content of a timeline.

use crate::noise::record::LongGap;
use harness::{StoryPart, story};
use instruments::clock::Clock;
use instruments::evidence::{Attribution, Cause, Kind, Timeline};
use instruments::gaps::{Gap, Watch};

/// The maximum number in the record of each cell: enough for a picture, and at most about 12 KB.
const MOST: usize = 100;
/// The number of the longest gaps whose event timelines are kept.
const MOST_STORIES: usize = 10;

/// The longest gaps so far, the longest first.
#[derive(Debug)]
pub struct Longest {
    /// The begin of the run, in ticks.
    origin: u64,
    gaps: Vec<Found>,
}

#[derive(Debug)]
struct Found {
    start: u64,
    length: u64,
    /// The main cause, …
    cause: Cause,
    /// … and the time that it took.
    ticks: u64,
    story: Vec<StoryPart>,
}

/// The evidence about a watch's gaps.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    pub cpu: usize,
    pub attribution: &'a Attribution,
    pub timeline: &'a Timeline,
}

impl Found {
    fn of(number: usize, gap: Gap, evidence: Option<Evidence<'_>>) -> Self {
        let of_gap = |evidence: Evidence<'_>| {
            let first = evidence.attribution.of_gap(number).first().map(|&(cause, ticks)| (cause.clone(), ticks));
            Some((first?, story(evidence.timeline, evidence.cpu, (gap.start, gap.end()))))
        };
        let unknown = || ((Cause::unnamed(Kind::Unexplained), gap.length), Vec::new());
        let ((cause, ticks), story) = evidence.and_then(of_gap).unwrap_or_else(unknown);
        Self { start: gap.start, length: gap.length, cause, ticks, story }
    }

    fn row(&self, clock: Clock, origin: u64) -> LongGap {
        LongGap {
            start_s: clock.to_ns(self.start.saturating_sub(origin)) / 1e9,
            length_us: clock.to_ns(self.length) / 1e3,
            cause: self.cause.clone(),
            cause_us: clock.to_ns(self.ticks) / 1e3,
            story: self.story.clone(),
        }
    }
}

impl Longest {
    pub fn since(origin: u64) -> Self {
        Self { origin, gaps: Vec::new() }
    }

    /// Adds the gaps of a watch, whose causes are known as far as there is evidence.
    pub fn add(&mut self, watch: &Watch, evidence: Option<Evidence<'_>>) {
        let least = self.gaps.get(MOST - 1).map_or(0, |gap| gap.length);
        let mut longer: Vec<usize> =
            (0..watch.gaps.len()).filter(|&number| watch.gaps[number].length > least).collect();
        longer.sort_by_key(|&number| std::cmp::Reverse(watch.gaps[number].length));
        self.gaps.extend(longer.into_iter().take(MOST).map(|number| Found::of(number, watch.gaps[number], evidence)));
        self.gaps.sort_by_key(|gap| std::cmp::Reverse(gap.length));
        self.gaps.truncate(MOST);
        self.gaps.iter_mut().skip(MOST_STORIES).for_each(|gap| gap.story = Vec::new());
    }

    /// Returns the last gap of a watch.
    pub fn last(&self, watch: &Watch, evidence: Option<Evidence<'_>>, clock: Clock) -> Option<LongGap> {
        let gap = *watch.gaps.last()?;
        Some(Found::of(watch.gaps.len() - 1, gap, evidence).row(clock, self.origin))
    }

    /// Returns the longest gap of all.
    pub fn first(&self, clock: Clock) -> Option<LongGap> {
        self.gaps.first().map(|gap| gap.row(clock, self.origin))
    }

    pub fn rows(&self, clock: Clock) -> Vec<LongGap> {
        self.gaps.iter().map(|gap| gap.row(clock, self.origin)).collect()
    }
}
