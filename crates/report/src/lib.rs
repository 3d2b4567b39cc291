//! Records on one HTML page that needs nothing else: it reads sections and never measures.

mod columns;
mod draw;
mod hues;
mod ladder;
mod looks;
mod machine;
mod method;
mod names;
mod overlay;
mod page;

pub use columns::header;
pub use draw::{ladder_file, picture_file};
pub use machine::machine;
pub use page::{Content, Method, SIGNATURE, page};
