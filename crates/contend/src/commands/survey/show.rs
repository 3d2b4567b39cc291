//! The record on a terminal: all of it, and the screen that a survey closes with.

use super::record;
use super::warnings::ExperimentFailed;
use ::record::ThenAndNow;
use harness::AnyRecord;
use instruments::warning::Warning;
use terminal::Page;

/// Every experiment as its own command shows it, then the closing screen.
///
/// # Errors
/// A row that is not as its experiment writes it.
pub fn show(record: &AnyRecord, page: &Page) -> anyhow::Result<String> {
    let mut parts = Vec::new();
    for entry in experiments::ALL {
        if let Some(part) = record::part(record, entry) {
            parts.push(entry.show_part(&part, page)?);
        }
    }
    parts.push(closing(record, page)?);
    parts.retain(|part| !part.is_empty());
    Ok(parts.join("\n"))
}

/// What was found, what failed, then and now.
///
/// # Errors
/// A row that is none.
pub fn closing(record: &AnyRecord, page: &Page) -> anyhow::Result<String> {
    let (mut text, mut missing) = (String::new(), String::new());
    let found = record::findings(&record.results)?;
    if !found.is_empty() {
        text.push_str("What it found\n");
        for finding in found {
            let source = finding.source.words();
            let words = finding.words.split_whitespace().chain([source.as_str()]);
            text.push_str(&terminal::item(words, page));
        }
    }
    let failed = failures(&record.warnings);
    if !failed.is_empty() {
        missing.push_str("What is missing\n");
        failed.iter().for_each(|failure| missing.push_str(&terminal::item(failure.split_whitespace(), page)));
    }
    let compared = record::comparisons(&record.results)?;
    let compared = if compared.is_empty() { String::new() } else { then_and_now(&compared) };
    let parts = [text, missing, compared];
    Ok(parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n"))
}

/// What failed, in words.
pub fn failures(warnings: &[Warning]) -> Vec<String> {
    let failed = warnings.iter().filter(|warning| warning.is::<ExperimentFailed>());
    failed.map(|warning| warning.message().to_owned()).collect()
}

/// Details are left to the page.
fn then_and_now(figures: &[ThenAndNow]) -> String {
    let (details, main): (Vec<&ThenAndNow>, Vec<&ThenAndNow>) = figures.iter().partition(|figure| figure.detail);
    let lines = main.iter().map(|figure| {
        let now = figure.today.map(|today| figure.unit.rounded(today));
        vec![
            format!("{} {}", figure.year, figure.figure),
            figure.unit.rounded(figure.then),
            now.or_else(|| figure.note.clone()).unwrap_or_default(),
            figure.ratio.map_or_else(String::new, terminal::ratio),
            figure.ratio_ci.map_or_else(String::new, |ends| terminal::range(ends.low, ends.high)),
        ]
    });
    let table = terminal::table(&["then and now", "then", "now", "then/now", "95 %"], lines);
    match details.len() {
        0 => table,
        more => table + &format!("{more} more figures are on the page and in the record.\n"),
    }
}
