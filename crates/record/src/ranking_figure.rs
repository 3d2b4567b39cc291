//! A ranking on a page: bars in its order, and the table with the intervals.

use crate::ranking::{Rank, contests};
use crate::section::{Bar, Bars, Figure, Picture, Table};

/// A figure for every contest of this name; a lone contender is in none.
pub fn figures(ranking: &[Rank], deciding: &[&str]) -> Vec<Figure> {
    let wanted = |ranks: &&[Rank]| ranks.len() > 1 && deciding.contains(&ranks[0].figure.as_str());
    contests(ranking).filter(wanted).map(figure).collect()
}

fn figure(ranks: &[Rank]) -> Figure {
    let bar = |rank: &Rank| {
        let value = rank.value?;
        Some(Bar { name: format!("{}. {}", rank.rank, rank.lock), value, interval: None, limit: None })
    };
    let row = |rank: &Rank| {
        let value = rank.value.map_or_else(|| "–".to_owned(), |value| rank.unit.rounded(value));
        vec![rank.lock.clone(), rank.rank.to_string(), value, rank.times()]
    };
    let table = Table {
        caption: "Those that cannot be told apart share a place".into(),
        header: vec!["lock", "place", "figure", "times the best (95 %)"],
        rows: ranks.iter().map(row).collect(),
    };
    let bars = Bars { unit: ranks[0].unit, logarithmic: true, bars: ranks.iter().filter_map(bar).collect() };
    Figure {
        title: format!("{}: {}, best first", ranks[0].among, ranks[0].figure),
        picture: Picture::Bars(bars),
        tables: vec![table],
        secondary: false,
    }
}
