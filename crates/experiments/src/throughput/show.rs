//! The rows on a terminal and on a page. The columns of their tables are declared once.

use super::overview::Overview;
use super::ranking::{Ends, LOOPS, Loops, contest, ranking};
use super::ranking::{broken, clean, sound};
use super::record::{Row, ThroughputRecord};
use instruments::statistics::levels::Levels;
use record::ranking::{Rank, best, contests};
use record::ranking_figure::figures;
use record::{
    Axis, Bar, Bars, Column, Figure, Mark, Picture, Plot, Point, Section, Series, Statement, Unit, column, distinct,
};
use terminal::{self, Page, nanoseconds, percent};

/// A row, its rank, and the throughputs that it is compared with.
struct Line<'a> {
    row: &'a Row,
    /// `None` for a loop without a lock, which excludes nothing.
    rank: Option<&'a Rank>,
    loops: &'a Loops,
}

type LineColumn<'a> = Column<Line<'a>>;

/// The columns of the terminal, and of the first table of a page, which is as wide as a page.
fn columns<'a>() -> [LineColumn<'a>; 22] {
    [
        LineColumn::terminal("", |line| Some(format!("{:>2}  {}", line.place().unwrap_or_default(), line.row.lock))),
        LineColumn::page("lock", |line| Some(line.row.lock.clone())),
        LineColumn::page("rank", Line::place),
        LineColumn::page("children", |line| Some(line.row.children.to_string())),
        LineColumn::page("hold", |line| Some(nanoseconds(line.row.hold_us * 1e3))),
        LineColumn::terminal("loops/s", |line| Some(whole(line.loops.of_row(line.row).value))).with_page(
            "iterations/s (95 % CI)",
            |line| {
                let loops = line.loops.of_row(line.row);
                Some(Unit::PerS.words_with(loops.value, loops.interval))
            },
        ),
        LineColumn::new("times the best (95 %)", |line| line.rank.map(Rank::times)),
        LineColumn::terminal("COV", |line| Some(format!("{:.2}", line.row.cov)))
            .with_page("CV", |line| Some(format!("{:.3}", line.row.cov))),
        LineColumn::terminal("held COV", |line| line.row.held_cov.map(two_decimals)).wide(),
        LineColumn::terminal("held by long", |line| line.row.held_long_share.map(percent)).if_known(),
        LineColumn::terminal("recovery", |line| recovery(line.row)).if_known(),
        LineColumn::new("wait p50", |line| line.row.wait_p50_ns.map(nanoseconds)).wide(),
        LineColumn::terminal("wait p99", |line| Some(or_dash(line.row.wait_p99_ns)))
            .with_page("wait p99", |line| line.row.wait_p99_ns.map(nanoseconds)),
        LineColumn::terminal("longest", |line| Some(or_dash(line.row.wait_max_ns)))
            .with_page("wait max", |line| line.row.wait_max_ns.map(nanoseconds)),
        LineColumn::new("2002", |line| Some(whole(line.row.then.as_ref()?.throughput_per_s))).if_known(),
        LineColumn::terminal("ideal", |line| Some(format!("{:.0} %", line.loops.ideal_share(line.row)? * 100.0)))
            .wide(),
        LineColumn::terminal("WC", |line| line.row.write_contended_share.map(percent)).wide(),
        LineColumn::terminal("R", |line| line.row.retry.map(two_decimals)).wide(),
        LineColumn::terminal("row", |line| line.row.longest_streak.map(terminal::count)).wide(),
        LineColumn::terminal("calls/op", |line| line.row.syscalls_per_op.map(two_decimals)).wide(),
        LineColumn::terminal("sleeps/op", |line| Some(two_decimals(line.row.voluntary_switches_per_op))).wide(),
        LineColumn::terminal("CPUs", |line| Some(two_decimals(line.row.cpus_used))).wide(),
    ]
}

