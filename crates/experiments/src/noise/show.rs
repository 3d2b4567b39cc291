//! The record on a terminal: the scenarios with the values of 1999, the causes, the remedies, the gap that ended the run.

use super::by_us;
use super::cause_groups::{CauseGroup, CauseLine, groups, lines};
use super::cells::{ALONE, EQUAL};
use super::longest_gap::{self, beside_1999, comparable_gap, long_gaps_per_s};
use super::plan::{Parameters, SPAN_1999_S};
use super::record::{NoiseRecord, Row};
use super::stops::{self, Delayed, Setup};
use harness::{label, story_text};
use instruments::environment::Environment;
use instruments::evidence::Source;
use instruments::statistics::Interval;
use instruments::statistics::order::fewest_samples;
use instruments::statistics::summary::CONFIDENCE;
use record::ranking::is_above;
use record::{Column, Unit, column};
use terminal::{self, Page, nanoseconds, percent};

/// Shows the whole record.
pub fn show(record: &NoiseRecord<'_>, page: &Page) -> String {
    let (parameters, rows) = (record.parameters, record.results);
    let parts = match parameters.remedies {
        true => vec![setting(parameters, rows, page), remedies(rows), ledgers(rows), rules_of_1999(rows, page)],
        false => vec![
            setting(parameters, rows, page),
            scenarios(rows, page),
            tail(rows, page),
            test_of_1999(rows),
            causes(rows, &record.environment.machine, page),
        ],
    };
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

pub fn microseconds(us: f64) -> String {
    nanoseconds(us * 1e3)
}

fn milliseconds(ns: f64) -> String {
    format!("{:.2}", ns / 1e6)
}

fn setting(parameters: &Parameters, rows: &[Row], page: &Page) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let competitors = match has_competitor(rows) {
        false => String::new(),
        true => format!(
            "; {} at nice {}: weights {}:1",
            terminal::counted(parameters.competitors, "competitor"),
            parameters.competitor_nice,
            terminal::number(parameters.weight_ratio)
        ),
    };
    let lines = format!(
        "Sampling thread on CPU {} at nice {}{competitors}\n\
         One iteration takes {}, one clock read {}: {}.\n\
         A gap is longer than {}. A repetition has {} million clock reads.\n\
         Each row was measured for {}.",
        parameters.cpu,
        parameters.reader_nice,
        nanoseconds(first.loop_check_ns),
        nanoseconds(first.bare_loop_ns),
        terminal::ratio(first.loop_check_ns / first.bare_loop_ns),
        thresholds(rows),
        readings_a_turn(rows),
        watched(rows),
    );
    lines.lines().map(|line| terminal::wrapped("", "", line, page)).collect()
}

/// Returns whether a competing thread was part of any of these scenarios, or of any remedy.
fn has_competitor(rows: &[Row]) -> bool {
    rows.iter().any(|row| !["quiet", "rescheduler"].contains(&row.scenario.as_str()))
}

fn thresholds(rows: &[Row]) -> String {
    let least = rows.iter().map(|row| row.least_threshold_ns).fold(f64::INFINITY, f64::min);
    let most = rows.iter().map(|row| row.threshold_ns).fold(0.0, f64::max);
    if least == most { nanoseconds(most) } else { format!("{} to {}", nanoseconds(least), nanoseconds(most)) }
}

fn readings_a_turn(rows: &[Row]) -> String {
    let millions = rows.iter().flat_map(|row| &row.turns).map(|turn| (turn.samples as f64 / 1e6).round());
    let (least, most) = millions.fold((f64::INFINITY, 0.0_f64), |(least, most), of| (least.min(of), most.max(of)));
    if least == most { format!("{most}") } else { format!("{least} to {most}") }
}

/// Writes how long each row was measured: the counts and the longest lengths of gaps refer to that time.
fn watched(rows: &[Row]) -> String {
    let (least, most) =
        rows.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), row| (least.min(row.span_s), most.max(row.span_s)));
    let [least, most] = [least, most].map(|seconds| nanoseconds(seconds * 1e9));
    if least == most { most } else { format!("{least} to {most}") }
}

/// The head of the column with the share of the core's issue slots that an SMT sibling took.
pub const SMT_LOSS: &str = "SMT loss";

type ScenarioColumn = Column<Row>;

