//! The pages that say how everything is measured.

/// How the survey measures, in Markdown.
pub const SURVEY: &str = include_str!("survey/method.md");

/// How what has sections of this name on a page measures.
pub fn method(section: &str) -> Option<&'static str> {
    let entry = experiments::ALL.iter().find(|entry| entry.words().0 == section);
    entry.map(|entry| entry.method).or_else(|| (section == "survey").then_some(SURVEY))
}
