//! A histogram as text, as in 1998: latency to the right, hits upwards, both exponential.
//!
//! The horizontal axis starts linear, in steps of the clock's resolution, and turns exponential where a column becomes
//! wider than such a step. An exponential axis alone would draw gaps that only the clock causes. Empty stretches are
//! elided. The number of columns per octave is the largest that fits the page.

use crate::escape::coloured;
use crate::format::{self, scaled};
use crate::page::Page;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A bin of the histogram and the letter it is drawn with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// The middle of the bin, in nanoseconds.
    pub at_ns: f64,
    /// Hits.
    pub count: u64,
    /// The letter of its spike; `#` for none.
    pub letter: char,
}

/// A histogram to draw.
pub struct Histogram<'a> {
    /// The line above the picture.
    pub title: &'a str,
    /// The bins.
    pub bars: &'a [Bar],
    /// The clock's resolution in nanoseconds.
    pub resolution_ns: f64,
}

const ROWS: usize = 16;
const LABEL_WIDTH: usize = 9;
const COLUMNS_AN_OCTAVE: [u32; 8] = [16, 12, 8, 6, 4, 3, 2, 1];
/// Empty columns that are drawn before a stretch is elided.
const LONGEST_GAP: usize = 5;
const ELISION: &str = " ··· ";

/// The hits in one column.
#[derive(Clone, Default)]
struct Column {
    count: u64,
    /// The hits by letter, of which the most frequent is drawn.
    letters: BTreeMap<char, u64>,
}

impl Column {
    fn letter(&self) -> char {
        self.letters.iter().max_by_key(|(_, count)| **count).map_or('#', |(letter, _)| *letter)
    }
}

/// A column of the page: of the histogram, or of an elision.
enum Cell {
    Column(usize),
    Elided(char),
}

impl Histogram<'_> {
    /// Draws the picture; a line that says so where there is nothing to draw.
    pub fn draw(&self, page: &Page) -> String {
        let room = page.width.saturating_sub(LABEL_WIDTH + 2);
        let fitting =
            COLUMNS_AN_OCTAVE.iter().map(|&columns| self.layout(columns)).find(|(_, _, cells)| cells.len() <= room);
        let (axis, columns, cells) = fitting.unwrap_or_else(|| self.layout(1));
        let most = columns.values().map(|column| column.count).max().unwrap_or(0);
        if most == 0 {
            return format!("{}\n  (no values)\n", self.title);
        }
        let rows = rows_for(most);
        let mut picture = heading(self.title, page.width);
        for row in (0..rows).rev() {
            picture.push_str(&line(row, rows, most, &columns, &cells, page.colour));
        }
        picture.push_str(&foot(axis, &cells));
        picture
    }

    fn layout(&self, columns_an_octave: u32) -> (Axis, BTreeMap<usize, Column>, Vec<Cell>) {
        let axis =
            Axis { step_ns: self.resolution_ns.clamp(0.1, 1e12), columns_an_octave: f64::from(columns_an_octave) };
        let mut columns: BTreeMap<usize, Column> = BTreeMap::new();
        // A record may contain any value, also one that is not a number.
        for bar in self.bars.iter().filter(|bar| bar.count > 0 && bar.at_ns.is_finite()) {
            let column = columns.entry(axis.column(bar.at_ns)).or_default();
            column.count = column.count.saturating_add(bar.count);
            let letter = column.letters.entry(bar.letter).or_default();
            *letter = letter.saturating_add(bar.count);
        }
        let cells = cells(columns.keys().copied());
        (axis, columns, cells)
    }
}

/// Returns the page's columns from left to right: the filled ones with a little space around them, and elisions
/// between.
fn cells(filled: impl Iterator<Item = usize>) -> Vec<Cell> {
    let mut cells = Vec::new();
    let mut last: Option<usize> = None;
    for column in filled {
        match last {
            Some(last) if column - last - 1 > LONGEST_GAP => {
                cells.push(Cell::Column(last + 1));
                cells.extend(ELISION.chars().map(Cell::Elided));
                cells.push(Cell::Column(column - 1));
            }
            Some(last) => cells.extend((last + 1..column).map(Cell::Column)),
            None => cells.extend(column.checked_sub(1).map(Cell::Column)),
        }
        cells.push(Cell::Column(column));
        last = Some(column);
    }
    cells.extend(last.map(|last| Cell::Column(last + 1)));
    cells
}

