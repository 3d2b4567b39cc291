//! Records on one HTML page that needs nothing else: it reads sections and never measures.

mod columns;
mod draw;
mod markup;
mod method;
mod overlay;
mod page;

pub use columns::header;
pub use page::{Method, SIGNATURE, page};
