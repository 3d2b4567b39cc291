//! Finds periodic losses among the gaps in which a thread did not run: the kernel's tick, the host's tick.
//!
//! A regular cause leaves a *comb*: gaps at a constant distance, its *teeth*. Its frequency and the multiples of that
//! stand out in the Rayleigh spectrum of the gaps' start times; every such line, divided by 1, 2, 3, …, is a candidate
//! for the fundamental. Of all candidates the one wins whose comb explains the gaps best: at each tooth there is a gap
//! or there is none, and the likelihood of these answers, against that of gaps by chance, is highest at the
//! fundamental. Half the period doubles the misses, twice the period halves the hits. The gaps so explained are taken
//! out and the search is repeated, so that several combs are told apart.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::statistics::order::{median, sorted};
use crate::statistics::spectrum;

/// The frequencies searched, in Hz.
pub const SEARCHED_HZ: (f64, f64) = (5.0, 5_000.0);

/// Of searches among gaps without any rhythm, at most this part finds a period. It bounds each of two tests that a
/// comb has to pass, the spectrum's and the teeth's.
pub const FALSE_ALARMS: f64 = 0.01;

/// More combs than this in one place is not what a machine does.
const MOST_COMBS: usize = 8;

/// Fewer gaps have no rhythm that could be told from chance.
const FEWEST_GAPS: usize = 6;

/// So many of the strongest, and as many of the lowest lines are taken as possible multiples of the fundamental.
const LINES: usize = 6;

/// The highest multiple of the fundamental that a line is taken for.
const HIGHEST_MULTIPLE: u32 = 40;

/// Candidates closer than this, relatively, end at the same comb.
const SAME_PERIOD: f64 = 1e-3;

/// Teeth are at first this part of the period wide, to either side, and then ever narrower, …
const WIDEST: f64 = 1.0 / 8.0;

/// … down to this, in nanoseconds.
const NARROWEST_NS: f64 = 5_000.0;

/// The shortest period wins among combs that explain nearly as much as the best.
const NEARLY: f64 = 0.97;

/// A stretch of time in which the thread did not run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gap {
    /// When it began, since the start of the observation.
    pub start_ns: f64,
    /// How long it lasted.
    pub duration_ns: f64,
}

/// A comb of gaps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Period {
    /// The distance between teeth.
    pub period_ns: f64,
    /// The time of the first tooth, since the start of the observation.
    pub phase_ns: f64,
    /// How many gaps are explained by this comb and by no stronger one.
    pub gaps: usize,
    /// The median duration of these gaps.
    pub median_gap_ns: f64,
    /// The longest of these gaps.
    pub longest_gap_ns: f64,
    /// How long these gaps last together.
    pub total_ns: f64,
    /// These gaps as a part of all gaps, 0 to 1.
    pub share_of_gaps: f64,
    /// The part of all teeth within the observation at which any gap was seen, 0 to 1.
    pub presence: f64,
}

/// Finds the periods among `gaps` seen while observing for `span_ns`, the strongest first.
///
/// Gaps may come in any order; those outside the observation are ignored. Only significant periods are given, see
/// [`FALSE_ALARMS`]; for each of them the observation should span at least some ten teeth. Of an observation longer
/// than 100 s only the first 100 s are used.
///
/// ```
/// use instruments::period::{Gap, find};
///
/// let gaps: Vec<Gap> = (0..250).map(|i| Gap { start_ns: 1e6 + 4e6 * f64::from(i), duration_ns: 2_000.0 }).collect();
/// let periods = find(&gaps, 1e9);
/// assert_eq!(periods.len(), 1);
/// assert!((periods[0].period_ns - 4e6).abs() < 400.0);
/// assert_eq!(periods[0].presence, 1.0);
/// ```
pub fn find(gaps: &[Gap], span_ns: f64) -> Vec<Period> {
    if !span_ns.is_finite() {
        return Vec::new();
    }
    let span = span_ns.min(100e9);
    let mut open: Vec<Gap> = gaps.iter().copied().filter(|gap| (0.0..span).contains(&gap.start_ns)).collect();
    open.sort_by(|a, b| a.start_ns.total_cmp(&b.start_ns));
    let total = open.len();
    let mut explained: Vec<f64> = Vec::new();
    let mut periods: Vec<Period> = Vec::new();
    for _ in 0..MOST_COMBS {
        let times: Vec<f64> = open.iter().map(|gap| gap.start_ns).collect();
        let Some(comb) = strongest(&Scene { open: &times, explained: &explained, span }) else { break };
        let taken = comb.nearest_to_each_tooth(&times);
        let durations: Vec<f64> = taken.iter().map(|&index| open[index].duration_ns).collect();
        // What is left of a comb already found, gaps that missed their tooth, is no comb of its own.
        if !periods.iter().any(|found| comb.is_rest_of(found)) {
            periods.push(Period {
                period_ns: comb.period,
                phase_ns: comb.phase.rem_euclid(comb.period),
                gaps: taken.len(),
                median_gap_ns: median(&durations).unwrap_or(0.0),
                longest_gap_ns: durations.iter().copied().fold(0.0, f64::max),
                total_ns: durations.iter().sum(),
                share_of_gaps: taken.len() as f64 / total as f64,
                presence: comb.presence,
            });
        }
        explained = sorted(&[explained, taken.iter().map(|&index| times[index]).collect()].concat());
        let mut index = 0..;
        open.retain(|_| index.next().is_some_and(|index| taken.binary_search(&index).is_err()));
    }
    periods
}

