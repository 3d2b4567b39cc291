//! The comparison on a terminal and on a page, and the sentences that both share with the failures.

use super::measure::sleeping;
use super::record::{
    LEAST_EFFECT, LeftOf, SearchArm, SwapParameters, SwapRecord, SwapRow, Verdict, WatchedLock, change,
};
use super::verdict::fewest_runs;
use instruments::warning::WarningKind;
use launch::{FEWEST_RUNS, not_judged};
use record::{Bar, Bars, Figure, Picture, Section, Statement, Table, Unit, distinct};
use terminal::{Page, count, counted, percent, range, ratio};

pub fn show(record: &SwapRecord<'_>, page: &Page) -> String {
    let mut text = format!("{}\n", record.parameters.compared_program.join(" "));
    text.extend(record.parameters.client.iter().map(|client| format!("client: {client}\n")));
    if !record.parameters.swap_only.is_empty() {
        text.push_str(&substituted(&record.parameters.swap_only, page));
    }
    for metric in distinct(record.results, |row| row.metric.clone()) {
        let rows = record.results.iter().filter(|row| row.metric == metric);
        text.push_str(&format!("\n{metric}\n"));
        text.push_str(&terminal::table(&HEADER, rows.map(|row| line(row, fewest(record.results)))));
    }
    let slept = sleeping(&record.parameters.watched)
        .map(|one| format!("{}. Another lock cannot shorten that time.", one.message()));
    let said = first(record.results).into_iter().chain(slept);
    said.for_each(|said| text.push_str(&format!("\n{}", terminal::wrapped("", "", &said, page))));
    text.extend(judged(record));
    text.push_str(&searched(record));
    text.push_str(&watched(record, page));
    text.extend(record.parameters.left.iter().filter_map(|left| not_substituted(left, page)));
    text
}

/// Lists the mutexes that were substituted.
fn substituted(only: &[String], page: &Page) -> String {
    terminal::wrapped("", "  ", &format!("substituted only: {}", only.join(", ")), page)
}

/// Returns the rule of the verdicts.
fn judged(record: &SwapRecord<'_>) -> Option<String> {
    let &SwapParameters { comparisons, least_effect_share: least, .. } = record.parameters;
    (comparisons > 0).then(|| {
        format!(
            "Better or worse: by more than {}, at 95 % confidence over {comparisons} comparisons.\n",
            percent(least)
        )
    })
}

/// Returns the trials of the search, and its result.
fn searched(record: &SwapRecord<'_>) -> String {
    let parameters = &record.parameters;
    let Some(last) = parameters.search.last() else { return String::new() };
    let line = |arm: &SearchArm| {
        let dash = || "–".to_owned();
        let ends = arm.ratio_ci.map_or_else(dash, |ends| range(ends.low, ends.high));
        let times = arm.ratio.map_or_else(dash, ratio);
        vec![arm.stage.to_string(), arm.mutex.clone(), arm.lock.clone(), times, ends, arm.verdict.label().to_owned()]
    };
    let header = ["stage", "mutex", "lock", "vs plain", "95 % CI", "verdict"];
    let end = match &parameters.search_flags {
        Some(flags) => format!("Equivalent options without --search: {flags}"),
        None => format!(
            "No single mutex was shown to make the program better, in {}.",
            counted(last.stage as usize, "stage")
        ),
    };
    format!("\nSearch: each mutex alone\n{}{end}\n", terminal::table(&header, parameters.search.iter().map(line)))
}

/// Returns wait and hold times, lock by lock, plainly and with each substitute.
fn watched(record: &SwapRecord<'_>, page: &Page) -> String {
    let parameters = &record.parameters;
    if let Some(why) = &parameters.unwatched {
        return unwatched(why, page);
    }
    let names = distinct(&parameters.watched, |lock| lock.name.clone());
    let line = |lock: &WatchedLock| {
        let ns = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| Unit::Ns.words(value));
        let (waited, share) = (Unit::Ns.words(lock.wait_total_s * 1e9), count(lock.contended));
        vec![lock.lock.clone(), count(lock.acquisitions), share, waited, ns(lock.wait_p99_ns), ns(lock.hold_p50_ns)]
    };
    let of = |name: &String| {
        let rows = parameters.watched.iter().filter(|lock| lock.name == *name);
        format!("\n{name}, one traced run each\n{}", terminal::table(&WATCHED, rows.map(line)))
    };
    names.iter().map(of).collect()
}

/// Returns why there are no waits and hold times.
fn unwatched(why: &str, page: &Page) -> String {
    let text = format!("No data on waits and hold times: {}", why.lines().next().unwrap_or_default());
    format!("\n{}", terminal::wrapped("", "  ", &text, page))
}

const WATCHED: [&str; 6] = ["lock", "acquired", "contended", "total wait", "wait p99", "hold p50"];

const HEADER: [&str; 7] = ["lock", "runs", "median", "95 % CI", "vs plain", "95 % CI", "verdict"];

/// Returns the fewest runs with which all verdicts can be given.
fn fewest(rows: &[SwapRow]) -> u64 {
    let comparisons = rows.iter().filter(|row| row.verdict != Verdict::Baseline).count();
    fewest_runs(comparisons).max(FEWEST_RUNS)
}