/// The columns of the second table of a page.
fn further_columns<'a>() -> [LineColumn<'a>; 12] {
    [
        LineColumn::page("lock", |line| Some(line.row.lock.clone())),
        LineColumn::page("hold", |line| Some(nanoseconds(line.row.hold_us * 1e3))),
        LineColumn::page("children", |line| Some(line.row.children.to_string())),
        LineColumn::page("basis", |line| Some(line.loops.basis(line.row).to_owned())),
        LineColumn::page("levels of the runs", |line| {
            Some(line.row.levels_per_s.map_or_else(|| "1".to_owned(), levels))
        }),
        LineColumn::page("share of the ideal", |line| line.loops.ideal_share(line.row).map(percent)),
        LineColumn::page("CV of held time", |line| line.row.held_cov.map(|cov| format!("{cov:.3}"))),
        LineColumn::page("held, least child", |line| line.row.held_least_share.map(percent)),
        LineColumn::page("held, most child", |line| line.row.held_most_share.map(percent)),
        LineColumn::page("held by long", |line| line.row.held_long_share.map(percent)).if_known(),
        LineColumn::page("recovery", |line| recovery(line.row)).if_known(),
        LineColumn::page("runs without recovery", |line| line.row.recovery_failed_share.map(percent)).if_known(),
    ]
}

impl Line<'_> {
    fn place(&self) -> Option<String> {
        self.rank.map(Rank::place)
    }
}

/// Returns the time to recover; below the window over which it is measured, that window as a bound.
fn recovery(row: &Row) -> Option<String> {
    let window_us = row.recovery_window_us?;
    Some(match row.recovery_us {
        Some(us) if us < window_us => format!("<{}", nanoseconds(window_us * 1e3)),
        Some(us) => nanoseconds(us * 1e3),
        None => "never".to_owned(),
    })
}

/// Returns a wait; a dash where no wait was seen, so that a line has as many words as the others.
fn or_dash(wait_ns: Option<f64>) -> String {
    wait_ns.map_or_else(|| "–".to_owned(), nanoseconds)
}

fn whole(loops: f64) -> String {
    terminal::count(loops.round() as u64)
}

fn two_decimals(value: f64) -> String {
    format!("{value:.2}")
}

/// Returns the levels as text: `2: 44.3 k/s and 73.8 k/s (17 % of runs)`.
fn levels(levels: Levels) -> String {
    let [lower, upper] = [levels.lower, levels.upper].map(|loops| Unit::PerS.words(loops));
    format!("2: {lower} and {upper} ({} of runs)", percent(levels.upper_share))
}

/// Returns the whole record on a terminal: a table for each number of children and mix of work.
pub fn show(record: &ThroughputRecord<'_>, page: &Page) -> String {
    let (all, rows) = (record.results, sound(record.results));
    // A stored ranking may be of an older revision; the rows say the same as when they were measured.
    let (loops, ranks) = (Loops::of(rows.iter().copied()), ranking(all));
    let tables: Vec<String> = distinct(&rows, |row| row.contest())
        .iter()
        .map(|words| {
            let block: Vec<&Row> = rows.iter().copied().filter(|row| row.contest() == *words).collect();
            table(&block, contest(&ranks, words), &loops, page)
        })
        .collect();
    let check: String = broken(all).into_iter().chain(clean(all)).map(|words| terminal::folded(&words, page)).collect();
    let overview = Overview::of(&ranks).in_letters(page).map_or_else(String::new, |text| text + "\n");
    tables.join("\n") + "\n" + &overview + &check + &legend(&rows, &ranks)
}

/// Returns the columns of the variations, each below the condition that some row has it.
fn variations(rows: &[&Row]) -> String {
    let held = rows
        .iter()
        .any(|row| row.held_long_share.is_some())
        .then_some("held by long: share of the held time of the children with the longer hold times.\n");
    let recovery = rows
        .iter()
        .any(|row| row.recovery_window_us.is_some())
        .then_some("recovery: from the end of the holder's stop to 0.9 of the throughput before it.\n");
    [held, recovery].into_iter().flatten().collect()
}