/// What a search looks at; all times in nanoseconds and sorted.
struct Scene<'a> {
    /// Gaps that no comb explains so far.
    open: &'a [f64],
    /// Gaps that one does. Another comb's tooth may hide behind one of these, so there it is neither hit nor missed.
    explained: &'a [f64],
    span: f64,
}

/// Teeth at `phase`, `phase + period` and so on, each `reach` wide to either side.
#[derive(Debug, Clone, Copy)]
struct Comb {
    period: f64,
    phase: f64,
    reach: f64,
    presence: f64,
    /// The logarithm of how much likelier the gaps are with this comb than by chance.
    evidence: f64,
}

/// The comb that explains the open gaps best, if any is significant.
fn strongest(scene: &Scene) -> Option<Comb> {
    if scene.open.len() < FEWEST_GAPS {
        return None;
    }
    let seconds: Vec<f64> = scene.open.iter().map(|ns| ns * 1e-9).collect();
    let lines = spectrum::peaks(&seconds, scene.span * 1e-9, SEARCHED_HZ, FALSE_ALARMS);
    let combs: Vec<Comb> = candidates(&lines).iter().filter_map(|&period| fit(scene, period)).collect();
    let best = combs.iter().map(|comb| comb.evidence).max_by(f64::total_cmp)?;
    // As many combs could have been tried as there are periods and phases that can be told apart, at each width.
    let teeth = scene.span * 1e-9 * SEARCHED_HZ.1;
    let phases = 1e9 / SEARCHED_HZ.0 / NARROWEST_NS;
    if best < (teeth * phases / FALSE_ALARMS).ln() {
        return None;
    }
    let nearly = combs.into_iter().filter(|comb| comb.evidence >= NEARLY * best);
    nearly.min_by(|a, b| a.period.total_cmp(&b.period))
}

/// The periods, in nanoseconds, of which the lines may be multiples.
fn candidates(lines_hz: &[f64]) -> Vec<f64> {
    let lowest = sorted(lines_hz);
    let lines = lines_hz.iter().take(LINES).chain(lowest.iter().take(LINES));
    let fundamentals = lines.flat_map(|hz| (1..=HIGHEST_MULTIPLE).map(move |multiple| hz / f64::from(multiple)));
    let mut periods: Vec<f64> = fundamentals.filter(|&hz| hz >= SEARCHED_HZ.0).map(|hz| 1e9 / hz).collect();
    periods.sort_by(f64::total_cmp);
    periods.dedup_by(|later, kept| *later < *kept * (1.0 + SAME_PERIOD / 10.0));
    periods
}

/// The best comb near `period`: found with wide teeth, then followed as the teeth get narrower.
fn fit(scene: &Scene, period: f64) -> Option<Comb> {
    let mut reach = WIDEST * period;
    let mut comb = Comb { period, phase: fullest(scene.open, period, reach), reach, presence: 0.0, evidence: 0.0 };
    let mut best: Option<Comb> = None;
    while reach >= NARROWEST_NS {
        comb = Comb { reach, ..comb }.straightened(scene.open)?.weighed(scene);
        if best.is_none_or(|best| comb.evidence > best.evidence) {
            best = Some(comb);
        }
        reach /= 2.0;
    }
    best
}