/// Returns two rows for each doubling, as in 1998, as far as the picture has rows.
fn rows_for(most: u64) -> usize {
    ((2.0 * (most as f64).log2()).ceil() as usize + 1).clamp(2, ROWS)
}

/// Returns the row that a count reaches, from 0; the greatest count reaches the topmost.
fn height(count: u64, rows: usize, most: u64) -> usize {
    if most <= 1 {
        return rows - 1;
    }
    ((rows - 1) as f64 * (count as f64).log2() / (most as f64).log2()).round() as usize
}

fn line(row: usize, rows: usize, most: u64, columns: &BTreeMap<usize, Column>, cells: &[Cell], colour: bool) -> String {
    let scale = (most as f64).log2() * row as f64 / (rows - 1) as f64;
    let label = if row.is_multiple_of(2) || row == rows - 1 {
        format::count(scale.exp2().round() as u64)
    } else {
        String::new()
    };
    let mut drawn = String::new();
    for cell in cells {
        let letter = match cell {
            Cell::Column(place) => {
                columns.get(place).filter(|column| height(column.count, rows, most) >= row).map_or(' ', Column::letter)
            }
            Cell::Elided(mark) if row == 0 => *mark,
            Cell::Elided(_) => ' ',
        };
        push_letter(&mut drawn, letter, colour);
    }
    format!("{label:>LABEL_WIDTH$}|{}\n", drawn.trim_end())
}

/// Appends a letter in its colour; grey for hits outside all spikes.
fn push_letter(line: &mut String, letter: char, colour: bool) {
    if !colour || letter == ' ' {
        return line.push(letter);
    }
    let code = match letter {
        'A'..='Z' => 31 + (letter as u32 - 'A' as u32) % 6,
        _ => 90,
    };
    line.push_str(&coloured(letter, code));
}

fn heading(title: &str, width: usize) -> String {
    let dashes = width.saturating_sub(title.chars().count() + 2);
    format!("{} {title} {}\n", "-".repeat(dashes / 2), "-".repeat(dashes - dashes / 2))
}

/// Returns the axis: a `!` under each labelled column, the labels below.
fn foot(axis: Axis, cells: &[Cell]) -> String {
    let mut marks = String::new();
    let mut labels = String::new();
    let mut written = 0;
    let mut elided = true;
    for (place, cell) in cells.iter().enumerate() {
        let Cell::Column(column) = cell else {
            marks.push('·');
            elided = true;
            continue;
        };
        let round = round_value_in(axis, *column);
        // After an elision the reader needs to know where the axis continues.
        let value = round.or(elided.then(|| axis.ns(*column)));
        let label = value.map(axis_label);
        // A label at the right edge is moved left, or it would be outside.
        let fits = |label: &String| place.min(cells.len().saturating_sub(label.chars().count()));
        match label.filter(|label| fits(label) >= written) {
            Some(label) => {
                let start = fits(&label);
                let _ = write!(labels, "{:width$}{label}", "", width = start - labels.chars().count());
                written = start + label.chars().count() + 1;
                marks.push('!');
                elided = false;
            }
            None => marks.push('-'),
        }
    }
    format!("{:>LABEL_WIDTH$}+{marks}\n{:>LABEL_WIDTH$} {labels}\n", "", "")
}

/// From a latency to a column and back.
#[derive(Clone, Copy)]
struct Axis {
    pub step_ns: f64,
    pub columns_an_octave: f64,
}

impl Axis {
    /// Returns the latency at which the exponential part begins: a column there is as wide as a step.
    fn bend(self) -> f64 {
        self.step_ns / ((1.0 / self.columns_an_octave).exp2() - 1.0)
    }

