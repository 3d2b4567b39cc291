//! Records on one HTML page that needs nothing else: it reads sections and never measures.

mod columns;
mod draw;
mod method;
mod names;
mod overlay;
mod page;

pub use columns::header;
pub use page::{Method, SIGNATURE, page};
