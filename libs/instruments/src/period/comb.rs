//! A comb: what it explains, how well, and the search for the one that explains most.

use super::found::{Gap, Period};
use crate::statistics::order::{median, sorted};
use crate::statistics::spectrum;

/// The frequencies searched, in Hz.
pub const SEARCHED_HZ: (f64, f64) = (5.0, 5_000.0);

/// Candidates closer than this, relatively, end at the same comb.
const SAME_PERIOD: f64 = 1e-3;

/// Fewer gaps have no rhythm that could be told from chance.
const FEWEST_GAPS: usize = 6;

/// So many of the strongest, and as many of the lowest lines are taken as possible multiples of the fundamental.
const LINES: usize = 6;

/// The highest multiple of the fundamental that a line is taken for.
const HIGHEST_MULTIPLE: u32 = 40;

/// Teeth are at first this part of the period wide, to either side, and then ever narrower, …
const WIDEST: f64 = 1.0 / 8.0;

/// … down to this, in nanoseconds.
const NARROWEST_NS: f64 = 5_000.0;

/// The shortest period wins among combs that explain nearly as much as the best.
const NEARLY: f64 = 0.97;

/// A likely frequency may be a multiple or a part of the one that there is: so many are tried to either side.
const MULTIPLES_OF_LIKELY: u32 = 8;

/// What a search looks at; all times in nanoseconds and sorted.
pub(super) struct Scene<'a> {
    /// Gaps that no comb explains so far.
    pub open: &'a [f64],
    /// Gaps that one does. Another comb's tooth may hide behind one of these, so there it is neither hit nor missed.
    pub explained: &'a [f64],
    pub span: f64,
    /// Frequencies to try in any case, in Hz.
    pub likely: &'a [f64],
    /// Of searches among gaps without any rhythm, at most this part may find one.
    pub false_alarms: f64,
}

/// Teeth at `phase`, `phase + period` and so on, each `reach` wide to either side.
#[derive(Debug, Clone, Copy)]
pub(super) struct Comb {
    pub period: f64,
    pub phase: f64,
    reach: f64,
    pub presence: f64,
    /// The logarithm of how much likelier the gaps are with this comb than by chance.
    pub evidence: f64,
}

impl Scene<'_> {
    /// The comb that explains the open gaps best, if any is significant.
    pub fn strongest(&self) -> Option<Comb> {
        if self.open.len() < FEWEST_GAPS {
            return None;
        }
        let seconds: Vec<f64> = self.open.iter().map(|ns| ns * 1e-9).collect();
        let lines = spectrum::peaks(&seconds, self.span * 1e-9, SEARCHED_HZ, self.false_alarms);
        let of_lines = candidates(&lines).into_iter().filter_map(|period| fit(self, period, WIDEST * period));
        let of_likely = likely_periods(self.likely).into_iter().flat_map(|period| {
            // Known well, so that its teeth may be narrow from the start: others cannot pull them away.
            [8.0, 64.0, 512.0].into_iter().filter_map(move |part| fit(self, period, period / part))
        });
        let combs: Vec<Comb> = of_lines.chain(of_likely).collect();
        let best = combs.iter().map(|comb| comb.evidence).max_by(f64::total_cmp)?;
        // As many combs could have been tried as there are periods and phases that can be told apart, at each width.
        let teeth = self.span * 1e-9 * SEARCHED_HZ.1;
        let phases = 1e9 / SEARCHED_HZ.0 / NARROWEST_NS;
        if best < (teeth * phases / self.false_alarms).ln() {
            return None;
        }
        let nearly = combs.into_iter().filter(|comb| comb.evidence >= NEARLY * best);
        nearly.min_by(|a, b| a.period.total_cmp(&b.period))
    }
}

/// The periods of the likely frequencies, their multiples and parts.
fn likely_periods(likely_hz: &[f64]) -> Vec<f64> {
    let factors = (1..=MULTIPLES_OF_LIKELY).flat_map(|n| [f64::from(n), 1.0 / f64::from(n)]);
    let frequencies = factors.flat_map(|factor| likely_hz.iter().map(move |hz| hz * factor));
    let within = frequencies.filter(|hz| (SEARCHED_HZ.0..=SEARCHED_HZ.1).contains(hz));
    within.map(|hz| 1e9 / hz).collect()
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

/// The best comb near `period`: found with teeth of this width, then followed as they get narrower.
fn fit(scene: &Scene, period: f64, widest: f64) -> Option<Comb> {
    let mut reach = widest.max(NARROWEST_NS);
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
    pub fn weighed(self, scene: &Scene) -> Self {
        let hidden = self.hit(scene.explained);
        // Where one hides, a gap by chance must not count either: it would be a hit that could not have been a miss.
        let hits = self.hit(scene.open).iter().filter(|tooth| hidden.binary_search(tooth).is_err()).count() as f64;
        let hidden = hidden.len() as f64;
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

    /// The indices of the gaps that each tooth explains: the longest within its reach, if one lasts `least`. One
    /// each, since a second may belong to another comb.
    pub fn longest_at_each_tooth(&self, gaps: &[Gap], least: f64) -> Vec<usize> {
        let mut longest: Vec<(f64, usize)> = Vec::new();
        for (index, gap) in gaps.iter().enumerate().filter(|(_, gap)| gap.duration_ns >= least) {
            let (tooth, off) = self.tooth(gap.start_ns);
            if off.abs() > self.reach {
                continue;
            }
            match longest.last_mut().filter(|last| last.0 == tooth) {
                Some((_, known)) if gaps[*known].duration_ns >= gap.duration_ns => {}
                Some((_, known)) => *known = index,
                None => longest.push((tooth, index)),
            }
        }
        longest.into_iter().map(|(_, index)| index).collect()
    }

    /// Whether this comb has the period of one found before, or a multiple, and lies within a tooth's width of it.
    pub fn is_rest_of(&self, found: &Period) -> bool {
        let multiple = (self.period / found.period_ns).round();
        let off = (self.phase - found.phase_ns) / found.period_ns;
        let near = (off - off.round()).abs() * found.period_ns <= 4.0 * self.reach.max(NARROWEST_NS);
        multiple >= 1.0 && (self.period / found.period_ns / multiple - 1.0).abs() < SAME_PERIOD && near
    }
}
