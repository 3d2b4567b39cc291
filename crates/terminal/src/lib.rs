//! Drawing on a terminal: pages, tables, charts as text, and the terminal as a full-screen interface.

mod escape;
mod format;
pub mod full_screen;
mod histogram;
mod ladder;
mod levels;
mod page;
mod scatter;
mod table;

pub use escape::{escaped, escaped_cell, escaped_json, escaped_lines, escaped_text, without_error_numbers};
pub use format::{count, counted, megahertz, moment, nanoseconds, percent, ppm, range, ratio};
pub use histogram::{Bar, Histogram};
pub use ladder::{DECADES, Rung, decade_words, ladder, share_of_axis};
pub use levels::levels;
pub use page::{Page, folded, item, wrapped};
pub use scatter::{Point, Scatter};
pub use table::{table, table_of_words};
