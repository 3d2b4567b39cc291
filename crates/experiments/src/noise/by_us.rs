//! Counts by length in whole microseconds, as cyclictest and oslat print them (`--histogram`).

use instruments::tally::Tally;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use terminal::Page;

/// The length from which the counts are added up.
///
/// Below it, a tally in bounded memory is exact to half a microsecond.
const LIMIT_US: u64 = 1_000;

/// The number of gaps or latencies of at least `us` and less than `us + 1` microseconds.
///
/// The last one, of 1,000, contains all longer ones. Lengths that did not occur are omitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UsCount {
    pub us: u64,
    pub count: u64,
}

/// Counts the values of a tally, whose unit `to_us` converts.
pub fn counts(tally: &Tally, to_us: impl Fn(u64) -> f64) -> Vec<UsCount> {
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for (value, count) in tally.iter() {
        *counts.entry((to_us(value) as u64).min(LIMIT_US)).or_default() += count;
    }
    counts.into_iter().map(|(us, count)| UsCount { us, count }).collect()
}

/// The shares above p99.9 and p99.99.
pub const ABOVE_P999: f64 = 1e-3;
pub const ABOVE_P9999: f64 = 1e-4;

/// Returns the number of values from which on this share of them is at least one value.
pub fn least_count(above: f64) -> u64 {
    (1.0 / above).round() as u64
}

/// Returns the smallest value that at most this share of the values exceeds, or `None` where that share is less than one
/// value: it would be the largest one.
pub fn tail(tally: &Tally, above: f64) -> Option<u64> {
    tally.quantile(1.0 - above).filter(|_| tally.count() >= least_count(above))
}

/// Returns the footnote of a table in which a dash stands for a quantile of too few values.
pub fn legend_of_tails(values: &str) -> String {
    let [p999, p9999] = [ABOVE_P999, ABOVE_P9999].map(|above| terminal::count(least_count(above)));
    format!("–: fewer than {p999} {values} for p99.9, or {p9999} for p99.99")
}

/// Draws the counts of some rows, a column for each; rows without counts have none.
pub fn table<'r>(rows: impl Iterator<Item = (String, &'r [UsCount])>, page: &Page) -> String {
    let columns: Vec<(String, &[UsCount])> = rows.filter(|(_, counts)| !counts.is_empty()).collect();
    let mut text = String::new();
    for columns in fitting(&columns, page) {
        let lengths: BTreeMap<u64, Vec<u64>> =
            columns.iter().enumerate().fold(BTreeMap::new(), |mut lengths, (place, (_, counts))| {
                for count in *counts {
                    lengths.entry(count.us).or_insert_with(|| vec![0; columns.len()])[place] = count.count;
                }
                lengths
            });
        let lines = lengths.into_iter().map(|(us, counts)| {
            let us = if us == LIMIT_US { format!("{us} and more") } else { us.to_string() };
            std::iter::once(us).chain(counts.into_iter().map(terminal::count)).collect()
        });
        let header: Vec<&str> = std::iter::once("µs").chain(columns.iter().map(|(name, _)| name.as_str())).collect();
        text += "\nCounts by length in whole microseconds\n";
        text += &terminal::table(&header, lines);
    }
    text
}

/// The width of the first column, and the least of any other.
const FIRST: usize = "1000 and more".len();
const LEAST: usize = 10;

/// Divides the columns into tables that fit the width of the page.
fn fitting<'c, 'r>(mut columns: &'c [(String, &'r [UsCount])], page: &Page) -> Vec<&'c [(String, &'r [UsCount])]> {
    let mut tables = Vec::new();
    while !columns.is_empty() {
        let ends = columns.iter().scan(FIRST, |end, (name, _)| {
            *end += 1 + name.chars().count().max(LEAST);
            Some(*end)
        });
        let (table, rest) = columns.split_at(ends.take_while(|&end| end <= page.width).count().max(1));
        tables.push(table);
        columns = rest;
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_counted_by_whole_microseconds() {
        let tally: Tally = [150, 999, 1_000, 1_999, 2_000, 999_999, 1_000_000, 9_000_000].into_iter().collect();
        let counted = counts(&tally, |ns| ns as f64 / 1e3).into_iter().map(|bin| (bin.us, bin.count));
        assert_eq!(counted.collect::<Vec<_>>(), [(0, 2), (1, 2), (2, 1), (999, 1), (1_000, 2)]);
    }

    #[test]
    fn tail_of_few_values_is_unknown() {
        let thousand: Tally = (1..=1_000).collect();
        assert_eq!((tail(&thousand, ABOVE_P999), tail(&thousand, ABOVE_P9999)), (Some(999), None));
        let ten_thousand: Tally = (1..=10_000).collect();
        assert_eq!((tail(&ten_thousand, ABOVE_P999), tail(&ten_thousand, ABOVE_P9999)), (Some(9_990), Some(9_999)));
    }

    #[test]
    fn each_row_has_a_column_and_wide_ones_a_further_table() {
        let (quiet, both) =
            ([UsCount { us: 3, count: 1_200 }, UsCount { us: 1_000, count: 2 }], [UsCount { us: 7, count: 5 }]);
        let rows =
            |name: &str| [("quiet".to_owned(), &quiet[..]), ("none".to_owned(), &[]), (name.to_owned(), &both[..])];
        let text = table(rows("both").into_iter(), &Page::plain());
        let words: Vec<Vec<&str>> = text.trim().lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(
            words,
            [
                vec!["µs", "quiet", "both"],
                vec!["3", "1,200", "0"],
                vec!["7", "0", "5"],
                vec!["1000", "and", "more", "2", "0"]
            ]
        );
        let text = table(rows(&"wide".repeat(20)).into_iter(), &Page::plain());
        assert_eq!(text.matches("Counts by length").count(), 2, "{text}");
    }
}
