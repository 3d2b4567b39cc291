//! Points over a horizontal axis: exponential, of time or of a count, or the order of things.

use crate::figures;
use crate::page::Page;

/// A point and the character it is drawn with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Along the horizontal axis, in nanoseconds (or a count, for [`Scatter::draw_over_counts`], or a place, for
    /// [`Scatter::draw_in_order`]); more than 0.
    pub x_ns: f64,
    /// Along the linear axis.
    pub y: f64,
    /// Drawn here; a later point covers an earlier one.
    pub mark: char,
}

/// What is drawn.
pub struct Scatter<'a> {
    /// The line above the picture.
    pub title: &'a str,
    /// The points.
    pub points: &'a [Point],
}

const ROWS: usize = 16;
const LABEL_WIDTH: usize = 8;
const LABEL_EVERY: usize = 3;

/// A span of values and the cells it is spread over.
#[derive(Clone, Copy)]
struct Scale {
    low: f64,
    high: f64,
    cells: usize,
}

impl Scale {
    fn over(values: impl Iterator<Item = f64> + Clone, cells: usize) -> Self {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(f64::NEG_INFINITY, f64::max);
        Self { low, high: if high > low { high } else { low + 1.0 }, cells }
    }

    fn cell(self, value: f64) -> usize {
        ((value - self.low) / (self.high - self.low) * (self.cells - 1) as f64).round() as usize
    }

    fn value(self, cell: usize) -> f64 {
        self.low + (self.high - self.low) * cell as f64 / (self.cells - 1) as f64
    }
}

impl Scatter<'_> {
    /// The picture; a line that says so where there is nothing to draw.
    pub fn draw(&self, page: &Page) -> String {
        self.picture(page, |ns| figures::nanoseconds(ns).replace(".00", "").replace(".0", "").replace(' ', ""))
    }

    /// The same over an axis of numbers.
    pub fn draw_over_counts(&self, page: &Page) -> String {
        self.picture(page, |number| figures::count(number.round() as u64))
    }

    /// The same over places in an order, evenly spaced.
    pub fn draw_in_order(&self, page: &Page) -> String {
        self.over(page, |place| place, |across| format!("{:>LABEL_WIDTH$}+{}\n", "", "-".repeat(across.cells)))
    }

    fn picture(&self, page: &Page, label_of: impl Fn(f64) -> String) -> String {
        self.over(page, f64::log10, |across| foot(across, label_of))
    }

    fn over(&self, page: &Page, along: impl Fn(f64) -> f64, foot: impl FnOnce(Scale) -> String) -> String {
        if self.points.is_empty() {
            return format!("{}\n  (no points)\n", self.title);
        }
        let columns = page.width.saturating_sub(LABEL_WIDTH + 2).max(20);
        let across = Scale::over(self.points.iter().map(|point| along(point.x_ns)), columns);
        let upwards = Scale::over(self.points.iter().map(|point| point.y), ROWS);
        let mut grid = vec![vec![' '; columns]; ROWS];
        for point in self.points {
            grid[upwards.cell(point.y)][across.cell(along(point.x_ns))] = point.mark;
        }
        // Enough decimals to tell the labels apart.
        let decimals = (-(upwards.value(LABEL_EVERY) - upwards.low).log10()).ceil().clamp(1.0, 5.0) as usize;
        let mut picture = format!("{}\n", self.title);
        for (row, line) in grid.iter().enumerate().rev() {
            let label = if row.is_multiple_of(LABEL_EVERY) {
                format!("{:.decimals$}", upwards.value(row))
            } else {
                String::new()
            };
            let drawn: String = line.iter().collect();
            picture.push_str(format!("{label:>LABEL_WIDTH$}|{drawn}").trim_end());
            picture.push('\n');
        }
        picture + &foot(across)
    }
}

/// A mark and a label at each power of ten.
fn foot(across: Scale, label_of: impl Fn(f64) -> String) -> String {
    let mut marks = vec!['-'; across.cells];
    let mut labels = String::new();
    for decade in across.low.ceil() as i32..=across.high.floor() as i32 {
        let cell = across.cell(f64::from(decade));
        marks[cell] = '+';
        let label = label_of(10_f64.powi(decade));
        let written = labels.chars().count();
        if cell >= written && cell + label.chars().count() <= across.cells {
            labels.push_str(&" ".repeat(cell - written));
            labels.push_str(&label);
            labels.push(' ');
        }
    }
    let marks: String = marks.into_iter().collect();
    format!("{:>LABEL_WIDTH$}+{marks}\n{:>LABEL_WIDTH$} {}\n", "", "", labels.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_lie_where_they_belong() {
        let points = [(10_000.0, 200.0), (1e6, 199.0), (1e9, 195.0)].map(|(x_ns, y)| Point { x_ns, y, mark: '#' });
        let picture = Scatter { title: "MHz", points: &points }.draw(&Page::plain());
        let lines: Vec<&str> = picture.lines().collect();
        assert!(lines[1].contains("200.0|#"), "{picture}");
        assert!(lines[ROWS].ends_with('#') && lines[ROWS].contains("195.0"), "{picture}");
        assert!(picture.contains("10µs") && picture.contains("1ms") && picture.contains("100ms"), "{picture}");
        assert!(picture.lines().all(|line| line.chars().count() <= 80), "{picture}");
    }

    #[test]
    fn counts_are_labelled_as_such_and_close_values_apart() {
        let points = [(1.0, 1.0), (1e7, 1.02)].map(|(x_ns, y)| Point { x_ns, y, mark: '#' });
        let picture = Scatter { title: "nodes", points: &points }.draw_over_counts(&Page::plain());
        assert!(picture.contains("1,000,000") && picture.contains("1.004|"), "{picture}");
    }

    #[test]
    fn one_point_is_drawn_and_none_is_said() {
        let one = [Point { x_ns: 100.0, y: 5.0, mark: 'x' }];
        assert!(Scatter { title: "one", points: &one }.draw(&Page::plain()).contains('x'));
        assert!(Scatter { title: "none", points: &[] }.draw(&Page::plain()).contains("no points"));
    }
}
