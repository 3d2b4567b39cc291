//! Pictures as SVG: what a page shows where there is no script, and what is printed. Colours are the style sheet's.

mod bars;
mod file;
mod flame;
mod frame;
mod ladder;
mod map;
mod plot;
mod scale;
mod stacks;
mod timeline;

pub use bars::multiples;
pub use file::{ladder_file, picture_file};
pub use flame::flame;
pub use ladder::{narrow as narrow_ladder, wide as wide_ladder};
pub use map::map;
pub use plot::plot;
pub use stacks::stacks;
pub use timeline::timeline;
