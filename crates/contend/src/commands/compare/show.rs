//! A comparison as text. On a terminal, the differences outside the values come first, then the cells by verdict. As
//! Markdown, for a pull request, the result and the values that differ come first, and the rest is folded.

use super::comparison::{Comparison, Line};
use super::judgement::{FALSE_CHANCE, Verdict, too_few_runs};
use super::operand::Title;
use crate::commands::{outliers, parameters};
use crate::output::markdown::table;
use instruments::statistics::Interval;
use instruments::statistics::comparison::LEAST_RUNS;
use record::Difference;
use terminal::moment;
use terminal::{self, Page, counted, number, percent, ratio};

/// The verdicts in the order of the output.
const VERDICTS: [Verdict; 7] = [
    Verdict::Slower,
    Verdict::Faster,
    Verdict::Differs,
    Verdict::NoDifference,
    Verdict::NotJudged,
    Verdict::NotInA,
    Verdict::NotInB,
];

/// Returns the comparison for a terminal.
pub fn text(comparison: &Comparison, page: &Page) -> String {
    let [a, b] = [("A:", &comparison.a), ("B:", &comparison.b)]
        .map(|(side, named)| terminal::wrapped(side, "  ", &title(named), page));
    let mut text = format!("{a}{b}\n");
    for caution in &comparison.cautions {
        text += &(terminal::wrapped("warning:", "        ", caution, page) + "\n");
    }
    text += &differences("environment", &comparison.environment, page);
    text += &differences("parameters", &comparison.parameters, page);
    for verdict in VERDICTS {
        let lines: Vec<&Line> = comparison.cells.iter().filter(|line| line.verdict == verdict).collect();
        text += &group(verdict, &lines, page);
    }
    if let Some(found) = &comparison.machines {
        text += &format!("All machines with records of this experiment:\n{}\n", outliers::text(found, page));
    }
    text + &summary(&comparison.cells).lines().map(|line| terminal::wrapped("", "", line, page)).collect::<String>()
}

fn title(title: &Title) -> String {
    let record = title.record.as_deref().map(|id| format!("record {}", history_id(id)));
    let begun = title.started_unix_s.map(|begun| format!("{} UTC", moment(begun)));
    let host = title.host.as_deref().map(|host| format!("on {host}"));
    let built = title.revision.as_deref().map(|revision| format!("built from {}", history_id(revision)));
    let words = [Some(title.name.clone()), Some(title.experiment.clone()), record, begun, host, built];
    words.into_iter().flatten().collect::<Vec<String>>().join(", ")
}

fn history_id(hash: &str) -> &str {
    archive::short(hash)
}

fn differences(what: &str, found: &[Difference], page: &Page) -> String {
    if found.is_empty() {
        return format!("The {what} do not differ.\n\n").replace("environment do", "environments do");
    }
    let rows = found.iter().map(|difference| {
        std::iter::once(difference.name.clone()).chain(values_in_words(difference)).collect::<Vec<String>>()
    });
    let table = terminal::table_of_words(&[what, "A", "B"], rows);
    page.cut_lines(&table) + "\n"
}

/// Returns its values for people: a hash is cut to the digits that distinguish one file from another.
fn values_in_words(difference: &Difference) -> Vec<String> {
    const DIGITS: usize = 10;
    let shortened = |value: &String| value.chars().take(DIGITS).collect();
    let is_hash = parameters::is_content(&difference.name);
    if is_hash { difference.values.iter().map(shortened).collect() } else { difference.values.clone() }
}

/// Draws two lines for each value: its name, then A, B and their ratio in columns.
fn group(verdict: Verdict, lines: &[&Line], page: &Page) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let table = terminal::table(&["   A", "B", "B/A (95 % CI)"], lines.iter().map(|line| values_set_in(line)));
    let mut rows = table.lines();
    let mut text = format!("{}: {}\n{}\n", verdict.label(), lines.len(), rows.next().unwrap_or_default());
    for (line, row) in lines.iter().zip(rows) {
        let remarks: Vec<String> = line.reason.iter().cloned().chain(could_have_found(line)).collect();
        let reason = if remarks.is_empty() { String::new() } else { format!(" ({})", remarks.join("; ")) };
        let alone = if line.alone { ", core exclusive" } else { "" };
        let name = format!("{}: {}{alone}{reason}", line.cell, line.figure);
        text += &format!("{}{}\n", terminal::wrapped("", "     ", &name, page), page.cut(row));
    }
    text + "\n"
}

