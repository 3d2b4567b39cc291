//! One record: how it was measured, and its sections, with the warnings that change a value at its figure. The last
//! chapter has the methods.

use super::figure::{Level, figure, heading, table};
use super::findings::figure_warnings;
use super::summary::{chosen, titles};
use super::{Names, PlacedRecord, PlacedSection};
use crate::hues::Hues;
use instruments::cpus::CpuSet;
use instruments::environment::ProbedPairs;
use maud::{Markup, PreEscaped, html};
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use record::{Figure, Picture, Section, Source, Statement, Table, distinct, flattened};
use serde_json::{Map, Value};
use terminal::{counted, moment};

/// The heading of the only record's chapter.
pub const CHAPTER: &str = "Measurements";

/// Returns the chapter of a record: for each experiment a fold, named by its verdict.
///
/// The fold is open where it is the only one of the page.
pub fn record(
    record: &PlacedRecord<'_>,
    is_compared: bool,
    method: Method<'_>,
    hues: &Hues,
    names: &mut Names,
) -> Markup {
    let source = record.source;
    let title = if is_compared { format!("{}: {}", record.title, source.experiment) } else { CHAPTER.to_owned() };
    let is_open = !is_compared && record.sections.len() == 1;
    html! {
        section {
            (heading(Level::Chapter, &record.id, &title))
            (setting(source, is_compared))
            @for placed in &record.sections {
                section {
                    details.part open[is_open] {
                        summary {
                            h3 id=(placed.id) { (placed.section.title) }
                            p { (verdict(record, placed)) }
                        }
                        @if method(placed.section.experiment).is_some() {
                            p { a href={ "#method-" (placed.section.experiment) } { "Method" } }
                        }
                        // Without a summary the findings are already in the first chapter.
                        @if record.has_summary() && !placed.is_summary() {
                            (findings(placed.section))
                        }
                        (figures(record, placed, hues, names))
                    }
                }
            }
        }
    }
}

/// Returns the most important sentence about a section, that of the summary if there is one, or the titles of its
/// figures.
fn verdict(record: &PlacedRecord<'_>, placed: &PlacedSection<'_>) -> String {
    let findings = &placed.section.findings;
    let is_about = |finding: &&Statement| {
        let section = finding.about.as_deref().and_then(|part| record.section_of(part));
        section.is_some_and(|section| section.id == placed.id)
    };
    let summary = record.sections.iter().filter(|section| section.is_summary());
    let repeated = summary.flat_map(|section| &section.section.findings).find(is_about);
    let first = repeated.or_else(|| chosen(findings.iter()));
    match first.filter(|_| !placed.is_summary()) {
        Some(finding) => finding.words.clone(),
        None if placed.is_summary() && !findings.is_empty() => counted(findings.len(), "finding"),
        None => titles([placed.section]),
    }
}

fn findings(section: &Section) -> Markup {
    html! {
        @if !section.findings.is_empty() {
            details {
                summary { (counted(section.findings.len(), "finding")) " of this experiment" }
                ul.findings {
                    @for finding in &section.findings {
                        li { (finding.words) }
                    }
                }
            }
        }
    }
}

fn figures(record: &PlacedRecord<'_>, placed: &PlacedSection<'_>, hues: &Hues, names: &mut Names) -> Markup {
    let is_lead = |one: &Figure| record.lead().is_some_and(|lead| std::ptr::eq(lead, one));
    let (secondary, primary): (Vec<&Figure>, Vec<&Figure>) =
        placed.section.figures.iter().filter(|one| !is_lead(one)).partition(|figure| figure.secondary);
    let has_pictures = secondary.iter().any(|figure| !matches!(figure.picture, Picture::None));
    let kind = if has_pictures { "More charts" } else { "Tables" };
    let mut all = |figures: Vec<&Figure>| {
        html! {
            @for one in figures {
                (figure_warnings(record, one))
                (figure(one, &names.take(&format!("{} {}", placed.id, one.title)), Level::Figure, hues))
            }
        }
    };
    html! {
        (all(primary))
        @if !secondary.is_empty() {
            details {
                summary { (kind) ": " (placed.section.title) }
                (all(secondary))
            }
        }
    }
}

/// Returns the time at which a measurement began, if it is known.
pub fn time(environment: &Map<String, Value>) -> Option<String> {
    let began = environment.get("started_unix_s").and_then(Value::as_u64)?;
    Some(format!("{} UTC", moment(began)))
}

/// Returns the machine, the time and the command line.
fn setting(source: &Source, is_compared: bool) -> Markup {
    let environment = flattened(&source.environment);
    let command = environment.iter().find(|(name, _)| name == "command_line").map_or("", |(_, text)| text);
    html! {
        // The page of one record has them below its title.
        @if is_compared {
            p {
                (machine(&source.environment))
                @if let Some(time) = time(&source.environment) { "; " (time) }
                "; record " (source.name)
            }
        }
        p { code { "contend " (command) } }
        details {
            summary { "Full environment" }
            (table(&Table {
                caption: "Environment".into(),
                header: vec!["property", "value"],
                rows: environment.iter().map(|(name, text)| vec![name.clone(), text.clone()]).collect(),
            }, &source.name))
        }
    }
}

