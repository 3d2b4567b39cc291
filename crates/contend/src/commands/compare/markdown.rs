//! A comparison as Markdown, for a pull request: what was found, the figures that differ, and the rest folded away.

use super::comparison::{Comparison, Line};
use super::judgement::Verdict;
use super::show::{summary, values};
use crate::output::markdown::table;

pub fn text(comparison: &Comparison) -> String {
    let is_told = |line: &&Line| matches!(line.verdict, Verdict::Slower | Verdict::Faster | Verdict::Differs);
    let (told, others): (Vec<&Line>, Vec<&Line>) = comparison.cells.iter().partition(is_told);
    let mut text =
        format!("`A`: {}; `B`: {}\n\n{}\n", comparison.a.name, comparison.b.name, summary(&comparison.cells));
    for caution in &comparison.cautions {
        text += &format!("- {caution}\n");
    }
    if !told.is_empty() {
        text += &format!("\n{}", of(&told));
    }
    if !others.is_empty() {
        text += &format!("\n<details><summary>{} more</summary>\n\n{}\n</details>\n", others.len(), of(&others));
    }
    text
}

fn of(lines: &[&Line]) -> String {
    let row = |line: &&Line| {
        let first = [format!("{}: {}", line.cell, line.figure), line.verdict.label().to_owned()];
        first.into_iter().chain(values(line)).collect()
    };
    table(&["figure", "verdict", "A", "B", "B/A (95 %)"], lines.iter().map(row))
}
