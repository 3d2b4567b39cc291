//! The comparison on a terminal and on a page.

use super::distribution::Distribution;
use super::record::{
    AbParameters, AbRecord, AbRow, EXPLAINING, EndedBy, Verdict, WatchedSide, metric_words, times, times_range,
};
use record::{Axis, Bar, Bars, Figure, Mark, Picture, Plot, Point, Section, Series, Statement, Table, Unit, distinct};
use terminal::{Page, count, counted, levels, percent, table, wrapped};

/// Columns of a distribution on a terminal, and on a page.
const COLUMNS: usize = 56;
const PAGE_COLUMNS: usize = 60;

/// Returns the record on a terminal.
pub fn show(record: &AbRecord<'_>, page: &Page) -> String {
    let rows = record.results;
    let sides = distinct(rows, |row| row.side.clone());
    let mut text = String::new();
    for (place, side) in sides.iter().enumerate() {
        text.push_str(&page.cut(&format!("{}  {side}", letter(place))));
        text.push('\n');
    }
    for metric in distinct(rows, |row| row.metric.clone()).iter().filter(|metric| is_judged(metric)) {
        let of_metric: Vec<&AbRow> = rows.iter().filter(|row| row.metric == *metric).collect();
        text.push_str(&format!("\n{}\n", metric_words(metric)));
        text.push_str(&table(&HEADER, of_metric.iter().map(|row| line(row, &sides))));
        if of_metric[0].is_decisive {
            text.push_str(&picture(&of_metric, &sides));
        }
    }
    text.push_str(&explanation(rows, &sides));
    text.push_str(&waits(&record.parameters.watched, &sides));
    if let Some(why) = &record.parameters.unwatched {
        text.push_str(&no_waits(why, page));
    }
    text.push('\n');
    for words in statements(rows).into_iter().chain(because(&record.parameters.watched)) {
        text.push_str(&wrapped("", "", &words, page));
        text.push('\n');
    }
    text.push_str(&wrapped("", "", &rule(record.parameters), page));
    text.push('\n');
    text
}

const HEADER: [&str; 7] = ["", "runs", "median (95 % CI)", "min", "ratio", "95 % CI", "verdict"];

fn is_judged(metric: &str) -> bool {
    !EXPLAINING.contains(&metric)
}

/// Returns the letter of a side in the tables: A for the first.
fn letter(place: usize) -> String {
    match u8::try_from(place) {
        Ok(place) if place < 26 => char::from(b'A' + place).to_string(),
        _ => format!("#{}", place + 1),
    }
}

fn letter_of(side: &str, sides: &[String]) -> String {
    sides.iter().position(|other| other == side).map_or_else(String::new, letter)
}

/// Returns a row as a line of a table.
fn line(row: &AbRow, sides: &[String]) -> Vec<String> {
    let dash = || "–".to_owned();
    let least = row.values.iter().copied().fold(f64::INFINITY, f64::min);
    let ratio = match (&row.compared_with, row.ratio) {
        (Some(base), Some(ratio)) => {
            format!("{}/{} {}", letter_of(&row.side, sides), letter_of(base, sides), times(ratio))
        }
        _ => dash(),
    };
    vec![
        letter_of(&row.side, sides),
        row.runs.to_string(),
        row.words_with(row.median, row.ci),
        row.words(least),
        ratio,
        row.ratio_ci.map_or_else(dash, times_range),
        row.verdict_words().unwrap_or_else(dash),
    ]
}

/// Returns the distribution of each side in letters.
fn picture(rows: &[&AbRow], sides: &[String]) -> String {
    let Some(distribution) = Distribution::of(rows, COLUMNS) else { return String::new() };
    let ends = (rows[0].words(distribution.low), rows[0].words(distribution.high));
    let space = COLUMNS.saturating_sub(ends.0.chars().count() + ends.1.chars().count());
    let mut text = format!("   {}{}{}\n", ends.0, " ".repeat(space), ends.1);
    for side in &distribution.sides {
        let most = side.counts.iter().copied().max().unwrap_or(1).max(1) as f64;
        let columns = levels(side.counts.iter().map(|count| Some(*count as f64 / most)));
        let above = if side.above > 0 { format!(" +{}", side.above) } else { String::new() };
        text.push_str(format!("{:2} {columns}{above}", letter_of(&side.label, sides)).trim_end());
        text.push('\n');
    }
    text
}

