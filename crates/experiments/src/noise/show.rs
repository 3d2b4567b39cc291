//! The record on a terminal: the scenarios beside 1999's, the causes, the remedies.

use super::cells::{ALONE, EQUAL};
use super::left;
use super::longest_gap::{self, beside_1999, long_gaps_in_1999s_readings, whole};
use super::plan::Parameters;
use super::record::{CauseRow, Row};
use instruments::evidence::Source;
use instruments::statistics::Interval;
use terminal::{self, nanoseconds, percent};

/// All of it.
pub fn show(parameters: &Parameters, rows: &[Row]) -> String {
    let parts = match parameters.remedies {
        true => vec![setting(parameters, rows), remedies(rows), ledgers(rows), rules_of_1999(rows)],
        false => vec![setting(parameters, rows), scenarios(rows), test_of_1999(rows), causes(rows)],
    };
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

pub fn microseconds(us: f64) -> String {
    nanoseconds(us * 1e3)
}

fn milliseconds(ns: f64) -> String {
    format!("{:.2}", ns / 1e6)
}

fn setting(parameters: &Parameters, rows: &[Row]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let plural = if parameters.competitors == 1 { "" } else { "s" };
    format!(
        "Sampling thread on CPU {} at nice {}; {} competitor{plural} at nice {}: weights {:.1}:1\n\
         One iteration takes {}, one clock read {}: {:.2}×.\n\
         A gap is longer than {}. A repetition has {} million clock reads.\n\
         Each row was measured for {}.\n",
        parameters.cpu,
        parameters.reader_nice,
        parameters.competitors,
        parameters.competitor_nice,
        parameters.weight_ratio,
        nanoseconds(first.loop_check_ns),
        nanoseconds(first.bare_loop_ns),
        first.loop_check_ns / first.bare_loop_ns,
        thresholds(rows),
        readings_a_turn(rows),
        watched(rows),
    )
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

/// How long each row was watched in all: the gaps' counts and longest lengths are of that time.
fn watched(rows: &[Row]) -> String {
    let (least, most) =
        rows.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), row| (least.min(row.span_s), most.max(row.span_s)));
    let [least, most] = [least, most].map(|seconds| nanoseconds(seconds * 1e9));
    if least == most { most } else { format!("{least} to {most}") }
}

fn scenarios(rows: &[Row]) -> String {
    let header = ["", "lost", "gaps/s", "median", "p99", ">256 µs", "longest"];
    let lines = rows.iter().map(|row| {
        vec![
            row.scenario.clone(),
            percent(row.lost_share),
            format!("{:.0}", row.gaps_per_s),
            row.median_gap_us.map_or_else(String::new, microseconds),
            row.p99_gap_us.map_or_else(String::new, microseconds),
            terminal::count(row.over_256us),
            microseconds(row.longest_us),
        ]
    });
    let costs: String = rows.iter().filter_map(rescheduler_cost).collect();
    let effect = rescheduler_effect(rows).map_or_else(String::new, |effect| format!("  {effect}\n"));
    terminal::table(&header, lines) + &costs + &effect + &left::text(rows)
}

/// The longest part of a gap that the competitor takes, without and with a rescheduler, whatever else took the CPU.
pub fn rescheduler_effect(rows: &[Row]) -> Option<String> {
    let gaps = longest_gap::comparable(rows);
    let of = |scenario: &str| gaps.iter().find(|gap| gap.is_competitors && gap.row.scenario == scenario);
    let (alone, with) = (of("competitor")?, of("competitor and rescheduler")?);
    Some(format!(
        "Longest part of a gap that the competitor takes, in {}: {}; with a rescheduler {}: {}.",
        nanoseconds(alone.span_s * 1e9),
        nanoseconds(alone.estimate.value),
        nanoseconds(with.estimate.value),
        terminal::ratio(alone.estimate.value / with.estimate.value)
    ))
}

fn rescheduler_cost(row: &Row) -> Option<String> {
    let (share, wakes) = (row.rescheduler_cpu_share?, row.rescheduler_wakes_per_s?);
    let name = &row.scenario;
    Some(format!("  {name}: {wakes:.0} wake-ups/s, which used {} of the CPU\n", percent(share)))
}

