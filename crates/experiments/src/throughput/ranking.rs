//! Ranks of locks by the loops of all children under the same conditions, the words for the two ends of a ranking, and
//! the one value of a row that every view shows.

use super::record::Row;
use crate::exclusion::{Checked, Sign, by_lock, is_sound};
use instruments::statistics::comparison::Estimate;
use record::ranking::{Contender, Contest, Rank, best, contests, worst};
use record::{Basis, Unit, distinct};
use std::collections::BTreeMap;

/// The throughputs of one lock are taken to differ from configuration to configuration by this: a cautious guess.
const SCATTER: f64 = 0.03;

/// The name of the value that decides a ranking.
pub const LOOPS: &str = "loops/s";

/// Returns the ranks under each set of conditions; a loop without a lock has none, nor has a lock that lost counts.
pub fn ranking<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Vec<Rank> {
    let rows = sound(rows);
    let loops = Loops::of(rows.iter().copied());
    let within = |words: String| {
        let contest =
            Contest { among: words.clone(), figure: LOOPS, unit: Unit::PerS, more_is_better: true, scatter: SCATTER };
        let chosen = rows.iter().filter(|row| row.lock != locks::NONE && row.contest() == words);
        contest.ranked(chosen.map(|row| contender(row, loops.of_row(row))).collect())
    };
    distinct(&rows, |row| row.contest()).into_iter().flat_map(within).collect()
}

fn contender(row: &Row, loops: Estimate) -> Contender {
    Contender { lock: row.lock.clone(), value: Some(loops.value), interval: loops.interval, resolution: 0.0 }
}

/// Returns the ranks of one contest.
pub fn contest<'a>(ranks: &'a [Rank], words: &str) -> &'a [Rank] {
    contests(ranks).find(|ranks| ranks[0].among == words).unwrap_or_default()
}

/// The loops a second of each row, as every view shows them: on the same basis for all rows of a contest.
pub struct Loops(BTreeMap<String, Basis>);

impl Loops {
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Self {
        let rows: Vec<&Row> = rows.into_iter().collect();
        let basis = |words: &String| {
            Basis::common(rows.iter().filter(|row| row.contest() == *words).map(|row| row.throughput()))
        };
        Self(distinct(&rows, |row| row.contest()).into_iter().map(|words| (words.clone(), basis(&words))).collect())
    }

    fn of_contest(&self, row: &Row) -> Basis {
        self.0.get(&row.contest()).copied().unwrap_or(Basis::All)
    }

    pub fn of_row(&self, row: &Row) -> Estimate {
        let loops = row.throughput().on(self.of_contest(row));
        loops.unwrap_or_else(|| Estimate::new(row.throughput_per_s, row.throughput_ci))
    }

    /// Names the kind of the value.
    pub fn basis(&self, row: &Row) -> &'static str {
        match self.of_contest(row) {
            Basis::Exclusive => "exclusive cores",
            Basis::All => "all runs",
        }
    }

    /// Returns the field of the row that has the value.
    pub fn field(&self, row: &Row) -> &'static str {
        match self.of_contest(row) {
            Basis::Exclusive => "throughput_per_s_alone",
            Basis::All => "throughput_per_s",
        }
    }

    /// Returns the share of the most iterations that the work itself allows.
    pub fn ideal_share(&self, row: &Row) -> Option<f64> {
        row.ideal_per_s.map(|ideal| self.of_row(row).value / ideal)
    }
}

/// The first and the last of a ranking. Only one that is shown to differ from each of the others has the highest or the
/// lowest throughput.
pub struct Ends<'a> {
    ranks: &'a [Rank],
    pub first: &'a Rank,
    /// `None` where the first has no competitor.
    pub last: Option<&'a Rank>,
}

impl<'a> Ends<'a> {
    pub fn of(ranks: &'a [Rank]) -> Option<Self> {
        let (first, others) = ranks.split_first()?;
        Some(Self { ranks, first, last: others.last() })
    }

    /// Returns the statement about the first, as every view makes it.
    pub fn about_first(&self, value: &str) -> String {
        match (best(self.ranks), self.last) {
            (Some(best), _) => format!("{} has the highest throughput: {value}", best.lock),
            (None, Some(_)) => format!("{}, not shown to be above all others", has(self.first, value)),
            (None, None) => has(self.first, value),
        }
    }

