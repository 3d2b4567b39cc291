//! Pictures as SVG: what a page shows where there is no script, and what is printed. Colours are the style sheet's.

mod bars;
mod plot;
mod scale;

pub use bars::bars;
pub use plot::plot;

use maud::{Markup, html};

/// The frame of a picture with this name for screen readers.
fn svg(width: f64, height: f64, name: &str, content: &Markup) -> Markup {
    html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (width) " " (height) } role="img" aria-label=(name) {
            (content)
        }
    }
}
