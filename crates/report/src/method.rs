//! The pages that say how each figure was made: `docs/`, in the binary, as HTML.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

const PAGES: [(&str, &str); 8] = [
    ("survey", include_str!("../../../../docs/survey.md")),
    ("clock", include_str!("../../../../docs/clock.md")),
    ("latency", include_str!("../../../../docs/latency.md")),
    ("throughput", include_str!("../../../../docs/throughput.md")),
    ("noise", include_str!("../../../../docs/noise.md")),
    ("load", include_str!("../../../../docs/load.md")),
    ("ring", include_str!("../../../../docs/ring.md")),
    ("model", include_str!("../../../../docs/model.md")),
];

/// The page of an experiment as it was written, if it has one.
pub fn text(experiment: &str) -> Option<&'static str> {
    PAGES.iter().find(|(name, _)| *name == experiment).map(|(_, markdown)| *markdown)
}

/// The same as HTML.
pub fn method(experiment: &str) -> Option<String> {
    let markdown = text(experiment)?;
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
    Some(page)
}

/// Two levels down: the page has a title and chapters above.
fn below(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 => HeadingLevel::H3,
        HeadingLevel::H2 => HeadingLevel::H4,
        _ => HeadingLevel::H5,
    }
}
