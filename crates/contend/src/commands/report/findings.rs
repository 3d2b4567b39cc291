//! The findings of a survey, each sentence with the row that it comes from.

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
        caption: "Source of each value".into(),
        header: vec!["finding", "value (95 % CI)", "configuration", "field of the record"],
        rows: rows.iter().map(line).collect(),
    };
    Section {
        experiment: "survey",
        title: "Findings".into(),
        findings: rows.iter().map(statement).collect(),
        figures: vec![Figure {
            title: "Values of the findings".into(),
            picture: Picture::None,
            tables: vec![table],
            secondary: true,
        }],
        histograms: Vec::new(),
    }
}

fn statement(finding: &Finding) -> Statement {
    Statement {
        words: format!("{}.", finding.words),
        about: Some(finding.source.experiment.clone()),
        is_repeated: finding.repeated,
    }
}