    /// Returns the statement about the last, as every view makes it.
    pub fn about_last(&self, value: &str) -> Option<String> {
        let last = self.last?;
        Some(match worst(self.ranks) {
            Some(worst) => format!("{} has the lowest throughput: {value}", worst.lock),
            None => format!("{}, not shown to be below all others", has(last, value)),
        })
    }
}

fn has(rank: &Rank, value: &str) -> String {
    format!("{} has a throughput of {value}", rank.lock)
}

fn of_row(row: &Row) -> Option<Checked<'_>> {
    Some(Checked { lock: &row.lock, operations: row.counted_total?, failed: row.lost_counts_total? })
}

/// Returns the rows of locks that lost no count in any configuration: only these are shown and ranked.
pub fn sound<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Vec<&'a Row> {
    let rows: Vec<&Row> = rows.into_iter().collect();
    let checked = by_lock(rows.iter().filter_map(|row| of_row(row)));
    rows.into_iter().filter(|row| is_sound(&checked, &row.lock)).collect()
}

/// Returns a sentence for each lock that lost counts.
pub fn broken(rows: &[Row]) -> Vec<String> {
    Sign::LostCount.broken(&by_lock(rows.iter().filter_map(of_row)))
}

/// Returns the errors of a run with these rows.
pub fn errors(rows: &[Row]) -> Vec<String> {
    Sign::LostCount.errors(&by_lock(rows.iter().filter_map(of_row)))
}

/// Returns the sentence about the other locks of a run in which all operations counted; `None` for other runs.
pub fn clean(rows: &[Row]) -> Option<String> {
    Sign::LostCount.clean(&by_lock(rows.iter().filter(|row| row.counts_in_all_runs).filter_map(of_row)))
}

#[cfg(test)]
mod tests {
    use super::super::record::sample::row;
    use super::*;

    #[test]
    fn the_most_loops_come_first_and_no_lock_has_no_rank() {
        let rows = [row("std", 2, 1e6), row("none", 2, 9e6), row("usema", 2, 2e6), row("std", 4, 3e6)];
        let ranks = ranking(&rows);
        let places: Vec<_> = ranks.iter().map(|rank| (rank.rank, &*rank.lock, &*rank.among)).collect();
        let two = "2 threads, 1 lock, 7+3 µs";
        let four = "4 threads, 1 lock, 7+3 µs";
        assert_eq!(places, [(Some(1), "usema", two), (Some(2), "std", two), (Some(1), "std", four)]);
        assert_eq!(ranks[1].ratio, Some(2.0));
        assert_eq!(contest(&ranks, four).len(), 1);
    }

    #[test]
    fn rows_that_are_compared_use_the_same_kind_of_value() {
        let exclusive = |loops| Row { throughput_per_s_alone: Some(loops), ..row("usema", 2, 67_700.0) };
        let both = [exclusive(63_200.0), Row { lock: "std".into(), ..exclusive(174_600.0) }];
        let loops = Loops::of(&both);
        assert_eq!((loops.of_row(&both[0]).value, loops.basis(&both[0])), (63_200.0, "exclusive cores"));
        let one = [exclusive(63_200.0), row("std", 2, 173_200.0)];
        let loops = Loops::of(&one);
        assert_eq!((loops.of_row(&one[0]).value, loops.field(&one[0])), (67_700.0, "throughput_per_s"));
    }

    fn counted(lost: u64, row: Row) -> Row {
        Row { counted_total: Some(1_000), lost_counts_total: Some(lost), counts_in_all_runs: true, ..row }
    }

    #[test]
    fn lock_with_a_lost_count_is_in_no_ranking() {
        let rows = [
            counted(0, row("libmine.so", 2, 9e6)),
            counted(2, row("libmine.so", 4, 9e6)),
            counted(0, row("std", 2, 1e6)),
            row("old", 2, 5e5),
        ];
        let ranked: Vec<String> = ranking(&rows).into_iter().map(|rank| rank.lock).collect();
        assert_eq!(ranked, ["std", "old"]);
        assert_eq!(errors(&rows), ["--lock libmine.so does not exclude: 2 of 2,000 counts lost"]);
    }

    #[test]
    fn run_with_a_partial_check_has_no_sentence_about_it() {
        let rows = [Row { counts_in_all_runs: false, ..counted(0, row("std", 2, 1e6)) }];
        assert_eq!((clean(&rows), broken(&rows)), (None, Vec::new()));
    }
}
