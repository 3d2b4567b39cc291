//! A part of a trace as it was seen, and the record of it: only the diagnosis is between the two.

use super::diagnosis::Diagnosis;
use super::evidence::Evidence;
use super::plan::Parameters;
use super::record::Row;
use instruments::warning::Warning;
use serde::{Deserialize, Serialize};

/// A part of a trace as it was seen.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Observed {
    /// Without a verdict.
    pub parameters: Parameters,
    pub warnings: Vec<Warning>,
    pub evidence: Evidence,
    /// The rows of watched words.
    pub words: Vec<Row>,
}

/// The content of the record of a part.
pub struct Judged {
    pub parameters: Parameters,
    pub rows: Vec<Row>,
    pub warnings: Vec<Warning>,
}

impl Observed {
    /// Adds the rows of watched words.
    pub fn add_words(&mut self, (rows, warning): (Vec<Row>, Option<Warning>)) {
        self.words.extend(rows);
        self.warnings.extend(warning);
    }

    /// Returns the record, with the diagnosis of the evidence.
    pub fn judged(&self) -> Judged {
        let Diagnosis { verdict, reason, mut rows, warnings, .. } = self.evidence.diagnose();
        rows.extend(self.words.iter().cloned());
        let parameters =
            Parameters { verdict, verdict_reason: reason, hang: self.evidence.hang.clone(), ..self.parameters.clone() };
        Judged { parameters, rows, warnings: [&self.warnings[..], &warnings].concat() }
    }
}
