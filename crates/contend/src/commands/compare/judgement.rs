//! The judgement whether B differs from A, for all cells together, so that few are called different by chance.
//!
//! The statistics are those of [`comparison`](instruments::statistics::comparison) and
//! [`discovery`](instruments::statistics::discovery). The value of a verdict depends on the scatter between runs, which
//! no single run shows. That comes from other runs of the same in the archive, and from [`in_general`] where there are
//! none. A cell is not called different if other runs of the same differ by as much as A and B.

use crate::commands::parameters;
use crate::commands::reading::metrics;
use archive::{Catalogue, Entry, Manifest};
use instruments::statistics::comparison::{Comparison, Estimate, FarthestApart, LEAST_RUNS, RunToRun, compare};
use instruments::statistics::discovery::discoveries;
use record::{Better, Metric, Naming, Source, Unit, VariationSource};
use serde::{Serialize, Serializer};
use terminal::too_few;

/// The maximum probability that a comparison of two runs of the same calls any cell different.
pub const FALSE_CHANCE: f64 = 0.05;

/// The number of other runs that is needed to judge a far end without an interval, and to recognise one far run.
const ENOUGH_FOR_FAR_END: usize = 8;

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

/// The judgement of a pair of metrics.
#[derive(Clone, Debug)]
pub struct Judgement {
    pub verdict: Verdict,
    /// The reason why there is no judgement, or why no difference is shown, where it is not the values alone.
    pub reason: Option<String>,
    pub comparison: Option<Comparison>,
    /// The factor of a change for the worse that nine of ten such comparisons would have found.
    pub could_have_found: Option<f64>,
}

/// The general distance between runs of a value, before any were seen on this machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct General {
    pub run_to_run: RunToRun,
    /// Its degrees of freedom where runs of the same are known, too.
    pub weight: f64,
}

/// Returns the general scatter of a figure, as measured: docs/compare.md has the runs.
pub fn in_general(metric: &Metric, is_disturbed: bool) -> General {
    // A single step of the code's alignment is a part of a nanosecond, so that it has less effect on a longer
    // operation.
    const ALIGNMENT_NS: f64 = 0.45;
    const LONG_OPERATION: f64 = 0.015;
    let (deviation, degrees, weight) = match metric.variation {
        VariationSource::Computed => return General { run_to_run: RunToRun::NONE, weight: 0.0 },
        VariationSource::Work => (0.015, 20.0, 0.5),
        VariationSource::CorrectedWork => (0.01, 30.0, 0.5),
        VariationSource::WorkRate if !is_disturbed => (0.015, 20.0, 0.5),
        VariationSource::Operation if metric.unit == Unit::Ns => {
            (LONG_OPERATION.hypot(ALIGNMENT_NS / metric.value), 20.0, 0.5)
        }
        VariationSource::Operation => (0.1, 20.0, 0.5),
        VariationSource::SingleOperation => (0.25, 20.0, 0.5),
        VariationSource::Elapsed if !is_disturbed => (0.1, 2.0, 0.5),
        VariationSource::Limit => (0.1, 2.0, 0.5),
        VariationSource::Rare if metric.interval.is_some() => (0.5, 3.0, 2.0),
        VariationSource::Rare => (1.5, 2.0, 2.0),
        VariationSource::WorkRate | VariationSource::Elapsed | VariationSource::Others => (0.8, 2.0, 0.5),
    };
    General { run_to_run: RunToRun { deviation, degrees }, weight }
}

/// A value of both sides.
pub struct Pair {
    pub a: Metric,
    pub b: Metric,
    pub run_to_run: RunToRun,
    /// The number of other runs from which the scatter is known, in addition to the general one.
    pub other_runs: usize,
    /// The maximum distances between two of these.
    pub farthest_apart: FarthestApart,
}

/// Judges pairs of A and B, all of one comparison, each with its scatter from run to run.
pub fn judged(pairs: &[Pair]) -> Vec<Judgement> {
    let distance = |pair: &Pair| (pair.b.value.ln() - pair.a.value.ln()).abs();
    let looked_at = |pair| {
        let normal = normal_distance(pair, pairs);
        Looked { pair, compared: comparison(pair), normal, is_seen: distance(pair) <= normal }
    };
    let all: Vec<Looked<'_>> = pairs.iter().map(looked_at).collect();
    let chance = |looked: &Looked<'_>| {
        looked.compared.as_ref().ok().map(|comparison| if looked.is_seen { 1.0 } else { comparison.p })
    };
    let chances: Vec<f64> = all.iter().filter_map(chance).collect();
    let mut called = discoveries(&chances, FALSE_CHANCE).into_iter();
    // A change of one value alone is the smallest of all chances, which the rule for many compares with this one.
    let of_smallest = FALSE_CHANCE / chances.len().max(1) as f64;
    let mut judgement = |Looked { pair, compared, normal, is_seen }: Looked<'_>| match compared {
        Err(reason) => {
            Judgement { verdict: Verdict::NotJudged, reason: Some(reason), comparison: None, could_have_found: None }
        }
        Ok(comparison) => {
            let is_called = called.next().unwrap_or(false);
            let verdict = if is_called { direction(pair.a.better, &comparison) } else { Verdict::NoDifference };
            let reason = if is_called { None } else { undecided(pair, &comparison, is_seen) };
            let could_have_found = could_have_found(pair, of_smallest, normal);
            Judgement { verdict, reason, comparison: Some(comparison), could_have_found }
        }
    };
    all.into_iter().map(&mut judgement).collect()
}