/// Returns the columns of the table of scenarios.
pub fn scenario_columns() -> [ScenarioColumn; 14] {
    [
        ScenarioColumn::terminal("", |row| Some(row.scenario.clone()))
            .with_page("scenario", |row| Some(row.scenario.clone())),
        ScenarioColumn::terminal("lost", |row| Some(percent(row.lost_share)))
            .with_page("lost (95 % CI)", |row| Some(Unit::Share.words_with(row.lost_share, row.lost().interval))),
        ScenarioColumn::page("measured", |row| Some(nanoseconds(row.span_s * 1e9))),
        ScenarioColumn::page("gaps", |row| Some(terminal::count(row.gaps))),
        ScenarioColumn::terminal("gaps/s", |row| Some(terminal::count(row.gaps_per_s.round() as u64))),
        ScenarioColumn::terminal("median", |row| row.median_gap_us.map(microseconds))
            .with_page("median gap", |row| row.median_gap_us.map(microseconds)),
        ScenarioColumn::terminal("p99", |row| row.p99_gap_us.map(microseconds))
            .with_page("p99 gap", |row| row.p99_gap_us.map(microseconds)),
        ScenarioColumn::page("p99.9 gap", |row| row.p999_gap_us.map(microseconds)),
        ScenarioColumn::page("p99.99 gap", |row| row.p9999_gap_us.map(microseconds)),
        ScenarioColumn::new(">256 µs", |row| Some(terminal::count(row.over_256us))),
        ScenarioColumn::new("longest", |row| Some(microseconds(row.longest_us))),
        ScenarioColumn::page("explained", |row| row.explained_share.map(percent)),
        ScenarioColumn::page(SMT_LOSS, |row| row.width_lost_share.map(percent)),
        ScenarioColumn::page("core shared (95 % CI)", |row| {
            Some(Unit::Share.words_with(row.core_shared_share?, row.core_shared_share_ci))
        }),
    ]
}

/// Draws the tail of the gaps: how many were longer than a power of ten, and the lengths that few exceeded.
fn tail(rows: &[Row], page: &Page) -> String {
    fn over(count: Option<u64>) -> Option<String> {
        count.map(terminal::count)
    }
    fn quantile(us: Option<f64>) -> Option<String> {
        Some(us.map_or_else(|| "–".to_owned(), microseconds))
    }
    let columns: [ScenarioColumn; 7] = [
        ScenarioColumn::terminal("Gaps", |row| Some(row.scenario.clone())),
        ScenarioColumn::terminal(">1 µs", |row| over(row.over_1us)),
        ScenarioColumn::terminal(">10 µs", |row| over(row.over_10us)),
        ScenarioColumn::terminal(">100 µs", |row| over(row.over_100us)),
        ScenarioColumn::terminal(">1 ms", |row| over(row.over_1ms)),
        ScenarioColumn::terminal("p99.9", |row| quantile(row.p999_gap_us)),
        ScenarioColumn::terminal("p99.99", |row| quantile(row.p9999_gap_us)),
    ];
    let known: Vec<&Row> = rows.iter().filter(|row| row.over_1us.is_some()).collect();
    let is_short = known.iter().any(|row| row.p9999_gap_us.is_none());
    let legend = if is_short { by_us::legend_of_tails("gaps") + "\n" } else { String::new() };
    match known.is_empty() {
        true => String::new(),
        false => column::in_letters(&columns, known, page) + &legend,
    }
}

fn scenarios(rows: &[Row], page: &Page) -> String {
    let costs: String = rows.iter().filter_map(rescheduler_cost).collect();
    let effect =
        rescheduler_effect(rows).map_or_else(String::new, |effect| terminal::wrapped(" ", "   ", &effect, page));
    column::in_letters(&scenario_columns(), rows, page) + &costs + &effect + &cpu_share(rows)
}

/// Returns the longest part of a gap that the competitor takes, without and with a rescheduler, whatever else took the
/// CPU.
pub fn rescheduler_effect(rows: &[Row]) -> Option<String> {
    let gaps = longest_gap::comparable(rows);
    let of = |scenario: &str| gaps.iter().find(|gap| gap.is_competitors && gap.row.scenario == scenario);
    let (alone, with) = (of("competitor")?, of("competitor and rescheduler")?);
    Some(format!(
        "The competitor's longest gap in {}: {}, with a rescheduler {}{}.",
        nanoseconds(alone.span_s * 1e9),
        nanoseconds(alone.estimate.value),
        nanoseconds(with.estimate.value),
        longest_gap::difference(&with.estimate, &alone.estimate)
    ))
}

