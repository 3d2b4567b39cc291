//! Records side by side: what their cells have in common, and how the machines differ.

use super::figure::{Bar, Bars, Figure, Measure, Picture, Quantity, Section, Table};
use super::source::{Source, flattened};
use crate::terminal::ratio;
use instruments::statistics::Interval;

/// What differs between two runs on the same machine as well.
const FLEETING: [&str; 4] = ["command_line", "seed", "started_unix_s", "interrupted"];

/// What differs in the environments of the records.
pub fn environments(sources: &[Source]) -> Vec<Vec<String>> {
    let all: Vec<Vec<(String, String)>> = sources.iter().map(|source| flattened(&source.environment)).collect();
    let mut paths: Vec<&String> = Vec::new();
    for (path, _) in all.iter().flatten() {
        if !paths.contains(&path) && !FLEETING.contains(&path.as_str()) && !path.starts_with("load.") {
            paths.push(path);
        }
    }
    let value = |lines: &[(String, String)], path: &str| {
        lines.iter().find(|(name, _)| name == path).map_or_else(|| "–".to_owned(), |(_, text)| text.clone())
    };
    let line = |path: &String| {
        let values: Vec<String> = all.iter().map(|lines| value(lines, path)).collect();
        let same = values.iter().all(|text| *text == values[0]);
        (!same).then(|| std::iter::once(path.clone()).chain(values).collect())
    };
    paths.into_iter().filter_map(line).collect()
}

/// A cell that at least two records have.
struct Shared<'a> {
    first: &'a Measure,
    /// By record; `None` where it was not measured.
    all: Vec<Option<&'a Measure>>,
}

/// One figure for each experiment that at least two records have. The sections of each record come in its place.
pub fn figures(records: &[Vec<Section>], letters: &[&'static str]) -> Vec<Figure> {
    let mut titles: Vec<&str> = Vec::new();
    for section in records.iter().flatten() {
        if !titles.contains(&section.title.as_str()) {
            titles.push(&section.title);
        }
    }
    titles.into_iter().filter_map(|title| figure(title, records, letters)).collect()
}

fn figure(title: &str, records: &[Vec<Section>], letters: &[&'static str]) -> Option<Figure> {
    let measures: Vec<Vec<&Measure>> = records
        .iter()
        .map(|sections| sections.iter().filter(|s| s.title == title).flat_map(|s| &s.measures).collect())
        .collect();
    let mut cells: Vec<Shared<'_>> = Vec::new();
    for first in measures.iter().flatten() {
        let same = |other: &&&Measure| other.cell == first.cell && other.figure == first.figure;
        if cells.iter().any(|cell| same(&&cell.first)) {
            continue;
        }
        let all: Vec<Option<&Measure>> = measures.iter().map(|list| list.iter().find(same).copied()).collect();
        if all.iter().flatten().count() > 1 {
            cells.push(Shared { first, all });
        }
    }
    if cells.is_empty() {
        return None;
    }
    let header = ["cell", "figure"].into_iter().chain(letters.iter().copied()).chain(["last/first", "ends"]);
    let bars = cells.iter().filter_map(|cell| {
        let (ratio, interval) = cell.ratio()?;
        let name = format!("{}: {}", cell.first.cell, cell.first.figure);
        Some(Bar { name, value: ratio, interval, limit: Some((1.0, "no difference".into())) })
    });
    Some(Figure {
        title: title.to_owned(),
        picture: Picture::Bars(Bars { quantity: Quantity::Times, logarithmic: true, bars: bars.collect() }),
        tables: vec![Table {
            caption: "Cells that at least two records have, with 95 % intervals; the ratio is of the last to the first"
                .into(),
            header: header.collect(),
            rows: cells.iter().map(Shared::line).collect(),
        }],
        secondary: false,
    })
}

impl Shared<'_> {
    fn ends(&self) -> Option<(&Measure, &Measure)> {
        let mut measured = self.all.iter().flatten();
        let first = measured.next()?;
        Some((first, measured.next_back()?))
    }

    /// The last over the first. Its interval reaches from the least that the two intervals allow to the most.
    fn ratio(&self) -> Option<(f64, Option<Interval>)> {
        let (first, last) = self.ends().filter(|(first, last)| first.value > 0.0 && last.value > 0.0)?;
        let interval = first.interval.zip(last.interval).filter(|(one, other)| one.low > 0.0 && other.low > 0.0);
        let interval = interval.map(|(one, other)| Interval { low: other.low / one.high, high: other.high / one.low });
        Some((last.value / first.value, interval))
    }

    fn line(&self) -> Vec<String> {
        let one = |measure: &Option<&Measure>| {
            measure
                .map_or_else(|| "not measured".into(), |found| found.quantity.words_with(found.value, found.interval))
        };
        let times = self.ratio().map_or_else(|| "–".into(), |(times, _)| ratio(times));
        let apart = match self.ratio().and_then(|(_, interval)| interval) {
            Some(ends) if ends.contains(1.0) => "intervals overlap",
            Some(_) => "intervals apart",
            None => "no interval",
        };
        let names = [self.first.cell.clone(), self.first.figure.to_owned()];
        names.into_iter().chain(self.all.iter().map(one)).chain([times, apart.to_owned()]).collect()
    }
}
