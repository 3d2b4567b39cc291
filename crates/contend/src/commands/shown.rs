//! A record that is read back, shown by the experiment that made it; that of a survey also as the screen that ends it.

use super::reading::Reading;
use super::survey_record::{FINDINGS, NAME as SURVEY, comparisons, failures, part, placed, unknown_experiment};
use crate::output::warnings::{self, Printed};
use anyhow::{Context, bail};
use harness::{AnyRecord, Entry};
use record::{Finding, ThenAndNow, Unit};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::io::IsTerminal;
use terminal::{Page, escaped};

/// Returns whether this contend knows every experiment that the record names.
pub fn is_known(fields: &Map<String, Value>) -> bool {
    match (fields.get("experiment").and_then(Value::as_str), fields.get("results").and_then(Value::as_array)) {
        (Some(SURVEY), Some(rows)) => unknown_experiment(rows).is_none(),
        (Some(name), _) => experiments::named(name).is_some(),
        (None, _) => true,
    }
}

/// The part of a record that is shown.
#[derive(Clone, Copy)]
pub enum Extent<'a> {
    /// All tables and pictures, and every warning.
    Whole,
    /// The output of its measurement; the text is the command that shows the rest.
    AsMeasured(&'a str),
}

/// Shows the record of this name and with these fields on a page, with its warnings.
///
/// # Errors
/// This version does not know the experiment, or cannot read the record.
pub fn shown(name: &str, fields: &Map<String, Value>, extent: Extent<'_>, page: &Page) -> anyhow::Result<String> {
    let unreadable = || format!("{name}: cannot read the record; an older record may lack fields");
    let unknown = |experiment: &str| {
        format!("{name}: the experiment {experiment:?} is unknown to this version of contend; use a newer version")
    };
    let mut record = AnyRecord::deserialize(fields).with_context(unreadable)?;
    // The record of a brief output has everything, too.
    if let (Extent::Whole, Some(all)) = (extent, record.parameters.get_mut("all")) {
        *all = Value::Bool(true);
    }
    if record.experiment == SURVEY
        && let Some(experiment) = unknown_experiment(&record.results)
    {
        bail!(unknown(experiment));
    }
    let printed = match extent {
        Extent::Whole => Printed::All,
        Extent::AsMeasured(how) => Printed::Few(how),
    };
    let warnings = warnings::text(&record.warnings, printed, page);
    let parts = match (record.experiment.as_str(), extent) {
        // A survey ends with a screen that its warnings must not scroll away.
        (SURVEY, Extent::AsMeasured(whole)) => [warnings, closing(&record, whole, page).with_context(unreadable)?],
        (SURVEY, Extent::Whole) => [survey(&record, page).with_context(unreadable)?, warnings],
        (name, _) => {
            let entry = experiments::named(name).with_context(|| unknown(name))?;
            let text = entry.read_all(&record).and_then(|rows| rows.show(&record, page));
            [text.with_context(unreadable)?, warnings]
        }
    };
    Ok(parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n"))
}

/// Shows every experiment of a survey as its own command does, then the closing screen.
///
/// # Errors
/// A row is not in the format of its experiment.
pub fn survey(record: &AnyRecord, page: &Page) -> anyhow::Result<String> {
    let read = read(record)?;
    let mut parts = Vec::new();
    for entry in experiments::ALL {
        if let (Some(part), Some(rows)) = (part(record, entry), read.rows(entry.name)) {
            parts.push(rows.show_part(&part, page)?);
        }
    }
    parts.push(ladder(&read, page).unwrap_or_default());
    parts.push(conclusion(record, &read, page, None)?);
    parts.retain(|part| !part.is_empty());
    Ok(parts.join("\n"))
}

/// Shows the screen that ends a survey: the ladder, the repeated findings, and the failures; without a ladder all
/// findings, with the old values.
///
/// `whole` is the command that shows the rest.
///
/// # Errors
/// A row is not in the format of its experiment.
pub fn closing(record: &AnyRecord, whole: &str, page: &Page) -> anyhow::Result<String> {
    let read = read(record)?;
    match ladder(&read, page) {
        Some(ladder) => Ok(format!("{ladder}\n{}{}", conclusion(record, &read, page, Some(whole))?, further())),
        None => conclusion(record, &read, page, None),
    }
}

/// Returns the hints for a user at a terminal.
fn further() -> &'static str {
    let is_seen = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if is_seen { "`contend screen` opens the full-screen interface: menus, live charts, archive.\n" } else { "" }
}

