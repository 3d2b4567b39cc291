//! Calculation of gains from values, with their intervals.

use super::correction::own_error;
use super::correction::{Figure, Ran};
use super::locks::Found;
use super::record::{Slope, Verdict, WhatIf, WhatIfRow};
use super::variants::{Figures, NOTHING_SHORTER, PLAIN, Variant};
use instruments::statistics::{Interval, order};
use launch::{Plan, ratio as ratio_of};
use record::Unit;

/// The metric that every program has.
pub const WALL_TIME: &str = "wall time";

/// Returns the metric, as the rows name it.
fn metric(plan: &Plan, place: usize) -> (String, Unit, bool) {
    match place.checked_sub(1).and_then(|own| plan.metrics.get(own)) {
        Some(own) => (own.pattern.name.clone(), Unit::Number, own.higher_is_better),
        None => (WALL_TIME.to_owned(), Unit::Ns, false),
    }
}

/// Returns a gain of a ratio: of a time the part that is saved, of a rate the part that it is higher.
fn gain_of(ratio: f64, higher_is_better: bool) -> f64 {
    if higher_is_better { ratio - 1.0 } else { 1.0 - ratio }
}

/// Makes a row for each metric of the plain program, then for each share of each lock, which begin with 0.
pub fn rows(plan: &Plan, found: &Found, variants: &[Variant], all: &[Vec<Figures>], seed: u64) -> Vec<WhatIfRow> {
    let mut rows = Vec::new();
    for place in 0..=plan.metrics.len() {
        rows.push(row(plan, None, &variants[PLAIN], place, all, seed));
        for (number, lock) in found.tried.iter().enumerate() {
            let own = variants
                .iter()
                .skip(NOTHING_SHORTER)
                .filter(|variant| variant.place == NOTHING_SHORTER || variant.lock == number);
            rows.extend(own.map(|variant| row(plan, Some(&lock.name), variant, place, all, seed)));
        }
    }
    rows
}

fn row(plan: &Plan, lock: Option<&str>, variant: &Variant, place: usize, all: &[Vec<Figures>], seed: u64) -> WhatIfRow {
    let (metric, unit, higher_is_better) = metric(plan, place);
    let (own, base) = (&all[variant.place][place], &all[NOTHING_SHORTER][place]);
    let is_baseline = variant.place <= NOTHING_SHORTER;
    let ratio = ratio_of(&own.values, &base.values, seed).filter(|_| !is_baseline);
    let ratio = ratio.map(|ratio| gain_of(ratio.estimate, higher_is_better));
    let gain_ci = ratio.and_then(|gain| {
        let best = ratio_of(&own.at_best, &base.at_worst, seed)?.interval;
        let worst = ratio_of(&own.at_worst, &base.at_best, seed)?.interval;
        let ends = [best.low, best.high, worst.low, worst.high].map(|end| gain_of(end, higher_is_better));
        let ends = ends.into_iter().chain([gain]);
        let seen = ends.fold(Interval::new(gain, gain), |all, end| Interval::new(all.low.min(end), all.high.max(end)));
        Some(predicted(seen, library_ratio(all).unwrap_or(1.0), higher_is_better))
    });
    let limited = variant.ran.iter().filter(|ran| ran.is_limited_by_cpus()).count();
    WhatIfRow {
        what_if: lock.map(|lock| WhatIf { lock: lock.to_owned(), shorter_share: variant.share }),
        metric,
        unit,
        higher_is_better,
        runs: own.values.len() as u64,
        median: order::median(&own.values),
        ci: order::sample_quantile_interval(&own.values, 0.5, 0.95),
        gain: ratio,
        gain_ci,
        verdict: verdict(variant, gain_ci),
        limited_by_cpus_share: limited as f64 / variant.ran.len().max(1) as f64,
        values: own.values.clone(),
        uncorrected: own.uncorrected.clone(),
    }
}

/// Returns the interval of the gain of the program without the library. With the library, the program takes
/// `library_ratio` times as long: without it, the saved time is the same time of a shorter run, or the same part of
/// that run.
fn predicted(seen: Interval, library_ratio: f64, higher_is_better: bool) -> Interval {
    let (less, more) = (library_ratio.min(1.0), library_ratio.max(1.0));
    let low = seen.low * if seen.low > 0.0 { less } else { more };
    let high = seen.high * if seen.high > 0.0 { more } else { less };
    if higher_is_better {
        // The error is one of the time.
        let time = |gain: f64| 1.0 / (1.0 + gain.max(-0.99));
        let moved = |gain: f64, sign: f64| time(gain) + sign * own_error(1.0 - time(gain));
        return Interval::new(1.0 / moved(low, 1.0) - 1.0, 1.0 / moved(high, -1.0).max(time(high) / 2.0) - 1.0);
    }
    Interval::new(low - own_error(low), (high + own_error(high)).min(1.0).max(low))
}