/// Returns the medians of the metrics that are not judged.
fn explanation(rows: &[AbRow], sides: &[String]) -> String {
    let header: Vec<&str> =
        std::iter::once("median").chain(EXPLAINING.iter().map(|metric| metric_words(metric))).collect();
    let of = |side: &String| {
        let value = |metric: &&str| {
            let row = rows.iter().find(|row| row.metric == **metric && row.side == *side);
            row.map_or_else(|| "–".to_owned(), |row| row.words(row.median))
        };
        std::iter::once(letter_of(side, sides)).chain(EXPLAINING.iter().map(value)).collect::<Vec<String>>()
    };
    format!("\n{}", table(&header, sides.iter().map(of)))
}

/// Waits for locks, in one traced run of each side.
fn waits(watched: &[WatchedSide], sides: &[String]) -> String {
    if watched.is_empty() {
        return String::new();
    }
    let line = |side: &WatchedSide| {
        let of_lock = |lock: &super::record::WatchedLock| {
            let waited = Unit::Ns.words(lock.wait_total_s * 1e9);
            vec![
                letter_of(&side.side, sides),
                lock.lock.clone(),
                count(lock.acquisitions),
                count(lock.contended),
                waited,
                percent(lock.wait_share),
            ]
        };
        side.locks.iter().map(of_lock).collect::<Vec<_>>()
    };
    let header = ["", "lock", "acquired", "contended", "total wait", "of thread time"];
    format!("\nwaits for locks, one traced run each\n{}", table(&header, watched.iter().flat_map(line)))
}

/// Returns why no side has waits.
fn no_waits(why: &str, page: &Page) -> String {
    let text = format!("No data on waits for locks: {why}");
    let lines: String = text.lines().map(|line| wrapped("", "  ", line, page)).collect();
    format!("\n{lines}")
}

/// Returns the lock whose share of the thread time changed most between the first side and each other.
fn because(watched: &[WatchedSide]) -> Vec<String> {
    const MUCH: f64 = 0.05;
    let Some((first, others)) = watched.split_first() else { return Vec::new() };
    let share = |side: &WatchedSide, name: &str| {
        side.locks.iter().find(|lock| lock.lock == name).map_or(0.0, |lock| lock.wait_share)
    };
    let of = |side: &WatchedSide| {
        let names = distinct(&[first.locks.clone(), side.locks.clone()].concat(), |lock| lock.lock.clone());
        let changes = names.into_iter().map(|name| (share(first, &name), share(side, &name), name));
        let (before, after, name) = changes.max_by(|a, b| (a.0 - a.1).abs().total_cmp(&(b.0 - b.1).abs()))?;
        let verb = if after < before { "fell" } else { "rose" };
        ((before - after).abs() >= MUCH).then(|| {
            format!(
                "{}: waits for {name} {verb} from {} to {} of thread time (one traced run each).",
                side.side,
                percent(before),
                percent(after)
            )
        })
    };
    others.iter().filter_map(of).collect()
}

/// Returns the verdicts in sentences: of the decisive metric, and of any other that shows a difference.
fn statements(rows: &[AbRow]) -> Vec<String> {
    let is_stated = |row: &&AbRow| row.is_decisive || row.verdict.is_some_and(Verdict::is_difference);
    rows.iter().filter(is_stated).filter_map(|row| cost(row, rows).or_else(|| statement(row))).collect()
}

/// Returns the difference in time or memory that does not decide, as what a side uses.
fn cost(row: &AbRow, rows: &[AbRow]) -> Option<String> {
    let base = row.compared_with.as_ref().filter(|_| !row.is_decisive)?;
    let ratio = times(row.ratio?).replace('×', " times");
    let (side, ends) = (&row.side, row.ratio_ends());
    Some(match row.metric.as_str() {
        "wall_s" => format!("{side} runs {ratio}{ends} as long as {base}."),
        "memory_kib" => format!("{side} uses {ratio}{ends} the peak memory of {base}."),
        "cpu_s" => {
            let per_work = super::record::per_work(row, rows).map_or_else(String::new, |(metric, ratio)| {
                let ratio = times(ratio).replace('×', " times");
                format!(" in total, and {ratio} per unit of work (by {metric})")
            });
            format!("{side} uses {ratio}{ends} the CPU time of {base}{per_work}.")
        }
        _ => return None,
    })
}