/// Returns a row as a line of a table.
fn line(row: &SwapRow, fewest: u64) -> Vec<String> {
    let dash = || "–".to_owned();
    let ends =
        row.ci.map_or_else(dash, |ends| format!("{} to {}", row.unit.words(ends.low), row.unit.words(ends.high)));
    let times = match row.verdict {
        Verdict::Baseline => Unit::Times.words(1.0),
        _ => row.ratio.map_or_else(dash, ratio),
    };
    vec![
        row.lock.clone(),
        row.runs.to_string(),
        figure(row, row.median),
        ends,
        times,
        row.ratio_ci.map_or_else(dash, |ends| range(ends.low, ends.high)),
        match row.agreed_verdict() {
            Verdict::NotJudged => not_judged(fewest.checked_sub(row.runs)),
            verdict => verdict.label().to_owned(),
        },
    ]
}

/// Returns the comparison on a page: a picture and a table for each metric.
pub fn section(rows: &[SwapRow]) -> Section {
    let metrics = distinct(rows, |row| row.metric.clone());
    let figure = |metric: &String| {
        of_metric(metric, &rows.iter().filter(|row| row.metric == *metric).collect::<Vec<_>>(), fewest(rows))
    };
    Section {
        experiment: "trace",
        title: "Lock substitution".into(),
        findings: first(rows).into_iter().map(Statement::from).collect(),
        figures: metrics.iter().map(figure).collect(),
        histograms: Vec::new(),
    }
}

fn of_metric(metric: &str, rows: &[&SwapRow], fewest: u64) -> Figure {
    let bar = |row: &&SwapRow| {
        Some(Bar { name: row.lock.clone(), value: Ok(row.ratio?), interval: row.ratio_ci, limit: None })
    };
    let bars = Bars { unit: Unit::Times, logarithmic: false, bars: rows.iter().filter_map(bar).collect() };
    Figure {
        title: format!("{metric} relative to the plain program"),
        picture: Picture::Bars(bars),
        tables: vec![Table {
            caption: "Runs".into(),
            header: HEADER.to_vec(),
            rows: rows.iter().map(|row| line(row, fewest)).collect(),
        }],
        secondary: false,
    }
}

/// Returns the best lock of the first metric that is the program's own, or of the wall time.
fn first(rows: &[SwapRow]) -> Option<String> {
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
    } else if of_metric().any(|row| is_open(row.verdict)) {
        let least = percent(LEAST_EFFECT);
        format!("No lock was shown to improve the program's {metric} by more than {least}.")
    } else {
        format!("No lock improves the program's {metric}.")
    })
}

/// Returns whether the lock may still be better.
fn is_open(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::NoDifferenceShown | Verdict::LessThanLeast | Verdict::Undecided | Verdict::NotJudged)
}

/// Lists the objects that were not substituted, if there are any.
fn not_substituted(left: &LeftOf, page: &Page) -> Option<String> {
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
    let text = format!("Initialised but not substituted, in all runs with {}: {}.", left.lock, said.join(", "));
    (!said.is_empty()).then(|| terminal::wrapped("", "  ", &text, page))
}

/// Returns a figure in its unit.
fn figure(row: &SwapRow, value: Option<f64>) -> String {
    value.map_or_else(|| "–".into(), |value| row.unit.words(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use instruments::statistics::Interval;

    fn row(lock: &str, verdict: Verdict) -> SwapRow {
        SwapRow {
            lock: lock.into(),
            metric: "wall time".into(),
            unit: Unit::Ns,
            higher_is_better: false,
            runs: 6,
            median: Some(1.0),
            ci: None,
            ratio: None,
            ratio_ci: None,
            verdict,
            others_share: None,
            values: Vec::new(),
        }
    }

    #[test]
    fn open_verdict_agrees_with_the_interval_in_older_records_too() {
        let verdict = |low: f64, high: f64| {
            let ratio_ci = Some(Interval::new(low, high));
            line(&SwapRow { ratio_ci, ..row("ticket", Verdict::NoDifferenceShown) }, 6).pop().unwrap()
        };
        assert_eq!(verdict(0.97, 1.04), "no difference shown");
        assert_eq!(verdict(1.003, 1.015), "less than least");
        assert_eq!(verdict(1.01, 1.04), "undecided");
    }

    #[test]
    fn too_few_runs_are_stated_with_their_number() {
        let mut rows = vec![row("plain", Verdict::Baseline)];
        rows.extend((0..24).map(|_| row("ticket", Verdict::NotJudged)));
        // 24 comparisons need seven runs.
        assert_eq!(line(&rows[1], fewest(&rows)).last().unwrap(), "not judged: 1 more run");
        assert_eq!(line(&rows[1], fewest(&rows[..2])).last().unwrap(), "not judged");
    }

    #[test]
    fn lists_and_reasons_fit_the_page_whatever_their_values() {
        let most = u64::MAX;
        let left = LeftOf {
            lock: "adaptive".into(),
            robust: most,
            priority: most,
            shared: most,
            rwlocks: most,
            spins: most,
            ..LeftOf::default()
        };
        let page = Page::plain();
        let only: Vec<String> = (0..9).map(|place| format!("table_lock_{place}")).collect();
        let why = "the program ended with status 1 before any of its threads took a lock, ".repeat(3);
        for text in [not_substituted(&left, &page).unwrap(), substituted(&only, &page), unwatched(&why, &page)] {
            assert!(text.lines().count() > 1 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
        }
    }
}
