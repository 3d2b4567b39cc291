//! A comparison as Markdown, for a pull request: the result, the values that differ, and the rest folded.

use super::comparison::{Comparison, Line};
use super::differences::values_in_words;
use super::judgement::Verdict;
use super::show::{summary, values};
use crate::output::markdown::table;
use record::Difference;
use terminal::counted;

pub fn text(comparison: &Comparison) -> String {
    let is_told = |line: &&Line| matches!(line.verdict, Verdict::Slower | Verdict::Faster | Verdict::Differs);
    let (distinct, others): (Vec<&Line>, Vec<&Line>) = comparison.cells.iter().partition(is_told);
    let mut text =
        format!("`A`: {}; `B`: {}\n\n{}\n", comparison.a.name, comparison.b.name, summary(&comparison.cells));
    for caution in &comparison.cautions {
        text += &format!("- {caution}\n");
    }
    if !distinct.is_empty() {
        text += &format!("\n{}", of(&distinct));
    }
    if !others.is_empty() {
        text += &folded(&counted(others.len(), "more value"), &of(&others));
    }
    let differences: Vec<&Difference> = comparison.environment.iter().chain(&comparison.parameters).collect();
    if !differences.is_empty() {
        let row = |one: &&Difference| std::iter::once(one.name.clone()).chain(values_in_words(one)).collect();
        let rows = table(&["property", "A", "B"], differences.iter().map(row));
        text +=
            &folded(&format!("{} of machine, program and options", counted(differences.len(), "difference")), &rows);
    }
    text
}

fn folded(title: &str, body: &str) -> String {
    format!("\n<details><summary>{title}</summary>\n\n{body}\n</details>\n")
}

fn of(lines: &[&Line]) -> String {
    let row = |line: &&Line| {
        let first = [format!("{}: {}", line.cell, line.figure), line.verdict.label().to_owned()];
        first.into_iter().chain(values(line)).collect()
    };
    table(&["metric", "verdict", "A", "B", "B/A (95 % CI)"], lines.iter().map(row))
}