fn rescheduler_cost(row: &Row) -> Option<String> {
    let (share, wakes) = (row.rescheduler_cpu_share?, row.rescheduler_wakes_per_s?);
    let name = &row.scenario;
    Some(format!(
        "  {name}: {} wake-ups/s, which used {} of the CPU\n",
        terminal::count(wakes.round() as u64),
        percent(share)
    ))
}

/// Compares with 1999: counts per second; the longest as the median of the repetitions, where these take about as long
/// as its test.
///
/// A quiet machine alone is not that test.
fn test_of_1999(rows: &[Row]) -> String {
    if rows.iter().all(|row| row.scenario == "quiet") {
        return String::new();
    }
    let header = ["", "today", "longest", "95 % (ms)", "bare", "longest", "normal", "longest"];
    let lines: Vec<_> = rows
        .iter()
        .filter_map(|row| {
            let (then, over) = (row.then?, long_gaps_per_s(row)?);
            let per_s = |count: u64| Unit::Number.words(count as f64 / SPAN_1999_S);
            let longest = beside_1999(row);
            let ends = longest.and_then(|longest| longest.interval);
            Some(vec![
                row.scenario.clone(),
                Unit::Number.words(over),
                longest.map_or_else(|| "–".to_owned(), |longest| nanoseconds(longest.value)),
                ends.map_or_else(String::new, |ci| format!("{}–{}", milliseconds(ci.low), milliseconds(ci.high))),
                per_s(then.bare_over_256us),
                microseconds(then.bare_longest_us),
                per_s(then.normal_over_256us),
                microseconds(then.normal_longest_us),
            ])
        })
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    let turns = rows.iter().map(|row| row.turns.len()).min().unwrap_or(0);
    let of = match turns {
        0 | 1 => format!("of\none repetition: {}", too_few_repetitions()),
        turns => format!("the\nmedian of {turns} repetitions, with its 95 % CI"),
    };
    let title = format!(
        "Gaps over 256 µs per second, and the longest ({of}), and in 1999\n\
         (256 million readings, each with the 280 ns of 1998)\n"
    );
    let is_compared = rows.iter().any(|row| row.then.is_some() && beside_1999(row).is_some());
    let legend =
        if is_compared { "" } else { "–: a repetition is too short or too long to compare with the 72 s of 1999\n" };
    title + &terminal::table(&header, lines) + legend
}

/// The maximum number of causes; further ones are added up.
const CAUSES: usize = 8;

type CauseColumn = Column<CauseLine>;

/// The letters of a cause: the names of the kernel's workers end in their current work.
const LONGEST: usize = 38;

/// Returns the columns of a table of causes.
pub fn cause_columns() -> [CauseColumn; 5] {
    [
        CauseColumn::terminal("", |line| Some(format!("  {}", terminal::shortened(&line.label, LONGEST))))
            .with_page("cause", |line| Some(line.label.clone())),
        CauseColumn::terminal("share", |line| Some(percent(line.share)))
            .with_page("share of gap time", |line| Some(percent(line.share))),
        CauseColumn::new("gaps", |line| Some(terminal::count(line.count))),
        CauseColumn::new("time", |line| Some(microseconds(line.total_us))),
        CauseColumn::new("longest", |line| Some(microseconds(line.longest_us))),
    ]
}

fn causes(rows: &[Row], machine: &Environment, page: &Page) -> String {
    rows.iter().map(|row| causes_of(row, machine, page)).collect::<Vec<_>>().join("\n")
}

fn causes_of(row: &Row, machine: &Environment, page: &Page) -> String {
    let title = format!("Causes of lost CPU time: {}\n", row.scenario);
    if row.evidence == Source::None {
        return title + "  no kernel events were recorded\n";
    }
    let setup = Setup::new(Delayed::Sampling, machine, [(row.cpu, row.irqs)]);
    title
        + &column::in_letters(&cause_columns(), &lines(&row.causes, CAUSES, CauseGroup::label), page)
        + &stops::lines(&setup, groups(&row.causes), page)
        + &ledger(row, page)
}

/// Returns a line for all rows, where there is no table of causes.
fn ledgers(rows: &[Row]) -> String {
    let all: Vec<_> = rows.iter().filter_map(|row| row.ledger.as_ref()).collect();
    if all.is_empty() {
        return "No kernel events were recorded.\n".to_owned();
    }
    let shares: Vec<f64> = rows.iter().filter_map(|row| row.explained_share).collect();
    let least = shares.iter().copied().fold(1.0, f64::min);
    format!(
        "Coverage: {} kernel events, {} lost, no data for {};\nat least {} of the gap time is explained\n",
        terminal::count(all.iter().map(|ledger| ledger.events).sum()),
        terminal::count(all.iter().map(|ledger| ledger.lost_events).sum()),
        nanoseconds(all.iter().map(|ledger| ledger.blind_ns).sum()),
        percent(least)
    )
}

