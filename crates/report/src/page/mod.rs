//! The page: the ladder and the findings first, then the differences, then each record with its pictures, then the
//! methods. The page contains its style and its scripts, and each part of it has an anchor that links lead to.

mod figure;
mod findings;
mod index;
mod records;
mod sheet;
mod side_by_side;
mod summary;

pub use index::{Listed, index};
pub use records::{Method, machine, time};
pub use sheet::{Sheet, sheet};
pub use side_by_side::header;
pub use summary::{subject_with_locks, verdict};

use crate::hues::{Hues, page_style};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use record::{Figure, Ladder, Section, Source};
use std::collections::HashSet;
use terminal::escaped_lines;

/// The records, and the parts of them that are shown.
pub struct Content<'a> {
    pub sources: &'a [Source],
    /// The title of each record, which is shown where there are several.
    pub titles: &'a [String],
    /// The sections of each record, in the order of its parts.
    pub sections: &'a [Vec<Section>],
    /// The ladder of each record that has one.
    pub ladders: &'a [Option<Ladder>],
    /// The comparison of the records.
    pub compared: &'a [Figure],
    /// The method page of each experiment, in Markdown.
    pub method: Method<'a>,
}

/// Returns the whole page.
///
/// The same records give the same page.
pub fn page(content: &Content<'_>) -> String {
    let Content { sources, titles, sections, ladders, compared, method } = *content;
    let mut names = Names::default();
    for fixed in ["findings", "side-by-side", "methods", "contents"] {
        names.take(fixed);
    }
    let locks = ladders.iter().flatten().flat_map(|ladder| &ladder.costs).filter_map(|cost| cost.lock.as_deref());
    let hues = Hues::of(sections.iter().flatten(), locks);
    let pairs = sources.iter().zip(sections).enumerate();
    let placed =
        pairs.map(|(place, (source, sections))| PlacedRecord::new(place, &titles[place], source, sections, &mut names));
    let mut records: Vec<PlacedRecord<'_>> = placed.collect();
    if let [only] = &mut records[..] {
        only.is_led =
            only.sections.len() == 1 && ladders.iter().all(Option::is_none) && !summary::is_trace(only.source);
    }
    let content = html! {
        (findings::findings(&records, ladders, &hues, &mut names))
        (contents(&records, sources.len() > 1))
        @if sources.len() > 1 {
            (side_by_side::side_by_side(&records, sources, sections, compared, &hues, &mut names))
        }
        @for record in &records {
            (records::record(record, records.len() > 1, method, &hues, &mut names))
        }
        (records::methods(sections, method))
    };
    // The whole page is escaped here, so that no text is missed: HTML does not allow control characters, and other
    // characters reverse the words that follow. A record may have any of them.
    escaped_lines(&frame(&title(sources, sections), &machines(sources), &content).into_string()).into_owned()
}

/// Returns the place, the time and the conditions of the measurement.
fn machines(sources: &[Source]) -> Markup {
    let [only] = sources else { return html! {} };
    html! {
        p.machine {
            (machine(&only.environment))
            @if let Some(time) = time(&only.environment) { "; " (time) }
        }
    }
}

/// Returns the program, or the measured quantity where no program was run.
fn title(sources: &[Source], sections: &[Vec<Section>]) -> String {
    let subjects: Vec<String> =
        sources.iter().zip(sections).map(|(source, sections)| summary::subject(source, sections)).collect();
    match &subjects[..] {
        [only] => only.clone(),
        [first, rest @ ..] if rest.iter().all(|other| other == first) => format!("{first}: {} records", subjects.len()),
        several => format!("Comparison of {} records", several.len()),
    }
}

const STYLE: &str = include_str!("../../assets/report/page.css");
const SCRIPT: &str = include_str!("../../assets/report/charts.js");
const CHARTS: &str = include_str!("../../assets/uplot/uPlot.iife.min.js");
const CHARTS_STYLE: &str = include_str!("../../assets/uplot/uPlot.min.css");
const CHARTS_LICENSE: &str = include_str!("../../assets/uplot/LICENSE");

/// The icon of every page, as SVG.
pub const ICON: &str = include_str!("../../assets/report/icon.svg");

/// Returns a text as a part of an address.
fn in_address(text: &str) -> String {
    text.replace('%', "%25").replace('#', "%23").replace('<', "%3C").replace('>', "%3E")
}

/// The element by which a page of this program is recognised.
pub const SIGNATURE: &str = "<meta name=\"generator\" content=\"contend\">";

/// The policy of the page: it loads nothing from elsewhere, so that injected markup could not fetch anything.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