fn verdict(variant: &Variant, gain: Option<Interval>) -> Verdict {
    match gain {
        _ if variant.failed.is_some() => Verdict::Failed,
        _ if variant.place <= NOTHING_SHORTER => Verdict::Baseline,
        None => Verdict::NotJudged,
        Some(gain) if gain.low > 0.0 => Verdict::Gain,
        Some(gain) if gain.high < 0.0 => Verdict::Loss,
        Some(_) => Verdict::NoneShown,
    }
}

/// Returns the slope of each lock and metric: the gain by the share, by least squares through nothing.
pub fn slopes(found: &Found, rows: &[WhatIfRow]) -> Vec<Slope> {
    let of = |lock: &str, metric: &str| {
        let own = rows.iter().filter(|row| row.metric == metric);
        let shares = own.filter_map(|row| {
            let what_if = row.what_if.as_ref().filter(|what_if| what_if.lock == lock && what_if.shorter_share > 0.0)?;
            Some((what_if.shorter_share, row.gain.zip(row.gain_ci)))
        });
        let points: Option<Vec<(f64, (f64, Interval))>> = shares.map(|(share, gain)| Some((share, gain?))).collect();
        let (slope, slope_ci) = slope(&points?)?;
        Some(Slope { lock: lock.to_owned(), metric: metric.to_owned(), slope, slope_ci })
    };
    let metrics = record::distinct(rows, |row| row.metric.clone());
    metrics.iter().flat_map(|metric| found.tried.iter().filter_map(move |lock| of(&lock.name, metric))).collect()
}

/// Returns the slope: a sum of gains with positive weights, so its ends are those of the gains.
fn slope(points: &[(f64, (f64, Interval))]) -> Option<(f64, Interval)> {
    let squares: f64 = points.iter().map(|(share, _)| share * share).sum();
    let line =
        |of: fn(&(f64, Interval)) -> f64| points.iter().map(|(share, gain)| share * of(gain)).sum::<f64>() / squares;
    (squares > 0.0).then(|| (line(|gain| gain.0), Interval::new(line(|gain| gain.1.low), line(|gain| gain.1.high))))
}

/// Returns the time with the library and nothing shorter, over the plain one.
pub fn library_ratio(all: &[Vec<Figures>]) -> Option<f64> {
    Some(order::median(&all[NOTHING_SHORTER][0].uncorrected)? / order::median(&all[PLAIN][0].values)?)
}

/// Returns the share of waits for CPUs: with nothing shorter, the lags contain nothing else.
pub fn waits_for_cpus_share(nothing_shorter: &[Ran]) -> Option<f64> {
    let waited = |ran: &Ran| 1.0 - ran.along_s(Figure::Wall) / ran.wall_s;
    order::median(&nothing_shorter.iter().map(waited).collect::<Vec<f64>>())
}

/// Returns the part of the program's time, with nothing shorter, that its handoffs took on the way to its end.
pub fn handoffs_share(nothing_shorter: &[Ran]) -> Option<f64> {
    order::median(&nothing_shorter.iter().map(|ran| ran.handoffs_s / ran.wall_s).collect::<Vec<f64>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slope_is_the_gain_by_the_share() {
        let points = [(0.5, (0.2, Interval::new(0.1, 0.3))), (1.0, (0.4, Interval::new(0.3, 0.5)))];
        let (slope, ci) = slope(&points).unwrap();
        assert!((slope - 0.4).abs() < 1e-12 && ci.contains(0.28) && ci.contains(0.52) && ci.width() < 0.25, "{ci:?}");
        assert_eq!(super::slope(&[]), None);
    }

    #[test]
    fn the_interval_covers_the_methods_error_and_the_librarys_cost() {
        let seen = Interval::new(0.2, 0.3);
        let ends = |ratio: f64, higher: bool| predicted(seen, ratio, higher);
        let near = |interval: Interval, low: f64, high: f64| {
            assert!((interval.low - low).abs() < 1e-9 && (interval.high - high).abs() < 1e-9, "{interval:?}");
        };
        near(ends(1.0, false), 0.17, 0.335);
        near(ends(1.2, false), 0.17, 0.398);
        near(ends(0.9, false), 0.18 - 0.029, 0.335);
        let time = |gain: f64, sign: f64| 1.0 / (1.0 + gain) + sign * own_error(1.0 - 1.0 / (1.0 + gain));
        near(ends(1.0, true), 1.0 / time(0.2, 1.0) - 1.0, 1.0 / time(0.3, -1.0) - 1.0);
        near(predicted(Interval::new(-0.1, 0.99), 1.0, false), -0.125, 1.0);
    }

    #[test]
    fn a_gain_is_saved_time_or_a_higher_rate() {
        assert_eq!((gain_of(0.75, false), gain_of(1.5, true), gain_of(1.25, false)), (0.25, 0.5, -0.25));
    }
}
