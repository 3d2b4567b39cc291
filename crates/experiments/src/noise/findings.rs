//! Who took the CPU from a thread that never blocks.

use super::record::{CauseRow, Row};
use instruments::evidence::Kind;
use instruments::statistics::comparison::Estimate;
use record::{Finding, Origin, Unit};

type Placed<'a> = (usize, &'a Row);

pub fn findings(rows: &[Placed<'_>]) -> Vec<Finding> {
    let named = |name: &str| rows.iter().copied().find(|(_, row)| row.scenario == name);
    let quiet = named("quiet");
    let both = named("competitor and rescheduler");
    [quiet.map(stolen), quiet.map(longest), named("competitor").map(longest), both.map(longest)]
        .into_iter()
        .flatten()
        .collect()
}

fn cell(row: &Row) -> String {
    format!("{}, CPU {}", row.scenario, row.cpu)
}

fn stolen((place, row): Placed<'_>) -> Finding {
    let figure = Estimate::new(row.lost_share, row.lost_ci_share);
    let most = row.causes.iter().find(|cause| cause.kind != Kind::Unexplained);
    let most = most.map(|cause| format!("{} of it to {}", Unit::Share.words(cause.share), said(cause)));
    let rest = unexplained(row).map(|share| format!("{} of it unexplained", Unit::Share.words(share)));
    let parts: Vec<String> = most.into_iter().chain(rest).collect();
    let parts = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    // Some of it the machine needs for itself: a thief is named only where the evidence has one.
    let words = format!("A thread that never blocks lost {} of its CPU{}", Unit::Share.estimate(figure), parts);
    Finding::new("stolen", words, Unit::Share, figure, Origin::of("noise", place, cell(row), "lost_share")).repeated()
}

/// What nobody is known to have taken, where it is more than a rounding.
pub fn unexplained(row: &Row) -> Option<f64> {
    const MENTIONED: f64 = 0.01;
    row.explained_or_periodic_share.map(|known| 1.0 - known).filter(|share| *share >= MENTIONED)
}

/// A cause as a person would say it.
fn said(cause: &CauseRow) -> String {
    match (cause.kind, cause.name.as_deref()) {
        (Kind::Interrupt, Some("local_timer")) => "the kernel's timer".to_owned(),
        (Kind::Steal, _) => "the hypervisor".to_owned(),
        (Kind::SwitchedOut, _) => "somebody without a name".to_owned(),
        _ => cause.label(),
    }
}

/// The longest interruption of a turn, as the median of the turns.
fn longest((place, row): Placed<'_>) -> Finding {
    let figure = Estimate::new(row.longest_p50_us * 1e3, row.longest_ci_us.map(|ends| ends.scaled(1e3)));
    let beside = match row.scenario.as_str() {
        "quiet" => "",
        "competitor" => " beside a competitor",
        _ => " with a rescheduler beside both",
    };
    let span = row.turns.first().map_or(0.0, |turn| turn.span_s);
    let words = format!(
        "In {} that thread's longest interruption{beside} is {}",
        Unit::Ns.words(span * 1e9),
        Unit::Ns.estimate(figure)
    );
    let what = format!("longest_gap_{}", row.scenario.replace(' ', "_"));
    Finding::new(&what, words, Unit::Ns, figure, Origin::of("noise", place, cell(row), "longest_p50_us"))
}

#[cfg(test)]
mod tests {
    use super::super::sample::row;
    use super::*;

    #[test]
    fn somebody_is_named_with_his_part() {
        let found = findings(&[(4, &row("quiet"))]);
        assert_eq!(
            found[0].to_string(),
            "A thread that never blocks lost 0.90 % (0.70 % to 1.1 %) of its CPU: 66.0 % of it to the kernel's timer, \
             10.0 % of it unexplained [noise: quiet, CPU 1]"
        );
        assert_eq!((found[0].value, found[0].source.row), (0.009, 4));
        assert_eq!(found[1].words, "In 750 ms that thread's longest interruption is 3.00 ms (2.00 ms to 4.00 ms)");
        assert_eq!((found[1].value, found[1].unit), (3e6, Unit::Ns));
    }

    #[test]
    fn scenarios_are_told_apart() {
        let found = findings(&[(0, &row("competitor"))]);
        assert!(found.len() == 1 && found[0].words.contains("beside a competitor is"), "{found:?}");
        assert_eq!(found[0].what, "longest_gap_competitor");
    }
}
