//! The longest gaps that may be compared: those of repetitions of equal length that are long enough for a competitor to
//! have had its time slice.
//!
//! The ladder, the findings, the terminal and the page all read them here, so that all give the same values.

use super::plan::SPAN_1999_S;
use super::record::{Row, Turn};
use instruments::statistics::Interval;
use instruments::statistics::comparison::Estimate;
use instruments::statistics::order::median;
use instruments::warning::{Severity, Warning, WarningKind};
use record::ranking::is_above;
use serde::Serialize;

/// The longest gap of a repetition in one scenario.
#[derive(Clone, Copy, Debug)]
pub struct LongestGap<'a> {
    pub row: &'a Row,
    /// Whether it is the competitor's part of the gaps, known from the kernel trace, or whole gaps, whatever caused
    /// them.
    pub is_competitors: bool,
    /// The median of the repetitions, in ns.
    pub estimate: Estimate,
    /// The time that a repetition sampled.
    pub span_s: f64,
}

/// The factor up to which repetitions of one run count as equally long.
const SAME_SPAN: f64 = 1.25;
/// The factor of 1999's time up to which repetitions are comparable with its test.
const SAME_TIME: f64 = 3.0;

/// Returns the rows whose repetitions are long enough and as long as those of the first of them.
///
/// A competitor's own part is given where the kernel trace names it in every row with a competitor. A busy host makes
/// whole gaps longer, and hides the effect of the competitor and the rescheduler.
pub fn comparable<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Vec<LongestGap<'a>> {
    let mut long: Vec<(&Row, f64)> = rows.into_iter().filter_map(|row| Some((row, long_enough_s(row)?))).collect();
    let Some(&(_, span_s)) = long.first() else { return Vec::new() };
    long.retain(|(_, other_s)| other_s.max(span_s) <= SAME_SPAN * other_s.min(span_s));
    let has_competitor = |row: &Row| row.competitors_cpu_share.is_some();
    let is_named =
        long.iter().all(|(row, _)| !has_competitor(row) || row.competitor_longest_p50_us.is_some_and(|us| us > 0.0));
    let of = |(row, span_s): (&'a Row, f64)| {
        let own = row.competitor_longest_p50_us.filter(|_| is_named && has_competitor(row));
        let ends = if own.is_some() { row.competitor_longest_ci_us } else { row.longest_ci_us };
        let estimate = ns(own.unwrap_or(row.longest_p50_us), ends);
        LongestGap { row, is_competitors: own.is_some(), estimate, span_s }
    };
    long.into_iter().map(of).collect()
}

/// Returns the longest gap of a repetition, whatever caused it, in ns, where it is comparable with those of other rows.
pub fn comparable_gap(row: &Row) -> Option<Estimate> {
    long_enough_s(row).map(|_| ns(row.longest_p50_us, row.longest_ci_us))
}

/// Returns the longest gap of a repetition, where it is comparable with 1999's.
pub fn beside_1999(row: &Row) -> Option<Estimate> {
    let factor = span_s(row)? / SPAN_1999_S;
    let is_alike = (1.0 / SAME_TIME..=SAME_TIME).contains(&factor);
    comparable_gap(row).filter(|_| is_alike)
}

/// Returns the number of gaps of more than 256 µs per second, where it is comparable with 1999's.
pub fn long_gaps_per_s(row: &Row) -> Option<f64> {
    long_enough_s(row)?;
    let span_s: f64 = row.turns.iter().map(|turn| turn.span_s).sum();
    (span_s > 0.0).then(|| row.over_256us as f64 / span_s)
}

/// Compares one longest gap with another, after a comma: shorter or longer only where that is shown; nothing without
/// intervals.
pub fn difference(gap: &Estimate, than: &Estimate) -> String {
    if gap.interval.is_none() || than.interval.is_none() {
        String::new()
    } else if is_above(than, gap) {
        format!(", {} shorter", terminal::ratio(than.value / gap.value))
    } else if is_above(gap, than) {
        ", which is longer".to_owned()
    } else {
        ", not significantly different".to_owned()
    }
}

fn ns(us: f64, ends_us: Option<Interval>) -> Estimate {
    Estimate::new(us * 1e3, ends_us.map(|ends| ends.scaled(1e3)))
}

fn of_each(turns: &[Turn], value: fn(&Turn) -> f64) -> Vec<f64> {
    turns.iter().map(value).collect()
}

/// Returns the time that a repetition of the row sampled.
fn span_s(row: &Row) -> Option<f64> {
    median(&of_each(&row.turns, |turn| turn.span_s))
}