fn ledger(row: &Row, page: &Page) -> String {
    let source = match row.evidence {
        Source::CpuRecord => "the kernel trace of the CPU",
        Source::ThreadRecord => "the kernel trace of the sampling thread's switches",
        Source::PreemptionFlag => "the kernel's preemption flag (rseq)",
        Source::Account => "the sampling thread's account in /proc",
        Source::None => "nothing",
    };
    let share = |share: Option<f64>| share.map_or_else(|| "nothing".to_owned(), percent);
    let mut text = format!(
        "named cause: {}, with periodic but unnamed gaps {};\nsource: {source}\n",
        share(row.explained_share),
        share(row.explained_or_periodic_share)
    );
    if let Some(ledger) = &row.ledger {
        text.push_str(&format!(
            "coverage: {} events, {} lost, {} unknown, no data for {};\n{} switches and interrupts in gaps, {} outside; clocks agree to {}\n",
            terminal::count(ledger.events),
            terminal::count(ledger.lost_events),
            terminal::count(ledger.skipped_events),
            nanoseconds(ledger.blind_ns),
            terminal::count(row.events_in_gaps),
            terminal::count(row.events_outside_gaps),
            nanoseconds(ledger.clock_residual_ns + ledger.clock_uncertainty_ns),
        ));
        text.push_str(&format!(
            "not measured while the trace was read: {}; reading one event: {}\n",
            nanoseconds(row.unwatched_s * 1e9),
            nanoseconds(ledger.recorder_ns / ledger.events.max(1) as f64)
        ));
        if let Some(throttled_ns) = ledger.account.throttled_ns.filter(|&throttled| throttled > 0) {
            let throttled = nanoseconds(throttled_ns as f64);
            text.push_str(&format!("the cgroup's CPU quota throttled its threads for {throttled} in total\n"));
        }
    }
    text.lines().map(|line| terminal::wrapped(" ", " ", line, page)).collect()
}

/// Returns the words for a median of repetitions without an interval.
fn too_few_repetitions() -> String {
    terminal::too_few("repetitions for a confidence interval", fewest_samples(0.5, CONFIDENCE) as usize)
}

fn remedies(rows: &[Row]) -> String {
    let header = ["", "longest", "95 %", "max", ">256/s", "lost", "others"];
    let lines = rows.iter().map(|row| {
        vec![
            row.scenario.clone(),
            longest(row),
            comparable_gap(row).and_then(|gap| gap.interval).map_or_else(|| "–".to_owned(), spanned),
            microseconds(row.longest_us),
            terminal::number(row.over_256us as f64 / row.span_s),
            percent(row.lost_share),
            row.competitors_cpu_share.map_or_else(String::new, percent),
        ]
    });
    let legend = "longest: median of the repetitions; max: of all of them; >256/s: gaps above\n256 µs per second; lost: CPU time of the sampling thread; others: CPU time of\nthe competitors\n";
    let is_short = rows.iter().any(|row| comparable_gap(row).is_none());
    let is_uncertain = rows.iter().filter_map(comparable_gap).any(|gap| gap.interval.is_none());
    let short = is_short.then(|| "a repetition is too short for the competitor's time slice".to_owned());
    let missing: String = short
        .into_iter()
        .chain(is_uncertain.then(too_few_repetitions))
        .map(|reason| format!("–: {reason}\n"))
        .collect();
    terminal::table(&header, lines) + legend + &missing
}

/// Returns the longest gap of a repetition, where it may be compared.
fn longest(row: &Row) -> String {
    comparable_gap(row).map_or_else(|| "–".to_owned(), |gap| nanoseconds(gap.value))
}

fn spanned(ends: Interval) -> String {
    format!("{}–{}", nanoseconds(ends.low), nanoseconds(ends.high))
}