/// A pair before all are judged together.
struct Looked<'a> {
    pair: &'a Pair,
    compared: Result<Comparison, String>,
    /// The distance up to which runs of the same were apart.
    normal: f64,
    /// Whether A and B are at most as far apart.
    is_seen: bool,
}

/// Returns the factor of a change for the worse that nine of ten comparisons would have found, with the intervals and
/// the scatter of this one; `None` if none would.
fn could_have_found(pair: &Pair, chance: f64, normal_distance: f64) -> Option<f64> {
    // A factor of 10⁸, and its logarithm to a ten-thousandth.
    const FARTHEST: f64 = 18.4;
    const HALVINGS: u32 = 18;
    // The normal deviate that nine of ten are above, if its sign is changed.
    const NINE_OF_TEN: f64 = 1.2816;
    let (a, b) = (pair.a.estimate(), pair.b.estimate());
    let is_found = |distance: f64| {
        let change = if pair.a.better == Better::More { -distance } else { distance };
        let times = change.exp() * a.value / b.value;
        let interval = b.interval.map(|ends| ends.scaled(times));
        let changed = Estimate { value: b.value * times, interval, resolution: b.resolution };
        compare(&a, &changed, pair.run_to_run).is_some_and(|found| found.p <= chance)
    };
    let (mut below, mut above) = (normal_distance, FARTHEST);
    if !is_found(above) {
        return None;
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(below, above);
        if is_found(middle) { above = middle } else { below = middle }
    }
    let scatter = a.error().hypot(b.error()).hypot(pair.run_to_run.deviation * std::f64::consts::SQRT_2);
    Some((above + NINE_OF_TEN * scatter).exp()).filter(|factor| factor.is_finite())
}

/// Returns the distance, as a logarithm, up to which runs of the same were apart, so that no distribution needs to be
/// assumed to call it normal.
///
/// Rare events and limits of the machine are on levels far apart, which the few runs of one value may not have met: for
/// them, the largest distance in any value of the kind counts, too.
fn normal_distance(pair: &Pair, pairs: &[Pair]) -> f64 {
    let of_kind = |other: &&Pair| has_levels_far_apart(other.a.variation) && other.a.variation == pair.a.variation;
    let other_runs = OtherRuns {
        count: pair.other_runs,
        farthest_apart: pair.farthest_apart,
        of_kind: pairs.iter().filter(of_kind).map(|other| other.farthest_apart.all).fold(0.0, f64::max),
    };
    other_runs.normal_distance(pair.a.variation, lacks_interval(pair))
}

/// The distances between other runs of the same in one value.
pub struct OtherRuns {
    pub count: usize,
    pub farthest_apart: FarthestApart,
    /// The largest distance in any value of the same variation.
    pub of_kind: f64,
}

impl OtherRuns {
    /// Returns the distance of two runs, as a logarithm, up to which it is normal; 0 with too few other runs.
    ///
    /// A or B is the farthest of `n` + 2 runs in 2 of `n` + 2 comparisons. That is more than one in twenty with fewer
    /// than 38 other runs, hence the margin: it is chosen for a distance whose probability falls with its square. Without
    /// an interval, or for the time of others, it falls with the distance itself, and one such value of several is on the
    /// margin more often, so it is chosen for one in forty.
    ///
    /// A margin that multiplies the distance of one far run hides every change. With enough runs, the others show the
    /// scatter, and a few times their distance beyond the far run is not normal either.
    pub fn normal_distance(&self, variation: VariationSource, lacks_interval: bool) -> f64 {
        const RUNS_FOR_ONE_IN_TWENTY: f64 = 40.0;
        const RUNS_FOR_ONE_IN_FORTY: f64 = 80.0;
        const BEYOND_FARTHEST: f64 = 1.5;
        let Self { count, farthest_apart: own, of_kind } = *self;
        if count < LEAST_RUNS {
            return 0.0;
        }
        let runs = (count + 2) as f64;
        let margin = (RUNS_FOR_ONE_IN_TWENTY / runs).sqrt().max(1.0);
        if has_levels_far_apart(variation) {
            return of_kind * margin;
        }
        let falls_slowly = variation == VariationSource::Others || lacks_interval;
        let of_all = own.all * if falls_slowly { (RUNS_FOR_ONE_IN_FORTY / runs).max(1.0) } else { margin };
        match count < ENOUGH_FOR_FAR_END {
            true => of_all,
            false => of_all.min(own.all + BEYOND_FARTHEST * margin * own.without_farthest),
        }
    }
}

