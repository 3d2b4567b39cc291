//! The critical sections of user-supplied locks that overlapped others.

use super::record::{Operation, Row};
use crate::exclusion::{Checked, Sign, by_lock, is_sound};
use std::borrow::Cow;

/// Returns the checks, one for each configuration: its rows repeat it.
fn checked<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Vec<Checked<'a>> {
    let firsts = rows.into_iter().filter(|row| row.thread == 0 && row.operation == Operation::Lock);
    by_lock(firsts.filter_map(|row| {
        Some(Checked { lock: &row.lock, operations: row.sections_total?, failed: row.overlaps_total? })
    }))
}

/// Returns the rows without those of locks that do not exclude.
pub fn sound(rows: &[Row]) -> Cow<'_, [Row]> {
    let checked = checked(rows);
    if rows.iter().all(|row| is_sound(&checked, &row.lock)) {
        return Cow::Borrowed(rows);
    }
    Cow::Owned(rows.iter().filter(|row| is_sound(&checked, &row.lock)).cloned().collect())
}

/// Returns the rows that can be compared with those of other records.
pub fn comparable(rows: &[Row]) -> Vec<&Row> {
    sound_by(&rows.iter().collect::<Vec<_>>(), |row| *row)
}

/// Returns the items without those of locks that do not exclude.
pub fn sound_by<'a, T: Copy>(items: &[T], row: impl Fn(&T) -> &'a Row) -> Vec<T> {
    let checked = checked(items.iter().map(&row));
    items.iter().copied().filter(|item| is_sound(&checked, &row(item).lock)).collect()
}

/// Returns a sentence for each lock that does not exclude, and one about the others.
pub fn sentences(rows: &[Row]) -> (Vec<String>, Option<String>) {
    let checked = checked(rows);
    (Sign::Overlap.broken(&checked), Sign::Overlap.clean(&checked))
}

/// Returns the errors of a run with these rows.
pub fn errors(rows: &[Row]) -> Vec<String> {
    Sign::Overlap.errors(&checked(rows))
}

#[cfg(test)]
mod tests {
    use super::super::ranking::ranking;
    use super::super::sample::row;
    use super::*;

    #[test]
    fn lock_whose_sections_overlap_is_in_no_ranking() {
        let mine = Row { sections_total: Some(1_000), overlaps_total: Some(3), ..row("libmine.so", 2, 0) };
        let rows = [mine, row("libmine.so", 1, 0), row("std", 1, 0), row("usema", 1, 0)];
        let ranked: Vec<String> = ranking(&rows).into_iter().map(|rank| rank.lock).collect();
        assert_eq!(ranked, ["std", "usema"]);
        let (broken, clean) = sentences(&rows);
        assert!(broken[0].contains("3 of 1,000 critical sections overlapped another"), "{broken:?}");
        assert_eq!((clean, sound(&rows).len(), errors(&rows).len()), (None, 2, 1));
    }
}