/// Returns the change that a value without a difference could have shown.
fn could_have_found(line: &Line) -> Option<String> {
    let is_shown = line.verdict == Verdict::NoDifference;
    line.could_have_found.filter(|_| is_shown).map(|factor| format!("could have found {}", ratio(factor)))
}

fn values_set_in(line: &Line) -> Vec<String> {
    let mut values = values(line);
    values[0].insert_str(0, "   ");
    values
}

fn values(line: &Line) -> Vec<String> {
    let words = |value: f64| line.unit.words(value);
    let figure = |value: Option<f64>, interval: Option<Interval>| match (value, interval) {
        (None, _) => "–".to_owned(),
        (Some(value), None) => words(value),
        (Some(value), Some(ends)) => {
            with_ends(&line.unit.words_within(value, interval), [words(ends.low), words(ends.high)])
        }
    };
    let end = |end: f64| if end.is_finite() { number(end) } else { "∞".to_owned() };
    let over = match (line.ratio, line.ratio_ci) {
        (Some(over), Some(ends)) => {
            let over = record::Unit::Times.words_within(over, Some(ends));
            format!("{over} ({}–{})", end(ends.low), end(ends.high))
        }
        (Some(over), None) => ratio(over),
        (None, _) => "–".to_owned(),
    };
    vec![figure(line.a, line.a_ci), figure(line.b, line.b_ci), over]
}

/// Writes `5.84 µs (5.83–5.85)`: a unit that all three share is written once, or both sides would not fit next to each
/// other.
pub fn with_ends(value: &str, ends: [String; 2]) -> String {
    let unit = value.trim_start_matches(|letter: char| !letter.is_alphabetic() && letter != '%' && letter != '×');
    let [low, high] = ends;
    match (low.strip_suffix(unit), high.strip_suffix(unit)) {
        (Some(low), Some(high)) if !unit.is_empty() => format!("{value} ({}–{})", low.trim_end(), high.trim_end()),
        _ => format!("{value} ({low}–{high})"),
    }
}

fn summary(lines: &[Line]) -> String {
    let count = |verdict: Verdict| lines.iter().filter(|line| line.verdict == verdict).count();
    let found: Vec<String> = VERDICTS
        .into_iter()
        .filter(|verdict| count(*verdict) > 0)
        .map(|verdict| format!("{} {}", count(verdict), verdict.label()))
        .collect();
    let others = lines.iter().map(|line| line.other_runs).max().unwrap_or(0);
    let known = match others {
        others if others < LEAST_RUNS => format!("a general estimate: {}", too_few_runs(LEAST_RUNS, others)),
        others => format!("estimated from {others} other runs in the archive and from a general estimate"),
    };
    let could = if lines.iter().any(|line| could_have_found(line).is_some()) {
        "\nA worse value by the factor in brackets would have been found in 9 of 10 such comparisons."
    } else {
        ""
    };
    format!(
        "{} values: {}.{could}\nAt most {} of comparisons of two runs with the same settings report any difference. The \
         run-to-run variation is {known}.\n",
        lines.len(),
        found.join(", "),
        percent(FALSE_CHANCE)
    )
}

/// Returns the comparison as Markdown.
pub fn markdown(comparison: &Comparison) -> String {
    let is_distinct = |line: &&Line| matches!(line.verdict, Verdict::Slower | Verdict::Faster | Verdict::Differs);
    let (distinct, others): (Vec<&Line>, Vec<&Line>) = comparison.cells.iter().partition(is_distinct);
    let mut text =
        format!("`A`: {}; `B`: {}\n\n{}\n", comparison.a.name, comparison.b.name, summary(&comparison.cells));
    for caution in &comparison.cautions {
        text += &format!("- {caution}\n");
    }
    if !distinct.is_empty() {
        text += &format!("\n{}", rows_of(&distinct));
    }
    if !others.is_empty() {
        text += &folded(&counted(others.len(), "more value"), &rows_of(&others));
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

fn rows_of(lines: &[&Line]) -> String {
    let row = |line: &&Line| {
        let found = could_have_found(line).map(|words| format!(" ({words})")).unwrap_or_default();
        let first = [format!("{}: {}", line.cell, line.figure), format!("{}{found}", line.verdict.label())];
        first.into_iter().chain(values(line)).collect()
    };
    table(&["metric", "verdict", "A", "B", "B/A (95 % CI)"], lines.iter().map(row))
}
