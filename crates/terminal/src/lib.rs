//! Drawing on a terminal: pages, tables, charts as text, and the terminal as a full-screen interface.

mod escape;
mod figures;
mod folded;
pub mod full_screen;
mod histogram;
mod item;
mod ladder;
mod levels;
mod moment;
mod page;
mod scatter;
mod system_error;
mod table;

pub use escape::{escaped, escaped_cell, escaped_json, escaped_lines, escaped_text};
pub use figures::{count, counted, megahertz, nanoseconds, percent, ppm, range, ratio};
pub use folded::folded;
pub use histogram::{Bar, Histogram};
pub use item::{item, wrapped};
pub use ladder::{DECADES, Rung, decade_words, ladder, share_of_axis};
pub use levels::levels;
pub use moment::moment;
pub use page::Page;
pub use scatter::{Point, Scatter};
pub use system_error::without_error_numbers;
pub use table::{table, table_of_words};