const COLUMNS: &str = "\
loops/s: iterations/s of all children, median of the runs; exclusive cores:
the time in which no SMT sibling was active; COV: coefficient of
variation of the children's loops (0 is fair); waits: runs with timestamps.
";

/// The column of 2002, which most mixes and locks have no value for.
const THEN: &str = "2002: loops/s on two Pentium III at 550 MHz.\n";

fn legend(rows: &[&Row], ranks: &[Rank]) -> String {
    let then = if rows.iter().any(|row| row.then.is_some()) { THEN } else { "" };
    format!("{}\n{COLUMNS}{then}{}", record::ranking::legend(ranks), variations(rows))
}

fn heading(row: &Row, loops: &Loops, page: &Page) -> String {
    let ideal =
        row.ideal_per_s.map_or_else(String::new, |ideal| format!("; ideal {}/s", terminal::count(ideal as u64)));
    terminal::wrapped("", "  ", &format!("{}{ideal}; {}", row.conditions(), loops.basis(row)), page)
}

fn table(block: &[&Row], ranks: &[Rank], loops: &Loops, page: &Page) -> String {
    // A loop without a lock has no rank: it is the last line.
    let unranked = block.iter().filter(|row| !ranks.iter().any(|rank| rank.lock == row.lock)).map(|row| (*row, None));
    let ranked = ranks.iter().filter_map(|rank| Some((*block.iter().find(|row| row.lock == rank.lock)?, Some(rank))));
    let lines: Vec<Line<'_>> = ranked.chain(unranked).map(|(row, rank)| Line { row, rank, loops }).collect();
    let table = page.cut_lines(&column::in_letters(&columns(), &lines, page));
    heading(block[0], loops, page)
        + &table
        + &on_two_levels(block, page)
        + &neighbours(block, page)
        + &steps(block, page)
}

/// Returns the loops by number of active children, where it changes.
fn steps(block: &[&Row], page: &Page) -> String {
    let lines = block.iter().filter(|row| !row.steps.is_empty()).map(|row| {
        let steps: Vec<String> =
            row.steps.iter().map(|step| format!("{}: {}", step.children, whole(step.throughput_per_s))).collect();
        terminal::folded(&format!("{} by active children (loops/s): {}.", row.lock, steps.join(", ")), page)
    });
    lines.collect()
}

/// Returns the locks whose runs are on one of two levels: the median is one of them by chance.
fn on_two_levels(block: &[&Row], page: &Page) -> String {
    let words = |row: &&Row| {
        let levels = row.levels_per_s?;
        let [lower, upper] = [levels.lower, levels.upper].map(whole);
        Some(format!("{} {lower} and {upper} ({} of the runs)", row.lock, percent(levels.upper_share)))
    };
    listed("Runs at one of two levels (loops/s), which the CI spans:", block.iter().filter_map(words), page)
}

/// Returns the loops of those whose cores were also seen shared.
fn neighbours(block: &[&Row], page: &Page) -> String {
    let words = |row: &&Row| {
        let (_, shared, share) = (row.throughput_per_s_alone?, row.throughput_per_s_shared?, row.core_shared_share?);
        Some(format!("{} {} ({})", row.lock, whole(shared), percent(share)))
    };
    listed("While an SMT sibling was active (loops/s, share of time):", block.iter().filter_map(words), page)
}

/// Returns a sentence with the words of each lock that has some; nothing where none has.
fn listed(title: &str, words: impl Iterator<Item = String>, page: &Page) -> String {
    let words: Vec<String> = words.collect();
    if words.is_empty() { String::new() } else { terminal::folded(&format!("{title} {}.", words.join(", ")), page) }
}

