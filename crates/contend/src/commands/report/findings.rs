//! What a survey found, each sentence with the row that it comes from.

use super::super::figure::{self, Figure, Picture, Section, Table};
use crate::experiments::survey::{self, Finding};

pub fn section(rows: &[Finding]) -> Section {
    let line = |finding: &Finding| {
        let figure = survey::Figure { value: finding.value, interval: finding.value_ci };
        let source = &finding.source;
        vec![
            finding.what.replace('_', " "),
            finding.unit.words_with(figure),
            format!("{}: {}", source.experiment, source.cell),
            format!("results[{}].{}", source.row, source.field),
        ]
    };
    let table = Table {
        caption: "Where each figure stands".into(),
        header: vec!["what", "figure (95 %)", "from", "in the record"],
        rows: rows.iter().map(line).collect(),
    };
    Section {
        experiment: "survey",
        title: "What the survey found".into(),
        findings: rows.iter().map(said).collect(),
        figures: vec![Figure {
            title: "The findings' figures".into(),
            picture: Picture::None,
            tables: vec![table],
            secondary: false,
        }],
        histograms: Vec::new(),
    }
}

fn said(finding: &Finding) -> figure::Finding {
    figure::Finding { words: format!("{}.", finding.words), about: Some(finding.source.experiment.clone()) }
}
