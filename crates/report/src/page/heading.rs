//! Headings that can be linked to.

use maud::{Markup, html};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Chapter,
    Section,
    Figure,
}

/// A heading with this name and a link to itself.
pub fn heading(level: Level, id: &str, text: &str) -> Markup {
    let content = html! { (text) " " a.permalink href={ "#" (id) } aria-label={ "Link to " (text) } { "#" } };
    match level {
        Level::Chapter => html! { h2 id=(id) { (content) } },
        Level::Section => html! { h3 id=(id) { (content) } },
        Level::Figure => html! { h4 id=(id) { (content) } },
    }
}
