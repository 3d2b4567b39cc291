//! What a page shows: findings, pictures, and the tables with their numbers. Texts are plain here; they are escaped where
//! they become markup.

use crate::experiments::latency::Bin;
use crate::terminal::{count, megahertz, nanoseconds, percent, ratio};
use instruments::statistics::Interval;

/// One experiment of one record.
pub struct Section {
    pub experiment: &'static str,
    pub title: String,
    /// What a person would say of it.
    pub findings: Vec<String>,
    pub figures: Vec<Figure>,
    /// What can be compared with the same cell of another record.
    pub measures: Vec<Measure>,
    /// What can be laid over the same cell of another record.
    pub histograms: Vec<Histogram>,
}

/// How often each value of a cell occurred.
pub struct Histogram {
    pub cell: String,
    pub bins: Vec<Bin>,
}

/// A picture and its numbers.
pub struct Figure {
    pub title: String,
    pub picture: Picture,
    pub tables: Vec<Table>,
    /// Folded away at first.
    pub secondary: bool,
}

pub enum Picture {
    Plot(Plot),
    Bars(Bars),
    /// For numbers that no picture makes clearer.
    None,
}

/// Points over two axes.
pub struct Plot {
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
}

pub struct Axis {
    pub label: &'static str,
    pub quantity: Quantity,
    pub logarithmic: bool,
}

pub struct Series {
    pub name: String,
    pub mark: Mark,
    pub points: Vec<Point>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A bar from the point's `low` to its `high` on the horizontal axis.
    Columns,
    /// A line through the points, with vertical intervals from `low` to `high`.
    Line,
    /// The points alone.
    Points,
    /// As columns, but only the line above them, which hides no other.
    Outline,
}

impl Mark {
    /// By this name the page's script draws it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Columns => "columns",
            Self::Line => "line",
            Self::Points => "points",
            Self::Outline => "outline",
        }
    }
}

#[derive(Clone, Copy)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
}

impl Point {
    pub fn new(x: f64, y: f64) -> Self {
        Self { x, y, low: None, high: None }
    }

    pub fn with_interval(x: f64, y: f64, interval: Option<Interval>) -> Self {
        Self { x, y, low: interval.map(|ends| ends.low), high: interval.map(|ends| ends.high) }
    }
}

/// Named values beside each other.
pub struct Bars {
    pub quantity: Quantity,
    pub logarithmic: bool,
    pub bars: Vec<Bar>,
}

pub struct Bar {
    pub name: String,
    pub value: f64,
    pub interval: Option<Interval>,
    /// What the value is held against, and its name.
    pub limit: Option<(f64, String)>,
}

pub struct Table {
    pub caption: String,
    /// The first column is the row's name; the others hold numbers.
    pub header: Vec<&'static str>,
    pub rows: Vec<Vec<String>>,
}

/// A figure of a cell.
pub struct Measure {
    pub cell: String,
    pub figure: &'static str,
    pub value: f64,
    pub interval: Option<Interval>,
    pub quantity: Quantity,
}

/// What a number counts, and so how it is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// In nanoseconds.
    Time,
    /// 0 to 1.
    Share,
    PerSecond,
    Number,
    Times,
    Megahertz,
    Probability,
}

impl Quantity {
    pub fn words(self, value: f64) -> String {
        match self {
            Self::Time => nanoseconds(value),
            Self::Share => percent(value),
            Self::PerSecond => format!("{}/s", large(value)),
            Self::Number if value.abs() < 1e15 && value.fract() == 0.0 => grouped(value),
            Self::Number => large(value),
            Self::Times => ratio(value),
            Self::Megahertz => megahertz(value),
            Self::Probability if value == 0.0 || (1e-3..=1.0).contains(&value) => format!("{value:.6}"),
            Self::Probability => format!("{value:.3e}"),
        }
    }

    /// `value (low to high)`.
    pub fn words_with(self, value: f64, interval: Option<Interval>) -> String {
        let ends = interval.map(|ends| format!(" ({} to {})", self.words(ends.low), self.words(ends.high)));
        self.words(value) + &ends.unwrap_or_default()
    }

    /// By this name the page's script finds its own way to write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Share => "share",
            Self::PerSecond => "per_second",
            Self::Number => "number",
            Self::Times => "times",
            Self::Megahertz => "megahertz",
            Self::Probability => "probability",
        }
    }
}

fn grouped(whole: f64) -> String {
    let sign = if whole < 0.0 { "-" } else { "" };
    format!("{sign}{}", count(whole.abs() as u64))
}

/// Three digits and a prefix.
fn large(value: f64) -> String {
    match value.abs() {
        size if size >= 1e15 => format!("{value:.2e}"),
        size if size >= 1e9 => format!("{:.2} G", value / 1e9),
        size if size >= 1e6 => format!("{:.2} M", value / 1e6),
        size if size >= 1e4 => format!("{:.1} k", value / 1e3),
        size if size >= 100.0 => format!("{value:.0}"),
        _ => format!("{value:.2}"),
    }
}

/// A cell of a table for what may not have been measured.
pub fn optional(value: Option<f64>, quantity: Quantity) -> String {
    value.map_or_else(|| "–".to_owned(), |value| quantity.words(value))
}
