//! Pictures as SVG: what a page shows where there is no script, and what is printed. Colours are the style sheet's.

mod bars;
mod plot;
mod scale;

use record::Picture;

/// The picture with this name for screen readers; nothing where there is none.
pub fn picture(picture: &Picture, name: &str) -> String {
    match picture {
        Picture::Plot(content) => plot::draw(content, name),
        Picture::Bars(content) => bars::draw(content, name),
        Picture::None => String::new(),
    }
}

/// The frame of a picture.
fn svg(width: f64, height: f64, name: &str, content: &str) -> String {
    let name = crate::markup::escape(name);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{name}\">\
         {content}</svg>"
    )
}

/// How many colours the style sheet has.
const COLOURS: usize = 8;

fn colour(series: usize) -> usize {
    series % COLOURS
}
