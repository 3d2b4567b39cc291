//! Pictures as SVG: what a page shows where there is no script, and what is printed. Colours are the style sheet's.

mod bars;
mod frame;
mod plot;
mod scale;

pub use bars::bars;
pub use plot::plot;
