//! Detection of periodic components among the gaps in which a thread did not run: the kernel's tick, the host's tick.
//!
//! A regular cause produces a *comb*: gaps at a constant distance, its *teeth*. Its frequency and the multiples of it
//! have peaks in the Rayleigh spectrum of the gaps' start times. Every such line, divided by 1, 2, 3, …, is a
//! candidate for the fundamental frequency. The candidate whose comb explains the gaps best wins. At each tooth there
//! is a gap or there is none, and the likelihood of these outcomes, relative to that of gaps by chance, is highest at
//! the fundamental. Half the period doubles the misses, twice the period halves the hits. The explained gaps are
//! removed and the search is repeated, so that several combs are separated.
//!
//! Long gaps are searched first. A tick of 40 µs is invisible among tens of thousands of gaps of 0.2 µs, caused by
//! the host or by the core's SMT sibling, in a spectrum that weights all gaps equally. Each tooth is assigned the
//! longest gap within its reach, since a short one may be there by chance. A frequency that is likely in advance,
//! such as the kernel's own, is a candidate even without a peak.

use crate::statistics::order::{median, sorted};
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;

/// Largest share of searches among gaps without any rhythm that find a period. It bounds each of the two tests that a
/// comb must pass, that of the spectrum and that of the teeth.
pub const FALSE_ALARMS: f64 = 0.01;

/// Largest number of combs on one CPU; a machine does not produce more.
const MOST_COMBS: usize = 8;

/// Least lengths of the gaps that are searched, one after the other. The kernel has no interruption shorter than 1
/// µs.
const LENGTHS_NS: [f64; 3] = [10_000.0, 1_000.0, 0.0];

/// Finds the periodic components among `gaps` observed for `span_ns`, those with most gaps first.
///
/// Gaps may be in any order; those outside the observation are ignored. Only significant periods are returned, see
/// [`FALSE_ALARMS`]. For each of them the observation should contain at least about ten teeth. Only the first 100 s
/// of a longer observation are used.
///
/// # Examples
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
    find_among(gaps, span_ns, &[])
}

/// Finds periodic components as [`find`] does, and also tries the `likely` frequencies, in Hz, without a peak in the
/// spectrum.
pub fn find_among(gaps: &[Gap], span_ns: f64, likely: &[f64]) -> Vec<Period> {
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
        let Some((comb, least)) = strongest_of_the_longest(&open, &explained, span, likely) else { break };
        let taken = comb.longest_at_each_tooth(&open, least);
        // An event that begins at a tooth and outlasts the next one has another cause, for example a preemption that
        // the tick has triggered.
        let durations = taken.iter().map(|&index| open[index].duration_ns).filter(|&length| length < comb.period);
        let durations: Vec<f64> = durations.collect();
        // Gaps that missed a tooth of a comb found before are not a separate comb.
        if !durations.is_empty() && !periods.iter().any(|found| comb.is_rest_of(found)) {
            periods.push(period(&comb, &durations, total));
        }
        explained = sorted(&[explained, taken.iter().map(|&index| open[index].start_ns).collect()].concat());
        let mut index = 0..;
        open.retain(|_| index.next().is_some_and(|index| taken.binary_search(&index).is_err()));
    }
    periods.sort_by_key(|period| std::cmp::Reverse(period.gaps));
    periods
}

/// Returns the strongest comb among the longest gaps that have one, and the least length of a gap that it explains.
fn strongest_of_the_longest(open: &[Gap], explained: &[f64], span: f64, likely: &[f64]) -> Option<(Comb, f64)> {
    let longer = |least: f64| -> Vec<f64> {
        open.iter().filter(|gap| gap.duration_ns >= least).map(|gap| gap.start_ns).collect()
    };
    let rungs = LENGTHS_NS.map(|least| (least, longer(least)));
    let scene = |open| Scene { open, explained, span, likely, false_alarms: FALSE_ALARMS / LENGTHS_NS.len() as f64 };
    // A search is repeated only if it has more gaps.
    let is_new = |rung: usize| rung == 0 || rungs[rung].1.len() > rungs[rung - 1].1.len();
    let found = (0..rungs.len()).filter(|&rung| is_new(rung)).find_map(|rung| {
        let comb = scene(&rungs[rung].1).strongest()?;
        Some((rung, comb))
    });
    let (rung, mut comb) = found?;
    let mut least = LENGTHS_NS[rung];
    // Some gaps of the comb may be shorter: include them as long as that explains more.
    for (shorter, times) in &rungs[rung + 1..] {
        let further = comb.weighed(&scene(times));
        if further.evidence <= comb.evidence {
            break;
        }
        (comb, least) = (further, *shorter);
    }
    Some((comb, least))
}

