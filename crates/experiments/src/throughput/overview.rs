//! All configurations of a record at a glance: a line for each lock, and a column for each configuration.

use record::ranking::{Rank, contests};
use record::{Grid, GridCell, GridRow, distinct};
use terminal::Page;

/// The locks in all configurations in which several were measured.
pub struct Overview<'a> {
    contests: Vec<&'a [Rank]>,
    /// Those that are first in most configurations come first.
    locks: Vec<&'a str>,
}

/// Fewer configurations are seen at a glance without an overview in letters.
const FEWEST: usize = 3;

/// The line about dashes, where there is one.
const DASH: &str = "–: no rank; the value has no confidence interval, or was not measured";

impl<'a> Overview<'a> {
    pub fn of(ranks: &'a [Rank]) -> Self {
        let contests: Vec<&[Rank]> = contests(ranks).filter(|ranks| ranks.len() > 1).collect();
        let all: Vec<&Rank> = contests.iter().copied().flatten().collect();
        let mut locks = distinct(&all, |rank| rank.lock.as_str());
        let firsts = |lock: &str| all.iter().filter(|rank| rank.lock == lock && rank.rank == Some(1)).count();
        locks.sort_by_key(|lock| std::cmp::Reverse(firsts(lock)));
        Self { contests, locks }
    }

    fn rank(&self, lock: &str, contest: &'a [Rank]) -> Option<&'a Rank> {
        contest.iter().find(|rank| rank.lock == lock && rank.rank.is_some())
    }

    /// Returns the picture.
    pub fn grid(&self) -> Grid {
        let cell = |rank: &Rank| {
            GridCell {
                share: share_of_best(rank)?,
                is_first: rank.rank == Some(1),
                words: format!("{}, {} the best", rank.value_words(), rank.times()),
            }
            .into()
        };
        let row = |lock: &&str| GridRow {
            name: (*lock).to_owned(),
            cells: self.contests.iter().map(|contest| self.rank(lock, contest).and_then(cell)).collect(),
        };
        Grid {
            key: match self.has_dash() {
                false => "Share of the best throughput; framed: first, or not shown to be below the first.",
                true => "Share of the best; framed: first, or not shown to be below it; –: no confidence interval.",
            },
            columns: self.contests.iter().map(|ranks| ranks[0].among.clone()).collect(),
            rows: self.locks.iter().map(row).collect(),
        }
    }

    fn has_dash(&self) -> bool {
        self.contests.iter().any(|contest| self.locks.iter().any(|lock| self.rank(lock, contest).is_none()))
    }

    /// Returns the same values in letters; `None` for a few configurations.
    pub fn in_letters(&self, page: &Page) -> Option<String> {
        const CELL: usize = 6;
        if self.contests.len() < FEWEST {
            return None;
        }
        let names = self.locks.iter().map(|lock| lock.chars().count()).max().unwrap_or(0);
        let fit = (page.width.saturating_sub(names) / CELL).max(1);
        let mut text = "All configurations: share of the best; *: first, or not shown to be below it\n".to_owned();
        if self.has_dash() {
            text += &format!("{DASH}\n");
        }
        let numbered: Vec<(usize, &[Rank])> = (1..).zip(self.contests.iter().copied()).collect();
        for some in numbered.chunks(fit) {
            let heads: String = some.iter().map(|(number, _)| format!("{number:>CELL$}")).collect();
            text.push_str(&format!("{:names$}{heads}\n", ""));
            for lock in &self.locks {
                let cells: String = some.iter().map(|(_, contest)| self.letters(lock, contest, CELL)).collect();
                text.push_str(format!("{lock:names$}{cells}").trim_end());
                text.push('\n');
            }
        }
        for (number, ranks) in numbered {
            text.push_str(&terminal::wrapped(&format!("{number}:"), "   ", &ranks[0].among, page));
        }
        Some(text)
    }

    fn letters(&self, lock: &str, contest: &'a [Rank], width: usize) -> String {
        let cell = self.rank(lock, contest).and_then(|rank| {
            let mark = if rank.rank == Some(1) { "*" } else { " " };
            Some(format!("{:.2}{mark}", share_of_best(rank)?))
        });
        format!("{:>width$}", cell.unwrap_or_else(|| "– ".to_owned()))
    }
}

/// Returns the value as a share of the best.
fn share_of_best(rank: &Rank) -> Option<f64> {
    rank.ratio.map(f64::recip)
}

#[cfg(test)]
mod tests {
    use super::super::ranking::ranking;
    use super::super::record::sample::row;
    use super::*;

    #[test]
    fn overview_has_a_column_per_configuration_and_marks_the_first() {
        let at = |children: usize, std: f64, usema: f64| [row("std", children, std), row("usema", children, usema)];
        let rows: Vec<_> = [at(1, 1e6, 5e5), at(2, 1e6, 0.999e6), at(4, 2e5, 1e6)].concat();
        let ranks = ranking(&rows);
        let overview = Overview::of(&ranks);
        let text = overview.in_letters(&Page::plain()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[2..4], ["std   1.00* 1.00* 0.20", "usema 0.50  1.00* 1.00*"]);
        assert_eq!(lines[6], "3: 4 threads, 1 lock, 7+3 µs");
        let grid = overview.grid();
        assert_eq!((grid.rows.len(), grid.columns.len()), (2, 3));
        assert!(grid.rows[0].cells[2].as_ref().is_some_and(|cell| cell.share == 0.2 && !cell.is_first));
        let few = ranking(&rows[..4]);
        assert_eq!(Overview::of(&few).in_letters(&Page::plain()), None, "two configurations");
    }

    #[test]
    fn lock_without_a_value_has_a_dash() {
        let rows: Vec<_> = [1, 2, 4].map(|children| [row("std", children, 1e6), row("usema", children, 5e5)]).concat();
        let ranks = ranking(&rows[..5]);
        assert_eq!(Overview::of(&ranks).in_letters(&Page::plain()), None, "one lock is not compared");
        let with = [&rows[..], &[row("mcs", 2, 1e5)]].concat();
        let ranks = ranking(&with);
        let text = Overview::of(&ranks).in_letters(&Page::plain()).unwrap();
        assert!(text.contains("\nmcs      –  0.10     –\n") && text.contains(&format!("\n{DASH}\n")), "{text}");
    }

    /// A run that is too short has values without intervals.
    #[test]
    fn overview_without_ranks_is_drawn_with_dashes() {
        let mut rows: Vec<_> =
            [1, 2, 4].map(|children| [row("std", children, 1e6), row("usema", children, 5e5)]).concat();
        rows.iter_mut().for_each(|row| row.throughput_ci = None);
        let ranks = ranking(&rows);
        let grid = Overview::of(&ranks).grid();
        assert_eq!((grid.rows.len(), grid.columns.len()), (2, 3));
        assert!(grid.rows.iter().flat_map(|row| &row.cells).all(Option::is_none) && grid.key.contains('–'));
    }
}
