//! The findings of a survey's record, in the words of this version.

use record::{Finding, typed};
use serde_json::Value;
use std::collections::BTreeMap;

/// The findings of a record, worded as this version words them: an older record has the same values in older words.
/// A value that this version computes otherwise keeps the words that were recorded with it.
///
/// # Errors
/// A row is not a finding.
pub fn findings<'a>(stored: &[Value], rows_of: impl Fn(&str) -> Vec<&'a Value>) -> anyhow::Result<Vec<Finding>> {
    let mut found: Vec<Finding> = typed(stored)?;
    let mut known: BTreeMap<String, Vec<Finding>> = BTreeMap::new();
    for finding in &mut found {
        let experiment = &finding.source.experiment;
        let today = known.entry(experiment.clone()).or_insert_with(|| {
            let rows: Vec<(usize, &Value)> = rows_of(experiment).into_iter().enumerate().collect();
            experiments::named(experiment).and_then(|entry| entry.findings(&rows).ok()).unwrap_or_default()
        });
        let is_it = |today: &&Finding| today.what == finding.what && today.value == finding.value;
        if let Some(today) = today.iter().find(is_it) {
            finding.words.clone_from(&today.words);
            finding.source.cell.clone_from(&today.source.cell);
        }
    }
    Ok(found)
}