fn period(comb: &Comb, durations: &[f64], total: usize) -> Period {
    Period {
        period_ns: comb.period,
        phase_ns: comb.phase.rem_euclid(comb.period),
        gaps: durations.len(),
        median_gap_ns: median(durations).unwrap_or(0.0),
        longest_gap_ns: durations.iter().copied().fold(0.0, f64::max),
        total_ns: durations.iter().sum(),
        share_of_gaps: durations.len() as f64 / total as f64,
        presence: comb.presence,
    }
}

/// A period of time in which the thread did not run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gap {
    /// Start, in nanoseconds since the start of the observation.
    pub start_ns: f64,
    /// Duration in nanoseconds.
    pub duration_ns: f64,
}

/// A periodic component: a comb of gaps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Period {
    /// Distance between teeth in nanoseconds.
    pub period_ns: f64,
    /// Time of the first tooth, in nanoseconds since the start of the observation.
    pub phase_ns: f64,
    /// Number of gaps that this comb explains and no stronger one does, without those that outlast its period.
    pub gaps: usize,
    /// Median duration of these gaps in nanoseconds.
    pub median_gap_ns: f64,
    /// Duration of the longest of these gaps in nanoseconds.
    pub longest_gap_ns: f64,
    /// Sum of the durations of these gaps in nanoseconds.
    pub total_ns: f64,
    /// Share of these gaps in the number of all gaps, 0 to 1.
    pub share_of_gaps: f64,
    /// Share of the teeth within the observation at which any gap was observed, 0 to 1.
    pub presence: f64,
}

// A comb: the gaps that it explains, how well, and the search for the comb that explains most.

/// Range of frequencies searched, in Hz.
pub const SEARCHED_HZ: (f64, f64) = (5.0, 5_000.0);

/// Relative distance below which candidates lead to the same comb.
const SAME_PERIOD: f64 = 1e-3;

/// Least number of gaps whose rhythm can be distinguished from chance.
const FEWEST_GAPS: usize = 6;

/// Number of the strongest lines, and also of the lowest lines, that are tried as multiples of the fundamental
/// frequency.
const LINES: usize = 6;

/// Highest multiple of the fundamental frequency that is tried for a line.
const HIGHEST_MULTIPLE: u32 = 40;

/// Initial half-width of teeth as a part of the period; it is then reduced step by step.
const WIDEST: f64 = 1.0 / 8.0;

/// Least half-width of teeth in nanoseconds.
const NARROWEST_NS: f64 = 5_000.0;

/// Share of the best explanation above which the comb with the shortest period wins.
const NEARLY: f64 = 0.97;

/// Largest factor by which a likely frequency may be a multiple or a part of the actual one.
const MULTIPLES_OF_LIKELY: u32 = 8;

/// Input of a search; all times are in nanoseconds and sorted.
struct Scene<'a> {
    /// Gaps that no comb explains so far.
    pub open: &'a [f64],
    /// Gaps that a comb explains. They may hide another comb's tooth, which then counts neither as hit nor as missed.
    pub explained: &'a [f64],
    pub span: f64,
    /// Frequencies to try in any case, in Hz.
    pub likely: &'a [f64],
    /// Largest share of searches among gaps without any rhythm that may find one.
    pub false_alarms: f64,
}

/// Teeth at `phase`, `phase + period` and so on, each `reach` wide to either side.
#[derive(Debug, Clone, Copy)]
struct Comb {
    pub period: f64,
    pub phase: f64,
    reach: f64,
    pub presence: f64,
    /// Logarithm of the likelihood ratio of the gaps with this comb and by chance.
    pub evidence: f64,
}

