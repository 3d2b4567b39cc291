//! Drawing on a terminal: pages, tables, pictures in letters.

mod escape;
mod figures;
mod folded;
mod histogram;
mod item;
mod levels;
mod moment;
mod page;
mod scatter;
mod table;

pub use escape::{escaped, escaped_json, escaped_text};
pub use figures::{count, counted, megahertz, nanoseconds, percent, range, ratio};
pub use folded::folded;
pub use histogram::{Bar, Histogram};
pub use item::{item, wrapped};
pub use levels::levels;
pub use moment::moment;
pub use page::Page;
pub use scatter::{Point, Scatter};
pub use table::{table, table_of_words};
