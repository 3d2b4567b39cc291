//! The kinds of records that have schemas.

use crate::commands::survey;

/// Whose records have schemas.
pub fn names() -> Vec<&'static str> {
    experiments::ALL.iter().map(|entry| entry.name).chain([survey::NAME]).collect()
}

/// By this the definitions of an experiment are told from those of others: `model-frames`.
pub fn owner(name: &str) -> String {
    name.replace(' ', "-")
}

/// The name of the definition of its records.
pub fn definition(name: &str) -> String {
    owner(name) + ".Record"
}
