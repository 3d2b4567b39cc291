//! The newest records with the verdict of each, as a page. A record is read once, since its name is its hash.

use archive::{Archive, Entry};
use record::{Finding, Section, Source, Statement, typed, understand};
use report::Listed;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use terminal::moment;

/// The maximum number of records on the page: the newest.
const MOST: usize = 500;

/// The maximum number of letters of a sentence or a title: their words come from records that clients may have sent.
const LONGEST: usize = 400;

/// The properties of a record that its entry lacks.
#[derive(Clone, Default)]
struct Described {
    subject: String,
    machine: String,
    verdict: String,
}

/// The time after which a page is sent without the verdicts of the records that were not read.
const MOST_TIME: Duration = Duration::from_secs(3);
/// The number of records that are read before the time is looked at.
const AT_A_TIME: usize = 8;

/// The records that were read for the page.
#[derive(Default)]
pub struct Index(Mutex<BTreeMap<String, Described>>);

impl Index {
    /// Returns the page.
    ///
    /// # Errors
    /// The archive cannot be read.
    pub fn page(&self, archive: &Archive) -> anyhow::Result<String> {
        let entries = archive.listing()?.entries;
        let newest: Vec<&Entry> = entries.iter().rev().take(MOST).collect();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|id, _| newest.iter().any(|entry| entry.id == *id));
        let missing: Vec<&str> =
            newest.iter().map(|entry| entry.id.as_str()).filter(|id| !known.contains_key(*id)).collect();
        let begun = Instant::now();
        for some in missing.chunks(AT_A_TIME).take_while(|_| begun.elapsed() < MOST_TIME) {
            archive.each(some, |place, found| {
                let source = found.and_then(|(content, _)| understand("", &content));
                known.insert(some[place].to_owned(), described(source));
            })?;
        }
        let unread = Described { verdict: "not read yet; load the page again".into(), ..Described::default() };
        let listed: Vec<Listed> =
            newest.iter().map(|entry| listed(entry, known.get(&entry.id).unwrap_or(&unread))).collect();
        drop(known);
        Ok(report::index(&listed, entries.len() - listed.len()))
    }
}

fn listed(entry: &Entry, described: &Described) -> Listed {
    let summary = &entry.summary;
    Listed {
        page: format!("/records/{}/page", entry.id),
        json: format!("/records/{}", entry.id),
        experiment: summary.experiment.clone(),
        subject: if described.subject.is_empty() { summary.experiment.clone() } else { described.subject.clone() },
        host: summary.host.clone(),
        machine: described.machine.clone(),
        started: format!("{} UTC", moment(summary.started_unix_s)),
        verdict: described.verdict.clone(),
        is_interrupted: summary.interrupted,
    }
}

fn described(source: anyhow::Result<Source>) -> Described {
    let of_source = |source: Source| {
        let sections = sections(&source)?;
        Ok(Described {
            subject: shortened(&report::subject_with_locks(&source, &sections)),
            machine: shortened(&report::machine(&source.environment)),
            verdict: shortened(&report::verdict(&source, &sections)),
        })
    };
    source.and_then(of_source).unwrap_or_else(|error: anyhow::Error| Described {
        subject: String::new(),
        machine: String::new(),
        verdict: shortened(&format!("This version of contend cannot read the record: {error:#}")),
    })
}

/// Returns the sections of a record, of a survey only the findings.
fn sections(source: &Source) -> anyhow::Result<Vec<Section>> {
    let is_findings = |(experiment, _): &&(String, Vec<serde_json::Value>)| experiment == "findings";
    if let Some((_, rows)) = source.parts.iter().find(is_findings) {
        let statement = |finding: Finding| Statement {
            words: format!("{}.", finding.words),
            about: None,
            is_repeated: finding.repeated,
        };
        let findings = typed::<Finding>(rows)?.into_iter().map(statement).collect();
        let title = String::new();
        return Ok(vec![Section { experiment: "survey", title, findings, figures: vec![], histograms: vec![] }]);
    }
    let section = |(experiment, rows): &(String, Vec<serde_json::Value>)| {
        let rows: Vec<(usize, &serde_json::Value)> = rows.iter().enumerate().collect();
        experiments::named(experiment).map(|entry| Ok(entry.read(&rows)?.section()))
    };
    source.parts.iter().filter_map(section).collect()
}

fn shortened(text: &str) -> String {
    terminal::shortened(text, LONGEST)
}
