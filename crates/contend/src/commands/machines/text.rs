//! The comparison on a terminal, and as Markdown.

use super::score::{Comparison, Line, Machine};
use crate::output::markdown;
use record::{Table, Unit};
use terminal::{Page, counted, escaped, wrapped};

/// The number of machines whose values are in one table of a terminal, and the maximum number of letters of a name and
/// of the words of a value.
const COLUMNS: usize = 4;
const NAME: usize = 11;
const WORDS: usize = 34;

pub fn text(comparison: &Comparison, page: &Page) -> String {
    let ranks = ranks(comparison);
    let mut text = wrapped("", "", &ranks.caption, page);
    text += &page.cut_lines(&terminal::table(&ranks.header, ranks.rows));
    for machine in &comparison.machines {
        text += &wrapped("  ", "    ", &escaped(&format!("{}: {}", machine.machine, machine.system)), page);
    }
    for sentence in &comparison.same_system {
        text += &wrapped("", "", &escaped(sentence), page);
    }
    text += &wrapped("", "", record::ranking::LEGEND, page);
    text += &wrapped("", "", &basis(comparison), page);
    text += &wrapped("", "", &comparison.excluded, page);
    for first in (0..comparison.machines.len()).step_by(COLUMNS) {
        let end = (first + COLUMNS).min(comparison.machines.len());
        text += "\n";
        text += &page.cut_lines(&values(comparison, first..end));
    }
    if comparison.lines.iter().any(|line| line.best.is_some()) {
        text += &wrapped("", "", BEST, page);
    }
    text
}

const BEST: &str = "*: shown to be better than each other machine (95 %). The page and JSON have the intervals.";

/// Returns the ranks as Markdown, and the values in a second table.
pub fn markdown(comparison: &Comparison) -> String {
    let ranks = ranks(comparison);
    let names: Vec<&str> = comparison.machines.iter().map(|machine| machine.machine.as_str()).collect();
    let header: Vec<&str> = ["cost"].into_iter().chain(names).collect();
    let row = |line: &Line| {
        let of =
            |value: &Option<super::pooled::Pooled>| value.map_or_else(|| "–".to_owned(), |one| one.words(line.unit));
        std::iter::once(line.what.clone()).chain(line.values.iter().map(of)).collect::<Vec<String>>()
    };
    format!(
        "{}\n\n{}\n{} {}\n\n{}",
        ranks.caption,
        markdown::table(&ranks.header, ranks.rows),
        basis(comparison),
        comparison.excluded,
        markdown::table(&header, comparison.lines.iter().map(row))
    )
}

/// Returns a table with a line for each machine, the best first.
pub fn ranks(comparison: &Comparison) -> Table {
    let has_prices = comparison.machines.iter().any(|machine| machine.price_per_h.is_some());
    let mut header = vec!["machine", "rank", "records", "score (95 % CI)", "times the best (95 % CI)"];
    if has_prices {
        header.extend(["price/h", "score × price (95 % CI)", "rank"]);
    }
    let place = |rank: Option<usize>| rank.map_or_else(|| "–".to_owned(), |rank| rank.to_string());
    let times =
        |value: Option<f64>, ends| value.map_or_else(|| "–".to_owned(), |value| Unit::Times.words_with(value, ends));
    let row = |machine: &Machine| {
        let mut row = vec![
            machine.machine.clone(),
            place(machine.rank),
            machine.records.to_string(),
            times(Some(machine.score_times), machine.score_ci_times),
            times(machine.over_best_times, machine.over_best_ci_times),
        ];
        if has_prices {
            row.extend([
                machine.price_per_h.map_or_else(|| "–".to_owned(), |price| price.to_string()),
                times(machine.score_price_times, machine.score_price_ci_times),
                place(machine.score_price_rank),
            ]);
        }
        row
    };
    Table {
        caption: "Costs of waiting: the score is 1 for the geometric mean of these machines, and less is better".into(),
        header,
        rows: comparison.machines.iter().map(row).collect(),
    }
}

/// Returns the sentence about the values in the score.
pub fn basis(comparison: &Comparison) -> String {
    let parts: Vec<String> =
        comparison.aspects.iter().map(|one| format!("{} ({})", one.aspect, counted(one.values, "value"))).collect();
    let weight = if parts.len() > 1 { ", each with the same weight" } else { "" };
    format!("The score is the geometric mean of {}{weight}.", parts.join(", "))
}

/// Returns the values of some machines, by aspect.
fn values(comparison: &Comparison, shown: std::ops::Range<usize>) -> String {
    let names = distinct_names(comparison.machines[shown.clone()].iter().map(|machine| machine.machine.as_str()));
    let header: Vec<&str> = [""].into_iter().chain(names.iter().map(String::as_str)).collect();
    let mut rows = Vec::new();
    let mut aspect = None;
    for line in &comparison.lines {
        if aspect != Some(line.aspect) {
            aspect = Some(line.aspect);
            let empty = shown.clone().map(|_| String::new());
            rows.push(std::iter::once(line.aspect.label().to_owned()).chain(empty).collect());
        }
        let value = |place: usize| {
            let mark = if line.best == Some(place) { "*" } else { "" };
            line.values[place].map_or_else(|| "–".to_owned(), |value| format!("{mark}{}", line.unit.words(value.value)))
        };
        let words = format!("  {}", terminal::shortened(&line.what, WORDS));
        rows.push(std::iter::once(words).chain(shown.clone().map(value)).collect::<Vec<String>>());
    }
    terminal::table(&header, rows)
}

/// Shortens long names where they still differ; the cut is as near to the middle as possible.
fn distinct_names<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Vec<String> {
    let mut cuts: Vec<usize> = (0..NAME).collect();
    cuts.sort_by_key(|cut| cut.abs_diff(NAME / 2));
    let shortened = |cut: usize| names.clone().map(|name| shortened_after(name, cut)).collect::<Vec<String>>();
    let differ = |names: &Vec<String>| (1..names.len()).all(|place| !names[..place].contains(&names[place]));
    let found = cuts.into_iter().map(shortened).find(differ);
    found.unwrap_or_else(|| names.map(str::to_owned).collect())
}

/// Omits letters of a name that is too long, after this number of them.
fn shortened_after(name: &str, kept: usize) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= NAME {
        return name.to_owned();
    }
    let end = letters.len() - (NAME - 1 - kept);
    letters[..kept].iter().chain(['…'].iter()).chain(&letters[end..]).collect()
}

#[cfg(test)]
mod tests {
    use super::distinct_names;

    #[test]
    fn shortened_names_differ() {
        let names = ["ip-172-31-10-5", "ip-172-31-10-6", "m7g"];
        assert_eq!(distinct_names(names.into_iter()), ["ip-17…-10-5", "ip-17…-10-6", "m7g"]);
        let names = ["server-1-of-rack", "server-2-of-rack"];
        assert_eq!(distinct_names(names.into_iter()), ["server-1…ck", "server-2…ck"]);
        let names = ["aaaaaaaaaaaaaaa1aaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaa2aaaaaaaaaaaaaaa"];
        assert_eq!(distinct_names(names.into_iter()), names);
    }
}