impl Scene<'_> {
    /// Returns the comb that explains the open gaps best, if any is significant.
    pub fn strongest(&self) -> Option<Comb> {
        if self.open.len() < FEWEST_GAPS {
            return None;
        }
        let seconds: Vec<f64> = self.open.iter().map(|ns| ns * 1e-9).collect();
        let lines = peaks(&seconds, self.span * 1e-9, SEARCHED_HZ, self.false_alarms);
        let line_candidates = candidates(&lines).into_iter().filter_map(|period| fit(self, period, WIDEST * period));
        let likely_candidates = likely_periods(self.likely).into_iter().flat_map(|period| {
            // The frequency is known well, so the teeth may be narrow from the start: other gaps cannot pull them
            // away.
            [8.0, 64.0, 512.0].into_iter().filter_map(move |part| fit(self, period, period / part))
        });
        let combs: Vec<Comb> = line_candidates.chain(likely_candidates).collect();
        let best = combs.iter().map(|comb| comb.evidence).max_by(f64::total_cmp)?;
        // The number of combs that could have been tried is the number of distinguishable periods and phases, for
        // each width.
        let teeth = self.span * 1e-9 * SEARCHED_HZ.1;
        let phases = 1e9 / SEARCHED_HZ.0 / NARROWEST_NS;
        if best < (teeth * phases / self.false_alarms).ln() {
            return None;
        }
        let nearly = combs.into_iter().filter(|comb| comb.evidence >= NEARLY * best);
        nearly.min_by(|a, b| a.period.total_cmp(&b.period))
    }
}

/// Returns the periods of the likely frequencies, their multiples and parts.
fn likely_periods(likely_hz: &[f64]) -> Vec<f64> {
    let factors = (1..=MULTIPLES_OF_LIKELY).flat_map(|n| [f64::from(n), 1.0 / f64::from(n)]);
    let frequencies = factors.flat_map(|factor| likely_hz.iter().map(move |hz| hz * factor));
    let within = frequencies.filter(|hz| (SEARCHED_HZ.0..=SEARCHED_HZ.1).contains(hz));
    within.map(|hz| 1e9 / hz).collect()
}

/// Returns the periods, in nanoseconds, of which the lines may be multiples.
fn candidates(lines_hz: &[f64]) -> Vec<f64> {
    let lowest = sorted(lines_hz);
    let lines = lines_hz.iter().take(LINES).chain(lowest.iter().take(LINES));
    let fundamentals = lines.flat_map(|hz| (1..=HIGHEST_MULTIPLE).map(move |multiple| hz / f64::from(multiple)));
    let mut periods: Vec<f64> = fundamentals.filter(|&hz| hz >= SEARCHED_HZ.0).map(|hz| 1e9 / hz).collect();
    periods.sort_by(f64::total_cmp);
    periods.dedup_by(|later, kept| *later < *kept * (1.0 + SAME_PERIOD / 10.0));
    periods
}

/// Returns the best comb near `period`: searched with teeth of this width, then followed as they get narrower.
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

/// Returns the phase with the most times within `reach`, when all times are folded onto one period.
fn fullest(times: &[f64], period: f64, reach: f64) -> f64 {
    let once = sorted(&times.iter().map(|time| time.rem_euclid(period)).collect::<Vec<f64>>());
    // The folded axis is a circle, so the times are appended once more.
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
    /// Returns the number of the tooth nearest to a time, and the distance of the time after it.
    fn tooth(&self, time: f64) -> (f64, f64) {
        let tooth = ((time - self.phase) / self.period).round();
        (tooth, time - self.phase - tooth * self.period)
    }

    /// Fits period and phase to the times at the teeth, by a least-squares line through their deviations; `None` if
    /// there are fewer than three.
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

    /// Computes presence and evidence from the teeth that hit a gap.
    pub fn weighed(self, scene: &Scene) -> Self {
        let hidden = self.hit(scene.explained);
        // Where a tooth is hidden, a gap by chance must not count as a hit either, because it could not have been a
        // miss.
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

    /// Returns the teeth that hit one of the times, in order.
    fn hit(&self, times: &[f64]) -> Vec<i64> {
        let near = times.iter().map(|&time| self.tooth(time)).filter(|(_, off)| off.abs() <= self.reach);
        let mut teeth: Vec<i64> = near.map(|(tooth, _)| tooth as i64).collect();
        teeth.dedup();
        teeth
    }

    /// Returns the indices of the gaps that each tooth explains: the longest within its reach, if it lasts at least
    /// `least`. Only one per tooth, since a second may belong to another comb.
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

    /// Returns whether this comb has the period of one found before, or a multiple, and is within a tooth's width of
    /// it.
    pub fn is_rest_of(&self, found: &Period) -> bool {
        let multiple = (self.period / found.period_ns).round();
        let off = (self.phase - found.phase_ns) / found.period_ns;
        let near = (off - off.round()).abs() * found.period_ns <= 4.0 * self.reach.max(NARROWEST_NS);
        multiple >= 1.0 && (self.period / found.period_ns / multiple - 1.0).abs() < SAME_PERIOD && near
    }
}

// A known period, without a search: the result of a search can be compared with it.

/// Width in nanoseconds of the bins of a period in which gaps begin.
const BIN_NS: f64 = 10_000.0;
/// Shortest gap in nanoseconds: the kernel has no shorter interruption.
const SHORTEST_NS: f64 = 1_000.0;

/// The gaps in the bin of a period in which most gaps begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Folded {
    /// Number of gaps.
    pub gaps: usize,
    /// Median duration of the gaps in nanoseconds.
    pub median_gap_ns: f64,
}

