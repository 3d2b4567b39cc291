//! The pages that say how each figure was made, as HTML.

use maud::{Markup, PreEscaped};
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

/// A method's page, in Markdown, as HTML.
pub fn html_of(markdown: &str) -> Markup {
    let options = Options::ENABLE_TABLES;
    let events = Parser::new_ext(markdown, options).filter_map(|event| match event {
        // Its links lead to other files, which a page alone does not have.
        Event::Start(Tag::Link { .. }) | Event::End(TagEnd::Link) => None,
        Event::Start(Tag::Heading { level, id, classes, attrs }) => {
            Some(Event::Start(Tag::Heading { level: below(level), id, classes, attrs }))
        }
        Event::End(TagEnd::Heading(level)) => Some(Event::End(TagEnd::Heading(below(level)))),
        // The page's own markup comes from Markdown alone.
        Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
        other => Some(other),
    });
    let mut page = String::new();
    html::push_html(&mut page, events);
    PreEscaped(reachable(&page))
}

/// What may be wider than the page scrolls by itself, and can be scrolled by keys too; a heading that says nothing is
/// none. What looks like these elements and is text was escaped.
fn reachable(html: &str) -> String {
    const CHANGES: [(&str, &str); 4] = [
        ("<th></th>", "<td></td>"),
        ("<table>", "<div class=\"table\" tabindex=\"0\"><table>"),
        ("</table>", "</table></div>"),
        ("<pre>", "<pre tabindex=\"0\">"),
    ];
    CHANGES.iter().fold(html.to_owned(), |html, (from, to)| html.replace(from, to))
}

/// Two levels down: the page has a title and chapters above.
fn below(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 => HeadingLevel::H3,
        HeadingLevel::H2 => HeadingLevel::H4,
        _ => HeadingLevel::H5,
    }
}
