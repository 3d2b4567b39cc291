//! Drawing on a terminal: pages, tables, charts as text, and the terminal as a full-screen interface.

mod escape;
mod format;
pub mod full_screen;
mod histogram;
mod ladder;
mod page;
mod scatter;
mod shorten;
mod table;

pub use escape::{escaped, escaped_cell, escaped_json, escaped_lines, escaped_text, without_error_numbers};
pub use format::{
    count, counted, levels, megahertz, microseconds, moment, nanoseconds, number, ppm, range, ratio, slowdown,
    span_label, too_few,
};
pub use histogram::{Bar, Histogram};
pub use instruments::digits::percent;
pub use ladder::{DECADES, Rung, decade_words, ladder, share_of_axis};
pub use page::{Page, folded, item, items, wrapped};
pub use scatter::{Point, Scatter};
pub use shorten::shortened;
pub use table::{table, table_of_words};