/// The maximum number of findings below the ladder on a screen.
const MOST_FINDINGS: usize = 5;

fn read(record: &AnyRecord) -> anyhow::Result<Reading> {
    let rows = |entry: &Entry| (entry.name, placed(&record.results, entry.name));
    Reading::of_parts(experiments::ALL.iter().map(rows).filter(|(_, rows)| !rows.is_empty()))
}

fn ladder(read: &Reading, page: &Page) -> Option<String> {
    read.ladder().map(|ladder| format!("Costs of waiting\n{}", ladder.letters(page)))
}

/// Shows the findings and the failures, with the old values; if `whole` is the command that shows all of that, only a
/// few findings.
fn conclusion(record: &AnyRecord, read: &Reading, page: &Page, whole: Option<&str>) -> anyhow::Result<String> {
    let (mut text, mut missing) = (String::new(), String::new());
    let stored = placed(&record.results, FINDINGS);
    let all = read.findings(stored.into_iter().map(|(_, row)| row))?;
    let whole = whole.filter(|_| all.len() > MOST_FINDINGS);
    let is_whole = whole.is_none();
    let found: Vec<&Finding> = if is_whole { all.iter().collect() } else { repeated(&all, MOST_FINDINGS) };
    if !found.is_empty() {
        text.push_str("Findings\n");
        for finding in found {
            let source = finding.source.words();
            let words = finding.words.split_whitespace().chain([source.as_str()]);
            text.push_str(&terminal::item(words, page));
        }
    }
    if let Some(whole) = whole {
        let left = all.len() - MOST_FINDINGS;
        let words = format!("{left} more findings, the comparison with 1998 to 2008, and all tables: {whole}");
        text.push_str(&terminal::wrapped("", "", &escaped(&words), page));
    }
    let failed = failures(&record.warnings);
    if !failed.is_empty() {
        missing.push_str("Not measured\n");
        failed.iter().for_each(|failure| missing.push_str(&terminal::item(failure.split_whitespace(), page)));
    }
    let compared = comparisons(&record.results)?;
    let is_shown = is_whole && !compared.is_empty();
    let compared = if is_shown { then_and_now(&compared) } else { String::new() };
    let parts = [text, missing, compared];
    Ok(parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n"))
}

/// Returns the repeated findings, then the first ones, in their order.
fn repeated(all: &[Finding], most: usize) -> Vec<&Finding> {
    let mut chosen: Vec<(usize, &Finding)> = all.iter().enumerate().collect();
    chosen.sort_by_key(|(place, finding)| (!finding.repeated, *place));
    chosen.truncate(most);
    chosen.sort_by_key(|(place, _)| *place);
    chosen.into_iter().map(|(_, finding)| finding).collect()
}

/// Shows the old values; details are only on the page.
fn then_and_now(figures: &[ThenAndNow]) -> String {
    let (details, main): (Vec<&ThenAndNow>, Vec<&ThenAndNow>) = figures.iter().partition(|figure| figure.detail);
    let lines = main.iter().map(|figure| {
        // Ratios of times are meaningful; shares and rates are shown without one.
        let is_time = figure.unit == Unit::Ns;
        let now = figure.today.map(|today| figure.unit.rounded(today));
        vec![
            format!("{} {}", figure.year, figure.figure),
            figure.unit.rounded(figure.then),
            now.or_else(|| figure.note.clone()).unwrap_or_default(),
            figure.ratio.filter(|_| is_time).map_or_else(String::new, terminal::ratio),
            figure.ratio_ci.filter(|_| is_time).map_or_else(String::new, |ends| terminal::range(ends.low, ends.high)),
        ]
    });
    let table = terminal::table(&["then and now", "then", "now", "then/now", "95 % CI"], lines);
    match details.len() {
        0 => table,
        more => table + &format!("{more} more values are in the HTML report and in the record.\n"),
    }
}
