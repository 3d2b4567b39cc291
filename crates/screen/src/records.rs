//! The records of the archive, as listed when the menu was opened last, and those that are marked.

use archive::{Catalogue, Entry, Location};
use harness::AnyRecord;
use record::Finding;
use std::collections::HashMap;
use std::path::PathBuf;

/// The records of an archive.
pub struct Records {
    location: Location,
    found: Result<Vec<Entry>, String>,
    marked: Vec<String>,
    /// The verdicts that were read, by the records' IDs.
    verdicts: HashMap<String, String>,
}

/// The most records in the menu; `contend history list` prints all.
const MOST: usize = 500;

impl Records {
    /// Creates the list, which is empty until the first [`Self::look`].
    pub fn new(location: Location) -> Self {
        Self {
            location,
            found: Err("the archive was not read yet".to_owned()),
            marked: Vec::new(),
            verdicts: HashMap::new(),
        }
    }

    /// Lists the archive again.
    pub fn look(&mut self) {
        self.found = self.listed();
        let is_there =
            |id: &String| self.found.as_ref().is_ok_and(|all| all.iter().any(|entry| entry.short_id() == id));
        self.marked = std::mem::take(&mut self.marked).into_iter().filter(is_there).collect();
    }

    fn listed(&self) -> Result<Vec<Entry>, String> {
        match &self.location {
            Location::Nowhere => return Err("CONTEND_ARCHIVE is empty: records are not saved".to_owned()),
            Location::Unknown => {
                return Err("no home directory to save records in; set --archive DIR".to_owned());
            }
            Location::Folder(_) => {}
        }
        let archive = self.location.archive().map_err(|error| format!("cannot open the archive: {error:#}"))?;
        let Some(archive) = archive else {
            return Err("the archive is empty; every run is saved in it".to_owned());
        };
        let catalogue = Catalogue::of(archive).map_err(|error| format!("cannot list the archive: {error:#}"))?;
        let mut entries = catalogue.entries;
        entries.reverse();
        entries.truncate(MOST);
        if entries.is_empty() {
            return Err("the archive is empty; every run is saved in it".to_owned());
        }
        Ok(entries)
    }

    /// Returns the records, the newest first, or why there are none.
    pub fn found(&self) -> Result<&[Entry], &str> {
        self.found.as_deref().map_err(String::as_str)
    }

    /// Returns the IDs of the marked records, the oldest first.
    pub fn marked(&self) -> Vec<String> {
        let in_order = self.found.iter().flatten().rev().map(|entry| entry.short_id().to_owned());
        in_order.filter(|id| self.marked.contains(id)).collect()
    }

    pub fn is_marked(&self, id: &str) -> bool {
        self.marked.iter().any(|marked| marked == id)
    }

    pub fn toggle(&mut self, id: &str) {
        match self.marked.iter().position(|marked| marked == id) {
            Some(at) => _ = self.marked.remove(at),
            None => self.marked.push(id.to_owned()),
        }
    }

    /// Returns the last record of an experiment; of any, without a name.
    pub fn last(&self, experiment: Option<&str>) -> Option<&Entry> {
        let is_one = |entry: &&Entry| experiment.is_none_or(|name| entry.summary.experiment == name);
        self.found.iter().flatten().find(is_one)
    }

    /// Reads the verdict of the last record of an experiment, unless it is known.
    pub fn judge(&mut self, experiment: Option<&str>) {
        let Some(id) = self.last(experiment).map(|entry| entry.id.clone()) else { return };
        if !self.verdicts.contains_key(&id) {
            let verdict = self.read(&id).unwrap_or_else(|error| format!("cannot read the record: {error:#}"));
            self.verdicts.insert(id, verdict);
        }
    }

    /// Returns the verdict of a record, if it was read.
    pub fn verdict(&self, entry: &Entry) -> &str {
        self.verdicts.get(&entry.id).map_or("", String::as_str)
    }

    fn read(&self, id: &str) -> anyhow::Result<String> {
        let archive = self.location.archive()?;
        let Some(archive) = archive else { return Ok(String::new()) };
        let verdict = verdict(&serde_json::from_slice(&archive.record(id)?)?);
        Ok(terminal::escaped(&verdict.unwrap_or_default()).into_owned())
    }

    /// Returns the previous record of the same experiment.
    pub fn before(&self, id: &str) -> Option<String> {
        let all = self.found.as_ref().ok()?;
        let place = all.iter().position(|entry| entry.short_id() == id)?;
        let experiment = &all[place].summary.experiment;
        let older = all[place + 1..].iter().find(|entry| entry.summary.experiment == *experiment)?;
        Some(older.short_id().to_owned())
    }

    /// Returns the path of its HTML report: next to the archive, like that of a survey.
    pub fn page_of(&self, id: &str) -> Option<PathBuf> {
        self.location.sibling_file(&format!("{id}.html"))
    }
}

/// Returns the sentence that answers the question of a record: the first of the findings that summaries repeat, else the
/// first finding. The verdict of a trace comes first, unless it is that a finding names the lock.
fn verdict(record: &AnyRecord) -> Option<String> {
    let parameter = |name: &str| record.parameters[name].as_str().filter(|words| !words.is_empty());
    let reason = parameter("verdict_reason").map(str::to_owned);
    if reason.is_some() && parameter("verdict") != Some("locks") {
        return reason;
    }
    let findings: Vec<Finding> = match experiments::named(&record.experiment) {
        Some(entry) => entry.read_all(record).ok()?.findings(),
        // A survey has its findings among its results.
        None => record.results.iter().filter_map(|row| serde_json::from_value(row.clone()).ok()).collect(),
    };
    let repeated = findings.iter().find(|finding| finding.repeated);
    repeated.or(findings.first()).map(|finding| finding.words.clone()).or(reason)
}
