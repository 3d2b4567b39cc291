//! Drawing on a terminal: pages, tables, pictures in letters.

mod figures;
mod histogram;
mod page;
mod quantity;
mod scatter;
mod table;

pub use figures::{count, megahertz, nanoseconds, percent, ratio};
pub use histogram::{Bar, Histogram};
pub use page::Page;
pub use quantity::Quantity;
pub use scatter::{Point, Scatter};
pub use table::{table, table_of_words};
