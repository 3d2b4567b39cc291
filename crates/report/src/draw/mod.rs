//! Pictures as SVG, for pages without a script and for print. Their colours are those of the style sheet; a picture in
//! a separate file contains them, for light and for dark.

mod bars;
mod empty;
mod grid;
mod ladder;
mod parts;
mod plot;
mod rows;
mod scale;

pub use bars::multiples;
pub use empty::empty;
pub use grid::grid;
pub use ladder::{narrow as narrow_ladder, wide as wide_ladder};
pub use parts::{flame, narrow as narrow_stacks, wide as wide_stacks};
pub use plot::{DrawnPlot, begins_at_zero, has_counts, plot, whole_values};
pub use rows::{map, timeline};

use crate::hues::{Hues, picture_style};
use maud::{Markup, PreEscaped, html};
use record::{Figure, Ladder, Picture, Section};
use terminal::escaped_lines;

const STYLE: &str = include_str!("../../assets/report/picture.css");

/// Draws the ladder of this machine into a file, with a title, the machine, the time and a key.
///
/// One without costs has a line that says so.
pub fn ladder_file(ladder: &Ladder, machine: &str, time: Option<&str>) -> String {
    let hues = Hues::of(std::iter::empty(), ladder.costs.iter().filter_map(|cost| cost.lock.as_deref()));
    let about = time.map_or_else(|| machine.to_owned(), |time| format!("{machine}; {time}"));
    file(&ladder::titled(ladder, "Costs of waiting", &about, &hues), &format!("Costs of waiting: {machine}"))
}

/// Draws a figure of these sections into a file; `None` for one that has no picture.
pub fn picture_file(figure: &Figure, sections: &[Section]) -> Option<String> {
    let hues = Hues::of(sections.iter(), std::iter::empty());
    let name = figure.title.as_str();
    if let Some(empty) = empty(&figure.picture, name) {
        return Some(file(&empty, name));
    }
    let picture = match &figure.picture {
        Picture::Bars(all) => bars::column(all, name, &hues),
        Picture::Stacks(all) => wide_stacks(all, name, &hues),
        Picture::Ladder(all) => wide_ladder(all, name, &hues),
        Picture::Flame(one) => flame(one, name, &hues),
        Picture::Timeline(one) => timeline(one, name),
        Picture::Map(one) => map(one, name),
        Picture::Grid(one) => grid(one, name),
        other => plot(&DrawnPlot::from_picture(other, &hues)?, name),
    };
    Some(file(&picture, name))
}

/// Puts the style into the picture itself.
fn file(picture: &Markup, title: &str) -> String {
    let picture = &picture.0;
    let (begin, rest) = picture.split_at(picture.find('>').map_or(0, |end| end + 1));
    let inside = html! { title { (title) } style { (PreEscaped(STYLE)) (PreEscaped(picture_style())) } rect.paper width="100%" height="100%" {} };
    let svg_text = format!("{begin}{}{rest}\n", inside.0);
    escaped_lines(&svg_text).into_owned()
}

/// Returns the frame of a picture with this name for screen readers.
fn svg(width: f64, height: f64, name: &str, content: &Markup) -> Markup {
    // A screen reader does not read into an image, so that links need a group.
    let role = if content.0.contains("<a href=") { "group" } else { "img" };
    html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (width) " " (height) } role=(role) aria-label=(name) {
            (content)
        }
    }
}
