//! Is B different from A? Of all cells together, so that few are called different by chance.
//!
//! The statistics are those of [`comparison`](instruments::statistics::comparison) and
//! [`discovery`](instruments::statistics::discovery). What a verdict is worth rests on the scatter between runs, which
//! no single run can tell: it comes from other runs of the same in the archive, and from [`in_general`] where there are
//! none.

use instruments::statistics::comparison::{Comparison, RunToRun, compare};
use instruments::statistics::discovery::discoveries;
use record::{Better, Metric, VariationSource};
use serde::{Serialize, Serializer};

/// Of the cells that are called different, so many at most are so by chance.
pub const FALSE_SHARE: f64 = 0.05;

/// So many other runs must have been seen to judge a figure that has no interval of its own.
const ENOUGH_WITHOUT_INTERVAL: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Slower,
    Faster,
    Differs,
    NoDifference,
    NotJudged,
    NotInA,
    NotInB,
}

impl Verdict {
    pub fn label(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Faster => "faster",
            Self::Differs => "differs",
            Self::NoDifference => "no difference shown",
            Self::NotJudged => "not judged",
            Self::NotInA => "not measured in A",
            Self::NotInB => "not measured in B",
        }
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.label())
    }
}

/// What is known of a pair of metrics.
#[derive(Clone, Copy, Debug)]
pub struct Judgement {
    pub verdict: Verdict,
    /// Why there is none, where there is none.
    pub reason: Option<&'static str>,
    pub comparison: Option<Comparison>,
}

/// How far another run of the same comes out elsewhere, before any other run was seen: measured, see docs/compare.md.
/// The degrees of freedom say how alike cells are in that.
pub fn in_general(source: VariationSource, is_disturbed: bool) -> RunToRun {
    let (deviation, degrees) = match source {
        VariationSource::Computed => return RunToRun::NONE,
        VariationSource::Work => (0.015, 20.0),
        VariationSource::CorrectedWork => (0.01, 30.0),
        VariationSource::WorkRate if !is_disturbed => (0.015, 20.0),
        VariationSource::Operation => (0.1, 20.0),
        VariationSource::SingleOperation => (0.25, 20.0),
        VariationSource::Elapsed if !is_disturbed => (0.05, 4.0),
        VariationSource::Rare => (0.5, 3.0),
        VariationSource::WorkRate | VariationSource::Elapsed | VariationSource::Others => (0.8, 2.0),
    };
    RunToRun { deviation, degrees }
}

/// A figure of both sides.
pub struct Pair {
    pub a: Metric,
    pub b: Metric,
    pub run_to_run: RunToRun,
    /// From how many other runs that is known, beside the general.
    pub other_runs: usize,
}

/// Judges pairs of A and B, all of one comparison, each with its scatter from run to run.
pub fn judged(pairs: &[Pair]) -> Vec<Judgement> {
    let compared: Vec<Result<Comparison, &'static str>> = pairs.iter().map(comparison).collect();
    let chances: Vec<f64> = compared.iter().flatten().map(|comparison| comparison.p).collect();
    let mut called = discoveries(&chances, FALSE_SHARE).into_iter();
    let mut judgement = |(pair, compared): (&Pair, Result<Comparison, &'static str>)| match compared {
        Err(reason) => Judgement { verdict: Verdict::NotJudged, reason: Some(reason), comparison: None },
        Ok(comparison) => {
            let is_called = called.next().unwrap_or(false);
            let verdict = if is_called { direction(pair.a.better, &comparison) } else { Verdict::NoDifference };
            Judgement { verdict, reason: None, comparison: Some(comparison) }
        }
    };
    pairs.iter().zip(compared).map(&mut judgement).collect()
}

fn comparison(pair: &Pair) -> Result<Comparison, &'static str> {
    let alone = pair.a.interval.is_none() || pair.b.interval.is_none();
    if alone && pair.a.variation != VariationSource::Computed && pair.other_runs < ENOUGH_WITHOUT_INTERVAL {
        return Err("no interval of its own, too few other runs");
    }
    let compared =
        compare(&pair.a.estimate(), &pair.b.estimate(), pair.run_to_run).ok_or("there is no ratio to zero")?;
    if compared.interval.low == 0.0 && compared.interval.high.is_infinite() {
        return Err("no larger than what it may be off");
    }
    Ok(compared)
}

fn direction(better: Better, comparison: &Comparison) -> Verdict {
    let more = comparison.ratio > 1.0;
    match better {
        Better::Neither => Verdict::Differs,
        Better::Less if more => Verdict::Slower,
        Better::More if !more => Verdict::Slower,
        Better::Less | Better::More => Verdict::Faster,
    }
}