fn statement(row: &AbRow) -> Option<String> {
    let (metric, base) = (metric_words(&row.metric), row.compared_with.as_ref()?);
    let found = row.power_words().map_or_else(String::new, |power| {
        format!(" A difference of {power} would have been found in 9 of 10 comparisons of this length.")
    });
    Some(match row.agreed_verdict()? {
        Verdict::NotJudged => {
            let missing = row.missing_runs.map_or_else(
                || "more runs of each command are".to_owned(),
                |missing| {
                    let are = if missing == 1 { "is" } else { "are" };
                    format!("at least {} of each command {are}", counted(missing as usize, "more run"))
                },
            );
            format!("{}: {} that of {base}, which is not judged: {missing} needed.", row.side, row.change())
        }
        Verdict::NoDifferenceShown => {
            format!("{}: no difference in {metric} from {base} shown, {}.{found}", row.side, row.change())
        }
        Verdict::LessThanLeast => format!(
            "{}: {metric} differs from that of {base} by less than the least effect that matters, {}.",
            row.side,
            row.change()
        ),
        verdict => format!("{} is {}: {} that of {base}.", row.side, verdict.label(), row.change()),
    })
}

/// Returns the rule of the verdicts, and why the comparison ended.
fn rule(parameters: &AbParameters) -> String {
    let end = match parameters.ended_by {
        EndedBy::Decided => "when all was decided",
        EndedBy::Budget => "with its time budget",
        EndedBy::Runs => "with its number of runs",
        EndedBy::Interrupted => "by a signal",
        EndedBy::Failed => "with a failed run",
    };
    let disturbed = parameters.runs.iter().filter(|run| run.is_disturbed).count() as f64;
    let shared = match disturbed / parameters.runs.len().max(1) as f64 {
        share if share > 0.0 => format!(" Others disturbed {} of the runs.", percent(share)),
        _ => String::new(),
    };
    format!(
        "95 % confidence over {} and {}; ended {end}. Least effect that matters: {}.{shared}",
        counted(parameters.comparisons as usize, "comparison"),
        counted(parameters.looks.len(), "look"),
        percent(parameters.least_share)
    )
}

/// Returns the comparison on a page: a picture of the ratios and of the distributions, and a table, for each metric.
pub fn section(rows: &[AbRow]) -> Section {
    let metrics: Vec<String> =
        distinct(rows, |row| row.metric.clone()).into_iter().filter(|metric| is_judged(metric)).collect();
    let figures = metrics.iter().flat_map(|metric| {
        let of_metric: Vec<&AbRow> = rows.iter().filter(|row| row.metric == *metric).collect();
        [Some(ratios(metric, &of_metric)), distributions(metric, &of_metric)]
    });
    Section {
        experiment: "ab",
        title: "Comparison of commands".into(),
        findings: statements(rows).into_iter().map(Statement::from).collect(),
        figures: figures.flatten().collect(),
        histograms: Vec::new(),
    }
}

fn ratios(metric: &str, rows: &[&AbRow]) -> Figure {
    let bar =
        |row: &&AbRow| Some(Bar { name: row.side.clone(), value: Ok(row.ratio?), interval: row.ratio_ci, limit: None });
    let bars = Bars { unit: Unit::Times, logarithmic: false, bars: rows.iter().filter_map(bar).collect() };
    let sides: Vec<String> = rows.iter().map(|row| row.side.clone()).collect();
    let named = |row: &&AbRow| {
        let mut line = line(row, &sides);
        line[0] = format!("{} {}", line[0], row.side);
        line
    };
    Figure {
        title: format!("{}, relative to the first command", metric_words(metric)),
        picture: if rows.len() > 1 { Picture::Bars(bars) } else { Picture::None },
        tables: vec![Table { caption: "Runs".into(), header: HEADER.to_vec(), rows: rows.iter().map(named).collect() }],
        secondary: !rows[0].is_decisive,
    }
}

