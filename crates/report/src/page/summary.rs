//! A record in a title and a sentence, as its page and a list of records have them.

use record::{Section, Source, Statement, distinct};
use serde_json::Value;

/// The maximum number of letters of a command in a title, and of locks after it.
const LONGEST_COMMAND: usize = 60;
const MOST_LOCKS: usize = 4;

/// Returns the program and the measured quantity, or the quantity alone where no program was run.
pub fn subject(source: &Source, sections: &[Section]) -> String {
    if source.experiment == "survey" {
        return "Costs of waiting".to_owned();
    }
    let program = source.parameters.get("program").and_then(Value::as_array);
    let words: Vec<&str> = program.into_iter().flatten().filter_map(Value::as_str).collect();
    let command = words.join(" ");
    let command = terminal::shortened(&command, LONGEST_COMMAND);
    let what = sections.first().map_or_else(|| source.experiment.clone(), |section| section.title.clone());
    if command.is_empty() { what } else { format!("{command}: {}", what.to_lowercase()) }
}

/// Returns the subject with the measured locks, where the locks are not those of a program.
pub fn subject_with_locks(source: &Source, sections: &[Section]) -> String {
    let subject = subject(source, sections);
    if source.experiment == "survey" || source.parameters.contains_key("program") {
        return subject;
    }
    let rows: Vec<&Value> = source.parts.iter().flat_map(|(_, rows)| rows).collect();
    let locks: Vec<&str> = distinct(&rows, |row| row["lock"].as_str()).into_iter().flatten().collect();
    match locks.len() {
        0 => subject,
        1..=MOST_LOCKS => format!("{subject}: {}", locks.join(", ")),
        more => format!("{subject}: {} and {} more", locks[..MOST_LOCKS].join(", "), more - MOST_LOCKS),
    }
}

/// Returns the verdict of a trace, in a sentence.
pub fn verdict_of_trace(source: &Source) -> Option<&str> {
    source.parameters.get("verdict_reason").and_then(Value::as_str).filter(|words| !words.is_empty())
}

/// Returns whether the record is a trace with a verdict, which its page begins with.
pub fn is_trace(source: &Source) -> bool {
    verdict_of_trace(source).is_some()
}

/// Returns the most important sentence about a record: the verdict of a trace, or the finding that summaries repeat, or
/// the first one; without findings, the titles of the figures.
pub fn verdict(source: &Source, sections: &[Section]) -> String {
    if let Some(verdict) = verdict_of_trace(source) {
        return verdict.to_owned();
    }
    match chosen(sections.iter().flat_map(|section| &section.findings)) {
        Some(finding) => finding.words.clone(),
        None => titles(sections),
    }
}

/// Returns the finding that summaries repeat, or the first one.
pub fn chosen<'a>(findings: impl Iterator<Item = &'a Statement> + Clone) -> Option<&'a Statement> {
    findings.clone().find(|finding| finding.is_repeated).or_else(|| { findings }.next())
}

/// Returns the titles of all figures.
pub fn titles<'a>(sections: impl IntoIterator<Item = &'a Section>) -> String {
    let figures = sections.into_iter().flat_map(|section| &section.figures);
    figures.map(|figure| figure.title.as_str()).collect::<Vec<&str>>().join("; ")
}
