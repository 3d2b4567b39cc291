//! Points over a horizontal axis: exponential, of time or of a count, or the order of things.

use crate::format;
use crate::page::Page;

/// A point and the character it is drawn with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The position on the horizontal axis, in nanoseconds (or a count, for [`Scatter::draw_over_counts`], or an index,
    /// for [`Scatter::draw_in_order`]); more than 0.
    pub x_ns: f64,
    /// The position on the linear axis.
    pub y: f64,
    /// The character that is drawn here; a later point covers an earlier one.
    pub mark: char,
}

/// A scatter plot to draw.
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
    /// Creates a scale over values that [`can_stand`].
    fn over(values: impl Iterator<Item = f64> + Clone, cells: usize) -> Self {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(f64::NEG_INFINITY, f64::max);
        // Adding 1 to a large number does not change it.
        Self { low, high: if high > low { high } else { low + low.abs().max(1.0) }, cells }
    }

    fn cell(self, value: f64) -> usize {
        ((value - self.low) / (self.high - self.low) * (self.cells - 1) as f64).round() as usize
    }

    fn value(self, cell: usize) -> f64 {
        self.low + (self.high - self.low) * cell as f64 / (self.cells - 1) as f64
    }
}

impl Scatter<'_> {
    /// Draws the picture; a line that says so where there is nothing to draw.
    pub fn draw(&self, page: &Page) -> String {
        self.picture(page, |ns| format::nanoseconds(ns).replace(".00", "").replace(".0", "").replace(' ', ""))
    }

    /// Draws the picture over an axis of numbers.
    pub fn draw_over_counts(&self, page: &Page) -> String {
        self.picture(
            page,
            |number| if number < 1e15 { format::count(number.round() as u64) } else { format!("{number:e}") },
        )
    }

    /// Draws the picture over indices in an order, evenly spaced.
    pub fn draw_in_order(&self, page: &Page) -> String {
        self.over(page, |place| place, |across| format!("{:>LABEL_WIDTH$}+{}\n", "", "-".repeat(across.cells)))
    }

    fn picture(&self, page: &Page, label_of: impl Fn(f64) -> String) -> String {
        self.over(page, f64::log10, |across| foot(across, label_of))
    }

    fn over(&self, page: &Page, along: impl Fn(f64) -> f64, foot: impl FnOnce(Scale) -> String) -> String {
        // A record may contain any value: one without a position on an axis (no logarithm, not a number) is omitted,
        // and counted.
        let placed = |point: &Point| Placed { across: along(point.x_ns), upwards: point.y, mark: point.mark };
        let points: Vec<Placed> = self.points.iter().map(placed).filter(Placed::can_stand).collect();
        let outside = match self.points.len() - points.len() {
            0 => String::new(),
            some => format!("  ({} not drawn: outside the axes)\n", format::counted(some, "point")),
        };
        if points.is_empty() {
            return format!("{}\n  (no points)\n{outside}", self.title);
        }
        let columns = page.width.saturating_sub(LABEL_WIDTH + 2).max(20);
        let across = Scale::over(points.iter().map(|point| point.across), columns);
        let upwards = Scale::over(points.iter().map(|point| point.upwards), ROWS);
        format!("{}\n{}{}{outside}", self.title, rows(&points, across, upwards), foot(across))
    }
}

/// A point by its positions on both axes.
struct Placed {
    across: f64,
    upwards: f64,
    mark: char,
}

impl Placed {
    fn can_stand(&self) -> bool {
        can_stand(self.across) && can_stand(self.upwards)
    }
}

/// Returns whether the value is far enough from the largest numbers that differences are finite too.
fn can_stand(value: f64) -> bool {
    value.abs() <= 1e300
}

fn rows(points: &[Placed], across: Scale, upwards: Scale) -> String {
    let mut grid = vec![vec![' '; across.cells]; ROWS];
    for point in points {
        grid[upwards.cell(point.upwards)][across.cell(point.across)] = point.mark;
    }
    // Enough decimals to distinguish the labels.
    let decimals = (-(upwards.value(LABEL_EVERY) - upwards.low).log10()).ceil().clamp(1.0, 5.0) as usize;
    let label = |row: usize| match upwards.value(row) {
        _ if !row.is_multiple_of(LABEL_EVERY) => String::new(),
        value if value.abs() < 1e6 => format!("{value:.decimals$}"),
        value => format!("{value:.1e}"),
    };
    let mut picture = String::new();
    for (row, line) in grid.iter().enumerate().rev() {
        let drawn: String = line.iter().collect();
        picture.push_str(format!("{:>LABEL_WIDTH$}|{drawn}", label(row)).trim_end());
        picture.push('\n');
    }
    picture
}

/// Draws a mark and a label at each power of ten.
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
    fn points_are_drawn_at_their_positions() {
        let points = [(10_000.0, 200.0), (1e6, 199.0), (1e9, 195.0)].map(|(x_ns, y)| Point { x_ns, y, mark: '#' });
        let picture = Scatter { title: "MHz", points: &points }.draw(&Page::plain());
        let lines: Vec<&str> = picture.lines().collect();
        assert!(lines[1].contains("200.0|#"), "{picture}");
        assert!(lines[ROWS].ends_with('#') && lines[ROWS].contains("195.0"), "{picture}");
        assert!(picture.contains("10µs") && picture.contains("1ms") && picture.contains("100ms"), "{picture}");
        assert!(picture.lines().all(|line| line.chars().count() <= 80), "{picture}");
    }

    #[test]
    fn counts_are_labelled_and_close_values_distinguished() {
        let points = [(1.0, 1.0), (1e7, 1.02)].map(|(x_ns, y)| Point { x_ns, y, mark: '#' });
        let picture = Scatter { title: "nodes", points: &points }.draw_over_counts(&Page::plain());
        assert!(picture.contains("1,000,000") && picture.contains("1.004|"), "{picture}");
    }

    #[test]
    fn points_without_a_position_are_counted() {
        for x_ns in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let points = [(x_ns, 1.0), (10.0, f64::NAN), (100.0, 2.0)].map(|(x_ns, y)| Point { x_ns, y, mark: '#' });
            for draw in [Scatter::draw, Scatter::draw_over_counts] {
                let picture = draw(&Scatter { title: "t", points: &points }, &Page::plain());
                assert!(picture.contains("(2 points not drawn") && picture.contains('#'), "{picture}");
            }
        }
    }

    #[test]
    fn huge_and_tiny_values_fit_the_page() {
        for [one, other] in [[1e-300, 1e300], [-1e300, 1e300], [1e300, 1e300], [5e-324, 0.0]] {
            let points = [(1e-300, one), (1e300, other)].map(|(x_ns, y)| Point { x_ns, y, mark: '#' });
            let scatter = Scatter { title: "t", points: &points };
            for picture in [scatter.draw(&Page::plain()), scatter.draw_over_counts(&Page::plain())] {
                assert!(picture.lines().all(|line| line.chars().count() <= 80), "{picture}");
            }
        }
    }

    #[test]
    fn one_point_is_drawn_and_none_is_reported() {
        let one = [Point { x_ns: 100.0, y: 5.0, mark: 'x' }];
        assert!(Scatter { title: "one", points: &one }.draw(&Page::plain()).contains('x'));
        assert!(Scatter { title: "none", points: &[] }.draw(&Page::plain()).contains("no points"));
    }
}
