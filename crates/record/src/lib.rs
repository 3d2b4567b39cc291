//! The vocabulary of records: their content, how they are read back, and the statements, comparisons and pictures made
//! from them.
//!
//! An experiment fills these types; the programs that show, compare or store records read them. Nothing here depends on
//! an experiment.

pub mod column;
mod cost;
mod difference;
mod envelope;
mod estimates;
mod finding;
mod metric;
pub mod ranking;
pub mod ranking_figure;
mod reading;
mod section;
mod source;
mod then_and_now;
mod unit;

pub use column::Column;
pub use cost::{Aspect, Cost, CostThen, Ladder};
pub use difference::{Difference, between, environments, parameters};
pub use envelope::{Record, RecordRef, RunEnvironment, SCHEMA};
pub use estimates::{Basis, Estimates};
pub use finding::{Finding, Origin};
pub use metric::{Better, Cell, MOSTLY, Metric, Naming, VariationSource};
pub use ranking::Rank;
pub use reading::{MOST_BYTES, check_size, content, fields, is_file, parsed, values};
pub use section::{
    Axis, Bar, Bars, Bin, Figure, Flame, FlamePart, Grid, GridCell, GridRow, HeatMap, HeatRow, Histogram, Lane, Mark,
    OTHERS, Picture, Plot, Point, Section, Series, Span, Spikes, Stack, StackPart, Statement, Table, Timeline,
    distinct, optional,
};
pub use source::{Source, flattened, typed, understand, warning};
pub use then_and_now::ThenAndNow;
pub use unit::Unit;
