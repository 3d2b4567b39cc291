//! Sentences that the terminal, the page and the failures share.

use super::record::{LeftOf, SwapRow, Verdict};
use super::verdict::LEAST_EFFECT;
use terminal::{count, percent, range, ratio};

/// `wall time 1.07× that of the plain program (95 % CI 1.05–1.09)`.
pub fn change(row: &SwapRow) -> String {
    let ends = row.ratio_ci.map_or_else(String::new, |ends| format!(" (95 % CI {})", range(ends.low, ends.high)));
    let times =
        row.ratio.map_or_else(|| "unknown".to_owned(), |times| format!("{} that of the plain program", ratio(times)));
    format!("{} {times}{ends}", row.metric)
}

/// The best lock of the first metric that is the program's own, or of the wall time.
pub fn first(rows: &[SwapRow]) -> Option<String> {
    let metric = rows.iter().map(|row| &row.metric).find(|name| !["wall time", "CPU time"].contains(&name.as_str()));
    let metric = metric.cloned().unwrap_or_else(|| "wall time".to_owned());
    let of_metric = || rows.iter().filter(|row| row.metric == metric && row.is_lock());
    let better = of_metric().filter(|row| row.verdict == Verdict::Better);
    if let Some(best) = better.max_by(|a, b| a.gain().total_cmp(&b.gain())) {
        return Some(format!("With {}, the program is better: {}.", best.lock, change(best)));
    }
    of_metric().next()?;
    let is = |verdict: Verdict| of_metric().any(|row| row.verdict == verdict);
    Some(if is(Verdict::BusyCpus) {
        format!("Other programs used the CPUs, so no verdict is given on the program's {metric}.")
    } else if is(Verdict::NoDifferenceShown) || is(Verdict::NotJudged) {
        let least = percent(LEAST_EFFECT);
        format!("No lock was shown to improve the program's {metric} by more than {least}.")
    } else {
        format!("No lock improves the program's {metric}.")
    })
}

/// What stayed the C library's, if anything did.
pub fn left(left: &LeftOf) -> Option<String> {
    let LeftOf { robust, priority, shared, rwlocks, spins, .. } = *left;
    let named = [
        (robust, "robust mutexes"),
        (priority, "mutexes with a priority protocol"),
        (shared, "process-shared objects"),
        (rwlocks, "readers-writer locks"),
        (spins, "spin locks"),
    ];
    let said: Vec<String> =
        named.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", count(*n))).collect();
    (!said.is_empty())
        .then(|| format!("Initialised but not substituted, in all runs with {}: {}.", left.lock, said.join(", ")))
}

/// A figure in its unit.
pub fn figure(row: &SwapRow, value: Option<f64>) -> String {
    value.map_or_else(|| "–".into(), |value| row.unit.words(value))
}