    pub fn column(self, ns: f64) -> usize {
        let bend = self.bend();
        if ns < bend {
            (ns.max(0.0) / self.step_ns).round() as usize
        } else {
            (bend / self.step_ns + self.columns_an_octave * (ns / bend).log2()).round() as usize
        }
    }

    pub fn ns(self, column: usize) -> f64 {
        let bend = self.bend();
        let linear = bend / self.step_ns;
        let column = column as f64;
        if column < linear { column * self.step_ns } else { bend * ((column - linear) / self.columns_an_octave).exp2() }
    }
}

/// Returns 1, 2 or 5 times a power of ten, if one falls into the column.
fn round_value_in(axis: Axis, column: usize) -> Option<f64> {
    if column == 0 {
        return Some(0.0);
    }
    let decade = axis.ns(column).max(0.1).log10().floor() as i32;
    [1.0, 2.0, 5.0, 10.0]
        .map(|digit| digit * 10_f64.powi(decade))
        .into_iter()
        .find(|&value| axis.column(value) == column)
}

fn axis_label(ns: f64) -> String {
    let (value, unit) = scaled(ns);
    let digits = if value >= 10.0 || value.fract() < 0.05 { 0 } else { 1 };
    format!("{value:.digits$}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(at_ns: f64, count: u64, letter: char) -> Bar {
        Bar { at_ns, count, letter }
    }

    fn widest(picture: &str) -> usize {
        picture.lines().map(|line| line.chars().count()).max().unwrap_or(0)
    }

    #[test]
    fn a_picture_fits_its_page() {
        let bars: Vec<Bar> = (0..200).map(|step| bar(10.0 * 1.09_f64.powi(step), 1 + step as u64 * 37, 'A')).collect();
        for width in [40, 80, 132] {
            let picture =
                Histogram { title: "all over", bars: &bars, resolution_ns: 10.0 }.draw(&Page { width, colour: false });
            assert!(widest(&picture) <= width, "{width}:\n{picture}");
        }
    }

    #[test]
    fn spikes_keep_their_letters_and_order() {
        let bars = [bar(3_500.0, 9_960, 'A'), bar(8_500.0, 30, 'B'), bar(30_000.0, 10, 'C'), bar(2e6, 1, '#')];
        let picture = Histogram { title: "one thread", bars: &bars, resolution_ns: 10.0 }.draw(&Page::plain());
        let bottom = picture.lines().rev().nth(2).unwrap();
        let letters: String = bottom.chars().filter(|letter| "ABC#".contains(*letter)).collect();
        assert_eq!(letters, "ABC#", "{picture}");
        assert!(bottom.contains("···"), "{picture}");
        let top = picture.lines().nth(1).unwrap();
        assert!(top.contains('A') && !top.contains('B') && top.contains("9,960"), "{picture}");
    }

    #[test]
    fn adjacent_clock_steps_are_adjacent_columns() {
        let bars = [bar(10.0, 83, 'A'), bar(20.0, 17, 'A')];
        let picture = Histogram { title: "fast", bars: &bars, resolution_ns: 10.0 }.draw(&Page::plain());
        assert!(picture.lines().rev().nth(2).unwrap().ends_with("AA"), "{picture}");
    }

    #[test]
    fn empty_histogram_is_drawn_as_a_message() {
        let picture = Histogram { title: "empty", bars: &[], resolution_ns: 10.0 }.draw(&Page::plain());
        assert!(picture.contains("no values"));
    }

    #[test]
    fn letters_are_coloured_only_on_request() {
        let bars = [bar(100.0, 5, 'A')];
        let draw =
            |colour| Histogram { title: "t", bars: &bars, resolution_ns: 10.0 }.draw(&Page { width: 80, colour });
        assert!(!draw(false).contains('\x1b') && draw(true).contains("\x1b[31mA"));
    }

    #[test]
    fn axis_maps_columns_back_to_latencies() {
        for columns_an_octave in [1.0, 4.0, 16.0] {
            let axis = Axis { step_ns: 10.0, columns_an_octave };
            for column in 0..60 {
                assert_eq!(axis.column(axis.ns(column)), column);
            }
        }
    }
}