/// Counts as for 1999's number of readings; the longest as the median of the turns, where these have about as many.
fn test_of_1999(rows: &[Row]) -> String {
    let header = ["", "today", "longest", "95 % (ms)", "bare", "longest", "normal", "longest"];
    let lines: Vec<_> = rows
        .iter()
        .filter_map(|row| {
            let (then, over) = (row.then?, long_gaps_in_1999s_readings(row)?);
            let longest = beside_1999(row);
            let ends = longest.and_then(|longest| longest.interval);
            Some(vec![
                row.scenario.clone(),
                if over < 10.0 { format!("{over:.1}") } else { terminal::count(over.round() as u64) },
                longest.map_or_else(|| "–".to_owned(), |longest| nanoseconds(longest.value)),
                ends.map_or_else(String::new, |ci| format!("{}–{}", milliseconds(ci.low), milliseconds(ci.high))),
                terminal::count(then.bare_over_256us),
                microseconds(then.bare_longest_us),
                terminal::count(then.normal_over_256us),
                microseconds(then.normal_longest_us),
            ])
        })
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    let turns = rows.iter().map(|row| row.turns.len()).min().unwrap_or(0);
    let of = match turns {
        0 | 1 => "of\none repetition, too few for a confidence interval".to_owned(),
        turns => format!("the\nmedian of {turns} repetitions, with its 95 % CI"),
    };
    let title = format!("Gaps over 256 µs in 256 million clock reads, and the longest ({of}), and in 1999\n");
    let is_compared = rows.iter().any(|row| row.then.is_some() && beside_1999(row).is_some());
    let legend =
        if is_compared { "" } else { "–: a repetition has too few or too many clock reads to compare with 1999\n" };
    title + &terminal::table(&header, lines) + legend
}

/// More causes than these are added up.
const CAUSES: usize = 8;

fn causes(rows: &[Row]) -> String {
    rows.iter().map(causes_of).collect::<Vec<_>>().join("\n")
}

fn causes_of(row: &Row) -> String {
    let title = format!("Causes of lost CPU time: {}\n", row.scenario);
    if row.evidence == Source::None {
        return title + "  no kernel events were recorded\n";
    }
    let line = |cause: &CauseRow| {
        vec![
            format!("  {}", shortened(&cause.label())),
            percent(cause.share),
            terminal::count(cause.count),
            microseconds(cause.total_us),
            microseconds(cause.longest_us),
        ]
    };
    let (most, rest) = row.causes.split_at(row.causes.len().min(CAUSES));
    let others = (!rest.is_empty()).then(|| {
        vec![
            format!("  {} others", rest.len()),
            percent(rest.iter().map(|cause| cause.share).sum()),
            terminal::count(rest.iter().map(|cause| cause.count).sum()),
            microseconds(rest.iter().map(|cause| cause.total_us).sum()),
            microseconds(rest.iter().map(|cause| cause.longest_us).fold(0.0, f64::max)),
        ]
    });
    let table = terminal::table(&["", "share", "gaps", "time", "longest"], most.iter().map(line).chain(others));
    title + &table + &ledger(row)
}

/// The kernel lengthens the names of its workers by what they work on.
fn shortened(words: &str) -> String {
    const LONGEST: usize = 38;
    if words.chars().count() <= LONGEST {
        return words.to_owned();
    }
    words.chars().take(LONGEST - 1).chain(['…']).collect()
}

/// A line for all rows, where there is no table of causes.
fn ledgers(rows: &[Row]) -> String {
    let all: Vec<_> = rows.iter().filter_map(|row| row.ledger.as_ref()).collect();
    if all.is_empty() {
        return "No kernel events were recorded.\n".to_owned();
    }
    let shares: Vec<f64> = rows.iter().filter_map(|row| row.explained_share).collect();
    let least = shares.iter().copied().fold(1.0, f64::min);
    format!(
        "Coverage: {} kernel events, {} lost, no data for {};\nat least {} of the gap time explained\n",
        terminal::count(all.iter().map(|ledger| ledger.events).sum()),
        terminal::count(all.iter().map(|ledger| ledger.lost_events).sum()),
        nanoseconds(all.iter().map(|ledger| ledger.blind_ns).sum()),
        percent(least)
    )
}

