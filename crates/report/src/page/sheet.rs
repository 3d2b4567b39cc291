//! A page of figures that are not of a single record: a verdict, notes, and the figures.

use super::figure::{Level, figure, heading};
use super::{Names, frame};
use crate::hues::Hues;
use maud::html;
use record::Figure;
use terminal::escaped_lines;

/// The content of the page.
pub struct Sheet<'a> {
    pub title: &'a str,
    pub verdict: &'a str,
    pub notes: &'a [String],
    pub figures: &'a [Figure],
    /// The names that have a colour in all figures.
    pub coloured: &'a [&'a str],
}

/// Returns the whole page.
pub fn sheet(sheet: &Sheet<'_>) -> String {
    let hues = Hues::in_order(sheet.coloured.iter().copied());
    let mut names = Names::default();
    names.take("findings");
    let content = html! {
        section.overview {
            (heading(Level::Chapter, "findings", "Findings"))
            p.verdict { (sheet.verdict) }
            @for note in sheet.notes { p.notes { (note) } }
        }
        @for one in sheet.figures {
            (figure(one, &names.take(&one.title), Level::Section, &hues))
        }
    };
    escaped_lines(&frame(sheet.title, &html! {}, &content).into_string()).into_owned()
}
