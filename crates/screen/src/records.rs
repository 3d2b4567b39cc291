//! The archive, as it was found when a menu was opened, and what is marked of it.

use archive::{Catalogue, Entry, Location};
use std::path::PathBuf;

/// What is kept.
pub struct Records {
    location: Location,
    found: Result<Vec<Entry>, String>,
    marked: Vec<String>,
}

/// A menu with more is no menu; `contend history list` has all.
const MOST: usize = 500;

impl Records {
    /// Nothing is looked at before somebody wants to see it.
    pub fn at(location: Location) -> Self {
        Self { location, found: Err("the archive was not read yet".to_owned()), marked: Vec::new() }
    }

    /// Looks what there is now.
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

    /// The newest first; why there are none, if so.
    pub fn found(&self) -> Result<&[Entry], &str> {
        self.found.as_deref().map_err(String::as_str)
    }

    /// Those marked, in the order in which they were kept.
    pub fn marked(&self) -> Vec<String> {
        let in_order = self.found.iter().flatten().rev().map(|entry| entry.short_id().to_owned());
        in_order.filter(|id| self.marked.contains(id)).collect()
    }

    pub fn is_marked(&self, id: &str) -> bool {
        self.marked.iter().any(|marked| marked == id)
    }

    pub fn turn(&mut self, id: &str) {
        match self.marked.iter().position(|marked| marked == id) {
            Some(place) => _ = self.marked.remove(place),
            None => self.marked.push(id.to_owned()),
        }
    }

    /// The record before it of the same experiment.
    pub fn before(&self, id: &str) -> Option<String> {
        let all = self.found.as_ref().ok()?;
        let place = all.iter().position(|entry| entry.short_id() == id)?;
        let experiment = &all[place].summary.experiment;
        let older = all[place + 1..].iter().find(|entry| entry.summary.experiment == *experiment)?;
        Some(older.short_id().to_owned())
    }

    /// Where its page goes: beside the archive, as that of a survey does.
    pub fn page_of(&self, id: &str) -> Option<PathBuf> {
        self.location.beside(&format!("{id}.html"))
    }
}