fn ledger(row: &Row) -> String {
    let source = match row.evidence {
        Source::CpuRecord => "the kernel trace of the CPU",
        Source::ThreadRecord => "the kernel trace of the sampling thread's switches",
        Source::PreemptionFlag => "the kernel's preemption flag (rseq)",
        Source::Account => "the sampling thread's account in /proc",
        Source::None => "nothing",
    };
    let share = |share: Option<f64>| share.map_or_else(|| "nothing".to_owned(), percent);
    let mut text = format!(
        "  named cause: {}, with periodic but unnamed gaps {};\n  source: {source}\n",
        share(row.explained_share),
        share(row.explained_or_periodic_share)
    );
    if let Some(ledger) = &row.ledger {
        text.push_str(&format!(
            "  coverage: {} events, {} lost, {} unknown, no data for {};\n  {} switches and interrupts in gaps, {} outside; clocks agree to {}\n",
            terminal::count(ledger.events),
            terminal::count(ledger.lost_events),
            terminal::count(ledger.skipped_events),
            nanoseconds(ledger.blind_ns),
            terminal::count(row.events_in_gaps),
            terminal::count(row.events_outside_gaps),
            nanoseconds(ledger.clock_residual_ns + ledger.clock_uncertainty_ns),
        ));
        text.push_str(&format!(
            "  not measured while the trace was read: {}; reading one event: {}\n",
            nanoseconds(row.unwatched_s * 1e9),
            nanoseconds(ledger.recorder_ns / ledger.events.max(1) as f64)
        ));
        if let Some(throttled_ns) = ledger.account.throttled_ns.filter(|&throttled| throttled > 0) {
            let throttled = nanoseconds(throttled_ns as f64);
            text.push_str(&format!("  the cgroup's CPU quota throttled its threads for {throttled} in total\n"));
        }
    }
    text
}

fn remedies(rows: &[Row]) -> String {
    let header = ["", "longest", "95 %", "max", ">256/s", "lost", "others"];
    let lines = rows.iter().map(|row| {
        vec![
            row.scenario.clone(),
            longest(row),
            whole(row).and_then(|gap| gap.interval).map_or_else(|| "?".to_owned(), spanned),
            microseconds(row.longest_us),
            format!("{:.2}", row.over_256us as f64 / row.span_s),
            percent(row.lost_share),
            row.competitors_cpu_share.map_or_else(String::new, percent),
        ]
    });
    let legend = "longest: median of the repetitions; max: of all of them; >256/s: gaps above\n256 µs per second; lost: CPU time of the sampling thread; others: CPU time of\nthe competitors\n";
    let is_missing = rows.iter().any(|row| whole(row).is_none());
    let missing = if is_missing { "–: a repetition is too short for the competitor's time slice\n" } else { "" };
    terminal::table(&header, lines) + legend + missing
}

/// The longest gap of a turn, where it may be compared.
fn longest(row: &Row) -> String {
    whole(row).map_or_else(|| "–".to_owned(), |gap| nanoseconds(gap.value))
}

fn spanned(ends: Interval) -> String {
    format!("{}–{}", nanoseconds(ends.low), nanoseconds(ends.high))
}

/// Whether their longest gaps are told apart; without intervals they are not.
fn differ(one: &Row, other: &Row) -> bool {
    let ends = |row| whole(row).and_then(|gap| gap.interval);
    ends(one).zip(ends(other)).is_some_and(|(one, other)| one.high < other.low || other.high < one.low)
}

/// Said of a longest gap that is not told from another.
fn apart(one: &Row, other: &Row) -> &'static str {
    if differ(one, other) { "" } else { " (not significantly different)" }
}

/// 1999's advice, and what the figures say of it.
fn rules_of_1999(rows: &[Row]) -> String {
    let find = |name: &str| rows.iter().find(|row| row.scenario == name);
    let competitors = |row: &Row| row.competitors_cpu_share.map_or_else(|| "?".to_owned(), percent);
    let mut text = String::from("The advice of 1999, and the measurements of this run\n");
    let Some(alone) = find(ALONE) else { return String::new() };
    if let Some(equal) = find(EQUAL) {
        text.push_str(&format!(
            "- A higher priority does not make a busy thread much faster, but others much\n  slower. From equal nice values to these, the sampling thread's CPU share\n  went from {} to {}, the competitors' from {} to {}.\n",
            percent(1.0 - equal.lost_share),
            percent(1.0 - alone.lost_share),
            competitors(equal),
            competitors(alone),
        ));
    }
    if let Some(fifo) = find("reader SCHED_FIFO") {
        text.push_str(&format!(
            "- Real-time priority is for threads that use little CPU. With a sampling\n  thread that used 90 ms of every 100: longest gap {} instead of\n  {}{};\n  {} of the CPU was left to the competitors.\n",
            longest(fifo),
            longest(alone),
            apart(fifo, alone),
            competitors(fifo),
        ));
    }
    if let Some(rescheduler) = rows.iter().find(|row| row.scenario == "rescheduler 125 µs") {
        text.push_str(&format!(
            "- A rescheduler spreads the load more evenly, at a cost. At 125 µs: longest\n  gap {} instead of {}{};\n  CPU lost {} instead of {}.\n",
            longest(rescheduler),
            longest(alone),
            apart(rescheduler, alone),
            percent(rescheduler.lost_share),
            percent(alone.lost_share),
        ));
    }
    text
}
