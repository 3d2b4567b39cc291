//! Statements about the rows, their lines of the ladder, the values that are compared with other records, and the values
//! of 1999 with those of today.

use super::cause_groups::{CauseGroup, groups};
use super::cells::{Nice, nice_for};
use super::longest_gap::{self, LongestGap, beside_1999, long_gaps_per_s};
use super::plan::SPAN_1999_S;
use super::plan::{Parameters, RATIO_1999, REMEDIES_RATIO};
use super::record::{Row, far_end};
use instruments::cpus::CpuSet;
use instruments::evidence::{Kind, Source};
use record::{Cell, Cost, Finding, Metric, Origin, ThenAndNow, Unit, VariationSource, distinct};
use terminal::nanoseconds;

type Placed<'a> = (usize, &'a Row);

/// Returns the command that follows: the remedies against a competitor, or how late a thread wakes.
pub fn next(parameters: &Parameters, rows: &[Row]) -> Option<Vec<String>> {
    if parameters.remedies || rows.iter().any(|row| row.stopped.is_some()) {
        return None;
    }
    let has_histogram = rows.iter().any(|row| !row.gaps_by_us.is_empty());
    let cpus: CpuSet = match parameters.every_cpu.as_slice() {
        [] => CpuSet::single(parameters.cpu),
        several => several.iter().copied().collect(),
    };
    let cpus = cpus.to_string();
    if rows.iter().all(|row| row.scenario == "quiet") {
        return Some(parameters.further(&["noise", "--wake", "1ms", "--cpus", &cpus], has_histogram));
    }
    let mut words = parameters.further(&["noise", "--remedies", "--cpus", &cpus], false);
    if parameters.competitors > 1 {
        words.extend(["--competitors".to_owned(), parameters.competitors.to_string()]);
    }
    let nice = Nice { reader: parameters.reader_nice, competitor: parameters.competitor_nice };
    // The defaults of both measurements differ.
    if ![RATIO_1999, REMEDIES_RATIO].map(nice_for).contains(&nice) {
        words.extend(["--nice".to_owned(), format!("{},{}", nice.reader, nice.competitor)]);
    }
    Some(words)
}

/// Returns the lost CPU time, its main cause, and the longest gaps of the scenarios.
pub fn findings(rows: &[Placed<'_>]) -> Vec<Finding> {
    let named = |name: &str| rows.iter().copied().find(|(_, row)| row.scenario == name);
    let quiet = named("quiet");
    let chosen: Vec<Placed<'_>> =
        [quiet, named("competitor"), named("competitor and rescheduler")].into_iter().flatten().collect();
    let gaps = longest_gap::comparable(chosen.iter().map(|(_, row)| *row));
    let place = |gap: &LongestGap<'_>| {
        chosen.iter().find(|(_, row)| std::ptr::eq(*row, gap.row)).map_or(0, |(place, _)| *place)
    };
    let longest = gaps.iter().map(|gap| longest(place(gap), gap, &gaps));
    quiet.map(lost).into_iter().chain(longest).collect()
}

fn lost((place, row): Placed<'_>) -> Finding {
    let figure = row.lost();
    let most = groups(&row.causes).into_iter().find(|cause| cause.row.kind != Kind::Unexplained);
    let most =
        most.map(|cause| format!("{} of that loss is {}", Unit::Share.words(cause.row.share), cause_words(&cause)));
    let rest = unexplained(row).map(|share| format!("{} is unexplained", Unit::Share.words(share)));
    let parts: Vec<String> = most.into_iter().chain(rest).collect();
    let parts = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    // The machine needs some of it for itself: a cause is named only where there is evidence.
    let words = format!("A thread that never blocks lost {} of its CPU time{}", Unit::Share.estimate(figure), parts);
    Finding::new("cpu_time_lost", words, Unit::Share, figure, Origin::of("noise", place, row.name(), "lost_share"))
        .repeated()
}

/// Returns the share of the loss without a known cause, where it is more than a rounding error.
pub fn unexplained(row: &Row) -> Option<f64> {
    const MENTIONED: f64 = 0.01;
    row.explained_or_periodic_share.map(|known| 1.0 - known).filter(|share| *share >= MENTIONED)
}