/// Compares the longest gap of a remedy with that of another row, in a sentence.
fn longest_gaps(remedy: &Row, alone: &Row) -> String {
    let Some((gap, than)) = comparable_gap(remedy).zip(comparable_gap(alone)) else {
        return "The longest gaps are not compared: a repetition is too short for the competitor's time slice.".into();
    };
    let difference = if gap.interval.is_none() || than.interval.is_none() {
        format!("the difference is not judged: {}", too_few_repetitions())
    } else if is_above(&gap, &than) || is_above(&than, &gap) {
        format!("the ratio is {}", terminal::ratio(gap.value / than.value))
    } else {
        "they do not differ significantly".to_owned()
    };
    format!(
        "The longest gap was {}, and {} with nice values alone; {difference}.",
        nanoseconds(gap.value),
        nanoseconds(than.value)
    )
}

/// Returns the advice of 1999, with the values of this run.
fn rules_of_1999(rows: &[Row], page: &Page) -> String {
    let find = |name: &str| rows.iter().find(|row| row.scenario == name);
    let competitors = |row: &Row| row.competitors_cpu_share.map_or_else(|| "an unknown share".to_owned(), percent);
    let Some(alone) = find(ALONE) else { return String::new() };
    let equal = find(EQUAL).map(|equal| {
        format!(
            "A higher priority does not make a busy thread much faster, but others much slower. With equal nice values, \
             the sampling thread had {} of the CPU and the competitors had {}. With the nice values of this run, the \
             sampling thread had {} and the competitors had {}.",
            percent(1.0 - equal.lost_share),
            competitors(equal),
            percent(1.0 - alone.lost_share),
            competitors(alone),
        )
    });
    let fifo = find("reader SCHED_FIFO").map(|fifo| {
        format!(
            "Real-time priority is for threads that use little CPU. Here the real-time thread used 90 ms of every 100 ms. \
             {} The competitors had {} of the CPU.",
            longest_gaps(fifo, alone),
            competitors(fifo),
        )
    });
    let rescheduler = find("rescheduler 125 µs").map(|rescheduler| {
        format!(
            "A rescheduler spreads the load more evenly, at a cost. Here it slept for 125 µs at a time. {} The sampling \
             thread lost {} of the CPU time, and {} with nice values alone.",
            longest_gaps(rescheduler, alone),
            percent(rescheduler.lost_share),
            percent(alone.lost_share),
        )
    });
    let advice = [equal, fifo, rescheduler].into_iter().flatten();
    let advice: String = advice.map(|words| terminal::wrapped("-", " ", &words, page)).collect();
    format!("The advice of 1999, and the measurements of this run\n{advice}")
}

/// Returns the part of the CPU that a process would get: of its time, and of the core's issue slots in that time;
/// nothing where the core was not probed.
fn cpu_share(rows: &[Row]) -> String {
    let line = |row: &Row| {
        let slots = percent(1.0 - row.width_lost_share?);
        Some(vec![row.scenario.clone(), percent(1.0 - row.lost_share), slots, shared(row)])
    };
    let lines: Vec<Vec<String>> = rows.iter().filter_map(line).collect();
    if lines.is_empty() {
        return String::new();
    }
    let header = ["A process would get", "CPU time", "issue slots", "core shared (95 % CI)"];
    "\n".to_owned() + &terminal::table(&header, lines)
}

/// Writes `25.0 % (20.1–30.3)`.
fn shared(row: &Row) -> String {
    let bare = |share: f64| percent(share).trim_end_matches(" %").to_owned();
    let ends =
        row.core_shared_share_ci.map_or_else(String::new, |ends| format!(" ({}–{})", bare(ends.low), bare(ends.high)));
    row.core_shared_share.map_or_else(String::new, |share| percent(share) + &ends)
}

/// Shows the gap that ended the measurement, and the tasks that ran in it.
pub fn stopped(rows: &[Row], page: &Page) -> String {
    let us = |us: f64| nanoseconds(us * 1e3);
    let found = rows.iter().filter_map(|row| Some((row, row.stopped.as_ref()?)));
    let text = found.map(|(row, gap)| {
        let words = format!(
            "Stopped at {:.3} s: a gap of {} on CPU {}; main cause, for {}: {}.",
            gap.start_s,
            us(gap.length_us),
            row.cpu,
            us(gap.cause_us),
            label(&gap.cause)
        );
        "\n".to_owned() + &terminal::wrapped("", "", &words, page) + &story_text(&gap.story, page)
    });
    text.collect()
}

#[cfg(test)]
mod tests {
    use super::super::sample::{contested, parameters, row};
    use super::*;