fn frame(title: &str, machine: &Markup, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(title))
            body {
                a.skip href="#findings" { "Skip to the findings" }
                header { h1 { (title) } (machine) }
                main { (content) }
                (scripts())
            }
        }
    }
}

fn head(title: &str) -> Markup {
    head_with(title, &[CHARTS_STYLE, STYLE, &page_style()])
}

fn head_with(title: &str, styles: &[&str]) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            (PreEscaped(SIGNATURE))
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta http-equiv="Content-Security-Policy" content=(POLICY);
            meta name="color-scheme" content="light dark";
            link rel="icon" href={ "data:image/svg+xml," (in_address(ICON.trim_end())) };
            title { (title) " – contend" }
            style { @for style in styles { "\n" (PreEscaped(style)) } }
        }
    }
}

fn scripts() -> Markup {
    // The library's first line names its home page; the page names it by its licence.
    let charts = CHARTS.split_once('\n').map_or(CHARTS, |(_, code)| code);
    html! {
        script { "\n/* uPlot 1.6.32\n" (PreEscaped(CHARTS_LICENSE)) "*/\n" (PreEscaped(charts)) }
        script { "\n" (PreEscaped(SCRIPT)) }
    }
}

/// Returns a list of links to the chapters and sections; on a wide screen it stays visible.
fn contents(records: &[PlacedRecord<'_>], is_compared: bool) -> Markup {
    html! {
        nav.contents aria-label="Contents" {
            ul {
                li { a href="#findings" { "Findings" } }
                @if is_compared {
                    li { a href="#side-by-side" { "Side by side" } }
                }
                @for record in records {
                    li {
                        a href={ "#" (record.id) } { (if is_compared { record.title } else { records::CHAPTER }) }
                        ul {
                            @for placed in &record.sections {
                                li { a href={ "#" (placed.id) } { (placed.section.title) } }
                            }
                        }
                    }
                }
                li { a href="#methods" { "Methods" } }
            }
        }
    }
}

/// A record with the anchors of its parts on the page.
struct PlacedRecord<'a> {
    pub source: &'a Source,
    /// The record's title.
    pub title: &'a str,
    /// The anchor of its chapter.
    pub id: String,
    /// The sections in the order of the record's parts.
    pub sections: Vec<PlacedSection<'a>>,
    /// Whether the first chapter has its first figure: it is the only record, of one experiment without a ladder.
    pub is_led: bool,
}

struct PlacedSection<'a> {
    pub section: &'a Section,
    pub id: String,
}

impl<'a> PlacedRecord<'a> {
    pub fn new(place: usize, title: &'a str, source: &'a Source, sections: &'a [Section], names: &mut Names) -> Self {
        let placed = |section: &'a Section| PlacedSection { section, id: names.take(&section.title) };
        let sections = sections.iter().map(placed).collect();
        Self { source, title, sections, id: names.take(&format!("record-{}", place + 1)), is_led: false }
    }

    /// Returns the section of the part with this name.
    pub fn section_of(&self, part: &str) -> Option<&PlacedSection<'a>> {
        let place = self.source.parts.iter().position(|(name, _)| name == part)?;
        self.sections.get(place)
    }

    /// Returns the figure of the first chapter.
    pub fn lead(&self) -> Option<&'a Figure> {
        let first = self.sections.first().filter(|_| self.is_led)?.section.figures.first();
        first.filter(|first| !first.secondary)
    }

    pub fn has_summary(&self) -> bool {
        self.sections.iter().any(PlacedSection::is_summary)
    }
}

impl PlacedSection<'_> {
    /// Returns whether the section sums up the findings of other sections, as in a survey.
    pub fn is_summary(&self) -> bool {
        self.section.experiment == "survey"
    }
}

/// The anchors of the page: letters, digits and dashes, each used once.
#[derive(Default)]
struct Names {
    taken: HashSet<String>,
}

impl Names {
    /// Returns a free name that resembles the wanted one.
    pub fn take(&mut self, wanted: &str) -> String {
        let dashed: String = wanted
            .chars()
            .map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' })
            .collect();
        let words: Vec<&str> = dashed.split('-').filter(|word| !word.is_empty()).collect();
        let name = if words.is_empty() { "place".to_owned() } else { words.join("-") };
        let further = (2_u32..).map(|number| format!("{name}-{number}"));
        let free = std::iter::once(name.clone()).chain(further).find(|candidate| !self.taken.contains(candidate));
        let free = free.unwrap_or(name);
        self.taken.insert(free.clone());
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_plain() {
        let mut names = Names::default();
        assert_eq!(names.take("std, 2 threads"), "std-2-threads");
        assert_eq!(names.take("std: 2 <threads>"), "std-2-threads-2");
        assert_eq!(names.take("µ"), "place");
    }
}
