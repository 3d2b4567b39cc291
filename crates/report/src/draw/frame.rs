//! The frame of a picture.

use maud::{Markup, html};

/// The frame of a picture with this name for screen readers.
pub fn svg(width: f64, height: f64, name: &str, content: &Markup) -> Markup {
    html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (width) " " (height) } role="img" aria-label=(name) {
            (content)
        }
    }
}
