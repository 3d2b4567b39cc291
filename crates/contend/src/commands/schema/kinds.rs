//! The kinds of records that have schemas.

use crate::commands::survey_record;

/// Returns the experiments whose records have schemas.
pub fn names() -> Vec<&'static str> {
    experiments::ALL.iter().map(|entry| entry.name).chain([survey_record::NAME]).collect()
}

/// Returns the prefix of an experiment's definitions: `model-frames`.
pub fn owner(name: &str) -> String {
    name.replace(' ', "-")
}

/// Returns the name of the definition of its records.
pub fn definition(name: &str) -> String {
    owner(name) + ".Record"
}
