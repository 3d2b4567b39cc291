//! Records read back, whoever wrote them, and what differs between where they come from.

mod differences;
mod source;

pub use differences::{Difference, between, environments, parameters};
pub use source::{Source, content, flattened, is_file, typed, understand};
