//! The content of a page: findings, pictures, and the tables with their numbers. Texts are plain here; they are escaped
//! where they become markup.

use crate::cost::Ladder;
use crate::unit::Unit;
use instruments::statistics::Interval;
use serde::{Deserialize, Serialize};

/// One experiment of one record.
pub struct Section {
    pub experiment: &'static str,
    pub title: String,
    pub findings: Vec<Statement>,
    pub figures: Vec<Figure>,
    /// The histograms that can be laid over the same cell of another record.
    pub histograms: Vec<Histogram>,
}

/// A finding as a sentence.
pub struct Statement {
    pub words: String,
    /// The experiment that it is about, if that is another one than the section's.
    pub about: Option<String>,
    /// Whether it is one of the few that summaries repeat.
    pub is_repeated: bool,
}

impl Statement {
    /// Returns a sentence that summaries repeat.
    pub fn repeated(words: String) -> Self {
        Self { words, about: None, is_repeated: true }
    }
}

impl From<String> for Statement {
    fn from(words: String) -> Self {
        Self { words, about: None, is_repeated: false }
    }
}

/// A bin of a histogram that has hits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bin {
    pub from_ns: f64,
    pub to_ns: f64,
    pub count: u64,
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
    /// Whether it is folded at first.
    pub secondary: bool,
}

pub enum Picture {
    Plot(Plot),
    /// A plot whose series are locks: each has the same colour in all pictures of a page.
    Locks(Plot),
    /// A plot whose series are causes, by their labels: each has the same colour in all pictures of a page.
    Causes(Plot),
    Spikes(Spikes),
    Bars(Bars),
    /// Causes as shares of the same total, one total under the other.
    Stacks(Vec<Stack>),
    Ladder(Ladder),
    Flame(Flame),
    Timeline(Timeline),
    Map(HeatMap),
    Grid(Grid),
    /// No picture, for numbers that no picture makes clearer.
    None,
}

/// Points over two axes.
pub struct Plot {
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
}

/// A histogram of one lock's latencies, whose series are its spikes.
pub struct Spikes {
    pub plot: Plot,
    pub lock: String,
    /// The words in the picture for each series: letter, share, cause.
    pub words: Vec<String>,
    /// The details of each series in sentences: its iterations, its range, the evidence of its cause.
    pub details: Vec<String>,
}

/// The parts of a total, the largest part first.
pub struct Stack {
    pub name: String,
    pub parts: Vec<StackPart>,
}

/// The name of a series that combines several causes.
pub const OTHERS: &str = "others";

/// The share of one cause.
pub struct StackPart {
    pub words: String,
    /// The label of the cause, which determines its colour: further words distinguish parts of one cause.
    pub cause: String,
    pub share: f64,
}

pub struct Axis {
    pub label: &'static str,
    pub unit: Unit,
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
    /// Columns of which only the upper line is drawn, so that they hide no other.
    Outline,
}

impl Mark {
    /// Returns the name by which the page's script draws it.
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

/// The parts of a total and their parts: each as wide as its share, on top of the part that contains it.
pub struct Flame {
    pub unit: Unit,
    pub parts: Vec<FlamePart>,
}

pub struct FlamePart {
    pub name: String,
    pub value: f64,
    pub parts: Vec<FlamePart>,
}

/// Spans of time, a line for each thing that had some.
pub struct Timeline {
    pub lanes: Vec<Lane>,
}

pub struct Lane {
    pub name: String,
    pub spans: Vec<Span>,
}

pub struct Span {
    pub name: String,
    pub from_ns: f64,
    pub to_ns: f64,
    /// The group of the span; spans of one group have one colour.
    pub group: usize,
}

/// Named values side by side.
pub struct Bars {
    pub unit: Unit,
    pub logarithmic: bool,
    pub bars: Vec<Bar>,
}

pub struct Bar {
    pub name: String,
    /// The value, or the words that are in its place: why there is none, or what bounds it.
    pub value: Result<f64, String>,
    pub interval: Option<Interval>,
    /// The limit that the values are compared with, and its name.
    pub limit: Option<(f64, String)>,
}

/// Shares by row and column: the larger, the darker.
pub struct HeatMap {
    /// The meaning of the columns.
    pub across: &'static str,
    pub rows: Vec<HeatRow>,
}

pub struct HeatRow {
    pub name: String,
    /// The shares from 0 to 1, from left to right.
    pub shares: Vec<f64>,
}

/// Contenders under several conditions, as shares of the best under each.
pub struct Grid {
    /// The meaning of the numbers and of the frames.
    pub key: &'static str,
    /// The conditions, from left to right.
    pub columns: Vec<String>,
    pub rows: Vec<GridRow>,
}

pub struct GridRow {
    pub name: String,
    /// A cell for each column; `None` where it has no value.
    pub cells: Vec<Option<GridCell>>,
}

pub struct GridCell {
    /// The share of the best, from 0 to 1.
    pub share: f64,
    /// Whether it is the best, or not shown to be below it.
    pub is_first: bool,
    /// The value and its interval.
    pub words: String,
}

pub struct Table {
    pub caption: String,
    /// The headings; the first column is the row's name, and the others have numbers.
    pub header: Vec<&'static str>,
    pub rows: Vec<Vec<String>>,
}

/// Returns a table cell for a value that may not have been measured.
pub fn optional(value: Option<f64>, unit: Unit) -> String {
    value.map_or_else(|| "–".to_owned(), |value| unit.words(value))
}

/// Returns the different values, in order of appearance.
pub fn distinct<R, K: PartialEq>(rows: &[R], key: impl Fn(&R) -> K) -> Vec<K> {
    let mut found = Vec::new();
    for row in rows {
        let value = key(row);
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}