/// Returns charts of throughput against the number of children, and against the hold time.
pub fn section(all: &[Row]) -> Section {
    let rows = &sound(all)[..];
    let (loops, ranks) = (Loops::of(rows.iter().copied()), ranking(all));
    let rank = |row: &Row| contest(&ranks, &row.contest()).iter().find(|rank| rank.lock == row.lock);
    let lines: Vec<Line<'_>> = rows.iter().map(|row| Line { row, rank: rank(row), loops: &loops }).collect();
    let children = Axis { label: "threads or processes", unit: Unit::Number, logarithmic: true };
    let hold = Axis { label: "hold time", unit: Unit::Ns, logarithmic: true };
    let by_children = distinct(rows, |row| row.conditions().but_children()).into_iter().map(|title| {
        let mut chosen: Vec<&Line<'_>> =
            lines.iter().filter(|line| line.row.conditions().but_children() == title).collect();
        let words = distinct(&chosen, |line| line.row.contest());
        // One configuration has its whole name, and its locks in the order of their ranking.
        let title = if let [words] = &words[..] {
            let place = |line: &&Line<'_>| contest(&ranks, words).iter().position(|rank| rank.lock == line.row.lock);
            chosen.sort_by_key(|line| place(line).unwrap_or(usize::MAX));
            words.clone()
        } else {
            title
        };
        figure(&title, &children, chosen, |row| row.children as f64)
    });
    let by_hold = distinct(rows, |row| row.conditions().but_hold()).into_iter().filter_map(|title| {
        let is_chosen = |line: &&Line<'_>| line.row.conditions().but_hold() == title && line.row.hold_us > 0.0;
        let chosen: Vec<&Line<'_>> = lines.iter().filter(is_chosen).collect();
        let several = distinct(&chosen, |line| line.row.hold_us.to_bits()).len() > 1;
        several.then(|| figure(&title, &hold, chosen, |row| row.hold_us * 1e3))
    });
    let by_lines = distinct(rows, |row| row.conditions().but_touched_lines()).into_iter().filter_map(|title| {
        let is_chosen = |line: &&Line<'_>| line.row.conditions().but_touched_lines() == title;
        let chosen: Vec<&Line<'_>> = lines.iter().filter(is_chosen).collect();
        let several = distinct(&chosen, |line| line.row.touched_lines).len() > 1;
        several.then(|| figure(&title, &LINES, chosen, |row| row.touched_lines as f64 + 1.0))
    });
    let curves = distinct(rows, |row| row.contest()).into_iter().flat_map(|words| {
        let chosen: Vec<&Row> = rows.iter().copied().filter(|row| row.contest() == words).collect();
        let curves = [by_step(&words, &chosen), after_stop(&words, &chosen)];
        curves.into_iter().chain([held_by_long(&words, &chosen), held(&words, &chosen)]).flatten().collect::<Vec<_>>()
    });
    let contests: Vec<&[Rank]> = contests(&ranks).collect();
    let mut details = contests.iter().filter_map(|ranks| statement(rows, &loops, ranks));
    let verdict = verdict(&contests).or_else(|| details.next());
    let verdicts = broken(all).into_iter().chain(verdict).map(Statement::repeated);
    Section {
        experiment: "throughput",
        title: "Throughput of locks".into(),
        findings: verdicts.chain(details.chain(clean(all)).map(Statement::from)).collect(),
        figures: overview(&ranks, &contests)
            .into_iter()
            .chain(figures(&ranks, &[LOOPS]))
            .chain(by_children)
            .chain(by_hold)
            .chain(by_lines)
            .chain(curves)
            .collect(),
        histograms: Vec::new(),
    }
}