/// Returns that time if a competitor, where there is one, has had its time slice in it.
///
/// In a shorter repetition it may not have run at all. An older record lacks the time of a slice, and is not compared.
fn long_enough_s(row: &Row) -> Option<f64> {
    let span_s = span_s(row)?;
    let is_alone = row.competitors_cpu_share.is_none();
    (is_alone || row.competitor_slice_every_s.is_some_and(|every_s| every_s <= span_s)).then_some(span_s)
}

/// The warning that the repetitions of a competitor were too short for its time slice.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShortTurns {
    /// The scenario in which it has a time slice least often.
    pub scenario: String,
    /// The time that a repetition sampled.
    pub turn_s: f64,
    /// The time from one time slice of a competitor to the next.
    pub slice_every_s: f64,
}

impl WarningKind for ShortTurns {
    const CODE: &'static str = "short_turns";
    const SEVERITY: Severity = Severity::LimitsConclusion;

    fn message(&self) -> String {
        let [turn, every] = [self.turn_s, self.slice_every_s].map(|seconds| terminal::nanoseconds(seconds * 1e9));
        format!(
            "{}: a repetition of {turn} is shorter than the {every} in which the competitor gets one time slice, so \
             its longest gap is not compared",
            self.scenario
        )
    }

    fn remedy(&self) -> &'static str {
        "measure longer with --seconds, or run `contend noise` with a lower --weight-ratio"
    }
}

/// Returns the warning for rows whose repetitions are too short, if there are any.
pub fn too_short(rows: &[Row]) -> Option<Warning> {
    let short = rows.iter().filter(|row| long_enough_s(row).is_none());
    let short = short.filter_map(|row| Some((row, span_s(row)?, row.competitor_slice_every_s?)));
    let (row, turn_s, slice_every_s) = short.max_by(|one, other| one.2.total_cmp(&other.2))?;
    Some(ShortTurns { scenario: row.scenario.clone(), turn_s, slice_every_s }.into())
}

#[cfg(test)]
mod tests {
    use super::super::sample::{contested, row};
    use super::*;

    fn values(rows: &[Row]) -> Vec<(String, bool, f64)> {
        let value = |gap: &LongestGap<'_>| (gap.row.scenario.clone(), gap.is_competitors, gap.estimate.value / 1e3);
        comparable(rows).iter().map(value).collect()
    }

    #[test]
    fn a_competitor_is_compared_by_its_own_part_over_equal_time() {
        let rows = [row("quiet"), contested("competitor", 4_030.0), contested("competitor and rescheduler", 161.0)];
        assert_eq!(
            values(&rows),
            [
                ("quiet".into(), false, 3_000.0),
                ("competitor".into(), true, 4_030.0),
                ("competitor and rescheduler".into(), true, 161.0)
            ]
        );
        assert_eq!(too_short(&rows), None);
    }

    /// The repetitions of a survey that lasted 0.4 s, at weights of 997:1.
    #[test]
    fn competitor_without_time_for_its_slice_is_not_compared() {
        let short = Row { competitor_slice_every_s: Some(3.99), ..contested("competitor", 93.5) };
        let older = Row { competitor_slice_every_s: None, ..contested("competitor", 93.5) };
        for row_ in [&short, &older] {
            assert_eq!(values(&[row("quiet"), row_.clone()]), [("quiet".into(), false, 3_000.0)]);
            assert!(beside_1999(row_).is_none() && long_gaps_per_s(row_).is_none());
        }
        let warning = too_short(&[row("quiet"), short]).unwrap();
        assert!(warning.message().contains("a repetition of 750 ms is shorter than the 3.99 s"), "{warning:?}");
        assert_eq!((warning.severity(), too_short(&[older])), (Severity::LimitsConclusion, None));
    }

    #[test]
    fn repetitions_of_different_lengths_are_not_compared() {
        let mut longer = row("rescheduler");
        longer.turns[0].span_s = 1.5;
        assert_eq!(values(&[row("quiet"), longer]).len(), 1);
    }

    #[test]
    fn without_the_competitors_name_whole_gaps_are_compared() {
        let unnamed = Row { competitor_longest_p50_us: None, ..contested("competitor", 0.0) };
        let named = contested("competitor and rescheduler", 161.0);
        assert_eq!(values(&[unnamed, named]).iter().map(|value| value.1).collect::<Vec<_>>(), [false, false]);
    }

    #[test]
    fn gaps_of_1999_are_compared_over_equal_time() {
        let mut like_1999 = row("quiet");
        like_1999.turns[0].span_s = 60.0;
        assert_eq!(beside_1999(&like_1999).unwrap().value, 3e6);
        assert_eq!(long_gaps_per_s(&like_1999), Some(like_1999.over_256us as f64 / 60.0));
        // As many readings take a thirtieth of the time now.
        like_1999.turns[0].span_s = 2.6;
        assert!(beside_1999(&like_1999).is_none());
    }
}