fn has_levels_far_apart(variation: VariationSource) -> bool {
    matches!(variation, VariationSource::Rare | VariationSource::Limit)
}

fn lacks_interval(pair: &Pair) -> bool {
    let has_none = pair.a.interval.is_none() || pair.b.interval.is_none();
    has_none && pair.a.variation != VariationSource::Computed
}

/// Returns the number of other runs that are needed to judge a value, and the reason; `None` if none are.
pub fn needed_runs(variation: VariationSource, lacks_interval: bool) -> Option<(usize, &'static str)> {
    match variation {
        VariationSource::Computed => None,
        VariationSource::Rare if lacks_interval => Some((ENOUGH_FOR_FAR_END, "an extreme value without a CI")),
        VariationSource::Limit => Some((LEAST_RUNS, "a limit of the machine")),
        _ if lacks_interval => Some((LEAST_RUNS, "no CI")),
        _ => None,
    }
}

/// Describes the lack of other runs.
pub fn too_few_runs(needed: usize, known: usize) -> String {
    let known = if known == 0 { "none is known".to_owned() } else { format!("{known} known") };
    format!("{}, {known}", too_few("other runs with the same settings", needed))
}

fn comparison(pair: &Pair) -> Result<Comparison, String> {
    let needed = needed_runs(pair.a.variation, lacks_interval(pair));
    if let Some((needed, what)) = needed.filter(|(needed, _)| pair.other_runs < *needed) {
        return Err(format!("{what}: {}", too_few_runs(needed, pair.other_runs)));
    }
    let compared =
        compare(&pair.a.estimate(), &pair.b.estimate(), pair.run_to_run).ok_or("no ratio: a value is zero")?;
    if compared.interval.low == 0.0 && compared.interval.high.is_infinite() {
        return Err("not larger than its possible error".to_owned());
    }
    Ok(compared)
}

