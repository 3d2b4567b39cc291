//! The record on a terminal: all of it, and the screen that a survey closes with.

use super::failures;
use super::record::{self, Parameters, SurveyRecord};
use super::then_and_now::ThenAndNow;
use crate::experiments::{clock, latency};
use crate::output::Show;
use crate::record::Record;
use crate::terminal::{self, Page};

impl Show for SurveyRecord {
    fn show(&self, page: &Page) -> String {
        let mut parts = experiments(self, page);
        parts.push(closing(self, page));
        parts.retain(|part| !part.is_empty());
        parts.join("\n")
    }

    fn closing(&self, page: &Page) -> Option<String> {
        Some(closing(self, page))
    }
}

/// Every experiment as its own command shows it; of the latency laboratory fewer pictures.
fn experiments(record: &SurveyRecord, page: &Page) -> Vec<String> {
    let (parameters, rows) = (&record.parameters, &record.results);
    let clock = record::cloned(record::clock_rows(rows));
    let latency = record::cloned(record::latency_rows(rows));
    vec![
        if clock.is_empty() { String::new() } else { clock::sections(&clock, page) },
        if latency.is_empty() { String::new() } else { latency::sections(&latency, page) },
        shown(record, &parameters.throughput, record::cloned(record::throughput_rows(rows)), page),
        shown(record, &parameters.noise, record::cloned(record::noise_rows(rows)), page),
        shown(record, &parameters.load, record::cloned(record::load_rows(rows)), page),
        shown(record, &parameters.ring, record::cloned(record::ring_rows(rows)), page),
        shown(record, &parameters.frames, record::cloned(record::frames_rows(rows)), page),
        shown(record, &parameters.step, record::cloned(record::step_rows(rows)), page),
    ]
}

/// The rows of one experiment as a record of their own.
fn shown<P: Clone, R>(record: &SurveyRecord, parameters: &Option<P>, results: Vec<R>, page: &Page) -> String
where
    Record<P, R>: Show,
{
    let (Some(parameters), false) = (parameters.clone(), results.is_empty()) else { return String::new() };
    let Record::<Parameters, _> { schema, experiment, environment, .. } = record;
    let part = Record {
        schema: schema.clone(),
        experiment: experiment.clone(),
        environment: environment.clone(),
        parameters,
        results,
        warnings: Vec::new(),
    };
    part.show(page)
}

/// What was found, what failed, then and now.
fn closing(record: &SurveyRecord, page: &Page) -> String {
    let (mut text, mut missing) = (String::new(), String::new());
    let found = record::findings(&record.results);
    if !found.is_empty() {
        text.push_str("What it found\n");
        for (_, finding) in found {
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
    let compared = record::cloned(record::comparisons(&record.results));
    let compared = if compared.is_empty() { String::new() } else { then_and_now(&compared) };
    let parts = [text, missing, compared];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Details are left to the page.
fn then_and_now(figures: &[ThenAndNow]) -> String {
    let (details, main): (Vec<&ThenAndNow>, Vec<&ThenAndNow>) = figures.iter().partition(|figure| figure.detail);
    let lines = main.iter().map(|figure| {
        let now = figure.today.map(|today| figure.unit.words(today));
        vec![
            format!("{} {}", figure.year, figure.figure),
            figure.unit.words(figure.then),
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
