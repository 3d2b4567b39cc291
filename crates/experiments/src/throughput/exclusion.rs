//! The counts that children made under each lock, and those that were lost.

use super::record::Row;
use crate::exclusion::{Checked, Sign, by_lock, is_sound};

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
    use super::super::ranking::ranking;
    use super::super::sample::row;
    use super::*;

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
