//! Who took the CPU from a thread that never blocks.

use super::longest_gap::{self, LongestGap};
use super::record::{CauseRow, Row};
use instruments::evidence::Kind;
use instruments::statistics::comparison::Estimate;
use record::{Finding, Origin, Unit};

type Placed<'a> = (usize, &'a Row);

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

fn cell(row: &Row) -> String {
    format!("{}, CPU {}", row.scenario, row.cpu)
}

fn lost((place, row): Placed<'_>) -> Finding {
    let figure = row.lost();
    let most = row.causes.iter().find(|cause| cause.kind != Kind::Unexplained);
    let most = most.map(|cause| format!("{} of that loss is {}", Unit::Share.words(cause.share), said(cause)));
    let rest = unexplained(row).map(|share| format!("{} is unexplained", Unit::Share.words(share)));
    let parts: Vec<String> = most.into_iter().chain(rest).collect();
    let parts = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    // Some of it the machine needs for itself: a thief is named only where the evidence has one.
    let words = format!("A thread that never blocks lost {} of its CPU time{}", Unit::Share.estimate(figure), parts);
    Finding::new("cpu_time_lost", words, Unit::Share, figure, Origin::of("noise", place, cell(row), "lost_share"))
        .repeated()
}

/// What nobody is known to have taken, where it is more than a rounding.
pub fn unexplained(row: &Row) -> Option<f64> {
    const MENTIONED: f64 = 0.01;
    row.explained_or_periodic_share.map(|known| 1.0 - known).filter(|share| *share >= MENTIONED)
}

/// A cause as a person would say it.
fn said(cause: &CauseRow) -> String {
    match (cause.kind, cause.name.as_deref()) {
        (Kind::Interrupt, Some("local_timer")) => "the timer interrupt".to_owned(),
        (Kind::Steal, _) => "the hypervisor".to_owned(),
        (Kind::SwitchedOut, _) => "an unidentified task".to_owned(),
        _ => cause.label(),
    }
}

/// The longest gap of a turn, as the median of the turns; with a rescheduler, how much shorter it is.
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
        than.map_or_else(String::new, |than| beside(gap.estimate, than.estimate))
    );
    let what = format!("longest_gap_{}", row.scenario.replace(' ', "_"));
    let field = if gap.is_competitors { "competitor_longest_p50_us" } else { "longest_p50_us" };
    Finding::new(&what, words, Unit::Ns, gap.estimate, Origin::of("noise", place, cell(row), field))
}

/// How much shorter one longest gap is than another, where their intervals tell them apart.
pub fn beside(gap: Estimate, than: Estimate) -> String {
    match (gap.interval, than.interval) {
        (Some(ends), Some(than_ends)) if ends.high < than_ends.low => {
            format!(", {} shorter", terminal::ratio(than.value / gap.value))
        }
        (Some(ends), Some(than_ends)) if than_ends.high < ends.low => ", which is longer".to_owned(),
        (Some(_), Some(_)) => ", not significantly different".to_owned(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{contested, row};
    use super::*;
    use instruments::statistics::Interval;

    #[test]
    fn somebody_is_named_with_his_part() {
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
    fn an_interval_without_its_value_is_omitted() {
        let older = Row { lost_ci_share: Some(Interval::new(0.002, 0.003)), ..row("quiet") };
        let found = findings(&[(0, &older)]);
        assert!(found[0].words.contains("lost 0.90 % (too few repetitions"), "{}", found[0].words);
    }

    #[test]
    fn scenarios_are_told_apart() {
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
        let unclear = beside(Estimate::new(2.0, ends(2.0)), Estimate::new(2.1, ends(2.1)));
        assert_eq!(unclear, ", not significantly different");
    }

    /// The ladder, the findings and the terminal give one value for a longest gap.
    #[test]
    fn ladder_findings_and_terminal_agree() {
        let rows = [row("quiet"), contested("competitor", 4_030.0), contested("competitor and rescheduler", 161.0)];
        let placed: Vec<Placed<'_>> = rows.iter().enumerate().collect();
        let found: Vec<f64> = findings(&placed)[1..].iter().map(|finding| finding.value).collect();
        let costs: Vec<f64> = super::super::costs::costs(&rows).iter().map(|cost| cost.ns).collect();
        assert_eq!((&found, found[1] / found[2] > 8.0), (&costs, true));
        let effect = super::super::show::rescheduler_effect(&rows).unwrap();
        assert!(effect.contains("4.03 ms") && effect.contains("161 µs"), "{effect}");
    }
}