/// Folds all periods onto each other, and returns the gaps of the 10 µs bin in which most gaps of at least 1 µs
/// begin.
///
/// A gap that is longer than the period is not a beat of it, but a consequence of one. The result is `None` without
/// any gap.
///
/// # Examples
///
/// ```
/// use instruments::period::{Gap, fold};
///
/// let gap = |start_ns, duration_ns| Gap { start_ns, duration_ns };
/// let beats = (0..100).map(|beat| gap(1e6 + 4e6 * f64::from(beat), 40_000.0));
/// let others = (0..100).map(|other| gap(50_000.0 + 2.7e6 * f64::from(other), 3_000.0));
/// let folded = fold(&beats.chain(others).collect::<Vec<_>>(), 4e6).unwrap();
/// assert_eq!((folded.gaps, folded.median_gap_ns), (100, 40_000.0));
/// ```
pub fn fold(gaps: &[Gap], period_ns: f64) -> Option<Folded> {
    let mut places = vec![Vec::new(); (period_ns / BIN_NS) as usize + 1];
    for gap in gaps.iter().filter(|gap| (SHORTEST_NS..period_ns).contains(&gap.duration_ns)) {
        places[(gap.start_ns.rem_euclid(period_ns) / BIN_NS) as usize].push(gap.duration_ns);
    }
    let fullest = places.into_iter().max_by_key(Vec::len)?;
    Some(Folded { gaps: fullest.len(), median_gap_ns: median(&fullest)? })
}

// The frequencies at which events recur: the Rayleigh power spectrum.
//
// Convert every event's time into an angle at some frequency and add up the unit vectors. Events without rhythm
// point everywhere, and the squared length of the sum, divided by their number, is exponential with mean 1. Events
// with that rhythm point one way, and it is near their number (Lord Rayleigh, 1880; Mardia and Jupp, "Directional
// Statistics").

/// Length in seconds of the bins into which events are counted before the transform; a tenth of the power is lost at
/// 2.5 kHz.
const BIN_S: f64 = 50e-6;

/// Longest transform: 100 s of bins, 64 MiB.
const MOST_BINS: usize = 1 << 22;

/// Distance in independent frequencies from a stronger peak within which a weaker one counts as its side lobe.
const SIDE_LOBES: f64 = 8.0;

/// Returns the frequencies of the peaks between two frequencies, strongest first, that chance would cause in at most
/// `false_alarms` of all searches.
///
/// `times` are sorted and count from the start of an observation that lasted `span`, all in seconds.
pub(crate) fn peaks(times: &[f64], span: f64, (lowest, highest): (f64, f64), false_alarms: f64) -> Vec<f64> {
    let (power, hz_per_line) = spectrum(times, span);
    let first = ((lowest / hz_per_line).ceil() as usize).max(1);
    let last = ((highest / hz_per_line) as usize).min(power.len().saturating_sub(2));
    if first >= last {
        return Vec::new();
    }
    // Events that come in bursts raise the whole spectrum above its mean of 1, whose median is ln 2. The few lines of
    // a rhythm do not move the median.
    let mut band = power[first..=last].to_vec();
    let middle = band.len() / 2;
    let noise = (*band.select_nth_unstable_by(middle, f64::total_cmp).1 / std::f64::consts::LN_2).max(1.0);
    let threshold = noise * (band.len() as f64 / false_alarms).ln();

    let mut found: Vec<usize> = (first..=last)
        .filter(|&line| power[line] > threshold && power[line] >= power[line - 1] && power[line] > power[line + 1])
        .collect();
    found.sort_by(|&a, &b| power[b].total_cmp(&power[a]));
    let mut kept: Vec<usize> = Vec::new();
    for line in found {
        if kept.iter().all(|&stronger| stronger.abs_diff(line) as f64 * hz_per_line * span > SIDE_LOBES) {
            kept.push(line);
        }
    }
    kept.iter().map(|&line| climb(times, span, line as f64 * hz_per_line, hz_per_line)).collect()
}