/// The phase around which the most times lie within `reach`, all folded onto one period.
fn fullest(times: &[f64], period: f64, reach: f64) -> f64 {
    let once = sorted(&times.iter().map(|time| time.rem_euclid(period)).collect::<Vec<f64>>());
    // The fold is a circle: append it once more.
    let twice: Vec<f64> = once.iter().copied().chain(once.iter().map(|phase| phase + period)).collect();
    let mut end = 0;
    let mut most = (0, 0.0);
    for (start, &phase) in once.iter().enumerate() {
        while end < twice.len() && twice[end] <= phase + 2.0 * reach {
            end += 1;
        }
        if end - start > most.0 {
            most = (end - start, twice[start.midpoint(end)]);
        }
    }
    most.1
}

impl Comb {
    /// The number of the tooth nearest to a time, and how far after it the time is.
    fn tooth(&self, time: f64) -> (f64, f64) {
        let tooth = ((time - self.phase) / self.period).round();
        (tooth, time - self.phase - tooth * self.period)
    }

    /// Period and phase fitted to the times at the teeth: a least-squares line through their deviations. `None` when
    /// fewer than three are there.
    fn straightened(self, times: &[f64]) -> Option<Self> {
        let near: Vec<(f64, f64)> =
            times.iter().map(|&time| self.tooth(time)).filter(|(_, off)| off.abs() <= self.reach).collect();
        if near.len() < 3 {
            return None;
        }
        let n = near.len() as f64;
        let mean_tooth = near.iter().map(|(tooth, _)| tooth).sum::<f64>() / n;
        let square: f64 = near.iter().map(|(tooth, _)| (tooth - mean_tooth).powi(2)).sum();
        let product: f64 = near.iter().map(|(tooth, off)| (tooth - mean_tooth) * off).sum();
        let slope = if square > 0.0 { product / square } else { 0.0 };
        let rest: Vec<f64> = near.iter().map(|(tooth, off)| off - slope * tooth).collect();
        Some(Self { period: self.period + slope, phase: self.phase + median(&rest)?, ..self })
    }

    /// Presence and evidence, from which teeth hit a gap.
    fn weighed(self, scene: &Scene) -> Self {
        let hits = self.hit(scene.open);
        let hidden = self.hit(scene.explained).iter().filter(|tooth| hits.binary_search(tooth).is_err()).count() as f64;
        let hits = hits.len() as f64;
        let first = (-self.phase / self.period).ceil();
        let teeth = (((scene.span - self.phase) / self.period).ceil() - first).max(hits + hidden);
        let misses = teeth - hits - hidden;
        let rate = scene.open.len() as f64 / scene.span;
        let by_chance = 1.0 - (-rate * 2.0 * self.reach).exp();
        let seen = hits / (hits + misses);
        let likelier =
            |count: f64, with: f64, without: f64| if count > 0.0 { count * (with / without).ln() } else { 0.0 };
        let evidence = likelier(hits, seen, by_chance) + likelier(misses, 1.0 - seen, 1.0 - by_chance);
        let evidence = if seen > by_chance { evidence } else { 0.0 };
        Self { presence: (hits + hidden) / teeth, evidence, ..self }
    }

    /// The teeth that hit one of the times, in order.
    fn hit(&self, times: &[f64]) -> Vec<i64> {
        let near = times.iter().map(|&time| self.tooth(time)).filter(|(_, off)| off.abs() <= self.reach);
        let mut teeth: Vec<i64> = near.map(|(tooth, _)| tooth as i64).collect();
        teeth.dedup();
        teeth
    }

    /// The indices of the times that each tooth explains: one each, since a second may belong to another comb.
    fn nearest_to_each_tooth(&self, times: &[f64]) -> Vec<usize> {
        let mut nearest: Vec<(f64, f64, usize)> = Vec::new();
        for (index, &time) in times.iter().enumerate() {
            let (tooth, off) = self.tooth(time);
            let off = off.abs();
            let known = nearest.last().filter(|last| last.0 == tooth).map(|last| last.1);
            if off <= self.reach && known.is_none_or(|nearer| off < nearer) {
                if known.is_some() {
                    nearest.pop();
                }
                nearest.push((tooth, off, index));
            }
        }
        nearest.into_iter().map(|(_, _, index)| index).collect()
    }

    /// Whether this comb has the period of one found before, or a multiple, and lies within a tooth's width of it.
    fn is_rest_of(&self, found: &Period) -> bool {
        let multiple = (self.period / found.period_ns).round();
        let off = (self.phase - found.phase_ns) / found.period_ns;
        let near = (off - off.round()).abs() * found.period_ns <= 4.0 * self.reach.max(NARROWEST_NS);
        multiple >= 1.0 && (self.period / found.period_ns / multiple - 1.0).abs() < SAME_PERIOD && near
    }
}
