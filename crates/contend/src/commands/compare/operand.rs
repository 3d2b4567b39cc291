//! A and B: files, or records of the archive.

use crate::commands::archived;
use anyhow::Context;
use archive::{Catalogue, Entry, Manifest, StoredAs};
use record::Source;
use serde::Serialize;
use std::path::Path;

/// One side of a comparison.
pub struct Operand {
    pub source: Source,
    /// The record in the archive, if it is one.
    pub entry: Option<Entry>,
    pub manifest: Option<Manifest>,
    /// A warning about this side, if there is one.
    pub caution: Option<String>,
    content: Vec<u8>,
}

/// The name of a record in the comparison.
#[derive(Serialize)]
pub struct Title {
    pub name: String,
    pub record: Option<String>,
    pub experiment: String,
    pub started_unix_s: Option<u64>,
    pub host: Option<String>,
    pub revision: Option<String>,
}

impl Operand {
    /// Finds the record that `name` means: a file if there is one, otherwise a record of the archive.
    ///
    /// # Errors
    /// It is neither, or a record that cannot be read.
    pub fn find(name: &str, archive: Option<&Catalogue>) -> anyhow::Result<Self> {
        if record::is_file(name) {
            return Self::of_file(name, archive);
        }
        let catalogue = archive.with_context(|| archived::none_for(name))?;
        let (entry, content) = catalogue.recalled(name)?;
        let source = record::understand(name, &content)?;
        let manifest = Some(catalogue.archive.manifest(&entry.id)?);
        Ok(Self { source, manifest, entry: Some(entry), caution: None, content })
    }

    fn of_file(name: &str, archive: Option<&Catalogue>) -> anyhow::Result<Self> {
        let (name, content) = record::content(Path::new(name))?;
        let source = record::understand(&name, &content)?;
        let mut operand = Self { source, entry: None, manifest: None, caution: None, content };
        if let Some(catalogue) = archive {
            match catalogue.kept_as(&operand.content) {
                StoredAs::Same(entry) => {
                    operand.manifest = Some(catalogue.archive.manifest(&entry.id)?);
                    operand.entry = Some(entry.clone());
                }
                StoredAs::Changed(entry) => {
                    let id = entry.short_id();
                    operand.caution = Some(format!(
                        "{name} was modified: it differs from record {id} of the same run; `contend history export \
                         {id} FILE` writes the original"
                    ));
                }
                StoredAs::Unknown => {}
            }
        }
        Ok(operand)
    }

    /// Names the record after a baseline.
    pub fn called(mut self, baseline: &str) -> Self {
        let id = self.entry.as_ref().map_or("", |entry| entry.short_id());
        self.source.name = format!("baseline {baseline} ({id})");
        self
    }

    pub fn title(&self) -> Title {
        Title {
            name: self.source.name.clone(),
            record: self.entry.as_ref().map(|entry| entry.id.clone()),
            experiment: self.source.experiment.clone(),
            started_unix_s: self.source.environment.get("started_unix_s").and_then(serde_json::Value::as_u64),
            host: self.manifest.as_ref().map(|manifest| manifest.host.clone()),
            revision: self.manifest.as_ref().and_then(|manifest| manifest.build.revision.clone()),
        }
    }
}

/// Checks that A and B are two records with comparable content.
pub fn check(a: &Operand, b: &Operand) -> anyhow::Result<()> {
    let (first, second) = (&a.source, &b.source);
    let misuse = |text: String| Err(harness::UsageError(text).into());
    if a.content == b.content {
        return misuse(format!("{} and {}: the same record; name two different records", first.name, second.name));
    }
    let of_b = |(experiment, _): &(String, _)| second.parts.iter().any(|(other, _)| other == experiment);
    if !first.parts.iter().any(of_b) {
        return misuse(format!(
            "{} ({}) and {} ({}): records of different experiments; name two records of one experiment",
            first.name, first.experiment, second.name, second.experiment
        ));
    }
    Ok(())
}