/// Returns the power at multiples of a frequency, and that frequency: at most half of the smallest that can be
/// resolved.
fn spectrum(times: &[f64], span: f64) -> (Vec<f64>, f64) {
    let bins = ((span / BIN_S).ceil() as usize).clamp(1, MOST_BINS / 2);
    let size = (2 * bins).next_power_of_two();
    let mut signal = vec![(0.0, 0.0); size];
    let mut events = 0.0;
    for &time in times {
        let bin = (time / BIN_S) as usize;
        if bin < bins {
            signal[bin].0 += 1.0;
            events += 1.0;
        }
    }
    // The mean is subtracted, because the observation's start and end would look like a slow rhythm.
    signal[..bins].iter_mut().for_each(|bin| bin.0 -= events / bins as f64);
    transform(&mut signal);
    let power = signal[..size / 2].iter().map(|(re, im)| (re * re + im * im) / f64::max(events, 1.0)).collect();
    (power, 1.0 / (size as f64 * BIN_S))
}

/// Returns the power at exactly one frequency.
fn power_at(times: &[f64], span: f64, hz: f64) -> f64 {
    let n = times.len() as f64;
    let (mut re, mut im) = (0.0, 0.0);
    for time in times {
        let (sin, cos) = (TAU * hz * time).sin_cos();
        re += cos;
        im += sin;
    }
    // The mean of an even flow of events, as in the transform.
    let (sin, cos) = (TAU * hz * span).sin_cos();
    re -= n * sin / (TAU * hz * span);
    im -= n * (1.0 - cos) / (TAU * hz * span);
    (re * re + im * im) / n
}

/// Returns the top of the peak within one line of `hz`, by ternary search.
fn climb(times: &[f64], span: f64, hz: f64, line: f64) -> f64 {
    let (mut low, mut high) = (hz - line, hz + line);
    for _ in 0..24 {
        let third = (high - low) / 3.0;
        if power_at(times, span, low + third) < power_at(times, span, high - third) {
            low += third;
        } else {
            high -= third;
        }
    }
    (low + high) / 2.0
}

/// Computes the discrete Fourier transform in place, by Cooley and Tukey; the length is a power of two.
fn transform(signal: &mut [(f64, f64)]) {
    let size = signal.len();
    let shift = usize::BITS - size.trailing_zeros();
    for index in 1..size {
        let mirrored = index.reverse_bits() >> shift;
        if index < mirrored {
            signal.swap(index, mirrored);
        }
    }
    let roots: Vec<(f64, f64)> = (0..size / 2)
        .map(|k| {
            let (sin, cos) = (-TAU * k as f64 / size as f64).sin_cos();
            (cos, sin)
        })
        .collect();
    let mut half = 1;
    while half < size {
        let stride = size / (2 * half);
        for pair in signal.chunks_exact_mut(2 * half) {
            let (low, high) = pair.split_at_mut(half);
            for ((a, b), root) in low.iter_mut().zip(high).zip(roots.iter().step_by(stride)) {
                let turned = (b.0 * root.0 - b.1 * root.1, b.0 * root.1 + b.1 * root.0);
                *b = (a.0 - turned.0, a.1 - turned.1);
                *a = (a.0 + turned.0, a.1 + turned.1);
            }
        }
        half *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::{peaks, power_at};

    #[test]
    fn transform_agrees_with_the_sum() {
        let times: Vec<f64> = (0..200).map(|i| f64::from(i) * 0.0049 + f64::from(i % 7) * 1e-4).collect();
        let (power, hz_per_line) = super::spectrum(&times, 1.0);
        let line = (204.0 / hz_per_line).round() as usize;
        let exact = power_at(&times, 1.0, line as f64 * hz_per_line);
        assert!((power[line] / exact - 1.0).abs() < 0.05, "{} {exact}", power[line]);
    }

    #[test]
    fn a_rhythm_is_a_peak() {
        let times: Vec<f64> = (0..250).map(|i| f64::from(i) * 0.004).collect();
        let found = peaks(&times, 1.0, (5.0, 400.0), 0.01);
        assert_eq!(found.len(), 1);
        assert!((found[0] - 250.0).abs() < 0.05, "{found:?}");
    }
}