/// Describes a cause in words.
fn cause_words(cause: &CauseGroup) -> String {
    match (cause.row.kind, cause.row.name.as_deref()) {
        (Kind::Interrupt, Some("local_timer")) => "the timer interrupt".to_owned(),
        (Kind::Steal, _) => "the hypervisor".to_owned(),
        (Kind::SwitchedOut, _) => "an unidentified task".to_owned(),
        _ => cause.label(),
    }
}

/// Returns the finding about the longest gap of a repetition, as the median of the repetitions; with a rescheduler, how
/// much shorter it is.
fn longest(place: usize, gap: &LongestGap<'_>, all: &[LongestGap<'_>]) -> Finding {
    let row = gap.row;
    let is_rescheduled = row.scenario == "competitor and rescheduler";
    let taken = match (row.scenario.as_str(), gap.is_competitors) {
        ("quiet", _) => "that thread's longest gap",
        ("competitor", false) => "that thread's longest gap with a competitor",
        (_, false) => "that thread's longest gap with a competitor and a rescheduler",
        ("competitor", true) => "a competitor takes the CPU from that thread for at most",
        (_, true) => "with a rescheduler the competitor takes the CPU for at most",
    };
    let verb = if gap.is_competitors { "" } else { " is" };
    let than = all.iter().find(|other| is_rescheduled && other.row.scenario == "competitor");
    let words = format!(
        "In {} {taken}{verb} {}{}",
        Unit::Ns.words(gap.span_s * 1e9),
        Unit::Ns.estimate(gap.estimate),
        than.map_or_else(String::new, |than| longest_gap::difference(&gap.estimate, &than.estimate))
    );
    let what = format!("longest_gap_{}", row.scenario.replace(' ', "_"));
    let field = if gap.is_competitors { "competitor_longest_p50_us" } else { "longest_p50_us" };
    Finding::new(&what, words, Unit::Ns, gap.estimate, Origin::of("noise", place, row.name(), field))
}

/// Returns the lines of the ladder: the longest gaps.
pub fn costs(rows: &[Row]) -> Vec<Cost> {
    let is_one_of_several = distinct(rows, |row| row.cpu).len() > 1;
    longest_gap::comparable(rows).iter().filter_map(|gap| cost(gap, is_one_of_several)).collect()
}

/// Returns the longest gap of a repetition, with the repetition's length; `None` for a remedy, which is not a cost.
fn cost(gap: &LongestGap<'_>, is_one_of_several: bool) -> Option<Cost> {
    let row = gap.row;
    let words = match (row.scenario.as_str(), gap.is_competitors) {
        ("quiet", _) => "quiet",
        ("competitor", true) => "by competitor",
        ("competitor", false) => "competitor",
        ("competitor and rescheduler", _) => "rescheduler too",
        ("rescheduler", _) => "rescheduler",
        _ => return None,
    };
    let cpu = if is_one_of_several { format!(", CPU {}", row.cpu) } else { String::new() };
    let span = nanoseconds(gap.span_s * 1e9);
    let taken = if gap.is_competitors { "the competitor's longest part of a gap" } else { "the longest gap" };
    let figure = format!("{}: {taken} in {span}, median of the repetitions", row.name());
    let then = row.then.filter(|_| !gap.is_competitors && longest_gap::beside_1999(row).is_some());
    let cost = Cost::new(format!("longest gap in {span}, {words}{cpu}"), figure, gap.estimate);
    Some(cost.with_old_value(1999, then.map(|then| then.bare_longest_us * 1e3)))
}

