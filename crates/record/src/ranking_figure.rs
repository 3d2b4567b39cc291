//! A ranking on a page: bars in its order, and the table with the intervals.

use crate::column::{Column, on_page};
use crate::ranking::{Rank, contests, legend};
use crate::section::{Bar, Bars, Figure, Picture, Table};

/// Returns a figure for every contest of these names between two or more.
///
/// One without a rank is drawn with a dash, so that nothing is missing where a run was too short for all of them.
pub fn figures(ranking: &[Rank], deciding: &[&str]) -> Vec<Figure> {
    let wanted = |ranks: &&[Rank]| ranks.len() > 1 && deciding.contains(&ranks[0].figure.as_str());
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

/// The line of a picture that explains its dashes.
const UNRANKED: &str = "no rank (no confidence interval, or below the resolution)";

fn figure(ranks: &[Rank]) -> Figure {
    let bar = |rank: &Rank| Bar {
        name: format!("{}. {}", rank.place(), rank.name()),
        value: rank.value.ok_or_else(|| rank.value_words()),
        interval: None,
        limit: None,
    };
    let is_unranked = ranks.iter().any(|rank| rank.rank.is_none());
    let key = is_unranked.then(|| Bar { name: "–".into(), value: Err(UNRANKED.into()), interval: None, limit: None });
    let bars = ranks.iter().map(bar).chain(key).collect();
    let bars = Bars { unit: ranks[0].unit, logarithmic: true, bars };
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

    fn bars(figure: &Figure) -> Vec<(&str, Result<f64, &str>)> {
        let Picture::Bars(bars) = &figure.picture else { panic!("bars") };
        bars.bars.iter().map(|bar| (bar.name.as_str(), bar.value.as_ref().copied().map_err(String::as_str))).collect()
    }

    #[test]
    fn contest_without_ranks_is_drawn_with_the_reason() {
        let mut ranks = ranks(&[("sysv", Some(402.0)), ("std", None)]);
        for rank in &mut ranks {
            (rank.rank, rank.ratio, rank.ratio_ci) = (None, None, None);
        }
        let figures = figures(&ranks, &["lock, 99 %"]);
        assert_eq!(bars(&figures[0]), [("–. std", Err("< 9.63 ns")), ("–. sysv", Ok(402.0)), ("–", Err(UNRANKED))]);
    }

    #[test]
    fn one_lock_has_no_contest() {
        assert!(figures(&ranks(&[("sysv", Some(402.0))]), &["lock, 99 %"]).is_empty());
    }

    #[test]
    fn rows_without_a_value_have_no_rank_on_a_page() {
        let found = figures(&ranks(&[("sysv", Some(402.0)), ("std", None), ("usema", Some(40.0))]), &["lock, 99 %"]);
        assert_eq!(found.len(), 1);
        assert_eq!(bars(&found[0])[..2], [("–. std", Err("< 9.63 ns")), ("2. usema", Ok(40.0))]);
        let (rows, caption): (Vec<[&str; 3]>, _) = {
            let table = &found[0].tables[0];
            (table.rows.iter().map(|row| [&*row[0], &*row[1], &*row[2]]).collect(), &table.caption)
        };
        assert_eq!(rows, [["std", "–", "< 9.63 ns"], ["usema", "2", "40.0 ns"], ["sysv", "3", "402 ns"]]);
        assert!(caption.contains("no rank"), "{caption}");
    }
}
