//! The method pages of everything that is measured.

/// The method of the survey, in Markdown.
pub const SURVEY: &str = include_str!("survey/method.md");

/// Returns the method of the sections with this name.
pub fn method(section: &str) -> Option<&'static str> {
    let entry = experiments::ALL.iter().find(|entry| entry.words().0 == section);
    entry.map(|entry| entry.method).or_else(|| (section == "survey").then_some(SURVEY))
}