/// Returns the sentence about all contests of several locks; `None` for one contest, of which its own sentence says the
/// same.
fn verdict(contests: &[&[Rank]]) -> Option<String> {
    let decided: Vec<&str> = contests.iter().filter_map(|ranks| Some(best(ranks)?.lock.as_str())).collect();
    let among = contests.iter().filter(|ranks| ranks.len() > 1).count();
    if among < 2 {
        return None;
    }
    let mut winners: Vec<(usize, &str)> = distinct(&decided, |lock| *lock)
        .into_iter()
        .map(|lock| (decided.iter().filter(|other| **other == lock).count(), lock))
        .collect();
    winners.sort_by_key(|winner| std::cmp::Reverse(winner.0));
    let of = |(times, lock): &(usize, &str)| format!("{lock} in {times}");
    let words: Vec<String> = winners.iter().map(of).collect();
    let undecided = among - decided.len();
    Some(match (words.is_empty(), undecided) {
        (true, _) => format!("No lock is shown to have the highest throughput in any of {among} configurations."),
        (false, 0) => format!("The highest throughput of {among} configurations: {}.", words.join(", ")),
        _ => {
            format!("The highest throughput of {among} configurations: {}; not shown in {undecided}.", words.join(", "))
        }
    })
}

/// Returns the table of all contests of several locks; `None` for one contest, whose ranking says the same.
fn overview(ranks: &[Rank], contests: &[&[Rank]]) -> Option<Figure> {
    let several: Vec<&[Rank]> = contests.iter().copied().filter(|ranks| ranks.len() > 1).collect();
    let caption = "First: the lock with the highest throughput, and those not shown to be below it; the last lock has \
                   the lowest value";
    let table = column::on_page(caption, &overview_columns(), &several);
    let title = "Ranking by configuration".to_owned();
    let picture = Picture::Grid(Overview::of(ranks).grid());
    (several.len() > 1).then(|| Figure { title, picture, tables: vec![table], secondary: false })
}

fn overview_columns<'a>() -> [Column<&'a [Rank]>; 5] {
    [
        Column::page("configuration", |ranks| Some(ranks[0].among.clone())),
        Column::page("first", |ranks| Some(firsts(ranks))),
        Column::page("iterations/s", |ranks| Some(ranks[0].value_words())),
        Column::page("last", |ranks| Some(ranks.last()?.lock.clone())),
        Column::page("times the best (95 %)", |ranks| Some(ranks.last()?.times())),
    ]
}

/// Returns the first lock and those that share its rank.
fn firsts(ranks: &[Rank]) -> String {
    let shares = |rank: &&Rank| rank.rank.is_some() && rank.rank == ranks[0].rank;
    let names: Vec<&str> = ranks.iter().filter(shares).map(|rank| rank.lock.as_str()).collect();
    if names.is_empty() { "–".to_owned() } else { names.join(", ") }
}

/// Returns the two ends of a contest.
fn statement(rows: &[&Row], loops: &Loops, ranks: &[Rank]) -> Option<String> {
    let ends = Ends::of(ranks)?;
    let row = |rank: &Rank| rows.iter().find(|row| row.lock == rank.lock && row.contest() == rank.among);
    let value = |rank: &Rank| Some(Unit::PerS.estimate(loops.of_row(row(rank)?)));
    let last = ends.last.and_then(|last| ends.about_last(&value(last)?));
    let last = last.map_or_else(String::new, |words| format!("; {words}"));
    let basis = loops.basis(row(ends.first)?);
    Some(format!("{}, {basis}: {}{last}.", ends.first.among, ends.about_first(&value(ends.first)?)))
}

