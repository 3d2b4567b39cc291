//! A ranking on a page: bars in its order, and the table with the intervals.

use crate::column::{Column, on_page};
use crate::ranking::{Rank, contests, legend};
use crate::section::{Bar, Bars, Figure, Picture, Table};

/// Returns a figure for every contest of these names in which two or more have a rank.
pub fn figures(ranking: &[Rank], deciding: &[&str]) -> Vec<Figure> {
    let is_ranked = |ranks: &[Rank]| ranks.iter().filter(|rank| rank.rank.is_some()).count() > 1;
    let wanted = |ranks: &&[Rank]| is_ranked(ranks) && deciding.contains(&ranks[0].figure.as_str());
    contests(ranking).filter(wanted).map(figure).collect()
}

/// Returns the ranks of one contest, on a page or as Markdown.
pub fn table(ranks: &[Rank]) -> Table {
    const COLUMNS: [Column<Rank>; 4] = [
        Column::page("lock", |rank| Some(rank.name())),
        Column::page("rank", |rank| Some(rank.place())),
        Column::page("value", |rank| Some(rank.value_words())),
        Column::page("times the best (95 %)", |rank| Some(rank.times())),
    ];
    on_page(legend(ranks).replace('\n', " "), &COLUMNS, ranks)
}

fn figure(ranks: &[Rank]) -> Figure {
    let bar = |rank: &Rank| {
        let value = rank.value?;
        Some(Bar { name: format!("{}. {}", rank.place(), rank.name()), value, interval: None, limit: None })
    };
    let bars = Bars { unit: ranks[0].unit, logarithmic: true, bars: ranks.iter().filter_map(bar).collect() };
    Figure {
        title: format!("{}: {}, best first", ranks[0].among, ranks[0].figure),
        picture: Picture::Bars(bars),
        tables: vec![table(ranks)],
        secondary: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranking::{Contender, Contest};
    use crate::unit::Unit;
    use instruments::statistics::Interval;

    fn ranks(contenders: &[(&str, Option<f64>)]) -> Vec<Rank> {
        let (among, figure) = ("1 thread, 1 competitor, one-cpu".to_owned(), "lock, 99 %");
        let contest = Contest { among, figure, unit: Unit::Ns, more_is_better: false, scatter: 0.25 };
        let contender = |&(lock, value): &(&str, Option<f64>)| Contender {
            lock: lock.to_owned(),
            value,
            interval: value.map(|ns| Interval::new(ns * 0.99, ns * 1.01)),
            resolution: 9.63,
        };
        contest.ranked(contenders.iter().map(contender).collect())
    }

    /// A page once gave ranks 1 and 1 to locks with a dash as their figure, and drew the third's bar alone.
    #[test]
    fn a_contest_with_fewer_than_two_ranks_has_no_figure() {
        let lone = ranks(&[("sysv", Some(402.0)), ("std", None), ("benaphore", None)]);
        assert!(figures(&lone, &["lock, 99 %"]).is_empty());
    }

    #[test]
    fn rows_without_a_value_have_no_rank_on_a_page() {
        let found = figures(&ranks(&[("sysv", Some(402.0)), ("std", None), ("usema", Some(40.0))]), &["lock, 99 %"]);
        assert_eq!(found.len(), 1);
        let (rows, caption): (Vec<[&str; 3]>, _) = {
            let table = &found[0].tables[0];
            (table.rows.iter().map(|row| [&*row[0], &*row[1], &*row[2]]).collect(), &table.caption)
        };
        assert_eq!(rows, [["std", "–", "< 9.63 ns"], ["usema", "2", "40.0 ns"], ["sysv", "3", "402 ns"]]);
        assert!(caption.contains("no rank"), "{caption}");
    }
}
