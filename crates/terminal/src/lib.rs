//! Drawing on a terminal: pages, tables, pictures in letters.

mod figures;
mod histogram;
mod item;
mod page;
mod quantity;
mod scatter;
mod table;

pub use figures::{count, megahertz, nanoseconds, percent, range, ratio};
pub use histogram::{Bar, Histogram};
pub use item::item;
pub use page::Page;
pub use quantity::Quantity;
pub use scatter::{Point, Scatter};
pub use table::{table, table_of_words};