fn figure(title: &str, x: &Axis, lines: Vec<&Line<'_>>, across: impl Fn(&Row) -> f64) -> Figure {
    let series = distinct(&lines, |line| line.row.lock.clone()).into_iter().map(|lock| {
        let point = |line: &Line<'_>| {
            let loops = line.loops.of_row(line.row);
            Point::with_interval(across(line.row), loops.value, loops.interval)
        };
        let mut points: Vec<Point> =
            lines.iter().filter(|line| line.row.lock == lock).map(|line| point(line)).collect();
        points.sort_by(|one, other| one.x.total_cmp(&other.x));
        let then = |line: &&Line<'_>| {
            let then = line.row.then.as_ref().filter(|_| line.row.lock == lock)?;
            Some(Point::new(across(line.row), then.throughput_per_s))
        };
        let mut old: Vec<Point> = lines.iter().filter_map(then).collect();
        old.sort_by(|one, other| one.x.total_cmp(&other.x));
        let old = (!old.is_empty()).then(|| Series { name: format!("{lock}, 2002"), mark: Mark::Line, points: old });
        std::iter::once(Series { name: lock, mark: Mark::Line, points }).chain(old)
    });
    let series: Vec<Series> = series.flatten().collect();
    let y = Axis { label: "iterations/s of all children", unit: Unit::PerS, logarithmic: true };
    let several = distinct(&lines, |line| across(line.row).to_bits()).len() > 1;
    // The ranking shows the values at one place.
    let picture = if several { Picture::Locks(Plot { x: Axis { ..*x }, y, series }) } else { Picture::None };
    let table = column::on_page(CAPTION, &columns(), lines.iter().copied());
    let further = column::on_page(FURTHER, &further_columns(), lines.iter().copied());
    Figure { title: title.to_owned(), picture, tables: vec![table, further], secondary: false }
}

const LINES: Axis = Axis { label: "cache lines touched, plus 1", unit: Unit::Number, logarithmic: true };

/// Returns the loops from step to step of a run; `None` where the number of children does not change.
fn by_step(words: &str, rows: &[&Row]) -> Option<Figure> {
    let series = rows.iter().filter(|row| !row.steps.is_empty()).map(|row| Series {
        name: row.lock.clone(),
        mark: Mark::Line,
        points: (1..)
            .zip(&row.steps)
            .map(|(number, step)| Point::with_interval(f64::from(number), step.throughput_per_s, step.throughput_ci))
            .collect(),
    });
    let x = Axis { label: "step: children double, then halve", unit: Unit::Number, logarithmic: false };
    let y = Axis { label: "iterations/s of all children", unit: Unit::PerS, logarithmic: true };
    curve(format!("{words}: step by step"), Plot { x, y, series: series.collect() })
}

/// Returns the throughput after a holder's stop; `None` where none was stopped.
fn after_stop(words: &str, rows: &[&Row]) -> Option<Figure> {
    let series = rows.iter().filter_map(|row| {
        let window_ns = row.recovery_window_us? * 1e3;
        let point = |(number, &value): (u32, &f64)| Point::new((f64::from(number) + 0.5) * window_ns, value);
        let points = (0..).zip(&row.recovery_curve).map(point).collect();
        Some(Series { name: row.lock.clone(), mark: Mark::Line, points })
    });
    let x = Axis { label: "time after the stop", unit: Unit::Ns, logarithmic: false };
    let y = Axis { label: "throughput, times that before the stop", unit: Unit::Times, logarithmic: false };
    curve(format!("{words}: after the stop"), Plot { x, y, series: series.collect() })
}

/// Returns the shares of the held time that the children with the longer holds had; `None` where all holds are equal.
fn held_by_long(words: &str, rows: &[&Row]) -> Option<Figure> {
    let fair = (0.5, "half of the held time".to_owned());
    let bar = |row: &&Row| Some(bar(row, row.held_long_share?, Some(fair.clone())));
    let bars = rows.iter().filter_map(bar).collect();
    bars_of(format!("{words}: share of the held time that the long holds have together"), Unit::Share, bars, false)
}

/// Returns how unequal the held times of the children are; `None` for one child, and where fewer than two locks have runs with
/// timestamps.
fn held(words: &str, rows: &[&Row]) -> Option<Figure> {
    let bars: Vec<Bar> = rows.iter().filter_map(|row| Some(bar(row, row.held_cov?, None))).collect();
    let several = bars.len() > 1 && rows[0].children > 1;
    let title = format!("{words}: CV of the children's held time (0 is fair)");
    several.then(|| bars_of(title, Unit::Number, bars, true)).flatten()
}

fn bar(row: &Row, value: f64, limit: Option<(f64, String)>) -> Bar {
    Bar { name: row.lock.clone(), value: Ok(value), interval: None, limit }
}

