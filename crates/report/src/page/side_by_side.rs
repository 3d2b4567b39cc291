//! The differences between the records of a page, in tables with a column for each record; the histograms of a
//! configuration that several records have, laid over each other.

use super::figure::{Level, figure, heading, table};
use super::summary::verdict_of_trace;
use super::{Names, PlacedRecord};
use crate::hues::Hues;
use maud::{Markup, html};
use record::{
    Axis, Bin, Figure, Histogram, Mark, Picture, Plot, Point, Section, Series, Source, Table, Unit, environments,
};
use terminal::{count, nanoseconds, percent};

pub fn side_by_side(
    records: &[PlacedRecord<'_>],
    sources: &[Source],
    sections: &[Vec<Section>],
    compared: &[Figure],
    hues: &Hues,
    names: &mut Names,
) -> Markup {
    let overlays = overlays(sections, &header(&[], sources.len(), &[]));
    html! {
        section {
            (heading(Level::Chapter, "side-by-side", "Side by side"))
            ol {
                @for record in records {
                    li { (record.title) ": " (record.source.experiment) }
                }
            }
            (verdicts(records))
            (machines(sources))
            @for one in compared {
                (figure(one, &names.take(&format!("compared {}", one.title)), Level::Section, hues))
            }
            @if !overlays.is_empty() { (slider()) }
            @for one in &overlays {
                (figure(one, &names.take(&format!("compared {}", one.title)), Level::Section, hues))
            }
        }
    }
}

/// Returns a slider that the script shows: it fades the histograms of the first record or of the others.
fn slider() -> Markup {
    html! {
        p.slider hidden {
            label {
                "Histograms: 1st record "
                input type="range" min="0" max="100" value="50" aria-label="Emphasis, from the 1st record to the later ones";
                " later records"
            }
        }
    }
}

/// Returns the verdicts of traces, one below the other.
fn verdicts(records: &[PlacedRecord<'_>]) -> Markup {
    let known = || {
        records.iter().enumerate().filter_map(|(place, record)| Some((place, record, verdict_of_trace(record.source)?)))
    };
    if known().count() < 2 {
        return html! {};
    }
    let names = header(&[], records.len(), &[]);
    table(
        &Table {
            caption: "Verdicts".into(),
            header: vec!["record", "verdict"],
            rows: known()
                .map(|(place, record, words)| vec![format!("{}: {}", names[place], record.title), words.to_owned()])
                .collect(),
        },
        "Records",
    )
}

fn machines(sources: &[Source]) -> Markup {
    let differences = environments(&sources.iter().collect::<Vec<&Source>>());
    if differences.is_empty() {
        return html! { p { "The environments do not differ." } };
    }
    table(
        &Table {
            caption: "Differences between the environments".into(),
            header: header(&["environment"], sources.len(), &[]),
            rows: differences.into_iter().map(|found| [vec![found.name], found.values].concat()).collect(),
        },
        "Records",
    )
}

/// Returns one figure for each cell whose histogram at least two records have; `letters` name the records.
fn overlays(records: &[Vec<Section>], letters: &[&'static str]) -> Vec<Figure> {
    let mut cells: Vec<&str> = Vec::new();
    for histogram in records.iter().flatten().flat_map(|section| &section.histograms) {
        if !cells.contains(&histogram.cell.as_str()) {
            cells.push(&histogram.cell);
        }
    }
    cells.into_iter().filter_map(|cell| overlay(cell, records, letters)).collect()
}

fn overlay(cell: &str, records: &[Vec<Section>], letters: &[&'static str]) -> Option<Figure> {
    let found = records.iter().zip(letters).filter_map(|(sections, letter)| {
        let mut histograms = sections.iter().flat_map(|section| &section.histograms);
        Some((*letter, histograms.find(|histogram| histogram.cell == cell)?))
    });
    let found: Vec<(&'static str, &Histogram)> = found.collect();
    if found.len() < 2 {
        return None;
    }
    let edges = edges(&found)?;
    let laid: Vec<Laid> = found.iter().map(|(letter, histogram)| Laid::on(&edges, letter, histogram)).collect();
    Some(Figure {
        title: format!("{cell}: histograms overlaid"),
        picture: Picture::Plot(Plot {
            x: Axis { label: "latency", unit: Unit::Ns, logarithmic: true },
            y: Axis { label: "share of iterations", unit: Unit::Share, logarithmic: true },
            series: laid.iter().map(|one| one.series(&edges)).collect(),
        }),
        tables: vec![overlay_table(&edges, &laid)],
        secondary: false,
    })
}

/// The ratio of the ends of a column: a quarter of an octave, as in the records' own pictures.
const WIDENING: f64 = 1.19;

/// Returns columns that fit all of the histograms: none is narrower than the steps of the coarsest clock.
///
/// `None` where nothing has a width.
fn edges(histograms: &[(&'static str, &Histogram)]) -> Option<Vec<f64>> {
    // A bin that begins at 0 was cut there.
    let is_whole_bin = |bin: &&Bin| bin.from_ns > 0.0;
    let finest = |bins: &[Bin]| {
        let widths = bins.iter().filter(is_whole_bin).map(|bin| bin.to_ns - bin.from_ns);
        widths.fold(f64::INFINITY, f64::min)
    };
    let step = histograms.iter().map(|(_, one)| finest(&one.bins)).filter(|step| step.is_finite()).fold(0.0, f64::max);
    let all = histograms.iter().flat_map(|(_, one)| &one.bins);
    let most = all.map(|bin| bin.to_ns).fold(0.0, f64::max);
    if step <= 0.0 || most <= 0.0 {
        return None;
    }
    let mut edges = vec![0.0];
    let mut last = 0.0;
    while last < most {
        last = f64::max(last + step, last * WIDENING);
        edges.push(last);
    }
    Some(edges)
}

/// A record's histogram in the common columns.
struct Laid {
    letter: &'static str,
    /// The counts by column.
    counts: Vec<u64>,
    rounds: u64,
}

impl Laid {
    /// Lays a histogram over the columns.
    ///
    /// A bin belongs to the column that has its middle.
    fn on(edges: &[f64], letter: &'static str, histogram: &Histogram) -> Self {
        let mut counts = vec![0_u64; edges.len() - 1];
        for bin in &histogram.bins {
            let middle = f64::midpoint(bin.from_ns, bin.to_ns);
            let column = edges.partition_point(|edge| *edge <= middle).clamp(1, counts.len()) - 1;
            counts[column] = counts[column].saturating_add(bin.count);
        }
        let rounds = counts.iter().fold(0, |sum: u64, count| sum.saturating_add(*count));
        Self { letter, counts, rounds }
    }

    fn share(&self, column: usize) -> f64 {
        self.counts[column] as f64 / self.rounds.max(1) as f64
    }

    fn series(&self, edges: &[f64]) -> Series {
        let columns = (0..self.counts.len()).filter(|&column| self.counts[column] > 0);
        let points = columns.map(|column| {
            // A logarithmic axis has no zero.
            let (from, to) = (if column == 0 { edges[1] / 2.0 } else { edges[column] }, edges[column + 1]);
            Point { x: (from * to).sqrt(), y: self.share(column), low: Some(from), high: Some(to) }
        });
        Series { name: self.letter.to_owned(), mark: Mark::Outline, points: points.collect() }
    }
}

fn overlay_table(edges: &[f64], laid: &[Laid]) -> Table {
    let measured = (0..edges.len() - 1).filter(|&column| laid.iter().any(|one| one.counts[column] > 0));
    let line = |column: usize| {
        let share = |one: &Laid| if one.counts[column] > 0 { percent(one.share(column)) } else { "–".to_owned() };
        let ends = [nanoseconds(edges[column]), nanoseconds(edges[column + 1])];
        ends.into_iter().chain(laid.iter().map(share)).collect()
    };
    let rounds: Vec<String> =
        laid.iter().map(|one| format!("{}: {} iterations", one.letter, count(one.rounds))).collect();
    Table {
        caption: format!("Share of the iterations in each bin ({})", rounds.join(", ")),
        header: ["from", "to"].into_iter().chain(laid.iter().map(|one| one.letter)).collect(),
        rows: measured.map(line).collect(),
    }
}

/// The headings of the columns of records.
const COLUMNS: [&str; 12] = ["1st", "2nd", "3rd", "4th", "5th", "6th", "7th", "8th", "9th", "10th", "11th", "12th"];

/// Returns the header of a table with a column for each record.
pub fn header(before: &[&'static str], records: usize, after: &[&'static str]) -> Vec<&'static str> {
    let letters = (0..records).map(|place| COLUMNS.get(place).copied().unwrap_or("later"));
    before.iter().copied().chain(letters).chain(after.iter().copied()).collect()
}