/// Compares with the interruptions of Jean-Baptiste Queru, "The Scheduler Is Your Friend", Be Newsletter 4-45, 1999, on
/// a bare system.
pub fn then_and_now(rows: &[Placed<'_>]) -> Vec<ThenAndNow> {
    rows.iter().flat_map(|(_, row)| with_1999(row)).collect()
}

/// Returns the values with those of 1999.
///
/// The count is per second; the longest gap is given where a repetition takes about as long as 1999's test.
fn with_1999(row: &Row) -> Vec<ThenAndNow> {
    let Some(then) = row.then else { return Vec::new() };
    let scenario = match row.scenario.as_str() {
        "competitor and rescheduler" => "both",
        other => other,
    };
    let figure =
        |name: &str, unit, then, today| ThenAndNow::new(1999, &format!("{scenario}: {name}"), unit, then, Some(today));
    let per_s = then.bare_over_256us as f64 / SPAN_1999_S;
    let count = long_gaps_per_s(row).map(|over| figure("gaps over 256 µs", Unit::PerS, per_s, over.into()));
    let longest = beside_1999(row).map(|longest| figure("longest gap", Unit::Ns, then.bare_longest_us * 1e3, longest));
    count.into_iter().chain(longest).collect()
}

pub fn metrics(row: &Row) -> Vec<Metric> {
    let cell = Cell::of([row.scenario.clone()]).with("cpu", format!("CPU {}", row.cpu));
    let longest = row.longest_ci_us.map(|ends| ends.scaled(1e3));
    let longest = Metric::time(&cell, "longest gap, repetition", row.longest_p50_us * 1e3, longest);
    let taken = Metric { unit: Unit::Share, ..Metric::time(&cell, "taken", row.lost().value, row.lost().interval) };
    let tail = [
        ("p99.9 gap", row.p999_gap_us),
        ("p99.99 gap", row.p9999_gap_us),
        ("longest gap, whole run", Some(row.longest_us)),
    ];
    let tail = tail.into_iter().filter_map(|(figure, us)| Some(Metric::time(&cell, figure, us? * 1e3, None)));
    let gaps = Metric { unit: Unit::PerS, ..Metric::time(&cell, "gaps", row.gaps_per_s, None) };
    let parts = parts(row)
        .into_iter()
        .map(|(figure, share)| Metric { unit: Unit::Share, ..Metric::time(&cell, figure, share, None) });
    let body = [taken, longest, gaps].into_iter().chain(parts);
    let body = body.map(|metric| Metric { variation: VariationSource::Others, ..metric });
    body.chain(tail.map(far_end)).collect()
}

/// Returns the shares of the CPU time that each kind of cause took.
///
/// A single cause is often in one of two records only, so that it could not be compared. Only the kernel trace of all
/// events shows that a kind took nothing; without it, such a kind is not in the list.
fn parts(row: &Row) -> Vec<(&'static str, f64)> {
    const KINDS: [(&str, &[Kind]); 5] = [
        ("taken by tasks", &[Kind::Task, Kind::SwitchedOut]),
        ("taken by interrupts", &[Kind::Interrupt, Kind::Softirq]),
        ("taken by the hypervisor", &[Kind::Steal]),
        ("taken by throttling", &[Kind::RealtimeThrottling, Kind::CgroupThrottling]),
        ("taken, unexplained", &[Kind::Unexplained]),
    ];
    let share = |kinds: &[Kind]| {
        let own = row.causes.iter().filter(|cause| kinds.contains(&cause.kind));
        own.map(|cause| cause.share).sum::<f64>() * row.lost_share
    };
    let parts = KINDS.into_iter().map(|(figure, kinds)| (figure, share(kinds)));
    parts.filter(|(_, share)| *share > 0.0 || row.evidence == Source::CpuRecord).collect()
}

#[cfg(test)]
mod tests {
    use super::super::by_us::UsCount;
    use super::super::record::CauseRow;
    use super::super::sample::{contested, parameters, row};
    use super::*;
    use harness::EvidenceChoice;
    use instruments::statistics::Interval;
    use instruments::statistics::comparison::Estimate;

    #[test]
    fn next_command_keeps_the_options_of_the_run() {
        let words = |parameters: &Parameters, rows: &[Row]| next(parameters, rows).unwrap().join(" ");
        let (quiet, competitor) = ([row("quiet")], [contested("competitor", 93.5)]);
        assert_eq!(words(&parameters(), &quiet), "noise --wake 1ms --cpus 1");
        let several = Parameters { every_cpu: vec![1, 2, 3], evidence: EvidenceChoice::None, ..parameters() };
        let counted = [Row { gaps_by_us: vec![UsCount { us: 1, count: 2 }], ..row("quiet") }];
        assert_eq!(words(&several, &counted), "noise --wake 1ms --cpus 1-3 --evidence none --histogram");
        assert_eq!(words(&parameters(), &competitor), "noise --remedies --cpus 1");
        let nice = Parameters { competitors: 3, reader_nice: -5, competitor_nice: 5, ..parameters() };
        assert_eq!(words(&nice, &competitor), "noise --remedies --cpus 1 --competitors 3 --nice -5,5");
    }

    #[test]
    fn cause_is_named_with_its_share() {
        let found = findings(&[(4, &row("quiet"))]);
        assert_eq!(
            found[0].to_string(),
            "A thread that never blocks lost 0.90 % (95 % CI 0.70–1.1 %) of its CPU time: 66.0 % of that loss is the \
             timer interrupt, 10.0 % is unexplained [noise: quiet, CPU 1]"
        );
        assert_eq!((found[0].value, found[0].source.row), (0.009, 4));
        assert_eq!(found[1].words, "In 750 ms that thread's longest gap is 3.00 ms (95 % CI 2.00–4.00 ms)");
        assert_eq!((found[1].value, found[1].unit), (3e6, Unit::Ns));
    }

    #[test]
    fn tail_of_the_gaps_is_compared_where_it_is_known() {
        let figures = |row: &Row| metrics(row).into_iter().map(|one| (one.figure, one.value)).collect::<Vec<_>>();
        let known = Row { p999_gap_us: Some(90.0), p9999_gap_us: Some(400.0), ..row("quiet") };
        assert_eq!(
            figures(&known)[8..],
            [("p99.9 gap", 90e3), ("p99.99 gap", 400e3), ("longest gap, whole run", 3.5e6)]
        );
        assert_eq!(figures(&row("quiet"))[8..], [("longest gap, whole run", 3.5e6)]);
        assert!(metrics(&known)[8..].iter().all(|one| one.variation == VariationSource::Rare));
    }

    #[test]
    fn gaps_and_the_time_of_each_kind_of_cause_are_compared() {
        let first = row("quiet");
        let cause = |kind, share| CauseRow { kind, share, ..first.causes[0].clone() };
        let kinds =
            [(Kind::Interrupt, 0.4), (Kind::Softirq, 0.2), (Kind::Steal, 0.0), (Kind::Task, 0.3), (Kind::Task, 0.1)];
        let named = Row { causes: kinds.map(|(kind, share)| cause(kind, share)).into(), ..first };
        let found = metrics(&named);
        let values = |found: &[Metric]| {
            let values = found[2..found.len() - 1].iter().map(|one| (one.figure, (one.value * 1e6).round()));
            values.collect::<Vec<(&str, f64)>>()
        };
        let took_time = [("gaps", 600e6), ("taken by tasks", 3_600.0), ("taken by interrupts", 5_400.0)];
        let took_none = [("taken by the hypervisor", 0.0), ("taken by throttling", 0.0), ("taken, unexplained", 0.0)];
        assert_eq!(values(&found), [took_time, took_none].concat());
        assert_eq!(found.last().unwrap().figure, "longest gap, whole run");
        let own_switches_only = Row { evidence: Source::ThreadRecord, ..named };
        assert_eq!(values(&metrics(&own_switches_only)), took_time);
    }

    #[test]
    fn an_interval_without_its_value_is_omitted() {
        let older = Row { lost_ci_share: Some(Interval::new(0.002, 0.003)), ..row("quiet") };
        let found = findings(&[(0, &older)]);
        assert!(found[0].words.contains("lost 0.90 % (too few repetitions"), "{}", found[0].words);
    }

    #[test]
    fn scenarios_have_distinct_statements() {
        let ends = |us: f64| Some(Interval::new(us * 0.9, us * 1.1));
        let of = |name, us| Row { competitor_longest_ci_us: ends(us), ..contested(name, us) };
        let (alone, both) = (of("competitor", 4_030.0), of("competitor and rescheduler", 161.0));
        let found = findings(&[(2, &alone), (3, &both)]);
        assert_eq!(
            found[0].words,
            "In 750 ms a competitor takes the CPU from that thread for at most 4.03 ms (95 % CI 3.63–4.43 ms)"
        );
        assert_eq!(
            found[1].words,
            "In 750 ms with a rescheduler the competitor takes the CPU for at most 161 µs (95 % CI 145–177 µs), 25.0× shorter"
        );
        assert_eq!((found[0].what.as_str(), found[1].source.row), ("longest_gap_competitor", 3));
        let unclear = longest_gap::difference(&Estimate::new(2.0, ends(2.0)), &Estimate::new(2.1, ends(2.1)));
        assert_eq!(unclear, ", not significantly different");
    }

    /// The ladder, the findings and the terminal give one value for a longest gap.
    #[test]
    fn ladder_findings_and_terminal_agree() {
        let rows = [row("quiet"), contested("competitor", 4_030.0), contested("competitor and rescheduler", 161.0)];
        let placed: Vec<Placed<'_>> = rows.iter().enumerate().collect();
        let found: Vec<f64> = findings(&placed)[1..].iter().map(|finding| finding.value).collect();
        let costs: Vec<f64> = costs(&rows).iter().map(|cost| cost.ns).collect();
        assert_eq!((&found, found[1] / found[2] > 8.0), (&costs, true));
        let effect = super::super::show::rescheduler_effect(&rows).unwrap();
        assert!(effect.contains("4.03 ms") && effect.contains("161 µs"), "{effect}");
    }

    #[test]
    fn scenarios_are_costs_and_remedies_are_not() {
        let found = costs(&[row("quiet"), contested("competitor and rescheduler", 161.0), row("nice -20")]);
        let words: Vec<&str> = found.iter().map(|cost| cost.what.as_str()).collect();
        assert_eq!(words, ["longest gap in 750 ms, quiet", "longest gap in 750 ms, rescheduler too"]);
        assert_eq!((found[0].ns, found[0].ns_ci.unwrap().low, found[1].ns), (3e6, 2e6, 161e3));
        assert!(found[1].figure.contains("CPU 1: the competitor's longest part of a gap in 750 ms"), "{found:?}");
    }

    #[test]
    fn longest_gap_of_1999_is_given_for_equal_time() {
        let mut like_1999 = row("quiet");
        assert_eq!(costs(&[like_1999.clone()])[0].then, []);
        like_1999.turns[0].span_s = 60.0;
        assert_eq!(costs(&[like_1999])[0].then[0].ns, 3.06e6);
    }

    #[test]
    fn each_of_several_cpus_is_named() {
        let found = costs(&[row("quiet"), Row { cpu: 2, ..row("quiet") }]);
        assert!(found[1].what.ends_with("quiet, CPU 2"), "{found:?}");
    }

    fn names(row: &Row) -> Vec<String> {
        with_1999(row).into_iter().map(|figure| figure.figure).collect()
    }

    #[test]
    fn gaps_are_compared_per_second_and_over_the_time_of_1999() {
        let mut row = row("quiet");
        assert_eq!(names(&row), ["quiet: gaps over 256 µs"]);
        let count = &with_1999(&row)[0];
        assert!((count.then - 35.0 / 71.68).abs() < 1e-3 && count.unit == Unit::PerS, "{count:?}");
        let seconds: f64 = row.turns.iter().map(|turn| turn.span_s).sum();
        assert_eq!(count.today, Some(row.over_256us as f64 / seconds));
        row.turns[0].span_s = 71.0;
        assert_eq!(names(&row), ["quiet: gaps over 256 µs", "quiet: longest gap"]);
    }

    #[test]
    fn repetitions_too_short_for_competitors_are_not_compared() {
        let short = Row { competitor_slice_every_s: Some(3.99), ..contested("competitor", 93.5) };
        assert!(names(&short).is_empty());
    }
}