fn bars_of(title: String, unit: Unit, bars: Vec<Bar>, secondary: bool) -> Option<Figure> {
    let is_empty = bars.is_empty();
    let picture = Picture::Bars(Bars { unit, logarithmic: false, bars });
    (!is_empty).then(|| Figure { title, picture, tables: Vec::new(), secondary })
}

fn curve(title: String, plot: Plot) -> Option<Figure> {
    let is_empty = plot.series.is_empty();
    (!is_empty).then(|| Figure { title, picture: Picture::Locks(plot), tables: Vec::new(), secondary: false })
}

const CAPTION: &str = "Throughput, fairness (CV of the children's iterations: 0 is fair) and waits. Work is written as \
non-hold+hold time, such as 7+3 µs; –: not measured";
const FURTHER: &str =
    "Basis of the throughput, its levels, and the time for which the children held the lock; –: not measured";

/// Returns the columns of 2002, in its order: children, locks, seconds, iterations, lock, patience, non-hold, hold,
/// contention of writers and readers in per cent, retry rate, COV, throughput. A dash stands for what the lock does not
/// count.
pub fn ulockflex(rows: &[Row]) -> String {
    let mut text = String::from("c a t i L p r x WC RC R COV ThPut\n");
    for row in rows {
        let per_cent =
            |share: Option<f64>| share.map_or_else(|| "-".to_owned(), |share| format!("{:.2}", share * 100.0));
        let retry = row.retry.map_or_else(|| "-".to_owned(), |retry| format!("{retry:.2}"));
        text.push_str(&format!(
            "{} {} {} {} {} {} {} {} {} {} {} {:.6} {:.0}\n",
            row.children,
            row.locks,
            row.run_s,
            row.iterations,
            letter(row),
            row.patience_us,
            row.nonhold_us,
            row.hold_us,
            per_cent(row.write_contended_share),
            per_cent(row.read_contended_share),
            retry,
            row.cov,
            row.throughput_per_s
        ));
    }
    text
}

/// Returns 2002's letter for a lock (a capital for one that spins); the name of a lock that it did not have.
fn letter(row: &Row) -> String {
    match row.lock.as_str() {
        "none" => "e".into(),
        "sysv" => "k".into(),
        "usema" => "f".into(),
        "usema-spin" => "F".into(),
        "calock" => "c".into(),
        "calock-spin" => "C".into(),
        "rwlock" => format!("s{}", row.share),
        name => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::sample::row;
    use super::*;

    #[test]
    fn held_time_has_charts_where_it_was_measured() {
        let timed = |lock: &str| Row { held_cov: Some(0.2), hold_ratio: 4, ..row(lock, 2, 1e6) };
        let titles = |rows: &[Row]| section(rows).figures.into_iter().map(|figure| figure.title).collect::<Vec<_>>();
        let held = |rows: &[Row], words: &str| titles(rows).iter().filter(|title| title.contains(words)).count();
        let both = [Row { held_long_share: Some(0.8), ..timed("std") }, timed("usema")];
        assert_eq!([held(&both, "CV of the children's held time"), held(&both, "the long holds have")], [1, 1]);
        assert_eq!(held(&both[..1], "CV of the children's held time"), 0, "one lock is not compared");
        let untimed = [row("std", 2, 1e6), row("usema", 2, 2e6)];
        assert_eq!(held(&untimed, "held"), 0);
    }

    #[test]
    fn heading_fits_the_page_whatever_its_values() {
        let row = Row {
            processes: true,
            locks: 65_536,
            nonhold_us: 123_456.0,
            hold_us: 123_456.0,
            share: 100,
            ideal_per_s: Some(1e12),
            ..row("std", 4_096, 1e9)
        };
        let text = heading(&row, &Loops::of([&row]), &Page::plain());
        assert!(text.starts_with("4096 processes, ") && text.ends_with("all runs\n"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