/// Returns the reason why a difference that both runs' own intervals show is not shown; `None` if they show none.
fn undecided(pair: &Pair, comparison: &Comparison, is_seen: bool) -> Option<String> {
    let (a, b) = (pair.a.estimate(), pair.b.estimate());
    if a.is_within_step(&b) {
        return Some("the difference is less than one step of the clock".to_owned());
    }
    if is_seen && comparison.p <= FALSE_CHANCE {
        return Some("other runs with the same settings differ as much".to_owned());
    }
    if comparison.p <= FALSE_CHANCE {
        return Some("too likely by chance, given the number of values".to_owned());
    }
    let within = compare(&a, &b, RunToRun::NONE)?;
    let is_known = pair.other_runs >= LEAST_RUNS || pair.a.variation == VariationSource::Computed;
    (!is_known && within.p <= FALSE_CHANCE).then(|| {
        let words = too_few_runs(LEAST_RUNS, pair.other_runs);
        format!("within the general run-to-run variation; to measure it here: {words}")
    })
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

/// The maximum number of records that are read, the newest of their experiment: reading them must not take long.
const NEWEST: usize = 40;

/// Sets of runs of the same configuration; A and B are in none.
#[derive(Default)]
pub struct PriorRuns {
    sets: Vec<Set>,
    /// Whether A or B was disturbed.
    is_disturbed: bool,
}

struct Set {
    source: Source,
    /// The hashes of contend and of the measured program, which distinguish builds.
    builds: Vec<(String, String)>,
    runs: Vec<Vec<Metric>>,
}

impl PriorRuns {
    /// Finds the runs in the archive.
    ///
    /// An unreadable record is skipped, and so is a disturbed one if neither A nor B is.
    pub fn of(a: &Source, b: &Source, archive: Option<&Catalogue>) -> anyhow::Result<Self> {
        let is_disturbed = a.is_disturbed() || b.is_disturbed();
        let mut prior_runs = Self { sets: Vec::new(), is_disturbed };
        let Some(Catalogue { archive, entries, .. }) = archive else { return Ok(prior_runs) };
        let candidates = entries.iter().rev().filter(|entry| [a, b].into_iter().all(|side| is_candidate(entry, side)));
        let ids: Vec<&str> = candidates.take(NEWEST).map(|entry| entry.id.as_str()).collect();
        archive.each(&ids, |_, found| {
            let Ok((content, manifest)) = found else { return };
            let Ok(source) = record::understand("", &content) else { return };
            let fits = [a, b].into_iter().any(|side| is_same(side, &source));
            if fits && (is_disturbed || !source.is_disturbed()) {
                prior_runs.add(source, &manifest);
            }
        })?;
        Ok(prior_runs)
    }

    /// Creates one set of these runs.
    #[cfg(test)]
    pub fn of_runs(runs: Vec<Vec<Metric>>) -> Self {
        let source = Source {
            name: String::new(),
            experiment: String::new(),
            environment: serde_json::Map::new(),
            parameters: serde_json::Map::new(),
            warnings: Vec::new(),
            parts: Vec::new(),
        };
        Self { sets: vec![Set { source, builds: Vec::new(), runs }], is_disturbed: false }
    }

    fn add(&mut self, source: Source, manifest: &Manifest) {
        let Ok(run) = metrics(&source) else { return };
        let contend = manifest.program.as_ref().and_then(|program| program.hash.clone());
        let contend = contend.map(|hash| ("contend".to_owned(), hash));
        let builds: Vec<(String, String)> = contend.into_iter().chain(parameters::contents(&source)).collect();
        match self.sets.iter_mut().find(|set| set.builds == builds && is_same(&set.source, &source)) {
            Some(set) => set.runs.push(run),
            None => self.sets.push(Set { source, builds, runs: vec![run] }),
        }
    }

    /// Returns a value of A and of B, to be judged with the scatter of these runs.
    ///
    /// If both are known with the core exclusive, those are compared: how often the core was shared is not a difference
    /// between A and B.
    ///
    /// The source of the variation can depend on the value itself: an iteration may be mostly work in one run and not in
    /// another. The one with the widest scatter decides, among A and the other runs. B has no part in it: the value that
    /// is judged would choose its own scatter, and a large change would hide where a small one is found.
    pub fn pair(&self, a: &Metric, b: &Metric, naming: &Naming) -> Pair {
        let [mut a, b] = match (a.alone(), b.alone()) {
            (Some(a), Some(b)) => [a, b],
            _ => [a, b].map(Metric::clone),
        };
        let metric = &a;
        let name = naming.name(metric);
        let is_it = |other: &&Metric| {
            other.experiment == metric.experiment && other.figure == metric.figure && naming.name(other) == name
        };
        let estimate = |other: &Metric| if metric.is_alone { other.alone } else { Some(other.estimate()) };
        let figure = |run: &Vec<Metric>| run.iter().find(is_it).and_then(estimate).filter(|run| run.value > 0.0);
        let sets: Vec<Vec<Estimate>> =
            self.sets.iter().map(|set| set.runs.iter().filter_map(figure).collect()).collect();
        // A value without an interval scatters more, whichever side lacks it.
        let interval = metric.interval.filter(|_| b.interval.is_some());
        let general = |variation| in_general(&Metric { variation, interval, ..metric.clone() }, self.is_disturbed);
        let runs = self.sets.iter().flat_map(|set| &set.runs).filter_map(|run| run.iter().find(is_it));
        let variations = std::iter::once(metric.variation).chain(runs.map(|run| run.variation));
        let widest = variations.map(|variation| (variation, general(variation)));
        let (variation, General { run_to_run, weight }) = widest
            .reduce(|one, other| if other.1.run_to_run.deviation > one.1.run_to_run.deviation { other } else { one })
            .expect("A is one of them");
        let run_to_run = run_to_run.learned(weight, &sets);
        let other_runs = sets.iter().map(Vec::len).filter(|runs| *runs > 1).sum();
        let farthest_apart = FarthestApart::of(&sets);
        a.variation = variation;
        Pair { a, b, run_to_run, other_runs, farthest_apart }
    }
}

/// Returns whether this is a complete run of the same experiment, and not the compared one.
///
/// The copy of a record is the same run.
fn is_candidate(entry: &Entry, side: &Source) -> bool {
    let seed = side.environment.get("seed").and_then(serde_json::Value::as_u64);
    let summary = &entry.summary;
    !summary.interrupted && side.experiment == summary.experiment && seed != Some(summary.seed)
}

/// Returns whether both have the same machine and parameters, perhaps of different builds.
fn is_same(one: &Source, other: &Source) -> bool {
    record::environments(&[one, other]).is_empty() && parameters::are_same(one, other)
}