/// A function that returns the method page of an experiment, in Markdown, if there is one.
pub type Method<'a> = &'a dyn Fn(&str) -> Option<&'static str>;

pub fn methods(sections: &[Vec<Section>], method: Method<'_>) -> Markup {
    let sections: Vec<&Section> = sections.iter().flatten().collect();
    html! {
        section.methods {
            (heading(Level::Chapter, "methods", "Methods"))
            @for experiment in distinct(&sections, |section| section.experiment) {
                @if let Some(markdown) = method(experiment) {
                    details {
                        summary { "Method: " (method_title(markdown, experiment)) }
                        article id={ "method-" (experiment) } { (html_of(markdown)) }
                    }
                }
            }
        }
    }
}

/// Returns the title of a method page.
fn method_title<'a>(markdown: &'a str, experiment: &'a str) -> &'a str {
    markdown.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or(experiment)
}

/// Converts a method page from Markdown to HTML.
fn html_of(markdown: &str) -> Markup {
    let options = Options::ENABLE_TABLES;
    let events = Parser::new_ext(markdown, options).filter_map(|event| match event {
        // Its links lead to other files, which a single page does not have.
        Event::Start(Tag::Link { .. }) | Event::End(TagEnd::Link) => None,
        Event::Start(Tag::Heading { level, id, classes, attrs }) => {
            Some(Event::Start(Tag::Heading { level: below(level), id, classes, attrs }))
        }
        Event::End(TagEnd::Heading(level)) => Some(Event::End(TagEnd::Heading(below(level)))),
        // Markup in the Markdown is shown as text.
        Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
        other => Some(other),
    });
    let mut page = String::new();
    pulldown_cmark::html::push_html(&mut page, events);
    PreEscaped(reachable(&page))
}

/// Makes an element that may be wider than the page scrollable by itself, by keys too, and drops empty headings.
///
/// Text that looks like these elements was escaped.
fn reachable(html: &str) -> String {
    const CHANGES: [(&str, &str); 4] = [
        ("<th></th>", "<td></td>"),
        ("<table>", "<div class=\"table\" tabindex=\"0\"><table>"),
        ("</table>", "</table></div>"),
        ("<pre>", "<pre tabindex=\"0\">"),
    ];
    CHANGES.iter().fold(html.to_owned(), |html, (from, to)| html.replace(from, to))
}

/// Returns the heading two levels down: the page has a title and chapters above.
fn below(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 => HeadingLevel::H3,
        HeadingLevel::H2 => HeadingLevel::H4,
        _ => HeadingLevel::H5,
    }
}

/// Describes a machine on one line: its processor, number of allowed CPUs, hypervisor and kernel, as far as they are
/// known.
pub fn machine(environment: &Map<String, Value>) -> String {
    let of = |group: &str, name: &str| environment.get(group).and_then(|group| group.get(name));
    let text = |group: &str, name: &str| of(group, name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let cpus = text("cpu", "allowed").and_then(|list| list.parse::<CpuSet>().ok());
    let cpus = cpus.map(|cpus| counted(cpus.iter().count(), "CPU"));
    let probed = of("cpu", "probed").and_then(|probed| serde_json::from_value::<ProbedPairs>(probed.clone()).ok());
    let parts = [
        text("cpu", "model").map(str::to_owned),
        cpus,
        text("host", "hypervisor").map(str::to_owned),
        text("kernel", "release").map(|release| format!("Linux {release}")),
        probed.map(|probed| probed.words()),
    ];
    let known: Vec<String> = parts.into_iter().flatten().collect();
    if known.is_empty() { "unknown machine".to_owned() } else { known.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn value_words(environment: &Value) -> String {
        machine(environment.as_object().unwrap())
    }

    #[test]
    fn unknown_properties_of_a_machine_are_omitted() {
        let whole = json!({
            "cpu": {"model": "Some CPU", "allowed": "0-3"}, "host": {"hypervisor": "KVM"}, "kernel": {"release": "6.18"},
        });
        assert_eq!(value_words(&whole), "Some CPU, 4 CPUs, KVM, Linux 6.18");
        assert_eq!(value_words(&json!({"cpu": {"model": "Some CPU", "allowed": 7}})), "Some CPU");
        let pair = json!({"probed_unix_s": 1, "pairs": [{"cpus": [0, 1], "share_a_core": false}]});
        let probed = json!({"cpu": {"model": "Some CPU", "probed": pair}});
        assert_eq!(value_words(&probed), "Some CPU, CPUs 0 and 1 do not share a core (probed)");
        assert_eq!(value_words(&json!({"cpu": "x"})), "unknown machine");
    }
}
