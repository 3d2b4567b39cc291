//! What a survey found, each sentence with the row that it comes from.

use instruments::statistics::comparison::Estimate;
use record::{Figure, Finding, Picture, Section, Statement, Table};

pub fn section(rows: &[Finding]) -> Section {
    let line = |finding: &Finding| {
        let figure = Estimate::new(finding.value, finding.value_ci);
        let source = &finding.source;
        vec![
            finding.what.replace('_', " "),
            finding.unit.rounded_with(figure),
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
            secondary: true,
        }],
        histograms: Vec::new(),
    }
}

fn said(finding: &Finding) -> Statement {
    Statement {
        words: format!("{}.", finding.words),
        about: Some(finding.source.experiment.clone()),
        is_repeated: finding.repeated,
    }
}