    #[test]
    fn head_fits_the_page_whatever_its_values() {
        let mut other = row("competitor");
        (other.threshold_ns, other.least_threshold_ns, other.loop_check_ns) = (999_999.0, 151.0, 1_234.5);
        other.turns[0].samples = 64_000_000_000;
        let wide = Parameters { cpu: 4_095, competitors: 4_095, ..parameters() };
        let text = setting(&wide, &[row("quiet"), other], &Page::plain());
        assert!(
            text.contains("A gap is longer than 150 ns to 1.00 ms.") && text.contains("64 to 64000 million"),
            "{text}"
        );
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn shares_of_time_and_of_issue_slots_are_separate() {
        let probed = Row { core_shared_share: Some(0.25), width_lost_share: Some(0.125), ..row("quiet") };
        let text = cpu_share(&[probed]);
        assert!(text.contains("issue slots") && !text.contains("width"), "{text}");
        let words: Vec<&str> = text.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(words, ["quiet", "99.1", "%", "87.5", "%", "25.0", "%"]);
    }

    #[test]
    fn shared_time_has_its_interval() {
        let ends = Some(Interval::new(0.101, 0.999_12));
        let longest = "competitor and rescheduler";
        let probed = Row {
            core_shared_share: Some(0.25),
            core_shared_share_ci: ends,
            width_lost_share: Some(0.125),
            ..row(longest)
        };
        let text = cpu_share(&[probed]);
        assert!(text.ends_with("25.0 % (10.1–99.91)\n"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn advice_of_1999_compares_only_comparable_gaps() {
        let advice =
            |remedy: Row| rules_of_1999(&[row(ALONE), row(EQUAL), remedy], &Page { width: 2_000, colour: false });
        let named = |us: f64, ends: Option<Interval>| Row {
            longest_p50_us: us,
            longest_ci_us: ends,
            ..row("rescheduler 125 µs")
        };
        let shorter = advice(named(300.0, Some(Interval::new(200.0, 400.0))));
        assert!(
            shorter.contains("The longest gap was 300 µs, and 3.00 ms with nice values alone; the ratio is 0.10×."),
            "{shorter}"
        );
        let same = advice(named(2_900.0, Some(Interval::new(2_000.0, 4_000.0))));
        assert!(same.contains("with nice values alone; they do not differ significantly."), "{same}");
        assert!(advice(named(300.0, None)).contains("; the difference is not judged: too few repetitions"));
        let short = advice(Row {
            scenario: "reader SCHED_FIFO".into(),
            competitor_slice_every_s: Some(9.0),
            ..contested("", 300.0)
        });
        assert!(short.contains("The longest gaps are not compared: a repetition is too short"), "{short}");
        for text in [shorter, same, short] {
            assert!(!text.contains('–') && !text.contains('?') && text.lines().skip(1).all(|line| line.ends_with('.')));
        }
    }

    #[test]
    fn without_probes_no_share_is_printed() {
        assert_eq!(cpu_share(&[row("quiet")]), "");
    }

    #[test]
    fn effect_and_coverage_fit_the_page_whatever_their_values() {
        let of = |scenario: &str, us: f64, ends: [f64; 2]| Row {
            competitor_longest_ci_us: Some(Interval::new(ends[0], ends[1])),
            ..contested(scenario, us)
        };
        let rows = [
            of("competitor", 123_456.0, [123_000.0, 124_000.0]),
            of("competitor and rescheduler", 123_457.0, [122_000.0, 125_000.0]),
        ];
        let text = scenarios(&rows, &Page::plain());
        let effect =
            "  The competitor's longest gap in 750 ms: 123 ms, with a rescheduler 123 ms, not\n    significantly";
        assert!(text.contains(effect), "{text}");
        let ledger = ledger_of(&Row { events_in_gaps: u64::MAX, events_outside_gaps: u64::MAX, ..row("quiet") });
        for text in [text, ledger] {
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        }
    }

    /// Returns the lines on the coverage, with the greatest numbers that it can have.
    fn ledger_of(row: &Row) -> String {
        let quality = serde_json::from_value(serde_json::json!({
            "source": "thread_record", "span_ns": 1e9, "events": u64::MAX, "lost_events": u64::MAX,
            "skipped_events": u64::MAX, "blind_ns": 123e9, "clock_residual_ns": 123.0, "clock_uncertainty_ns": 123.0,
            "recorder_ns": 123e9, "ring_kib": 1, "account": instruments::evidence::Account::default()
        }));
        ledger(&Row { ledger: Some(quality.expect("the sample is a quality")), ..row.clone() }, &Page::plain())
    }
}