fn distributions(metric: &str, rows: &[&AbRow]) -> Option<Figure> {
    let distribution = Distribution::of(rows, PAGE_COLUMNS)?;
    let (unit, factor) = rows[0].unit();
    let series = distribution.sides.iter().map(|side| Series {
        name: side.label.clone(),
        mark: Mark::Outline,
        points: side
            .counts
            .iter()
            .enumerate()
            .map(|(column, count)| {
                let (from, to) = distribution.ends(column, PAGE_COLUMNS);
                let middle = f64::midpoint(from, to) * factor;
                Point { low: Some(from * factor), high: Some(to * factor), ..Point::new(middle, *count as f64) }
            })
            .collect(),
    });
    Some(Figure {
        title: format!("Distribution of {}", metric_words(metric)),
        picture: Picture::Plot(Plot {
            x: Axis { label: "value of a run", unit, logarithmic: false },
            y: Axis { label: "runs", unit: Unit::Number, logarithmic: false },
            series: series.collect(),
        }),
        tables: Vec::new(),
        secondary: !rows[0].is_decisive,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use instruments::statistics::Interval;

    fn row(metric: &str, ratio: f64, verdict: Verdict, is_decisive: bool) -> AbRow {
        AbRow {
            metric: metric.into(),
            side: "./new".into(),
            is_decisive,
            higher_is_better: is_decisive && metric == "rate",
            runs: 12,
            median: 1.0,
            ci: None,
            compared_with: Some("./old".into()),
            ratio: Some(ratio),
            ratio_ci: Some(Interval::new(0.99 * ratio, 1.01 * ratio)),
            verdict: Some(verdict),
            missing_runs: None,
            power: None,
            values: Vec::new(),
        }
    }

    #[test]
    fn more_cpu_time_at_a_higher_rate_is_put_per_work() {
        let rows = [
            row("rate", 2.5, Verdict::Better, true),
            row("wall_s", 1.001, Verdict::LessThanLeast, false),
            row("cpu_s", 1.8, Verdict::Worse, false),
            row("memory_kib", 1.2, Verdict::Worse, false),
        ];
        assert_eq!(
            statements(&rows),
            [
                "./new is better: rate 2.50× (95 % CI 2.48–2.52) that of ./old.",
                "./new uses 1.800 times (95 % CI 1.782–1.818) the CPU time of ./old in total, and 0.720 times per unit of \
                 work (by rate).",
                "./new uses 1.200 times (95 % CI 1.188–1.212) the peak memory of ./old.",
            ]
        );
        let words: Vec<_> = rows.iter().map(|row| row.verdict_words().unwrap()).collect();
        assert_eq!(words, ["better", "less than least", "more", "more"]);
    }

    #[test]
    fn missing_runs_are_stated_and_old_verdicts_agree() {
        let mut cpu = row("cpu_s", 6.32, Verdict::NotJudged, true);
        cpu.missing_runs = Some(3);
        let sentence = |row: &AbRow| statements(std::slice::from_ref(row)).remove(0);
        assert_eq!(cpu.verdict_words().unwrap(), "not judged: 3 more runs");
        assert_eq!(
            sentence(&cpu),
            "./new: CPU time 6.32× (95 % CI 6.26–6.38) that of ./old, which is not judged: at least 3 more runs of each \
             command are needed."
        );
        // An older record states no number.
        let old = row("cpu_s", 6.32, Verdict::NoDifferenceShown, true);
        assert_eq!(old.verdict_words().unwrap(), "not judged");
        assert!(sentence(&old).ends_with("which is not judged: more runs of each command are needed."));
        let equal = row("cpu_s", 1.0, Verdict::NoDifferenceShown, true);
        assert_eq!(equal.verdict_words().unwrap(), "no difference shown");
    }

    /// `--fail-if` fails for each other change of the CPU time.
    #[test]
    fn cpu_time_of_more_work_is_excused_if_work_is_not_dearer() {
        let is_excused = |rate, wall, cpu| {
            let rows = [
                row("rate", rate, Verdict::Better, true),
                row("wall_s", wall, Verdict::LessThanLeast, false),
                row("cpu_s", cpu, Verdict::Worse, false),
            ];
            super::super::record::is_price_of_work(&rows[2], &rows)
        };
        assert!(is_excused(2.5, 1.0, 1.8));
        assert!(!is_excused(1.02, 1.0, 3.0), "each unit of work is dearer");
        assert!(!is_excused(1.3, 0.77, 2.0), "the same work, in less time");
    }

    /// Runs that differ in length may do the same work, so the rate does not show it.
    #[test]
    fn cpu_time_of_runs_of_another_length_is_a_total() {
        let rows = [
            row("wall_s", 0.5, Verdict::Faster, true),
            // Older records have this verdict of the CPU time.
            row("cpu_s", 1.8, Verdict::Slower, false),
        ];
        assert_eq!(
            statements(&rows),
            [
                "./new is faster: wall time 0.500× (95 % CI 0.49–0.51) that of ./old.",
                "./new uses 1.800 times (95 % CI 1.782–1.818) the CPU time of ./old.",
            ]
        );
        let rows = [row("rate", 2.5, Verdict::Better, true), row("wall_s", 0.4, Verdict::Faster, false)];
        let longer = &statements(&rows)[1];
        assert!(longer.starts_with("./new runs 0.4") && longer.ends_with(" as long as ./old."), "{longer}");
    }

    #[test]
    fn reason_without_waits_fits_the_page() {
        let why = "the program ended with status 1 before any of its threads took a lock";
        let text = no_waits(why, &Page::plain());
        assert!(text.starts_with("\nNo data on waits for locks: the program"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
